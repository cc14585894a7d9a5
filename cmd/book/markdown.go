package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
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

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

var (
	// Parts of a page for its readers on the web: the link to its twin, which the book has
	// in its head, and the marks of what is generated and translated. Then what the book changes.
	switchLine = regexp.MustCompile(`^(?:English \| \[简体中文\]|\[English\]\([^)]*\) \| 简体中文).*\n+`)
	comment    = regexp.MustCompile(`(?s)^<!--.*-->\s*$`)
	playLine   = regexp.MustCompile(`^go run \./cmd/lab -open(?: -scene '?([^']+?)'?)?$`)
	chineseRun = regexp.MustCompile(`[\p{Han}，。、：；？！（）“”]+`)
	lineAnchor = regexp.MustCompile(`^L(\d+)$`)
	lineBreaks = regexp.MustCompile(` *\n[ \n]*`)
)

// markdown is the dialect of the pages, which is that of GitHub. Between two Chinese characters
// the end of a line adds no blank.
func (b *book) markdown(p *page) goldmark.Markdown {
	extensions := []goldmark.Extender{extension.Strikethrough, extension.Linkify, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))} // a style is against the policy
	if p.lang == i18n.Chinese { // the option also joins a line to a link that begins the next one
		extensions = append(extensions, extension.NewCJK(extension.WithEastAsianLineBreaks(extension.EastAsianLineBreaksSimple)))
	}
	return goldmark.New(goldmark.WithExtensions(extensions...),
		goldmark.WithRendererOptions(htmlrenderer.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(&blocks{b, p}, 100))))
}

