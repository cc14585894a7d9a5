package guide

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum/scenes"
)

// A page is a page of Markdown.
type page struct {
	sections []section // the first is the page's beginning
}

type section struct{ heading, anchor, text string }

var (
	linkMark  = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	codeMark  = regexp.MustCompile("`([^`]+)`")
	boldMark  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	headings  = regexp.MustCompile(`(?m)^(#{1,3}) (.+)\n`)
	comments  = regexp.MustCompile(`(?m)^<!--.*-->\n`)
	switches  = regexp.MustCompile(`(?m)^(?:English|\[English\]\([^)]*\)) \| .*\n`)
	fenced    = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```\n")
	arrow     = regexp.MustCompile(`^(\w+)(-{1,2}(?:>>|\)|x))(\w+): (.*)$`)
	note      = regexp.MustCompile(`^Note over (\w+)(?:,(\w+))?: (.*)$`)
	role      = regexp.MustCompile(`^participant (\w+)(?: as (.*))?$`)
	anchorTag = regexp.MustCompile(`<a href="([^"]*)">`)
	imageTag  = regexp.MustCompile(`<img src="([^"]+\.svg)"`)
	bugHead   = regexp.MustCompile(`^([A-E]\d+)(?:: |：)`)
	// A function of the linked file, in English before the link, in Chinese behind it.
	namedAfter = regexp.MustCompile("^ ?的 ?`(\\w+)`")
	named      = regexp.MustCompile("`(\\w+)`[^`\\[]*$")
)

// inline writes a line of Markdown as HTML: code, bold, and links to what the page has.
func (r *reader) inline(md, dir string) string {
	var out strings.Builder
	plain := func(md string) string {
		return boldMark.ReplaceAllString(codeMark.ReplaceAllString(html.EscapeString(md), "<code>$1</code>"), "<b>$1</b>")
	}
	from := 0
	for _, m := range linkMark.FindAllStringSubmatchIndex(md, -1) {
		function := ""
		if f := named.FindStringSubmatch(md[from:m[0]]); f != nil {
			function = f[1]
		}
		if f := namedAfter.FindStringSubmatch(md[m[1]:]); f != nil {
			function = f[1]
		}
		out.WriteString(plain(md[from:m[0]]))
		text := plain(md[m[2]:m[3]])
		if key := r.look(dir, md[m[4]:m[5]], function); key != "" {
			text = `<a data-see="` + html.EscapeString(key) + `">` + text + `</a>`
		}
		out.WriteString(text)
		from = m[1]
	}
	out.WriteString(plain(md[from:]))
	return out.String()
}

// look returns the key of what a link leads to, and makes it; "" if the page does not
// have it.
func (r *reader) look(dir, href, function string) string {
	if strings.Contains(href, "://") {
		return ""
	}
	file, anchor, _ := strings.Cut(href, "#")
	file = path.Join(dir, file)
	switch {
	case strings.HasSuffix(file, ".go"):
		s, err := r.source(file)
		if err != nil {
			return ""
		}
		if r.looks[file] == nil {
			r.looks[file] = &Look{Title: locks.Text{En: file, Zh: file}, File: file}
		}
		for _, e := range s.parts {
			if e.Name == function {
				return file + ":" + function
			}
		}
		return file
	case strings.HasSuffix(file, ".md"):
		return r.pageLook(file, anchor)
	}
	if lock := r.step(file); lock != "" {
		return lock
	}
	return r.pageLook(file+"/README.md", anchor)
}

var folders = map[string]string{
	"naive": path.Dir(step1), "herd": path.Dir(step2), "predecessor": path.Dir(step3), "reentrant": path.Dir(step4), "timeout": path.Dir(step5),
}

// step makes the look of a step's folder: its file, and its lock at work.
func (r *reader) step(folder string) string {
	for _, l := range locks.All() {
		of := folders[l.Name]
		if l.Group != locks.Steps || of == "" || folder != of {
			continue
		}
		file := folder + "/lock.go"
		if _, err := r.source(file); err != nil {
			return ""
		}
		if r.looks[folder] == nil {
			a := l.Tell()
			a.Extra = append(a.Extra, "t="+instant(l.Story.Stops[0].At))
			r.looks[folder] = &Look{Title: l.Title, File: file, Scene: a.String()}
		}
		return folder
	}
	return ""
}

