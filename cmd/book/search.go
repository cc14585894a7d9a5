package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"example.com/zklock/internal/i18n"
)

// A term is a row of the glossary: English, Chinese, the meaning in both, and the
// articles' words.
type term struct{ en, zh, meaning, words string }

func newTerm(tableRow ast.Node, source []byte) term {
	var cells []string
	for c := tableRow.FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, strings.TrimSpace(plainText(c, source)))
	}
	cells = append(cells, make([]string, 4)...) // a narrower table leaves the rest ""
	return term{en: cells[0], zh: cells[1], meaning: cells[2], words: cells[3]}
}

// globalScript is a script that gives a name a value.
func globalScript(name string, value any) []byte {
	text, _ := json.Marshal(value) // texts, numbers, lists of them, and JSON
	return []byte("globalThis." + name + "=" + string(text) + ";\n")
}

// sectionsScript has the text of all sections in a language, for the page to look through: of
// each its address, its page, its heading, its text, and the number of links to it.
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

// namesScript has what the listings declare: each name with its file and its address.
func (b *book) namesScript() []byte {
	all := [][3]string{}
	for file, l := range b.listings {
		for name, line := range l.functions {
			all = append(all, [3]string{name, file, file + ".html#L" + fmt.Sprint(line)})
		}
	}
	slices.SortFunc(all, func(x, y [3]string) int { return strings.Compare(x[0]+x[2], y[0]+y[2]) })
	return globalScript("NAMES", all)
}

// glossaryScript has the terms, with their Chinese meanings from the other edition's table.
func (b *book) glossaryScript() []byte {
	meanings := make(map[string]string)
	for _, t := range b.terms[i18n.Chinese] {
		meanings[t.en] = t.meaning
	}
	all := [][5]string{}
	for _, t := range b.terms[i18n.English] {
		all = append(all, [5]string{t.en, t.zh, t.meaning, meanings[t.en], t.words})
	}
	return globalScript("GLOSSARY", all)
}
