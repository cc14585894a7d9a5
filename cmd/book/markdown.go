package main

import (
	"bytes"
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	htmlrenderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// A page goes through three passes: parsePage, for all pages; resolveLinks, which needs what parsePage has found on
// other pages; and renderPage. A code span such as `go run ./cmd/lab -open -scene A7` comes before a diagram and names
// its scene. One such as `Lock` comes before the link to lock.go and names the function to which the link leads.

var (
	// The first two find what the book leaves out of a page: the link to its twin, and marks of what is generated.
	switchLine = regexp.MustCompile(`^(?:English \| \[简体中文\]|\[English\]\([^)]*\) \| 简体中文).*\n+`)
	comment    = regexp.MustCompile(`(?s)^<!--.*-->\s*$`)
	playLine   = regexp.MustCompile(`^go run \./cmd/lab -open(?: -scene '?([^']+?)'?)?$`) // with a scene or the opening
	lineAnchor = regexp.MustCompile(`^L(\d+)$`)                                           // of a listing: L12
	lineBreaks = regexp.MustCompile(` *\n[ \n]*`)
	// chineseBlanks finds blanks that Chinese does not have: after a mark, and between two characters.
	chineseBlanks = regexp.MustCompile(`([，。、：；？！（）“”]) |(\p{Han}) (\p{Han})`)
)

// markdown is the dialect of the pages, which is that of GitHub. Between two Chinese characters, and beside Chinese
// punctuation, the end of a line adds no blank.
func (b *book) markdown(p *page) goldmark.Markdown {
	all := []goldmark.Extender{extension.Strikethrough, extension.Linkify, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))} // the policy bans styles
	if p.lang == i18n.Chinese { // the option also joins a line to a link that begins the next one
		all = append(all, extension.NewCJK(extension.WithEastAsianLineBreaks(extension.EastAsianLineBreaksCSS3Draft)))
	}
	return goldmark.New(goldmark.WithExtensions(all...), goldmark.WithRendererOptions(htmlrenderer.WithUnsafe(),
		renderer.WithNodeRenderers(util.Prioritized(&blockRenderer{book: b, page: p}, 100))))
}

// parsePage reads a page: its headings, the texts of its sections for the search, and what links of other pages need:
// the scenes in docs/scenes.md, and the terms of the glossary.
func (b *book) parsePage(p *page) {
	p.source = switchLine.ReplaceAll(p.source, nil)
	p.doc = b.markdown(p).Parser().Parse(text.NewReader(p.source))
	var usedIDs []string
	current, scene := section{}, "" // the section so far, and the address of the last scene that it has named
	var words strings.Builder       // of the section so far
	var comments []ast.Node         // they are removed at the end, because the walk goes from each to the next
	endSection := func() {
		lines := lineBreaks.ReplaceAllString(strings.TrimSpace(words.String()), "\n")
		current.text = chineseBlanks.ReplaceAllString(lines, "$1$2$3")
		if current.text != "" || current.title != "" {
			p.sections = append(p.sections, current)
		}
		words.Reset()
	}

	walk(p.doc, func(n ast.Node) {
		if n.Type() == ast.TypeBlock || n.Kind() == tables.KindTableCell {
			words.WriteByte('\n')
		}
		switch n := n.(type) {
		case *ast.Heading:
			endSection()
			h := heading{Level: n.Level, Title: plainText(n, p.source)}
			h.ID = scenes.Anchor(h.Title, usedIDs...)
			usedIDs = append(usedIDs, h.ID)
			n.SetAttributeString("id", []byte(h.ID))
			p.heads = append(p.heads, h)
			p.title = cmp.Or(p.title, h.Title)
			current, scene = section{id: h.ID, title: h.Title}, ""
		case *ast.CodeSpan:
			if m := playLine.FindStringSubmatch(plainText(n, p.source)); m != nil {
				scene = b.sceneOf(m[1])
			}
		case *ast.HTMLBlock:
			if comment.Match(n.Lines().Value(p.source)) {
				comments = append(comments, n)
			}
		case *ast.FencedCodeBlock:
			code := n.Lines().Value(p.source)
			if !isDiagram(n, p.source) {
				words.WriteString("\t" + strings.Join(strings.Fields(string(code)), " "))
			} else if story, _ := storyOf(scene); story != nil { // readers see its stops below the diagram, and no source
				for _, stop := range story.Stops {
					words.WriteString("\n" + caption(stop, p.lang))
				}
			}
			if strings.HasPrefix(p.src, "docs/scenes.") && bytes.HasPrefix(code, []byte("#lock=")) {
				b.addresses[current.id] = strings.TrimSpace(string(code))
			}
		case *ast.Text:
			words.Write(n.Value(p.source))
			if n.SoftLineBreak() {
				words.WriteByte(' ')
			}
		case *tables.TableRow:
			if strings.HasPrefix(p.src, "docs/glossary.") {
				b.terms[p.lang] = append(b.terms[p.lang], newTerm(n, p.source))
			}
		}
	})
	endSection()
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

func isDiagram(n *ast.FencedCodeBlock, source []byte) bool {
	return string(n.Language(source)) == "mermaid"
}

// walk calls f for each node, from the first to the last.
func walk(n ast.Node, f func(ast.Node)) {
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			f(n)
		}
		return ast.WalkContinue, nil
	})
}

