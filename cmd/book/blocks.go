package main

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"example.com/zklock/internal/bugs/diagram"
)

// chineseRun matches Chinese text. In a picture made of characters, a Chinese character must be as wide as two others.
var chineseRun = regexp.MustCompile(`[\p{Han}，。、：；？！（）“”]+`)

// A blockRenderer renders the blocks of code of a page: a diagram as a picture, a scene as a frame to play it in, Go
// with its keywords marked.
type blockRenderer struct {
	book *book
	page *page
}

func (r *blockRenderer) RegisterFuncs(funcs renderer.NodeRendererFuncRegisterer) {
	funcs.Register(ast.KindFencedCodeBlock, r.render)
}

func (r *blockRenderer) render(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock)
	code, shown := string(block.Lines().Value(source)), "" // shown is HTML
	var err error
	value, _ := block.AttributeString("data-scene")
	address, _ := value.([]byte) // of the scene; nil if there is none
	switch language, what := fenceInfo(block, source); language {
	case "mermaid":
		shown, err = r.diagram(code, string(address))
	case "scene":
		if strings.HasPrefix(what, "#") { // for a shell
			what = "'" + what + "'"
		}
		shown = fmt.Sprintf(`<figure class="scene" data-scene="%s"><figcaption>%s <code>go run ./cmd/lab -open -scene %s`+
			"</code></figcaption></figure>\n", html.EscapeString(string(address)), html.EscapeString(code), html.EscapeString(what))
	case "go":
		if function, ok := block.AttributeString("data-code"); ok {
			code = function.(string) + "\n"
		}
		shown = `<pre class="code">` + highlight(code) + "</pre>\n"
	default:
		shown = "<pre>" + chineseRun.ReplaceAllString(html.EscapeString(code), `<span class="zh">$0</span>`) + "</pre>\n"
	}
	out.WriteString(shown)
	return ast.WalkContinue, err
}

// diagram returns a diagram as HTML. address is that of the scene that the page names before the diagram, or empty. If
// the diagram shows a run of that scene, the film of the run plays below, and the arrows have the instants of their
// packets. If it shows the run of the scene's story, the stops of the story follow as a list.
func (r *blockRenderer) diagram(mermaid, address string) (string, error) {
	if strings.HasPrefix(mermaid, "flowchart") {
		return flowchart(mermaid), nil
	}
	story, storyAt := storyOf(address)
	for _, runAt := range slices.Compact([]string{address, storyAt}) {
		play, err := r.book.storedPlay(runAt)
		if err != nil {
			return "", err
		}
		if play.Trace == nil {
			continue
		}
		s := diagram.Of(play.Trace)
		if drawn, _ := s.Mermaid(r.page.lang); drawn != mermaid {
			continue // the diagram is of another run
		}
		setInstants(s, play.Film)
		figureHTML := fmt.Sprintf("<figure class=\"diagram\" data-scene=\"%s\">%s</figure>\n",
			html.EscapeString(runAt), s.SVG(r.page.title, r.page.lang))
		if runAt == storyAt {
			figureHTML += "<ol class=\"stops\">\n"
			for _, stop := range story.Stops {
				figureHTML += fmt.Sprintf("<li data-at=\"%dns\">%s</li>\n", stop.At, html.EscapeString(caption(stop, r.page.lang)))
			}
			figureHTML += "</ol>\n"
		}
		return figureHTML, nil
	}
	if address != "" {
		r.book.mismatched = append(r.book.mismatched, r.page.src+" "+address) // for a test
	}
	s, err := diagram.Parse(mermaid)
	if err != nil {
		return "", err
	}
	return `<figure class="diagram">` + s.SVG(r.page.title, r.page.lang) + "</figure>\n", nil
}

var (
	flowNode  = regexp.MustCompile(`^(\w+)(?:\(\[|\[)"?(.+?)"?(?:\]\)|\])$`)                   // name[label]
	flowEdge  = regexp.MustCompile(`^(.+?) (?:-- "?(.+?)"? -->|-\. "?(.+?)"? \.->|-->) (.+)$`) // from -- label --> to
	flowGroup = regexp.MustCompile(`^subgraph (\w+)\["(.+)"\]$`)                               // up to a line "end"
)

// flowchart returns a flowchart as a list, for the page to draw: the boxes of each group, and the two of each arrow.
func flowchart(mermaid string) string {
	labels := make(map[string]string)
	box := func(written string) string { // its label is written where it occurs first
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
		if m := flowGroup.FindStringSubmatch(line); m != nil {
			labels[m[1]] = html.EscapeString(m[2])
			fmt.Fprintf(&out, `<li><b data-node="%s">%s</b>`, m[1], labels[m[1]])
			inGroup = true
		} else if m := flowEdge.FindStringSubmatch(line); m != nil {
			from, solid, dotted, ends := box(m[1]), m[2], m[3], m[4] // solid and dotted are labels, of which one is ""
			for end := range strings.SplitSeq(ends, " & ") {
				fmt.Fprintf(&out, "<li data-dotted=\"%t\">%s <i>%s →</i> %s</li>\n", dotted != "", from,
					html.EscapeString(solid+dotted), box(end))
			}
		} else if line == "end" {
			out.WriteString("</li>\n")
			inGroup = false
		} else if boxed := box(line); inGroup {
			out.WriteString(" " + boxed)
		}
	}
	return fmt.Sprintf("<ul class=\"flow\" data-down=\"%t\">\n%s</ul>\n", strings.HasPrefix(mermaid, "flowchart TD"), &out)
}
