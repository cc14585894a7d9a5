package site_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

var (
	anyFence = regexp.MustCompile("(?ms)^```.*?^```$")
	markup   = regexp.MustCompile("<!--.*?-->|</?\\w[^>]*>|\\]\\([^()\\s]+\\)|\\*\\*|!?\\[")
	inCode   = regexp.MustCompile("`[^`\n]+`")
	// What a Chinese typesetter would not set, with what is around it up to a blank or Chinese punctuation.
	// If the English page has the same, it is quoted and not wrong.
	wronglySet = regexp.MustCompile(`[^\s，。、；：？！（）“”《》|]*(?:\p{Han}[,;:?!()]|[,;:?!()]\p{Han}|\p{Han}\.(?:\s|$)|\p{Han}[\w` + "\ue000" + `]|` +
		`[\w` + "\ue000" + `]\p{Han})[^\s，。、；：？！（）“”《》|]*`)
	rendered = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	htmlCode = regexp.MustCompile(`(?s)<code.*?</code>`)
)

// withoutMarkup returns a page without markup and blocks of code. A piece of code in a line becomes U+E000.
func withoutMarkup(page string) string {
	page = inCode.ReplaceAllString(anyFence.ReplaceAllString(page, ""), "\ue000")
	return markup.ReplaceAllString(page, "")
}

// typesettingFaults returns the faults in the typesetting of a Chinese page.
func typesettingFaults(en, zh string) (faults []string) {
	quoted := withoutMarkup(en)
	emptyBlocks := anyFence.ReplaceAllStringFunc(zh, func(block string) string {
		return strings.Repeat("\n",
			strings.Count(block, "\n"))
	})
	for i, line := range strings.Split(withoutMarkup(emptyBlocks), "\n") {
		for _, run := range wronglySet.FindAllString(line, -1) {
			if !strings.Contains(quoted, run) {
				faults = append(faults, fmt.Sprintf("line %d: %s: Chinese punctuation is full-width, and a blank is between "+
					"Chinese words and others", i+1, strings.ReplaceAll(run, "\ue000", "`…`")))
			}
		}
	}
	var page strings.Builder
	if err := rendered.Convert([]byte(zh), &page); err != nil {
		return append(faults, err.Error())
	}
	if before, _, ok := strings.Cut(htmlCode.ReplaceAllString(page.String(), ""), "**"); ok {
		before = before[max(0, len(before)-60):]
		faults = append(faults, fmt.Sprintf("the marks ** after %q do not make words bold: between a punctuation mark "+
			"inside of them and a letter outside must be a blank", strings.ToValidUTF8(before, "")))
	}
	return faults
}
