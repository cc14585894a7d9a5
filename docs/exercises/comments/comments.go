// Package comments puts the comments of the stubs into Chinese. Everything else of a stub
// stays as it is.
package comments

import (
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"strings"

	"example.com/zklock/internal/language"
)

// The beginning of a comment: in a program, and in the list of answers of exercise
// 12.
const (
	OfGo    = "//"
	OfLists = "#"
)

// Chinese is a stub with Chinese comments. It fails if the translation of one is
// missing.
func Chinese(stub, marker string) (string, error) {
	var out strings.Builder
	last := 0
	for _, c := range of(stub, marker) {
		twin, ok := words[unmarked(stub[c.from:c.to], marker)]
		if !ok {
			return "", fmt.Errorf("this comment has no Chinese twin: %s", stub[c.from:c.to])
		}
		out.WriteString(stub[last:c.from])
		out.WriteString(commented(twin, marker))
		last = c.to
	}
	return out.String() + stub[last:], nil
}

// A span is a comment of some lines.
type span struct{ from, to int }

// of are the comments of a program, or of a list.
func of(text, marker string) (list []span) {
	if marker == OfLists {
		for _, at := range noted.FindAllStringIndex(text, -1) {
			list = append(list, span{at[0], at[1]})
		}
		return list
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil
	}
	for _, group := range f.Comments {
		list = append(list, span{fset.Position(group.Pos()).Offset, fset.Position(group.End()).Offset})
	}
	return list
}

var noted = regexp.MustCompile(`(?m)^#.*(?:\n#.*)*`)

// unmarked is a comment without its markers, each paragraph in one line.
func unmarked(comment, marker string) string {
	var b strings.Builder
	for i, line := range strings.Split(comment, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), marker))
		switch {
		case line == "":
			b.WriteString("\n\n")
		case i > 0 && !strings.HasSuffix(b.String(), "\n"):
			b.WriteString(" " + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// columns are how wide a comment in Chinese may be.
const columns = 84

// commented is a text as a comment. A line ends behind a punctuation mark, or, if what
// follows is too long for a line, at a blank or between two characters of Chinese.
func commented(text, marker string) string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := marker
		add := func(piece string) {
			if line == marker {
				piece = " " + strings.TrimLeft(piece, " ")
			}
			line += piece
		}
		fits := func(piece string) bool {
			return language.Wide(line)+1+language.Wide(strings.TrimLeft(piece, " ")) <= columns
		}
		end := func() {
			lines = append(lines, line)
			line = marker
		}
		for _, clause := range clauses.FindAllString(paragraph, -1) {
			if !fits(clause) && line != marker {
				end()
			}
			if fits(clause) {
				add(clause)
				continue
			}
			for _, piece := range pieces.FindAllString(clause, -1) {
				if !fits(piece) {
					end()
				}
				add(piece)
			}
		}
		end()
	}
	return strings.Join(lines, "\n")
}

var (
	clauses = regexp.MustCompile(`[^，。；：、]+[，。；：、）”]*`)
	// pieces are a word with the blank before it, or a character, and the punctuation
	// behind it.
	pieces = regexp.MustCompile(` ?(?:[（“]*\p{Han}|[^\s\p{Han}，。；：、）”]+)[，。；：、）”]*`)
)