func plainText(n ast.Node, source []byte) string {
	var all strings.Builder
	walk(n, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Text:
			all.Write(n.Value(source))
		case *ast.String:
			all.Write(n.Value)
		}
	})
	return all.String()
}

// resolveLinks makes the links of a page those of the book, and notes the scenes that the page plays.
func (b *book) resolveLinks(p *page) {
	var names []string               // the code spans of this block since its last link
	headingCount, headingID := 0, "" // how many headings so far, and the ID of the last one
	scene := ""                      // that the last code span with a play has named; "" after a heading or a diagram
	walk(p.doc, func(n ast.Node) {
		if n.Type() == ast.TypeBlock {
			names = nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			headingID, scene = p.heads[headingCount].ID, ""
			if p.twin != nil && len(p.twin.heads) == len(p.heads) { // the switch of the language stays on the section
				n.SetAttributeString("data-twin", []byte(p.twin.heads[headingCount].ID))
			}
			headingCount++
		case *ast.CodeSpan:
			code := plainText(n, p.source)
			names = append(names, code)
			if m := playLine.FindStringSubmatch(code); m != nil {
				scene = b.sceneOf(m[1])
				b.setScene(n, scene)
			}
		case *ast.FencedCodeBlock:
			if _, what := fenceInfo(n, p.source); what != "" {
				b.fillBlock(p, n, what)
			} else if isDiagram(n, p.source) && scene != "" {
				n.SetAttributeString("data-scene", []byte(scene)) // the code span has noted it as played
				if _, storyAt := storyOf(scene); storyAt != "" {
					b.played[storyAt] = true
				}
				scene = "" // a second diagram has none
			}
		case *ast.Link:
			if code := nameBehind(n, p.source); code != "" { // on a Chinese page
				names = []string{code}
			}
			b.resolveLink(p, n, headingID, names)
			names = nil
		case *ast.Image:
			n.SetAttributeString("loading", []byte("lazy"))
			b.copyPicture(p, string(n.Destination))
		}
	})
}

// nameBehind is the name of a function behind the link to its file, where Chinese has it: [lock.go](…) 的 `Lock`.
func nameBehind(n ast.Node, source []byte) string {
	if text, ok := n.NextSibling().(*ast.Text); ok && strings.TrimSpace(string(text.Value(source))) == "的" {
		if code, ok := text.NextSibling().(*ast.CodeSpan); ok {
			return plainText(code, source)
		}
	}
	return ""
}

// fenceInfo is the text at the fence of a block of code: its language, and what it shows.
func fenceInfo(n *ast.FencedCodeBlock, source []byte) (language, what string) {
	if n.Info != nil {
		language, what, _ = strings.Cut(string(n.Info.Value(source)), " ")
	}
	return language, what
}

// fillBlock fills a block that names what it shows: "go FILE FUNC" a function, "scene NAME" a scene.
func (b *book) fillBlock(p *page, n *ast.FencedCodeBlock, what string) {
	if string(n.Language(p.source)) == "scene" {
		address := b.sceneOf(what)
		if address == "" {
			b.deadLink("%s: %s: no such scene", p.src, what)
		}
		b.setScene(n, address)
		return
	}
	file, name, _ := strings.Cut(what, " ")
	code := b.listingOf(path.Join(path.Dir(p.src), file)).code[name]
	if code == "" {
		b.deadLink("%s: %s: no such function", p.src, what)
	}
	n.SetAttributeString("data-code", code)
}

