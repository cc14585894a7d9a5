// Package guide says what the reader shows for each row of docs/reading-guide.md: the lines of
// the code, and the instant of a run. The reader is a page of the book: see cmd/book/reader.go.
package guide

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/zklock/internal/lab/locks"
)

// A Row is a row of the reading guide, or one of its headings. Its texts are HTML.
type Row struct {
	Name    string     `json:"name"`             // as in the page's address: the article's letter, a slash, and a number
	Heading int        `json:"heading,omitzero"` // 1 for an article, 2 for a section; 0 for a row
	Phrase  string     `json:"phrase,omitempty"` // what to search for in the article
	En      string     `json:"en"`
	Zh      string     `json:"zh"`
	Title   string     `json:"title,omitempty"`   // of the article, to search the web for
	Code    []Excerpt  `json:"code,omitempty"`    // of this project
	Listing []Excerpt  `json:"listing,omitempty"` // of the article, in Go
	Scene   string     `json:"scene,omitempty"`   // its address in the lab, from the # on
	Nothing locks.Text `json:"nothing,omitzero"`  // if the row has nothing to show: why
	Figures []string   `json:"-"`                 // pictures, and sections of pages: "docs/benchmark.md#requests"
	moment  *moment
	instant time.Duration // of the scene
}

// Fill adds to the rows of the guide what they show: moments.txt has a moment for each, in order. root is a checkout's.
func Fill(root string, all []Row) error {
	files := &checkout{root: root, read: make(map[string]*source)}
	next := 0 // the index of the next moment
	var faults error
	for i := range all {
		row := &all[i]
		if row.Heading > 0 {
			continue
		}
		if next == len(moments) || moments[next].phrase != row.Phrase {
			return fmt.Errorf("docs/reading-guide.md: the %d. phrase, %s, is not that of internal/lab/guide/moments.txt", next+1, row.Phrase)
		}
		if err := files.fillRow(row, &moments[next]); err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s, %s: %w", row.Name, row.Phrase, err))
		}
		next++
	}
	return faults
}

func (c *checkout) fillRow(row *Row, m *moment) (err error) {
	row.moment, row.Nothing = m, nothingToSee[m.phrase]
	if row.Scene, row.instant, err = m.address(); err != nil {
		return err
	}
	for _, p := range m.code {
		if p.name == "" { // a picture, or a section of a page
			row.Figures = append(row.Figures, p.file)
			continue
		}
		e, err := c.excerpt(p)
		if err != nil {
			return err
		}
		if strings.HasPrefix(p.file, listings) {
			row.Listing = append(row.Listing, e)
		} else {
			e.Theirs, e.Zh = articlesNames(row.Name, e), Comments(e.Text)
			row.Code = append(row.Code, e)
		}
	}
	if len(row.Listing) == 0 { // if the scene is a bug's: the lines that its listing marks
		row.Listing, err = c.marked(m.scene)
	}
	return err
}

// address returns the address and the instant of the moment in its scene; "" and 0 if it has none.
func (m *moment) address() (string, time.Duration, error) {
	if m.scene == "" {
		return "", 0, nil
	}
	a, quoted, err := sceneOf(m.scene, m.phrase)
	if err != nil {
		return "", 0, err
	}
	at := cmp.Or(m.at, quoted)
	if at == 0 {
		return "", 0, fmt.Errorf("no stop of %s quotes it", m.scene)
	}
	a.Extra = append(a.Extra, "t="+locks.FormatTime(at))
	return a.String(), at, nil
}

// sceneOf returns the address of a scene, and the instant at which its story quotes a phrase, or 0. The scene is one of
// ownScenes, of which only the opening has stops, or it is a lock's: that of its story, if there is one.
func sceneOf(scene, phrase string) (a locks.Address, quoted time.Duration, err error) {
	var stops []locks.Stop
	if own, ok := ownScenes[scene]; ok {
		if a, err = locks.ParseAddress(own); err != nil {
			return a, 0, err
		}
		if scene == "herd beside chain" {
			stops = locks.Openings[0].Stops
		}
	} else {
		lock, err := locks.Find(scene)
		if err != nil {
			return a, 0, err
		}
		if a = lock.Open(); lock.Story != nil {
			a, stops = lock.Tell(), lock.Story.Stops
		}
	}
	for _, stop := range stops {
		if stop.Quote == phrase {
			quoted = stop.At
		}
	}
	return a, quoted, nil
}
