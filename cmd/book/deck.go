package main

import (
	"html/template"
	"path"
	"regexp"
	"strings"
)

// A slide is a part of docs/teaching/slides.md, which a line of three hyphens ends.
type slide struct {
	Head, Body, Talk template.HTML
	Scene            bool
}

var (
	slideHead = regexp.MustCompile(`<h[12][^>]*>(.*?)</h[12]>\n`)
	// Groups 1 and 2 end in </p>.
	slideTalk = regexp.MustCompile(`(?s)<blockquote>\n<p><strong>(?:Ask|问)</strong> (.*?</p>)\n<p><strong>(?:Answer|答)</strong> (.*?</p>)\n</blockquote>\n`)
)

// slides are those of a page.
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

// writeDeck writes the slides of a page, and returns their file.
func (b *book) writeDeck(p *page) (string, error) {
	out := strings.Replace(p.out, "slides", "deck", 1)
	return path.Base(out), b.execute("deck.html", out, map[string]any{"Tag": langTag(p.lang), "Root": b.frame(p.out, "", p.lang).Root, "Policy": policy,
		"Title": p.title, "Slides": slides(p.body)})
}
