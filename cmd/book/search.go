package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"example.com/zklock/internal/i18n"
)

// A term is a row of the glossary: the term in both languages, its meaning in that of the page, the articles' words.
type term struct{ en, zh, meaning, words string }

func newTerm(tableRow ast.Node, source []byte) term {
	var cells []string
	for c := tableRow.FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, strings.TrimSpace(plainText(c, source)))
	}
	cells = append(cells, make([]string, 4)...) // so that a narrower table has four, too
	return term{en: cells[0], zh: cells[1], meaning: cells[2], words: cells[3]}
}

func globalScript(name string, value any) []byte {
	text, _ := json.Marshal(value) // it consists of texts, numbers, lists and JSON: there is no error
	return []byte("globalThis." + name + "=" + string(text) + ";\n")
}

// sectionsScript returns the sections of all pages in a language, for the search. Each is a row, whose columns
// search.js knows: its address, the title of its page, its heading, its text, and the number of links to it.
func (b *book) sectionsScript(lang i18n.Language) []byte {
	all := [][5]any{}
	for _, p := range b.order {
		p = p.in(lang)
		for _, s := range p.sections {
			address := strings.TrimSuffix(p.out+"#"+s.id, "#") // before the first heading there is no id
			all = append(all, [5]any{address, p.title, s.title, s.text, b.linked[address]})
		}
	}
	return globalScript("BOOK", all)
}

// namesScript has what the listings declare, for the search: each name with its file and its address.
func (b *book) namesScript() []byte {
	all := [][3]string{}
	for file, l := range b.listings {
		for name, line := range l.lines {
			all = append(all, [3]string{name, file, file + ".html#L" + fmt.Sprint(line)})
		}
	}
	slices.SortFunc(all, func(x, y [3]string) int { return strings.Compare(x[0]+x[2], y[0]+y[2]) })
	return globalScript("NAMES", all)
}

// glossaryScript has the terms, each with its meaning in both languages.
func (b *book) glossaryScript() []byte {
	inChinese := make(map[string]string)
	for _, t := range b.terms[i18n.Chinese] {
		inChinese[t.en] = t.meaning
	}
	all := [][5]string{}
	for _, t := range b.terms[i18n.English] {
		all = append(all, [5]string{t.en, t.zh, t.meaning, inChinese[t.en], t.words})
	}
	return globalScript("GLOSSARY", all)
}
