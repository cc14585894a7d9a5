// Package guide reads docs/reading-guide.md for the page that shows it beside the code
// and the lab: each phrase of the articles with its lines, and the instant of its run.
package guide

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/language"
)

// A Row is a row of the reading guide, or one of its headings. Its texts are HTML.
type Row struct {
	Name    string     `json:"name"`             // in the page's address: the article's letter, a slash, and a number
	Heading int        `json:"heading,omitzero"` // 1 for an article, 2 for a section; 0 for a row
	Phrase  string     `json:"phrase,omitempty"` // what to search for in the article
	En      string     `json:"en"`
	Zh      string     `json:"zh"`
	Title   string     `json:"title,omitempty"`   // of the article, to search the web for
	Code    []Excerpt  `json:"code,omitempty"`    // of this project
	Listing []Excerpt  `json:"listing,omitempty"` // of the article, in Go
	Figures []string   `json:"figures,omitempty"` // keys of Looks
	Scene   string     `json:"scene,omitempty"`   // address in the lab, from the # on
	Nothing locks.Text `json:"nothing,omitzero"`  // why there is nothing to see
	at      time.Duration
	moment  *moment
}

// A Guide is all that the page has.
type Guide struct {
	Rows  []Row            `json:"rows"`
	Looks map[string]*Look `json:"looks"` // by what a link names
	Files map[string]File  `json:"files"` // of Go, by path
}

// A Look is what a link in a row's text leads to.
type Look struct {
	Title   locks.Text `json:"title,omitzero"`
	HTML    locks.Text `json:"html,omitzero"`
	File    string     `json:"file,omitempty"` // of Files, shown whole
	Code    []Excerpt  `json:"code,omitempty"`
	Listing []Excerpt  `json:"listing,omitempty"`
	Scene   string     `json:"scene,omitempty"`
}

var (
	guideRow    = regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\|$")
	guideHead   = regexp.MustCompile(`^(##+) (.+)$`)
	titleRow    = regexp.MustCompile(`(?m)^\| ([A-E]) \| ([^|]+) \|`)
	articleHead = regexp.MustCompile(`([A-E])$`)
)

// Read reads both editions of the guide in a checkout.
func Read(root string) (*Guide, error) {
	r := &reader{root: root, files: make(map[string]*source), pages: make(map[string]*page), looks: make(map[string]*Look)}
	en, err := r.edition(language.English)
	if err != nil {
		return nil, err
	}
	zh, err := r.edition(language.Chinese)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows := 0
	var wrong error
	for i := range en {
		row := &en[i]
		row.Zh = row.En
		if i < len(zh) && zh[i].Phrase == row.Phrase { // the editions have the same phrases, in the same order
			row.Zh = zh[i].En
		}
		if row.Heading > 0 {
			continue
		}
		if rows == len(moments) || moments[rows].phrase != row.Phrase {
			return nil, fmt.Errorf("docs/reading-guide.md: the %d. phrase, %s, is not that of docs/lab/guide/moments.go", rows+1, row.Phrase)
		}
		if err := r.show(row, &moments[rows]); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s, %s: %w", row.Name, row.Phrase, err))
		}
		rows++
	}
	if wrong != nil {
		return nil, wrong
	}
	g := &Guide{Rows: en, Looks: r.looks, Files: make(map[string]File)}
	for _, l := range r.looks {
		if l.File != "" {
			g.Files[l.File] = r.files[l.File].whole()
		}
	}
	return g, nil
}