// page reads a page in a language.
func (r *reader) page(name string) (*page, error) {
	if p, ok := r.pages[name]; ok {
		return p, nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	md := switches.ReplaceAllString(comments.ReplaceAllString(strings.ReplaceAll(string(text), "\r\n", "\n"), ""), "")
	p := &page{}
	from, heading, first := 0, "", true
	for _, m := range headings.FindAllStringSubmatchIndex(md, -1) {
		if !first {
			p.sections = append(p.sections, section{heading, scenes.Anchor(heading), md[from:m[0]]})
		}
		first = false
		from, heading = m[1], md[m[4]:m[5]]
	}
	p.sections = append(p.sections, section{heading, scenes.Anchor(heading), md[from:]})
	r.pages[name] = p
	return p, nil
}

// pageLook makes the look of a section of a page, or of its beginning, in both languages:
// the n-th heading of an edition is that of the other.
func (r *reader) pageLook(file, anchor string) string {
	english := strings.Replace(file, ".zh-CN.md", ".md", 1)
	p, err := r.page(file)
	if err != nil {
		return ""
	}
	n := 0
	for i, s := range p.sections {
		if s.anchor == anchor {
			n = i
		}
	}
	en, err := r.page(english)
	if err != nil || n >= len(en.sections) {
		return ""
	}
	key := english
	if n > 0 {
		key += "#" + en.sections[n].anchor
	}
	if r.looks[key] != nil {
		return key
	}
	look := &Look{}
	r.looks[key] = look // before its text, which may link to itself
	zh, err := r.page(language.Chinese.Page(english))
	if errors.Is(err, fs.ErrNotExist) {
		zh = en
	}
	for of, p := range map[*locks.Text]*page{{En: "en"}: en, {En: "zh"}: zh} {
		if n >= len(p.sections) {
			continue
		}
		s := p.sections[n]
		text := r.render(s.text, path.Dir(file))
		if of.En == "en" {
			look.Title.En, look.HTML.En = s.heading, text
		} else {
			look.Title.Zh, look.HTML.Zh = s.heading, text
		}
	}
	if m := bugHead.FindStringSubmatch(look.Title.En); m != nil && english == "docs/bugs.md" {
		look.Scene = bugScene(m[1])
		look.Code, look.Listing, _ = r.bugLook(m[1])
	}
	return key
}

// bugScene is the address of a bug's story, at its first stop; "" if the lab does not
// have it.
func bugScene(id string) string {
	l, err := locks.Find(id)
	if err != nil || l.Story == nil {
		return ""
	}
	a := l.Tell()
	a.Extra = append(a.Extra, "t="+instant(l.Story.Stops[0].At))
	return a.String()
}

// figure makes the look of a section or of a picture.
func (r *reader) figure(name string) error {
	if r.looks[name] != nil {
		return nil
	}
	if strings.HasSuffix(name, ".svg") {
		image, err := r.image(name)
		text := `<img src="` + image + `" alt="` + html.EscapeString(path.Base(name)) + `">`
		r.looks[name] = &Look{Title: locks.Text{En: name, Zh: name}, HTML: locks.Text{En: text, Zh: text}}
		return err
	}
	file, anchor, _ := strings.Cut(name, "#")
	if r.pageLook(file, anchor) != name {
		return fmt.Errorf("the guide links to %s, and no page has this section", name)
	}
	return nil
}

func (r *reader) image(name string) (string, error) {
	svg, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg), err
}

// render writes a section as HTML.
func (r *reader) render(md, dir string) string {
	md = fenced.ReplaceAllStringFunc(md, func(block string) string { return "\n\n" + lanes(fenced.FindStringSubmatch(block)[1]) + "\n\n" })
	pieces := strings.Split(md, "\x00")
	var out bytes.Buffer
	for i, piece := range pieces {
		if i%2 == 1 {
			out.WriteString(piece)
		} else if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(piece), &out); err != nil {
			out.WriteString(html.EscapeString(piece))
		}
	}
	text := imageTag.ReplaceAllStringFunc(out.String(), func(tag string) string {
		image, err := r.image(path.Join(dir, imageTag.FindStringSubmatch(tag)[1]))
		if err != nil {
			return tag
		}
		return `<img src="` + image + `"`
	})
	// Links to what the page has, and to nothing else.
	return anchorTag.ReplaceAllStringFunc(text, func(tag string) string {
		file, anchor, _ := strings.Cut(html.UnescapeString(anchorTag.FindStringSubmatch(tag)[1]), "#")
		key := strings.Replace(path.Join(dir, file), ".zh-CN.md", ".md", 1)
		if anchor != "" {
			key += "#" + anchor
		}
		if r.looks[key] == nil {
			return "<a>"
		}
		return `<a data-see="` + html.EscapeString(key) + `">`
	})
}

// lanes writes a sequence diagram as a table: a column for each of those that take part,
// and a row for each message, between the two. Other diagrams are left out.
func lanes(mermaid string) string {
	lines := strings.Split(strings.TrimSpace(mermaid), "\n")
	if strings.TrimSpace(lines[0]) != "sequenceDiagram" {
		return ""
	}
	var columns []string
	var out strings.Builder
	column := func(name string) int {
		for i, c := range columns {
			if c == name {
				return i
			}
		}
		columns = append(columns, name)
		return len(columns) - 1
	}
	cell := func(class, from, to, text string) {
		a, b := column(from), column(to)
		if a > b {
			a, b, class = b, a, class+" left"
		}
		fmt.Fprintf(&out, `<tr>%s<td class="%s" colspan="%d">%s</td></tr>`, strings.Repeat("<td></td>", a), class, b-a+1, html.EscapeString(text))
	}
	var heads strings.Builder
	for _, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if m := role.FindStringSubmatch(line); m != nil {
			column(m[1])
			name := m[2]
			if name == "" {
				name = m[1]
			}
			fmt.Fprintf(&heads, "<th>%s</th>", html.EscapeString(name))
		} else if m := arrow.FindStringSubmatch(line); m != nil {
			class := "sent"
			if strings.HasSuffix(m[2], "x") {
				class = "sent lost"
			}
			cell(class, m[1], m[3], m[4])
		} else if m := note.FindStringSubmatch(line); m != nil {
			to := m[2]
			if to == "" {
				to = m[1]
			}
			cell("note", m[1], to, m[3])
		}
	}
	return "\x00<table class=\"lanes\"><thead><tr>" + heads.String() + "</tr></thead><tbody>" + out.String() + "</tbody></table>\x00"
}
