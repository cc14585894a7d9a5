// Command teaching writes the slides of the lecture and the handout: two HTML files
// that need nothing else, except that the slides show scenes of the lab in frames if
// its page is beside them.
//
//	go run ./docs/lab -out course/lab.html   # the page of the lab
//	go run ./docs/teaching -out course       # course/slides.html and course/handout.html
//
// They are in the language of the flag -lang, else of LC_ALL or LANG. Their texts are
// slides.md and handout.md beside this file, or slides.zh-CN.md and handout.zh-CN.md.
// A code block may name what it shows: "go FILE FUNC" a function of the repository,
// "scene NAME" a scene of the lab.
package main

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldhtml "github.com/yuin/goldmark/renderer/html"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/language"
)

var (
	//go:embed slides.html
	slidesPage string
	//go:embed handout.html
	handoutPage string
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "teaching:", err)
		os.Exit(1)
	}
}

func command(say io.Writer, args []string) error {
	flags := flag.NewFlagSet("teaching", flag.ExitOnError)
	lang := language.Of("")
	flags.Var(&lang, "lang", language.Usage)
	out := flags.String("out", ".", "the `folder` to write into")
	lab := flags.String("lab", "lab.html", "the `address` of the lab's page, as seen from the slides")
	from := flags.String("from", "docs/teaching", "the `folder` with the texts of the slides and the handout")
	flags.Parse(args)
	return run(say, lang, *from, *out, *lab)
}

// words are the messages of the command, and the words of the pages besides their
// texts.
type words struct {
	Lang, wrote, needsLab, frame string
}

var inLanguage = map[language.Language]words{
	language.English: {"en", "wrote %s\n", "The scenes need the lab beside the slides: go run ./docs/lab -out %s\n", "a scene of the lab"},
	language.Chinese: {"zh-CN", "已写入 %s\n", "播放场景要用到实验室，请把它放在幻灯片旁边：go run ./docs/lab -out %s\n", "实验室的一个场景"},
}

// run writes the slides and the handout.
func run(say io.Writer, lang language.Language, from, out, lab string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b := &builder{lang: lang, from: from, lab: lab}
	for _, page := range []struct {
		name  string
		build func() (string, error)
	}{{"slides", b.slidesHTML}, {"handout", b.handoutHTML}} {
		text, err := page.build()
		if err != nil {
			return fmt.Errorf("%s: %w", lang.Page(page.name+".md"), err)
		}
		file := filepath.Join(out, page.name+".html")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(say, inLanguage[lang].wrote, file)
	}
	if _, err := os.Stat(filepath.Join(out, lab)); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(say, inLanguage[lang].needsLab, filepath.Join(out, lab))
	}
	return nil
}

// A builder turns Markdown into the pages.
type builder struct {
	lang language.Language
	from string // the folder of the texts; what they name is relative to it
	lab  string // address of the lab
}

// A slide is a part of a text, which a line of three hyphens ends.
type slide struct {
	Minute int // of the lecture; -1: it is not in the plan
	Title  string
	Head   template.HTML // the title, with its code as code
	Body   template.HTML
	Ask    template.HTML
	Answer template.HTML
	Scene  bool

	title, ask, answer string // as Markdown
}

var (
	minuteMark = regexp.MustCompile(`(?m)^<!-- minute (\d+) -->\n`)
	askMark    = regexp.MustCompile(`(?m)^> \*\*(?:Ask|问)\*\* (.+(?:\n> .+)*)\n>\n> \*\*(?:Answer|答)\*\* (.+(?:\n> .+)*)\n?`)
	headMark   = regexp.MustCompile(`(?m)^#+ (.+)\n`)
	codeMark   = regexp.MustCompile("`([^`]+)`")
	fenceMark  = regexp.MustCompile("(?ms)^```(go|scene) ([^\n]+)\n(.*?)^```\n")
	imageMark  = regexp.MustCompile(`<img src="([^"]+\.svg)"`)

	// Parts of a text for its readers on the web: the link to its twin, and the stamps
	// by which a test finds what was translated.
	switchMark = regexp.MustCompile(`^(?:English \| \[简体中文\]|\[English\]\([^)]*\) \| 简体中文).*\n+`)
	stampMark  = regexp.MustCompile(`(?m)^<!-- en:\w+ -->\n`)

	preMark  = regexp.MustCompile(`(?s)<pre>.*?</pre>`)
	wideMark = regexp.MustCompile(`[\p{Han}，。、：；？！（）“”]+`)
)

// text reads slides.md or handout.md, or the Chinese edition.
func (b *builder) text(page string) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.from, b.lang.Page(page)))
	if err != nil {
		return "", err
	}
	return stampMark.ReplaceAllString(switchMark.ReplaceAllString(strings.ReplaceAll(string(text), "\r\n", "\n"), ""), ""), nil
}

