package main

import (
	"html/template"
	"path"
	"regexp"
	"strings"
)

// A slide is a part of docs/teaching/slides.md. Lines of three hyphens are between them.
type slide struct {
	Head, Body, Talk template.HTML // Talk is a question to ask, and its answer
	Scene            bool          // a scene is on it
}

var (
	slideHead = regexp.MustCompile(`<h[12][^>]*>(.*?)</h[12]>\n`)
	// slideTalk has the question in group 1 and the answer in group 2, each with the </p> at its end.
	slideTalk = regexp.MustCompile(`(?s)<blockquote>\n<p><strong>(?:Ask|问)</strong> (.*?</p>)\n` +
		`<p><strong>(?:Answer|答)</strong> (.*?</p>)\n</blockquote>\n`)
)

func slides(body string) (all []slide) {
	for _, part := range strings.Split(body, "<hr>\n") {
		s := slide{Scene: strings.Contains(part, `<figure class="scene"`)}
		if m := slideHead.FindStringSubmatch(part); m != nil {
			s.Head, part = template.HTML(m[1]), strings.Replace(part, m[0], "", 1)
		}
		if m := slideTalk.FindStringSubmatch(part); m != nil {
			s.Talk = template.HTML(`<div class="ask"><p>` + m[1] + `</div><div class="answer"><p>` + m[2] + `</div>`)
			part = strings.Replace(part, m[0], "", 1)
		}
		s.Body = template.HTML(part)
		all = append(all, s)
	}
	return all
}

// writeDeck makes the file with the slides of a page, and returns its name.
func (b *book) writeDeck(p *page) (name string, err error) {
	out := strings.Replace(p.out, "slides", "deck", 1)
	data := map[string]any{"Tag": langTag(p.lang), "Policy": policy, "Root": b.frame(p.out, "", p.lang).Root,
		"Title": p.title, "Slides": slides(p.body)}
	return path.Base(out), b.execute("deck.html", out, data)
}
