package guide

import (
	_ "embed"
	"strings"
)

//go:embed comments.zh-CN.txt
var translations string // a paragraph of a comment, a tab, and its Chinese
//go:embed names.txt
var counterparts string // an article, its name for a thing, our file, our name

// remarks are the paragraphs of the comments, and the items of their lists, by their last lines, from 0.
func remarks(code string) map[int]string {
	all, alone := make(map[int]string), false
	for i, line := range strings.Split(code, "\n") {
		before, comment, _ := strings.Cut(line, "//")
		text, item := strings.CutPrefix(strings.TrimSpace(comment), "- ")
		above := alone
		if alone = strings.TrimSpace(before) == ""; text == "" {
			continue
		}
		if above && alone && !item {
			text = strings.TrimSpace(all[i-1] + " " + text)
			delete(all, i-1)
		}
		all[i] = text
	}
	return all
}

// Comments are in Chinese those of a step's lock.go, or of a part of it, by the lines that they follow.
func Comments(code string) map[int]string {
	all := remarks(code)
	for line, remark := range all {
		_, rest, _ := strings.Cut("\n"+translations, "\n"+remark+"\t")
		if all[line], _, _ = strings.Cut(rest, "\n"); rest == "" {
			delete(all, line)
		}
	}
	return all
}

// articlesNames are an article's names for a place that one of its rows shows.
func articlesNames(row string, e Excerpt) (all []string) {
	for line := range strings.Lines(counterparts) {
		if f := strings.Fields(line); strings.HasPrefix(row, f[0]) && f[2] == e.File && f[3] == e.Name {
			all = append(all, f[1])
		}
	}
	return all
}
