package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/guide"
	"example.com/zklock/internal/lab/locks"
)

// A readerRow is a row of the reading guide with the pages and pictures that it shows.
type readerRow struct {
	guide.Row
	Figures []figure `json:"figures,omitempty"`
}

type figure struct {
	Title   locks.Text `json:"title"`
	Address locks.Text `json:"address"` // in the book
}

var (
	articleHead = regexp.MustCompile(`[A-E]$`)                        // of a heading: "Article A"
	titleRow    = regexp.MustCompile(`(?m)^\| ([A-E]) \| ([^|]+) \|`) // of the README: an article's letter and title
	hrefInBook  = regexp.MustCompile(`href="([^":]*)"`)
)

// readGuide makes the rows of the reader, and notes the scenes that they play.
func (b *book) readGuide() error {
	p := b.pages["docs/reading-guide.md"]
	if p == nil {
		return nil // a book without it
	}
	titles := make(map[string]string)
	for _, m := range titleRow.FindAllStringSubmatch(string(b.pages["README.md"].source), -1) {
		titles[m[1]] = strings.TrimSpace(m[2])
	}
	rows, chinese := b.rowsOf(p), b.rowsOf(p.in(i18n.Chinese)) // the Chinese rows have their text in En, too
	for i := range rows {
		if len(chinese) != len(rows) || chinese[i].Phrase != rows[i].Phrase {
			return i18n.Errorf("docs/reading-guide.md: %s %s is not in the Chinese edition", rows[i].Name, rows[i].Phrase)
		}
		rows[i].Zh, rows[i].Title = chinese[i].En, titles[rows[i].Name[:1]]
	}
	if err := guide.Fill(b.root, rows); err != nil {
		return err
	}
	for _, r := range rows {
		if strings.HasPrefix(r.Scene, "#lock=") {
			b.played[r.Scene] = true
		}
		shown := readerRow{Row: r}
		for _, name := range r.Figures {
			shown.Figures = append(shown.Figures, b.figure(p, name))
		}
		b.rows = append(b.rows, shown)
	}
	return nil
}

// rowsOf reads the rows of an edition of the guide, and those of its headings that rows follow.
func (b *book) rowsOf(p *page) []guide.Row {
	var all, used []guide.Row
	article, count := "", 0           // the letter, and the number of its rows so far
	html := func(n ast.Node) string { // of a node's children, with the addresses as the reader has them
		var out bytes.Buffer
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			_ = b.markdown(p).Renderer().Render(&out, p.source, c) // to memory
		}
		return hrefInBook.ReplaceAllStringFunc(out.String(), func(attribute string) string {
			address := hrefInBook.FindStringSubmatch(attribute)[1]
			if strings.HasPrefix(address, "#") {
				address = path.Base(p.out) + address
			}
			return `href="` + path.Join(path.Dir(p.out), address) + `"`
		})
	}
	walk(p.doc, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				article, count = articleHead.FindString(plainText(n, p.source)), 0
			}
			if article != "" {
				all = append(all, guide.Row{Name: article, Heading: n.Level - 1, En: html(n)})
			}
		case *tables.TableRow:
			if phrase, ok := n.FirstChild().FirstChild().(*ast.CodeSpan); ok && article != "" { // code in the first cell
				count++
				all = append(all, guide.Row{Name: fmt.Sprintf("%s/%d", article, count),
					Phrase: plainText(phrase, p.source), En: html(n.LastChild())})
			}
		}
	})
	for i, r := range all { // a heading is used if a row comes next, or a heading below it
		if r.Heading == 0 || i+1 < len(all) && (all[i+1].Heading == 0 || all[i+1].Heading > r.Heading) {
			used = append(used, r)
		}
	}
	return used
}

// figure returns a picture or a section of a page, with its address in the book. P is the reading guide.
func (b *book) figure(p *page, name string) figure {
	file, anchor, _ := strings.Cut(name, "#")
	if path.Ext(file) == ".svg" {
		b.copyPicture(p, strings.TrimPrefix(file, "docs/"))
		return figure{i18n.Both(file, file), i18n.Both(file, file)}
	}
	if q := b.pages[file]; q != nil {
		if i := q.headingAt(anchor); i >= 0 {
			zh := q.in(i18n.Chinese)
			en, other := q.heads[i], zh.heads[i]
			return figure{i18n.Both(en.Title, other.Title), i18n.Both(q.out+"#"+en.ID, zh.out+"#"+other.ID)}
		}
	}
	b.deadLink("internal/lab/guide/moments.txt: %s: no such section", name)
	return figure{}
}

func readerPage(lang i18n.Language) string {
	return strings.TrimSuffix(lang.Page("reader.md"), ".md") + ".html"
}

// writeReader writes the reader, which shows an article's phrases beside the code and the lab.
func (b *book) writeReader() error {
	b.files["rows.js"] = globalScript("GUIDE", b.rows)
	for lang, other := range map[i18n.Language]i18n.Language{i18n.English: i18n.Chinese, i18n.Chinese: i18n.English} {
		f := b.frame(readerPage(lang), "", lang)
		f.Twin, f.TwinTag = readerPage(other), langTag(other)
		if err := b.execute("reader.html", readerPage(lang), f); err != nil {
			return err
		}
	}
	return nil
}