func (b *book) renderPage(p *page) error {
	var out bytes.Buffer
	err := b.markdown(p).Renderer().Render(&out, p.source, p.doc)
	p.body = out.String()
	if strings.HasPrefix(path.Base(p.src), "hints") {
		p.body = oneByOne(p.body)
	}
	return err
}

// oneByOne hides each section of a page of hints until its heading is clicked.
func oneByOne(body string) string {
	parts := strings.Split(body, "<h2 ")
	for i, part := range parts[1:] {
		head, rest, _ := strings.Cut(part, "</h2>")
		attributes, title, _ := strings.Cut(head, ">")
		parts[i+1] = "<details " + attributes + "><summary>" + title + "</summary>" + rest + "</details>"
	}
	return strings.Join(parts, "")
}

// sceneOf is the address of a lock's scene, or the opening's; "" if there is none.
func (b *book) sceneOf(name string) string {
	switch {
	case name == "":
		return locks.Opening.String()
	case strings.HasPrefix(name, "#lock=exercise-"):
		return name // the exercises' locks are not in this program
	case strings.HasPrefix(name, "#"):
		if a, err := locks.ParseAddress(name); err == nil {
			return a.String()
		}
	}
	if l, err := locks.Find(name); err == nil {
		return l.Open().String()
	}
	return ""
}

func (b *book) setScene(n ast.Node, address string) {
	if address != "" {
		n.SetAttributeString("data-scene", []byte(address))
		b.played[address] = true
	}
}

func (b *book) copyPicture(p *page, name string) {
	file := path.Join(path.Dir(p.src), name)
	body, err := b.read(file)
	if err != nil {
		b.deadLink("%s: %s: no such picture", p.src, name)
	}
	b.files[file] = body
}

// resolveLink makes a link of a page lead to a page or a listing in the book. headingID is that of the heading above
// the link, and names are the `code` before it.
func (b *book) resolveLink(p *page, n *ast.Link, headingID string, names []string) {
	raw := string(n.Destination)
	if strings.Contains(raw, "://") {
		n.SetAttributeString("rel", []byte("noopener noreferrer"))
		return
	}
	file, fragment, _ := strings.Cut(raw, "#")
	target := p.src
	if file != "" {
		target = path.Join(path.Dir(p.src), file)
	}
	wrong := func(what i18n.Text) { b.deadLink("%s: %s: %s", p.src, raw, what) }
	stat, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(target)))
	if err != nil {
		wrong("no such file")
		return
	}
	linked := b.pages[target] // nil: the link is to another file
	if stat.IsDir() {
		if linked = b.pages[path.Join(target, "README.md")]; linked == nil {
			wrong("a folder without a README")
			return
		}
		linked = linked.in(p.lang)
	}
	switch {
	case linked != nil:
		if fragment != "" && linked.headingAt(fragment) < 0 {
			wrong("no such heading")
		}
		target = linked.out
		b.linked[linked.out+"#"+cmp.Or(fragment, linked.heads[0].ID)]++
		if linked.in(i18n.English).src == "docs/scenes.md" && fragment != "" {
			b.setScene(n, b.addresses[fragment])
		}
	case path.Ext(target) == ".svg":
		b.copyPicture(p, file)
	default:
		l := b.listingOf(target)
		target += ".html"
		if line := lineAnchor.FindStringSubmatch(fragment); fragment != "" && (line == nil || !l.hasLine(line[1])) {
			wrong("no such line")
		}
		fragment = l.noteLink(p, headingID, names, fragment)
	}

	address := ""
	if file != "" || linked == nil { // otherwise the link leads to this page
		address = relativeTo(p.out, target)
	}
	if fragment != "" {
		address += "#" + fragment
	}
	n.Destination = []byte(address)
}

func (p *page) headingAt(id string) int { // -1: there is none
	return slices.IndexFunc(p.heads, func(h heading) bool { return h.ID == id })
}