// edition reads an edition of the guide. Its texts are in En.
func (r *reader) edition(lang language.Language) (all []Row, err error) {
	text, err := os.ReadFile(filepath.Join(r.root, lang.Page("docs/reading-guide.md")))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "README.md"))
	if err != nil {
		return nil, err
	}
	titles := make(map[string]string)
	for _, m := range titleRow.FindAllStringSubmatch(string(readme), -1) {
		titles[m[1]] = strings.TrimSpace(m[2])
	}
	article, count := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := guideHead.FindStringSubmatch(line); m != nil {
			level := len(m[1]) - 1
			if level == 1 {
				letter := articleHead.FindString(m[2])
				if letter == "" {
					continue // the table of headings
				}
				article, count = letter, 0
			}
			if article != "" {
				all = append(all, Row{Name: article, Heading: min(level, 2), En: r.inline(m[2], "docs"), Title: titles[article]})
			}
			continue
		}
		m := guideRow.FindStringSubmatch(line)
		if m == nil || article == "" {
			continue
		}
		count++
		all = append(all, Row{
			Name: fmt.Sprintf("%s/%d", article, count), Phrase: strings.ReplaceAll(m[1], `\|`, "|"), En: r.inline(m[2], "docs"), Title: titles[article],
		})
	}
	// Of the headings those remain that rows follow.
	var used []Row
	for i, row := range all {
		if row.Heading == 0 || i+1 < len(all) && (all[i+1].Heading == 0 || all[i+1].Heading > row.Heading) {
			used = append(used, row)
		}
	}
	return used, nil
}

// show adds what a row shows.
func (r *reader) show(row *Row, m *moment) (err error) {
	row.moment, row.Nothing = m, nothing[m.phrase]
	if row.Scene, row.at, err = m.address(); err != nil {
		return err
	}
	for _, p := range m.code {
		if p.name == "" {
			row.Figures = append(row.Figures, p.file)
			if err := r.figure(p.file); err != nil {
				return err
			}
			continue
		}
		e, err := r.excerpt(p)
		if err != nil {
			return err
		}
		if strings.HasPrefix(p.file, listings) {
			row.Listing = append(row.Listing, e)
		} else {
			row.Code = append(row.Code, e)
		}
	}
	if len(row.Listing) == 0 { // the lines that comments mark
		row.Listing, err = r.marked(m.scene)
	}
	return err
}

// address returns the address of a moment's scene, and its instant.
func (m *moment) address() (string, time.Duration, error) {
	if m.scene == "" {
		return "", 0, nil
	}
	if name, ok := strings.CutPrefix(m.scene, "film "); ok {
		return "#film=" + name + "&t=" + instant(m.at), m.at, nil
	}
	a, quoted, err := open(m.scene, m.phrase)
	if err != nil {
		return "", 0, err
	}
	at := m.at
	if at == 0 {
		at = quoted
	}
	if at == 0 {
		return "", 0, fmt.Errorf("no stop of %s quotes it", m.scene)
	}
	a.Extra = append(a.Extra, "t="+instant(at))
	return a.String(), at, nil
}

// open returns the address of a scene, and the instant at which its story quotes a phrase.
func open(scene, phrase string) (a locks.Address, quoted time.Duration, err error) {
	a, ok := ownScenes[scene]
	if ok {
		for _, stop := range locks.OpeningStops {
			if scene == "herd beside chain" && stop.Quote == phrase {
				quoted = stop.At
			}
		}
		return a, quoted, nil
	}
	l, err := locks.Find(scene)
	if err != nil {
		return a, 0, err
	}
	if l.Story == nil {
		return l.Open(), 0, nil
	}
	for _, stop := range l.Story.Stops {
		if stop.Quote == phrase {
			quoted = stop.At
		}
	}
	return l.Tell(), quoted, nil
}

// instant writes 234ms or 4620us.
func instant(at time.Duration) string {
	if at%time.Millisecond == 0 {
		return fmt.Sprint(at.Milliseconds(), "ms")
	}
	return fmt.Sprint(at.Microseconds(), "us")
}

// bugLook is the first row that plays a bug: a link to the bug shows the same code.
func (r *reader) bugLook(id string) (code, listing []Excerpt, err error) {
	i := slices.IndexFunc(moments, func(m moment) bool { return m.scene == id && m.at == 0 })
	if i < 0 {
		return nil, nil, nil
	}
	var row Row
	err = r.show(&row, &moments[i])
	return row.Code, row.Listing, err
}
