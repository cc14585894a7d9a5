package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"html"
	"html/template"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A listing is a file that pages link to, with the pages that speak of it.
type listing struct {
	file      string
	text      string
	functions map[string]int // lines of functions, methods and types
	mentions  []mention
}

// A mention is a section that links to a listing.
type mention struct {
	page *page
	at   string // the heading
	line int    // of the function that the link names; 0: it names none
}

// list is the listing of a file.
func (b *book) list(file string) *listing {
	if l := b.listings[file]; l != nil {
		return l
	}
	text, err := b.read(file)
	if err != nil {
		b.dead = append(b.dead, err.Error())
	}
	l := &listing{file: file, text: string(text), functions: make(map[string]int)}
	b.listings[file] = l
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if path.Ext(file) != ".go" || err != nil {
		return l
	}
	note := func(name *ast.Ident) { l.functions[name.Name] = files.Position(name.Pos()).Line }
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			note(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					note(t.Name)
				}
			}
		}
	}
	return l
}

func (l *listing) has(line string) bool {
	n, err := strconv.Atoi(line)
	return err == nil && n >= 1 && n <= strings.Count(l.text, "\n")+1
}

// mention notes that a section of a page links to the listing. The names are those before
// the link: if the file declares one, that is where the link leads.
func (l *listing) mention(p *page, at string, names []string, fragment string) string {
	m := mention{page: p, at: at}
	for _, name := range names {
		if line := l.functions[strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "()")]; line > 0 {
			m.line = line
		}
	}
	if fragment == "" && m.line > 0 {
		fragment = fmt.Sprint("L", m.line)
	}
	if !slices.Contains(l.mentions, m) {
		l.mentions = append(l.mentions, m)
	}
	return fragment
}

// highlight writes Go as HTML in which keywords, strings and comments are marked.
func highlight(code string) string {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(code))
	var s scanner.Scanner
	s.Init(file, []byte(code), func(token.Position, string) {}, scanner.ScanComments)
	var out strings.Builder
	at := 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING || tok == token.CHAR:
			class = "s"
		case tok.IsKeyword():
			class = "k"
		}
		from := file.Offset(pos)
		if class == "" || from+len(text) > len(code) {
			continue
		}
		out.WriteString(html.EscapeString(code[at:from]))
		for i, line := range strings.Split(text, "\n") { // an element ends with its line
			if i > 0 {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "<i class=%s>%s</i>", class, html.EscapeString(line))
		}
		at = from + len(text)
	}
	out.WriteString(html.EscapeString(code[at:]))
	return out.String()
}

// markedLines are the lines of a file as HTML.
func markedLines(file, text string) []string {
	if path.Ext(file) == ".go" {
		text = highlight(text)
	} else {
		text = html.EscapeString(text)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// code is a listing whose lines can be linked, seen from a file of the book. At a function
// there are the sections that speak of it.
func (l *listing) code(from string, of []mention) template.HTML {
	var out strings.Builder
	for i, line := range markedLines(l.file, l.text) {
		fmt.Fprintf(&out, `<a id="L%d" href="#L%d"></a>%s`, i+1, i+1, line)
		for _, m := range of {
			if m.line == i+1 {
				fmt.Fprintf(&out, ` <a class="by" href="%s" title="%s">%s</a>`, html.EscapeString(to(from, m.page.out)+"#"+m.at),
					html.EscapeString(m.page.title), html.EscapeString(m.label()))
			}
		}
		out.WriteByte('\n')
	}
	return template.HTML(`<pre class="code lines">` + out.String() + "</pre>")
}

// label is a short name of the section: that of a bug, or the page's title.
func (m mention) label() string {
	for _, h := range m.page.heads {
		if name, _, ok := strings.Cut(h.Title, ": "); h.ID == m.at && ok && len(name) <= 4 {
			return name
		}
	}
	return m.page.title
}

// A difference is two files side by side, row by row; a row that one of them lacks is
// empty there.
type difference struct{ Rows []row }

type row struct {
	Left, Right         template.HTML
	LeftLine, RightLine int // from 1; 0: there is none
}

// Changed reports whether the two files differ in a row.
func (r row) Changed() bool { return r.LeftLine == 0 || r.RightLine == 0 }

// differ compares two files by their longest common subsequence of lines.
func differ(left, right *listing) difference {
	a, z := strings.Split(strings.TrimSuffix(left.text, "\n"), "\n"), strings.Split(strings.TrimSuffix(right.text, "\n"), "\n")
	htmlA, htmlZ := markedLines(left.file, left.text), markedLines(right.file, right.text)
	common := make([][]int, len(a)+1) // of what begins at these lines
	for i := range common {
		common[i] = make([]int, len(z)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(z) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == z[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var d difference
	for i, j := 0, 0; i < len(a) || j < len(z); {
		switch {
		case i < len(a) && j < len(z) && a[i] == z[j]:
			d.Rows = append(d.Rows, row{template.HTML(htmlA[i]), template.HTML(htmlZ[j]), i + 1, j + 1})
			i, j = i+1, j+1
		case j == len(z) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			d.Rows = append(d.Rows, row{Left: template.HTML(htmlA[i]), LeftLine: i + 1})
			i++
		default:
			d.Rows = append(d.Rows, row{Right: template.HTML(htmlZ[j]), RightLine: j + 1})
			j++
		}
	}
	return d
}