func (b *builder) slides() (list []slide, err error) {
	text, err := b.text("slides.md")
	if err != nil {
		return nil, err
	}
	for i, part := range strings.Split(text, "\n---\n") {
		part = strings.TrimSpace(part) + "\n"
		s := slide{Minute: -1}
		if m := minuteMark.FindStringSubmatch(part); m != nil {
			s.Minute, _ = strconv.Atoi(m[1])
			part = strings.Replace(part, m[0], "", 1)
		}
		head := headMark.FindStringSubmatch(part)
		if head == nil {
			return nil, fmt.Errorf("slide %d has no heading", i+1)
		}
		s.Title, s.Head = strings.ReplaceAll(head[1], "`", ""), template.HTML(codeMark.ReplaceAllString(html.EscapeString(head[1]), "<code>$1</code>"))
		s.title = head[1]
		part = strings.Replace(part, head[0], "", 1)
		if m := askMark.FindStringSubmatch(part); m != nil {
			s.ask, s.answer = strings.ReplaceAll(m[1], "\n> ", " "), strings.ReplaceAll(m[2], "\n> ", " ")
			part = strings.Replace(part, m[0], "", 1)
		}
		s.Scene = strings.Contains(part, "```scene ")
		for to, from := range map[*template.HTML]string{&s.Body: part, &s.Ask: s.ask, &s.Answer: s.answer} {
			if *to, err = b.render(from); err != nil {
				return nil, fmt.Errorf("slide %d, %s: %w", i+1, s.Title, err)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

func (b *builder) slidesHTML() (string, error) {
	list, err := b.slides()
	if err != nil {
		return "", err
	}
	return b.fill(slidesPage, list[0].Title, list)
}

func (b *builder) handoutHTML() (string, error) {
	text, err := b.text("handout.md")
	if err != nil {
		return "", err
	}
	body, err := b.render(text)
	if err != nil {
		return "", err
	}
	head := headMark.FindStringSubmatch(text)
	if head == nil {
		return "", errors.New("no heading")
	}
	return b.fill(handoutPage, head[1], body)
}

// fill is the page with its language, its title and its body.
func (b *builder) fill(page, title string, body any) (string, error) {
	var out bytes.Buffer
	t, err := template.New("page").Parse(page)
	if err == nil {
		err = t.Execute(&out, map[string]any{"Lang": inLanguage[b.lang].Lang, "Title": title, "Body": body})
	}
	return out.String(), err
}

// render writes Markdown as HTML. The texts are this folder's own, so what they have
// of HTML stays.
func (b *builder) render(md string) (template.HTML, error) {
	var bad error
	md = fenceMark.ReplaceAllStringFunc(md, func(fence string) string {
		m := fenceMark.FindStringSubmatch(fence)
		var text string
		var err error
		if m[1] == "go" {
			text, err = b.function(m[2])
		} else {
			text, err = b.scene(m[2], m[3])
		}
		bad = errors.Join(bad, err)
		return text
	})
	if bad != nil {
		return "", bad
	}
	var out bytes.Buffer
	m := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(goldhtml.WithUnsafe()))
	if err := m.Convert([]byte(md), &out); err != nil {
		return "", err
	}
	text := imageMark.ReplaceAllStringFunc(out.String(), func(tag string) string {
		file := imageMark.FindStringSubmatch(tag)[1]
		svg, err := os.ReadFile(filepath.Join(b.from, filepath.FromSlash(file)))
		bad = errors.Join(bad, err)
		return `<img src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString(svg) + `"`
	})
	// In a picture made of characters a Chinese one is as wide as two others.
	text = preMark.ReplaceAllStringFunc(text, func(pre string) string {
		return wideMark.ReplaceAllString(pre, `<span class="wide">$0</span>`)
	})
	return template.HTML(text), bad
}

// function shows a function of a file, "FILE NAME", as it is now, with blanks for
// its tabs.
func (b *builder) function(what string) (string, error) {
	code, err := b.source(what)
	return "```go\n" + strings.ReplaceAll(code, "\t", "    ") + "\n```\n", err
}

func (b *builder) source(what string) (string, error) {
	file, name, ok := strings.Cut(what, " ")
	if !ok {
		return "", fmt.Errorf("go %s: want a file and a function", what)
	}
	text, err := os.ReadFile(filepath.Join(b.from, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == name {
			code := text[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset]
			return string(code), nil
		}
	}
	return "", fmt.Errorf("%s has no function %s", file, name)
}

// scene is a frame with a scene of the lab, given by its name or its address. The
// frame is filled when its slide is shown, so that only one scene plays.
func (b *builder) scene(name, caption string) (string, error) {
	address, command := name, "go run ./docs/lab -open -scene "+name
	if strings.HasPrefix(name, "#") {
		if _, err := locks.ParseAddress(name); err != nil {
			return "", err
		}
		command = "go run ./docs/lab -open -scene '" + name + "'"
	} else {
		l, err := locks.Find(name)
		if err != nil {
			return "", err
		}
		address = l.Open().String()
	}
	return fmt.Sprintf("<figure class=\"scene\"><div class=\"frame\"><iframe title=\"%s\" data-src=\"%s\"></iframe></div><figcaption>%s "+
		"<code>%s</code></figcaption></figure>\n",
		inLanguage[b.lang].frame, html.EscapeString(b.lab+address+"&lang="+string(b.lang)), html.EscapeString(strings.Join(strings.Fields(caption), " ")),
		html.EscapeString(command)), nil
}
