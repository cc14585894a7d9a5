package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"example.com/zklock/internal/i18n"
)

// A book is made from the Markdown pages of a checkout. The lab is its page that plays scenes: a scene is a lock with a
// schedule, and has an address. The reader is its page that shows an article's phrases beside the code.
type book struct {
	root       string
	pages      map[string]*page    // by the path of their source
	order      []*page             // the English ones, as they are read
	listings   map[string]*listing // the files that the pages link to, by their paths
	addresses  map[string]string   // the addresses of the lab's scenes, by their headings in docs/scenes.md
	terms      map[i18n.Language][]term
	linked     map[string]int             // the number of links to a section, by its address in the book
	played     map[string]bool            // the addresses of the scenes that pages play
	answers    map[string]json.RawMessage // the answers to the lab's requests, by request: see films.go
	files      map[string][]byte          // the files of the finished book, by their paths
	rows       []readerRow                // the rows of docs/reading-guide.md, which the reader shows
	dead       []i18n.Text                // links that lead nowhere
	mismatched []string                   // pages whose diagram shows another run than the scene beside it
}

// A page is a Markdown page of the project in one language.
type page struct {
	src, out string // in the checkout, and in the book
	lang     i18n.Language
	twin     *page // in the other language; nil: there is none
	chapter  *chapter
	deep     bool // it is below another page in the contents
	source   []byte
	doc      ast.Node // of the source; resolveLinks changes it to that of the book
	title    string
	heads    []heading
	sections []section
	body     string // HTML
}

type heading struct {
	Level     int
	ID, Title string
}

// A section is the text from a heading to the next one, for the search: a line for each block, with a tab before code.
type section struct{ id, title, text string }

// A chapter is a part of the book: pages, and folders with all that is below them.
type chapter struct {
	title i18n.Text
	parts []string
}

// chapters are in the order of the README.
var chapters = []chapter{
	{"Start", []string{"README.md"}},
	{"The five steps", []string{"01-naive-ephemeral/", "02-herd-effect/", "03-sequential-predecessor/", "04-reentrant/", "05-timeout/"}},
	{"The articles", []string{"docs/reading-guide.md", "docs/claims.md", "docs/bugs.md", "docs/explorer.md", "docs/scenes.md"}},
	{"Exercises", []string{"docs/exercises/"}},
	{"Testing your code", []string{"docs/testing-your-code.md", "zkserver/"}},
	{"The other locks", []string{"docs/other-locks/"}},
	{"Teaching", []string{"docs/teaching.md", "docs/teaching/"}},
	{"Words", []string{"docs/glossary.md", "docs/chinese-readings.md"}},
	{"In production", []string{"docs/production.md", "zklock/", "cmd/zklock/", "docs/client.md", "docs/sharing-a-path.md"}},
	{"Figures", []string{"docs/benchmark.md", "docs/figures.md", "docs/several-machines.md"}},
	{"The project", []string{"docs/architecture.md", "docs/tests.md", "cmd/book/", "CONTRIBUTING.md"}},
}

// newBook makes the book without the lab. It plays the scenes in the test t: virtual time needs one.
func newBook(t *testing.T, root string) (*book, error) {
	b := &book{root: root, pages: make(map[string]*page), listings: make(map[string]*listing),
		addresses: make(map[string]string), terms: make(map[i18n.Language][]term), linked: make(map[string]int),
		played: make(map[string]bool), files: make(map[string][]byte)}
	if err := b.findPages(); err != nil {
		return nil, err
	}
	if err := b.sortPages(); err != nil {
		return nil, err
	}
	sources := slices.Sorted(maps.Keys(b.pages))
	for _, src := range sources {
		b.parsePage(b.pages[src])
	}
	for _, src := range sources {
		b.resolveLinks(b.pages[src])
	}
	if err := b.readGuide(); err != nil {
		return nil, err
	}
	if err := b.collectAnswers(t); err != nil {
		return nil, err
	}
	for _, src := range sources {
		if err := b.renderPage(b.pages[src]); err != nil {
			return nil, i18n.Errorf("%s: %w", src, err)
		}
	}
	if err := b.assemble(); err != nil {
		return nil, err
	}
	if len(b.dead) > 0 {
		return nil, i18n.Errorf("links that lead nowhere:\n%s", i18n.Join(b.dead, "\n"))
	}
	return b, nil
}

func (b *book) deadLink(format string, args ...any) {
	b.dead = append(b.dead, i18n.Textf(format, args...))
}

func (b *book) read(file string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(file)))
	return []byte(strings.ReplaceAll(string(text), "\r\n", "\n")), err
}

func (b *book) findPages() error {
	err := fs.WalkDir(os.DirFS(b.root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".md" {
			return nil
		}
		p := &page{src: file, lang: i18n.English, out: strings.TrimSuffix(file, ".md") + ".html"}
		if rest, isReadme := strings.CutPrefix(path.Base(p.out), "README."); isReadme {
			p.out = path.Join(path.Dir(p.out), "index."+rest)
		}
		if strings.HasSuffix(file, ".zh-CN.md") {
			p.lang = i18n.Chinese
		}
		b.pages[file] = p
		p.source, err = b.read(file)
		return err
	})
	for file, p := range b.pages {
		if q := b.pages[i18n.Chinese.Page(file)]; p.lang == i18n.English && q != nil {
			p.twin, q.twin = q, p
		}
	}
	return err
}

// sortPages puts the pages into the order of the chapters and of their parts. In a folder, the README comes first.
func (b *book) sortPages() error {
	covers := func(part, src string) bool {
		return part == src || strings.HasSuffix(part, "/") && strings.HasPrefix(src, part) // in that folder
	}
	partOf := func(src string) (longest string) { // a part may be in the folder of another one
		for _, c := range chapters {
			for _, part := range c.parts {
				if covers(part, src) && len(part) > len(longest) {
					longest = part
				}
			}
		}
		return longest
	}
	pagesOf := make(map[string][]*page)
	for src, p := range b.pages {
		if p.lang != i18n.English {
			continue
		}
		part := partOf(src)
		if part == "" {
			return i18n.Errorf("%s is in no chapter: put it into chapters in cmd/book/pages.go", src)
		}
		pagesOf[part] = append(pagesOf[part], p)
	}
	sortKey := func(p *page) string { return strings.Replace(p.src, "README.md", "\x00", 1) } // the README is before all
	for i := range chapters {
		for _, part := range chapters[i].parts {
			slices.SortFunc(pagesOf[part], func(p, q *page) int { return strings.Compare(sortKey(p), sortKey(q)) })
			for _, p := range pagesOf[part] {
				p.chapter, p.deep = &chapters[i], p.src != part && p.src != part+"README.md"
				b.order = append(b.order, p)
			}
		}
	}
	return nil
}

// in returns the page in a language, or if it is only in the other one, the page itself.
func (p *page) in(lang i18n.Language) *page {
	if p.lang != lang && p.twin != nil {
		return p.twin
	}
	return p
}

// start is the first page in a language.
func (b *book) start(lang i18n.Language) string { return b.pages["README.md"].in(lang).out }

// relativeTo is the address of a file of the book, as seen from another one.
func relativeTo(from, file string) string {
	if dir := path.Dir(from); dir != "." && strings.HasPrefix(file, dir+"/") {
		return file[len(dir)+1:] // in the same folder, or below it
	}
	return strings.Repeat("../", strings.Count(from, "/")) + file
}
