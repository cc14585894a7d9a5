package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/zklock/docs/lab/locks"
)

// A row is a row of the reading guide, or one of its headings, for the page that
// shows it beside the code and the lab. Its texts are HTML.
type row struct {
	Name    string    `json:"name"`              // in the page's address: the article's letter and a number
	Heading int       `json:"heading,omitempty"` // 1 for an article, 2 for a section; 0 for a row
	Phrase  string    `json:"phrase,omitempty"`  // what to search for in the article
	En      string    `json:"en"`
	Zh      string    `json:"zh"`
	Title   string    `json:"title,omitempty"`   // of the article, to search the web for
	Code    []excerpt `json:"code,omitempty"`    // functions that the row names
	Listing []excerpt `json:"listing,omitempty"` // of the article, if the row names a bug
	Cure    []excerpt `json:"cure,omitempty"`    // functions that cure that bug
	Scene   string    `json:"scene,omitempty"`   // address in the lab, from the # on
}

// An excerpt is a function of a source file.
type excerpt struct {
	File   string `json:"file"`
	Line   int    `json:"line"` // of its first line
	Text   string `json:"text"`
	Marked []int  `json:"marked,omitempty"` // lines of it, from 0, that are the bug's or that differ
}

var (
	guideRow    = regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\|$")
	guideHead   = regexp.MustCompile(`^(##+) (.+)$`)
	titleRow    = regexp.MustCompile(`(?m)^\| ([A-E]) \| ([^|]+) \|`)
	goFile      = regexp.MustCompile(`\[[^\]]*\]\(([^)#]+\.go)(?:#[^)]*)?\)`)
	identifier  = regexp.MustCompile("`(\\w+)`")
	bugLink     = regexp.MustCompile(`\[([A-E]\d+)\]\([^)]*bugs(?:\.zh-CN)?\.md`)
	stepLink    = regexp.MustCompile(`\(\.\./0\d-(?:(naive)|(herd)|sequential-(predecessor)|(reentrant)|(timeout))`)
	articleHead = regexp.MustCompile(`([A-E])$`)
)

// rows makes the script that holds the rows of the guide.
func (b *builder) rows() ([]byte, error) {
	b.read = make(map[string][]function)
	en, err := b.guide("reading-guide.md")
	if err != nil {
		return nil, err
	}
	zh, err := b.guide("reading-guide.zh-CN.md")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, r := range en {
		en[i].Zh = r.En
		if i < len(zh) && zh[i].Phrase == r.Phrase { // the editions have the same phrases, in the same order
			en[i].Zh = zh[i].En
		}
	}
	text, err := json.Marshal(en)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "// Written by docs/lab/reader.go.\nexport const ROWS = %s;\n", text), nil
}

// guide reads an edition of the guide. Its texts are in En.
func (b *builder) guide(name string) (all []row, err error) {
	text, err := os.ReadFile(filepath.Join(b.root, "docs", name))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(b.root, "README.md"))
	if err != nil {
		return nil, err
	}
	catalogue, err := os.ReadFile(filepath.Join(b.root, "docs", "bugs.md"))
	if err != nil {
		return nil, err
	}
	titles := make(map[string]string)
	for _, m := range titleRow.FindAllStringSubmatch(string(readme), -1) {
		titles[m[1]] = strings.TrimSpace(m[2])
	}
	cures := cureTexts(string(catalogue))
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
				all = append(all, row{Name: fmt.Sprintf("%s-%d", article, len(all)), Heading: min(level, 2), En: inlineHTML(m[2]), Title: titles[article]})
			}
			continue
		}
		m := guideRow.FindStringSubmatch(line)
		if m == nil || article == "" {
			continue
		}
		count++
		r := row{Name: fmt.Sprintf("%s%d", article, count), Phrase: strings.ReplaceAll(m[1], `\|`, "|"), En: inlineHTML(m[2]), Title: titles[article],
			Scene: sceneOf(m[2])}
		if r.Code, err = b.named(m[2], "docs"); err != nil {
			return nil, err
		}
		if bug := bugLink.FindStringSubmatch(m[2]); bug != nil {
			if r.Listing, err = b.listing(bug[1]); err != nil {
				return nil, err
			}
			if r.Cure, err = b.named(cures[bug[1]], "docs"); err != nil {
				return nil, err
			}
			if len(r.Listing) > 0 {
				markDifferent(r.Cure, r.Listing)
			}
		}
		all = append(all, r)
	}
	// Of the headings those remain that rows follow.
	var used []row
	for i, r := range all {
		if r.Heading == 0 || i+1 < len(all) && (all[i+1].Heading == 0 || all[i+1].Heading > r.Heading) {
			used = append(used, r)
		}
	}
	return used, nil
}

