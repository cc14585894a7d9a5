package main

import (
	"fmt"
	"html"
	"html/template"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/guide"
)

// A listing is a file that pages link to, with the sections that speak of it.
type listing struct {
	file, text string
	lines      map[string]int    // by the name of a declaration, the number of its line
	code       map[string]string // by the same name, its text without the comment above it
	mentions   []mention
}

// A mention is a section of a page that links to a listing.
type mention struct {
	page    *page
	heading string // its ID
	line    int    // of the declaration that the section names; 0: it names none
}

var docComment = regexp.MustCompile(`^(?:\s*//[^\n]*\n)+`) // before a declaration

// listingOf returns the listing of a file, which it makes if there is none yet.
func (b *book) listingOf(file string) *listing {
	if l := b.listings[file]; l != nil {
		return l
	}
	text, err := b.read(file)
	if err != nil {
		b.deadLink("%v", err)
	}
	l := &listing{file: file, text: string(text), lines: make(map[string]int), code: make(map[string]string)}
	b.listings[file] = l
	if path.Ext(file) != ".go" {
		return l
	}
	parts, _ := guide.Declared(file, l.text) // a file that does not compile is shown, too
	for _, p := range parts {
		code := docComment.ReplaceAllString(p.Text, "")
		docLines := strings.Count(p.Text, "\n") - strings.Count(code, "\n")
		l.lines[p.Name], l.code[p.Name] = p.Line+docLines, code
	}
	return l
}

func (l *listing) hasLine(line string) bool {
	n, err := strconv.Atoi(line)
	return err == nil && n >= 1 && n <= strings.Count(l.text, "\n")+1
}

// noteLink notes that a section of a page links to the listing, and returns the fragment of the link. names are the
// `code` words before the link. A link without a fragment leads to the declaration of such a name, if the file has one.
func (l *listing) noteLink(p *page, heading string, names []string, fragment string) string {
	m := mention{page: p, heading: heading}
	for _, name := range names {
		declared := strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "()") // Unlock of lease.Unlock()
		if line := l.lines[declared]; line > 0 {
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

// goToken is a comment, a string or a keyword of Go. Group 1 is a string, group 2 a keyword; a comment is in neither.
var goToken = regexp.MustCompile("(?s://[^\n]*|/\\*.*?\\*/)" + // a comment
	"|(\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`|'(?:[^'\\\\\n]|\\\\.)+')" + // a string
	`|\b(break|case|chan|const|continue|default|defer|else|fallthrough|for|func|go|goto|if|import|interface|map|package|` +
	`range|return|select|struct|switch|type|var)\b`)

// highlight writes Go as HTML in which keywords, strings and comments are marked.
func highlight(code string) string {
	var out strings.Builder
	at := 0
	for _, m := range goToken.FindAllStringSubmatchIndex(code, -1) {
		class := "c"
		if m[2] >= 0 {
			class = "s"
		} else if m[4] >= 0 {
			class = "k"
		}
		out.WriteString(html.EscapeString(code[at:m[0]]))
		for i, line := range strings.Split(code[m[0]:m[1]], "\n") { // each line of a listing has its own elements
			if i > 0 {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "<i class=%s>%s</i>", class, html.EscapeString(line))
		}
		at = m[1]
	}
	return out.String() + html.EscapeString(code[at:])
}

// markedLines returns the lines of a file as HTML, each comment with its Chinese below it.
func markedLines(file, text string) []string {
	marked := html.EscapeString(text)
	if path.Ext(file) == ".go" {
		marked = highlight(text)
	}
	shown := strings.Split(strings.TrimSuffix(marked, "\n"), "\n")
	for i, note := range guide.Comments(text) { // the Chinese, by the index of a comment's last line
		indent := shown[i][:len(shown[i])-len(strings.TrimLeft(shown[i], "\t"))]
		shown[i] += `<span class="note" lang="zh-CN">` + "\n" + indent + "<b>" + html.EscapeString(note) + "</b></span>"
	}
	return shown
}

// html returns the listing as HTML for from, a file of the book. Each line can be linked. Beside the line of a mention
// is a link to the section that mentions it: mentions are l.mentions, or nil for a listing without such links.
func (l *listing) html(from string, mentions []mention) template.HTML {
	var out strings.Builder
	for i, line := range markedLines(l.file, l.text) {
		fmt.Fprintf(&out, `<a id="L%d" href="#L%d"></a>%s`, i+1, i+1, line)
		for _, m := range mentions {
			if m.line == i+1 {
				fmt.Fprintf(&out, ` <a class="by" lang="%s" href="%s" title="%s">%s</a>`, langTag(m.page.lang),
					html.EscapeString(relativeTo(from, m.page.out)+"#"+m.heading),
					html.EscapeString(m.page.title), html.EscapeString(m.label()))
			}
		}
		out.WriteByte('\n')
	}
	return template.HTML(`<pre class="code lines">` + out.String() + "</pre>")
}

var bugName = regexp.MustCompile(`^(\w{2,3})(?:: |：)`)

// label is a short name of the section: that of a bug, or the page's title.
func (m mention) label() string {
	for _, h := range m.page.heads {
		if name := bugName.FindStringSubmatch(h.Title); h.ID == m.heading && name != nil {
			return name[1]
		}
	}
	return m.page.title
}

// writeDifferences makes the pages that show two steps side by side: their difference is the lesson.
func (b *book) writeDifferences() error {
	for i := 1; i < len(steps); i++ {
		left, right := b.listingOf(steps[i-1]+"lock.go"), b.listingOf(steps[i]+"lock.go")
		f := b.frame(differenceOf(i), left.file+" → "+right.file, i18n.English)
		f.File, f.Left, f.Diff = right.file, left.file, differ(left, right)
		if err := b.execute("page.html", differenceOf(i), f); err != nil {
			return err
		}
	}
	return nil
}

// differenceOf is the file that shows a step, from 1, beside the next one.
func differenceOf(step int) string { return fmt.Sprintf("%snext.html", steps[step-1]) }

// A row is a line of two files side by side. If one of them does not have it, it is empty there.
type row struct {
	Left, Right         template.HTML
	LeftLine, RightLine int // from 1; 0: there is none
}

// Changed reports whether the two files differ in a row.
func (r row) Changed() bool { return r.LeftLine == 0 || r.RightLine == 0 }

// differ compares two files by their longest common subsequence of lines.
func differ(left, right *listing) (rows []row) {
	l := strings.Split(strings.TrimSuffix(left.text, "\n"), "\n")
	r := strings.Split(strings.TrimSuffix(right.text, "\n"), "\n")
	htmlL, htmlR := markedLines(left.file, left.text), markedLines(right.file, right.text)
	common := make([][]int, len(l)+1) // common[i][j] is the length for the files from lines i and j on
	for i := range common {
		common[i] = make([]int, len(r)+1)
	}
	for i := len(l) - 1; i >= 0; i-- {
		for j := len(r) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if l[i] == r[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(l) || j < len(r); {
		switch {
		case i < len(l) && j < len(r) && l[i] == r[j]:
			rows = append(rows, row{template.HTML(htmlL[i]), template.HTML(htmlR[j]), i + 1, j + 1})
			i, j = i+1, j+1
		case j == len(r) || i < len(l) && common[i+1][j] >= common[i][j+1]:
			rows = append(rows, row{Left: template.HTML(htmlL[i]), LeftLine: i + 1})
			i++
		default:
			rows = append(rows, row{Right: template.HTML(htmlR[j]), RightLine: j + 1})
			j++
		}
	}
	return rows
}