// parse reads a page: its headings, the texts of its sections, and what else other
// pages need to know of it.
func (b *book) parse(p *page) {
	p.source = switchLine.ReplaceAll(p.source, nil)
	p.doc = b.markdown(p).Parser().Parse(text.NewReader(p.source))
	used := make(map[string]bool)
	here, scene := section{}, "" // the section so far, and the last scene since its heading
	var comments []ast.Node      // removed at the end: the walk goes from one to the next
	var words strings.Builder    // of the section so far
	flush := func() {
		if here.text = lineBreaks.ReplaceAllString(strings.TrimSpace(words.String()), "\n"); here.text != "" || here.title != "" {
			p.sections = append(p.sections, here)
		}
		words.Reset()
	}
	walk(p.doc, func(n ast.Node) {
		if n.Type() == ast.TypeBlock || n.Kind() == tables.KindTableCell {
			words.WriteByte('\n')
		}
		switch n := n.(type) {
		case *ast.Heading:
			flush()
			h := heading{n.Level, "", plainText(n, p.source)}
			h.ID = scenes.Anchor(h.Title)
			for i := 1; used[h.ID]; i++ {
				h.ID = fmt.Sprintf("%s-%d", scenes.Anchor(h.Title), i)
			}
			used[h.ID] = true
			n.SetAttributeString("id", []byte(h.ID))
			p.heads = append(p.heads, h)
			if p.title == "" {
				p.title = h.Title
			}
			here, scene = section{id: h.ID, title: h.Title}, ""
		case *ast.CodeSpan:
			if m := playLine.FindStringSubmatch(plainText(n, p.source)); m != nil {
				scene = b.sceneOf(m[1])
			}
		case *ast.HTMLBlock:
			if comment.Match(codeLines(n, p.source)) {
				comments = append(comments, n)
			}
		case *ast.FencedCodeBlock:
			code := codeLines(n, p.source)
			drawn := string(n.Language(p.source)) == "mermaid"
			if !drawn { // its source is not prose
				words.WriteString("\t" + strings.Join(strings.Fields(string(code)), " "))
			}
			if story, _ := storyOf(scene); story != nil && drawn {
				for _, stop := range story.Stops {
					words.WriteString("\n" + caption(stop, p.lang))
				}
			}
			if strings.HasPrefix(p.src, "docs/scenes.") && bytes.HasPrefix(code, []byte("#lock=")) {
				b.addresses[here.id] = strings.TrimSpace(string(code))
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
	flush()
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
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

func codeLines(n ast.Node, source []byte) []byte { return n.Lines().Value(source) }

// plainText is the text of a node without its marks.
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

// link makes the links of a page those of the book, and notes the scenes that it plays.
func (b *book) link(p *page) {
	head := 0
	names := []string(nil) // in the block so far, before a link to the file that declares them
	at, scene := "", ""    // the heading, and the last scene since
	walk(p.doc, func(n ast.Node) {
		if n.Type() == ast.TypeBlock {
			names = nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			at, scene = p.heads[head].ID, ""
			if p.twin != nil && len(p.twin.heads) == len(p.heads) { // the switch of the language stays on the section
				n.SetAttributeString("data-twin", []byte(p.twin.heads[head].ID))
			}
			head++
		case *ast.CodeSpan:
			code := plainText(n, p.source)
			names = append(names, code)
			if m := playLine.FindStringSubmatch(code); m != nil {
				scene = b.sceneOf(m[1])
				b.play(n, scene)
			}
		case *ast.FencedCodeBlock:
			if _, what := fenceInfo(n, p.source); what != "" {
				b.show(p, n, what)
			} else if string(n.Language(p.source)) == "mermaid" && scene != "" {
				n.SetAttributeString("data-scene", scene)
				if _, storyAt := storyOf(scene); storyAt != "" {
					b.played[storyAt] = true
				}
				scene = ""
			}
		case *ast.Link:
			if code := nameBehind(n, p.source); code != "" {
				names = []string{code}
			}
			b.follow(p, n, at, names)
			names = nil
		case *ast.Image:
			n.SetAttributeString("loading", []byte("lazy"))
			b.copy(p, string(n.Destination))
		}
	})
}

// nameBehind is the name behind a link, as Chinese has it: [lock.go](…) 的 `Lock`.
func nameBehind(n ast.Node, source []byte) string {
	if of, ok := n.NextSibling().(*ast.Text); ok && strings.TrimSpace(string(of.Value(source))) == "的" {
		if code, ok := of.NextSibling().(*ast.CodeSpan); ok {
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

// show fills a block that names what it shows: "go FILE FUNC" a function, "scene NAME" a scene.
func (b *book) show(p *page, n *ast.FencedCodeBlock, what string) {
	if string(n.Language(p.source)) == "scene" {
		address := b.sceneOf(what)
		if address == "" {
			b.deadLink("%s: %s: no such scene", "%s：%s：没有这个场景", p.src, what)
		}
		b.play(n, address)
		return
	}
	file, name, _ := strings.Cut(what, " ")
	code := b.listingOf(path.Join(path.Dir(p.src), file)).code[name]
	if code == "" {
		b.deadLink("%s: %s: no such function", "%s：%s：没有这个函数", p.src, what)
	}
	n.SetAttributeString("data-code", code)
}

// render makes the page's body.
func (b *book) render(p *page) error {
	var out bytes.Buffer
	err := b.markdown(p).Renderer().Render(&out, p.source, p.doc)
	p.body = out.String()
	if strings.HasPrefix(path.Base(p.src), "hints") {
		p.body = oneByOne(p.body)
	}
	return err
}

// oneByOne makes each section of a page of hints one that opens.
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

// play makes an element one that plays a scene when it is touched.
func (b *book) play(n ast.Node, address string) {
	if address != "" {
		n.SetAttributeString("data-scene", []byte(address))
		b.played[address] = true
	}
}

// copy puts a picture into the book.
func (b *book) copy(p *page, name string) {
	file := path.Join(path.Dir(p.src), name)
	body, err := b.read(file)
	if err != nil {
		b.deadLink("%s: %s: no such picture", "%s：%s：没有这张图", p.src, name)
	}
	b.files[file] = body
}

// follow makes a link one to the page or to the listing in the book. at is the heading above it, names are before it.
func (b *book) follow(p *page, n *ast.Link, at string, names []string) {
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
	wrong := func(en, zh string) { b.deadLink("%s: %s: %s", "%s：%s：%s", p.src, raw, i18n.Text{En: en, Zh: zh}) }
	stat, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(target)))
	if err != nil {
		wrong("no such file", "没有这个文件")
		return
	}
	q := b.pages[target]
	if stat.IsDir() {
		if q = b.pages[path.Join(target, "README.md")]; q == nil {
			wrong("a folder without a README", "文件夹里没有 README")
			return
		}
		q = q.in(p.lang)
	}
	switch {
	case q != nil:
		if fragment != "" && !q.has(fragment) {
			wrong("no such heading", "没有这个标题")
		}
		target = q.out
		b.linked[q.out+"#"+cmp.Or(fragment, q.heads[0].ID)]++
		if english := q.in(i18n.English); english.src == "docs/scenes.md" && fragment != "" {
			b.play(n, b.addresses[fragment])
		}
	case path.Ext(target) == ".svg":
		b.copy(p, file)
	default:
		l := b.listingOf(target)
		target += ".html"
		if line := lineAnchor.FindStringSubmatch(fragment); fragment != "" && (line == nil || !l.has(line[1])) {
			wrong("no such line", "没有这一行")
		}
		fragment = l.mention(p, at, names, fragment)
	}
	if file != "" || q == nil {
		file = relativeTo(p.out, target)
	}
	if fragment != "" {
		file += "#" + fragment
	}
	n.Destination = []byte(file)
}

func (p *page) has(fragment string) bool {
	return slices.ContainsFunc(p.heads, func(h heading) bool { return h.ID == fragment })
}

// blocks writes the blocks of code: a diagram as a picture, Go with its words.
type blocks struct {
	b *book
	p *page
}

func (w *blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		block := n.(*ast.FencedCodeBlock)
		code, err := string(codeLines(block, source)), error(nil)
		scene, _ := block.AttributeString("data-scene")
		switch kind, what := fenceInfo(block, source); kind {
		case "mermaid":
			code, err = w.diagram(code, scene)
		case "scene":
			if strings.HasPrefix(what, "#") {
				what = "'" + what + "'"
			}
			code = fmt.Sprintf("<figure class=\"scene\" data-scene=\"%s\"><figcaption>%s <code>go run ./cmd/lab -open -scene %s</code></figcaption></figure>\n",
				html.EscapeString(fmt.Sprintf("%s", scene)), html.EscapeString(code), html.EscapeString(what))
		case "go":
			if shown, ok := block.AttributeString("data-code"); ok {
				code = shown.(string) + "\n"
			}
			code = `<pre class="code">` + highlight(code) + "</pre>\n"
		default: // in a picture made of characters a Chinese one is as wide as two others
			code = "<pre>" + chineseRun.ReplaceAllString(html.EscapeString(code), `<span class="zh">$0</span>`) + "</pre>\n"
		}
		out.WriteString(code)
		return ast.WalkContinue, err
	})
}

// diagram draws a diagram. If the text before it names a scene of which it is drawn, the film plays below it: then
// the arrows have the instants of their packets, and the story of the scene is a list.
func (w *blocks) diagram(mermaid string, scene any) (string, error) {
	if strings.HasPrefix(mermaid, "flowchart") {
		return flowchart(mermaid), nil
	}
	address, _ := scene.(string)
	story, storyAt := storyOf(address)
	for _, runAt := range slices.Compact([]string{address, storyAt}) {
		play, err := w.b.playOf(runAt)
		if err != nil {
			return "", err
		}
		if play.Trace == nil {
			continue
		}
		s := diagram.Of(play.Trace)
		if drawn, _ := s.Mermaid(w.p.lang); drawn != mermaid {
			continue
		}
		setInstants(s, play.Film)
		figureHTML := fmt.Sprintf("<figure class=\"diagram\" data-scene=\"%s\">%s</figure>\n", html.EscapeString(runAt), s.SVG(w.p.title, w.p.lang))
		if runAt == storyAt {
			figureHTML += "<ol class=\"stops\">\n"
			for _, stop := range story.Stops {
				figureHTML += fmt.Sprintf("<li data-at=\"%dns\">%s</li>\n", stop.At.Nanoseconds(), html.EscapeString(caption(stop, w.p.lang)))
			}
			figureHTML += "</ol>\n"
		}
		return figureHTML, nil
	}
	if address != "" {
		w.b.apart = append(w.b.apart, w.p.src+" "+address)
	}
	s, err := diagram.Parse(mermaid)
	if err != nil {
		return "", err
	}
	return `<figure class="diagram">` + s.SVG(w.p.title, w.p.lang) + "</figure>\n", nil
}

var (
	flowNode = regexp.MustCompile(`^(\w+)(?:\(\[|\[)"?(.+?)"?(?:\]\)|\])$`)
	flowEdge = regexp.MustCompile(`^(.+?) (?:-- "?(.+?)"? -->|-\. "?(.+?)"? \.->|-->) (.+)$`)
	flowSub  = regexp.MustCompile(`^subgraph (\w+)\["(.+)"\]$`)
)

// flowchart writes a flowchart as lines: what is in each group of it, and from each arrow to where
// it leads. A page draws it from them.
func flowchart(mermaid string) string {
	labels := make(map[string]string)
	box := func(written string) string {
		if m := flowNode.FindStringSubmatch(written); m != nil {
			labels[m[1]] = strings.ReplaceAll(html.EscapeString(m[2]), "&lt;br/&gt;", "<br>")
			written = m[1]
		}
		return `<span data-node="` + written + `">` + cmp.Or(labels[written], html.EscapeString(written)) + "</span>"
	}
	var out strings.Builder
	inGroup := false
	for line := range strings.Lines(mermaid) {
		line = strings.TrimSpace(line)
		if m := flowSub.FindStringSubmatch(line); m != nil {
			labels[m[1]] = html.EscapeString(m[2])
			fmt.Fprintf(&out, `<li><b data-node="%s">%s</b>`, m[1], labels[m[1]])
			inGroup = true
		} else if m := flowEdge.FindStringSubmatch(line); m != nil {
			from := box(m[1])
			for end := range strings.SplitSeq(m[4], " & ") {
				fmt.Fprintf(&out, "<li data-dotted=\"%t\">%s <i>%s →</i> %s</li>\n", m[3] != "", from, html.EscapeString(m[2]+m[3]), box(end))
			}
		} else if line == "end" {
			out.WriteString("</li>\n")
			inGroup = false
		} else if boxed := box(line); inGroup {
			out.WriteString(" " + boxed)
		}
	}
	return fmt.Sprintf("<ul class=\"flow\" data-down=\"%t\">\n%s</ul>\n", strings.HasPrefix(mermaid, "flowchart TD"), out.String())
}
