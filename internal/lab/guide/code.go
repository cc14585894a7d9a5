package guide

import (
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// An Excerpt is a part of a file.
type Excerpt struct {
	File   string         `json:"file"`
	Name   string         `json:"name,omitempty"`
	Line   int            `json:"line"` // the number of its first line in the file
	Text   string         `json:"text"`
	Marked []int          `json:"marked,omitempty"` // the lines of Text to look at, from 0
	Theirs []string       `json:"theirs,omitempty"` // the article's names for it
	Zh     map[int]string `json:"zh,omitempty"`     // its comments in Chinese, as Comments has them
}

type source struct {
	text  string
	parts []Excerpt // of a Go file what it declares, by names without receivers; of a page its blocks of code, by headings
}

// A checkout has the files that the guide names.
type checkout struct {
	root string
	read map[string]*source // by path, those that have been read
}

// source reads a file, if it has not been read yet.
func (c *checkout) source(file string) (*source, error) {
	if s, ok := c.read[file]; ok {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	s := &source{text: strings.ReplaceAll(string(text), "\r\n", "\n")}
	c.read[file] = s
	if strings.HasSuffix(file, ".go") {
		s.parts, err = Declared(file, s.text)
	} else {
		s.parts = codeBlocks(file, s.text)
	}
	return s, err
}

// Declared returns the functions, types, constants and variables of a Go file, each with the comment before it. A
// declaration of several names has the first of them. The functions come first: if a type and a method have the same
// name, excerpt finds the method.
func Declared(file, text string) (parts []Excerpt, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	add := func(name string, node ast.Node, doc *ast.CommentGroup) {
		begin, end := set.Position(node.Pos()), set.Position(node.End())
		if doc != nil {
			begin = set.Position(doc.Pos())
		}
		parts = append(parts, Excerpt{File: file, Name: name, Line: begin.Line, Text: text[begin.Offset:end.Offset]})
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			add(d.Name.Name, d, d.Doc)
		}
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				var node ast.Node = spec
				var doc *ast.CommentGroup
				if len(d.Specs) == 1 { // with its keyword and comment
					node, doc = d, d.Doc
				}
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name.Name, node, doc)
				case *ast.ValueSpec:
					add(spec.Names[0].Name, node, doc)
				}
			}
		}
	}
	return parts, nil
}

// headingOrBlock has a heading in group 1, or a block of code in group 2.
var headingOrBlock = regexp.MustCompile("(?ms)^#+ ([^\n]+)\n|^```\\w*\n(.*?)^```")

// codeBlocks are the blocks of code of a page, each by the heading above it.
func codeBlocks(file, text string) (all []Excerpt) {
	heading := ""
	for _, m := range headingOrBlock.FindAllStringSubmatchIndex(text, -1) {
		if m[2] >= 0 {
			heading = text[m[2]:m[3]]
			continue
		}
		begin, block := m[4], strings.TrimSuffix(text[m[4]:m[5]], "\n")
		all = append(all, Excerpt{File: file, Name: heading, Line: strings.Count(text[:begin], "\n") + 1, Text: block})
	}
	return all
}

// excerpt returns the part of a file that a place names, with its marks.
func (c *checkout) excerpt(p place) (Excerpt, error) {
	s, err := c.source(p.file)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(p.file, "_test.go") {
		return Excerpt{}, nil // the checkout is a copy without tests
	}
	if err != nil {
		return Excerpt{}, err
	}
	for _, e := range s.parts {
		if e.Name == p.name {
			if e.Marked, err = markedLines(e.Text, p.marks); err != nil {
				return e, fmt.Errorf("%s, %s: %w", p.file, p.name, err)
			}
			return e, nil
		}
	}
	return Excerpt{}, fmt.Errorf("%s has no %s", p.file, p.name)
}

// markedLines finds the lines that marks name. Each mark is looked for behind the line of the one before it.
func markedLines(text string, marks []string) (list []int, err error) {
	lines := strings.Split(text, "\n")
	next := 0
	find := func(part string) (int, error) {
		for ; next < len(lines); next++ {
			if strings.Contains(lines[next], part) {
				next++
				return next - 1, nil
			}
		}
		return 0, fmt.Errorf("no line, or none after the mark before, has %q", part)
	}
	for _, mark := range marks {
		first, last, several := strings.Cut(mark, " … ")
		from, err := find(first)
		if err != nil {
			return nil, err
		}
		to := from
		if several {
			if to, err = find(last); err != nil {
				return nil, err
			}
		}
		for ; from <= to; from++ {
			list = append(list, from)
		}
	}
	return list, nil
}

// marked returns the functions of the articles' listings in which comments mark the lines of a bug.
func (c *checkout) marked(bug string) (all []Excerpt, err error) {
	files, err := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(listings), "*.go"))
	if err != nil {
		return nil, err
	}
	mark := regexp.MustCompile(`[^\t].*//.*\[(?:\w+, )*` + bug + `(?:, \w+)*\]`) // code is before the comment
	for _, file := range files {
		s, err := c.source(listings + filepath.Base(file))
		if err != nil {
			return nil, err
		}
		for _, e := range s.parts {
			for i, line := range strings.Split(e.Text, "\n") {
				if bug != "" && mark.MatchString(line) {
					e.Marked = append(e.Marked, i)
				}
			}
			if len(e.Marked) > 0 {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

//go:embed comments.zh-CN.txt
var translations string // a paragraph of a comment, a tab, and its Chinese
//go:embed names.txt
var counterparts string // an article, its name for a thing, our file, our name

// remarks returns the paragraphs of the comments, and the items of their lists, by the numbers of their last lines, from 0.
func remarks(code string) map[int]string {
	all, aloneAbove := make(map[int]string), false
	for i, line := range strings.Split(code, "\n") {
		before, comment, _ := strings.Cut(line, "//")
		alone := strings.TrimSpace(before) == "" // no code is beside the comment
		text, isItem := strings.CutPrefix(strings.TrimSpace(comment), "- ")
		if text != "" && alone && aloneAbove && !isItem { // it continues what is above
			text = strings.TrimSpace(all[i-1] + " " + text)
			delete(all, i-1)
		}
		if text != "" {
			all[i] = text
		}
		aloneAbove = alone
	}
	return all
}

// Comments returns the Chinese of the comments in a step's lock.go, or in a part of it, by the numbers of the lines
// that they follow, from 0. A comment without a translation is left out.
func Comments(code string) map[int]string {
	chinese := make(map[int]string)
	for line, remark := range remarks(code) {
		if _, rest, ok := strings.Cut("\n"+translations, "\n"+remark+"\t"); ok {
			chinese[line], _, _ = strings.Cut(rest, "\n")
		}
	}
	return chinese
}

// articlesNames returns an article's names for a part of our code. The row is the name of one of the article's rows.
func articlesNames(row string, e Excerpt) (names []string) {
	for line := range strings.Lines(counterparts) {
		f := strings.Fields(line)
		article, theirName, file, ourName := f[0], f[1], f[2], f[3]
		if strings.HasPrefix(row, article) && file == e.File && ourName == e.Name {
			names = append(names, theirName)
		}
	}
	return names
}
