package guide

import (
	_ "embed"
	"strings"
)

//go:embed comments.zh-CN.txt
var translations string // a paragraph of a comment, a tab, and its Chinese
//go:embed names.txt
var counterparts string // an article, its name for a thing, our file, our name

// remarks returns the paragraphs of the comments, and the items of their lists, by the numbers of their last lines, from 0.
func remarks(code string) map[int]string {
	all, aloneAbove := make(map[int]string), false
	for i, line := range strings.Split(code, "\n") {
		before, comment, _ := strings.Cut(line, "//")
		alone := strings.TrimSpace(before) == "" // no code is beside the comment
		text, isItem := strings.CutPrefix(strings.TrimSpace(comment), "- ")
		if text != "" && alone && aloneAbove && !isItem { // it continues what is above
			text = strings.TrimSpace(all[i-1] + " " + text)
			delete(all, i-1)
		}
		if text != "" {
			all[i] = text
		}
		aloneAbove = alone
	}
	return all
}

// Comments returns the Chinese of the comments in a step's lock.go, or in a part of it, by the numbers of the lines
// that they follow, from 0. A comment without a translation is left out.
func Comments(code string) map[int]string {
	chinese := make(map[int]string)
	for line, remark := range remarks(code) {
		if _, rest, ok := strings.Cut("\n"+translations, "\n"+remark+"\t"); ok {
			chinese[line], _, _ = strings.Cut(rest, "\n")
		}
	}
	return chinese
}

// articlesNames returns an article's names for a part of our code. The row is the name of one of the article's rows.
func articlesNames(row string, e Excerpt) (names []string) {
	for line := range strings.Lines(counterparts) {
		f := strings.Fields(line)
		article, theirName, file, ourName := f[0], f[1], f[2], f[3]
		if strings.HasPrefix(row, article) && file == e.File && ourName == e.Name {
			names = append(names, theirName)
		}
	}
	return names
}