// sceneOf returns the scene of the first bug that a text names and that has one,
// or else of the first step.
func sceneOf(md string) string {
	for _, m := range bugLink.FindAllStringSubmatch(md, -1) {
		if l, err := locks.Find(m[1]); err == nil {
			return l.Open().String()
		}
	}
	if m := stepLink.FindStringSubmatch(md); m != nil {
		if l, err := locks.Find(strings.Join(m[1:], "")); err == nil {
			return l.Open().String()
		}
	}
	if strings.Contains(md, "(../zklock/") {
		if l, err := locks.Find("zklock"); err == nil {
			return l.Open().String()
		}
	}
	return ""
}

// cureTexts returns the paragraphs of the catalogue that name the cures.
func cureTexts(catalogue string) map[string]string {
	all := make(map[string]string)
	id := ""
	for p := range strings.SplitSeq(catalogue, "\n\n") {
		if m := bugHeading.FindStringSubmatch(p); m != nil {
			id = m[1]
		}
		if strings.HasPrefix(p, "**The cure**") {
			all[id] = strings.ReplaceAll(p, "\n", " ")
		}
	}
	return all
}

// named returns the functions that a text names before the link to their file.
func (b *builder) named(md, dir string) (all []excerpt, err error) {
	from := 0
	for _, m := range goFile.FindAllStringSubmatchIndex(md, -1) {
		file := path.Join(dir, md[m[2]:m[3]])
		functions, err := b.functions(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a copy without tests; a test of the pages looks for links that lead nowhere
		}
		if err != nil {
			return nil, err
		}
		for _, name := range identifier.FindAllStringSubmatch(md[from:m[0]], -1) {
			for _, f := range functions {
				if f.name == name[1] {
					all = append(all, f.excerpt)
				}
			}
		}
		from = m[1]
	}
	return all, nil
}

// listing returns the functions of the articles' listings in which comments mark
// the lines of a bug.
func (b *builder) listing(bug string) (all []excerpt, err error) {
	files, err := filepath.Glob(filepath.Join(b.root, "internal", "museum", "listings", "*.go"))
	if err != nil {
		return nil, err
	}
	mark := regexp.MustCompile(`//.*\[(?:\w+, )*` + bug + `(?:, \w+)*\]`)
	for _, file := range files {
		functions, err := b.functions("internal/museum/listings/" + filepath.Base(file))
		if err != nil {
			return nil, err
		}
		for _, f := range functions {
			for i, line := range strings.Split(f.Text, "\n") {
				if mark.MatchString(line) {
					f.Marked = append(f.Marked, i)
				}
			}
			if len(f.Marked) > 0 {
				all = append(all, f.excerpt)
			}
		}
	}
	return all, nil
}

// markDifferent marks the lines of some functions that others do not have.
func markDifferent(these, those []excerpt) {
	plain := func(line string) string {
		code, _, _ := strings.Cut(line, "//")
		return strings.TrimSpace(code)
	}
	has := map[string]bool{"": true, "}": true}
	for _, e := range those {
		for line := range strings.SplitSeq(e.Text, "\n") {
			has[plain(line)] = true
		}
	}
	for i := range these {
		for n, line := range strings.Split(these[i].Text, "\n") {
			if !has[plain(line)] {
				these[i].Marked = append(these[i].Marked, n)
			}
		}
	}
}

type function struct {
	excerpt
	name string
}

// functions cuts the functions and methods out of a file, with their comments.
func (b *builder) functions(file string) (all []function, err error) {
	if all, ok := b.read[file]; ok {
		return all, nil
	}
	name := filepath.Join(b.root, filepath.FromSlash(file))
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the reading guide names %s: %w", file, err)
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		at := set.Position(from)
		all = append(all, function{excerpt{File: file, Line: at.Line, Text: string(text[at.Offset:set.Position(fn.End()).Offset])}, fn.Name.Name})
	}
	b.read[file] = all
	return all, nil
}
