package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"example.com/zklock/docs/exercises/breaking"
	"example.com/zklock/internal/language"
)

// stubsFile has the hash of each exercise's stub in each language, so that one that
// nobody has touched need not be graded. go test ./docs/exercises -exercises.update
// writes it.
const stubsFile = "docs/exercises/stubs.json"

// stubs are the hashes, by the exercise's folder.
type stubs map[string]map[language.Language]string

func readStubs(root string) (stubs, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stubsFile)))
	if err != nil {
		return nil, err
	}
	var s stubs
	return s, json.Unmarshal(text, &s)
}

// language is that of the stub that an attempt is, "" if it is none.
func (s stubs) language(a *attempt) language.Language {
	for l, hash := range s[a.folder] {
		if hash == a.hash {
			return l
		}
	}
	return ""
}

// is says that an attempt is a stub, as it was.
func (s stubs) is(a *attempt) bool { return s.language(a) != "" }

// start puts the stub into the reader's language. A file that has been written to
// stays as it is.
func (a *app) start(e *exercise) error {
	at, err := read(e.dir(a.root), e)
	if err != nil {
		return err
	}
	known, err := readStubs(a.root)
	if err != nil {
		return err
	}
	file := "docs/exercises/" + e.folder + "/" + e.writes()
	switch is := known.language(at); {
	case is == "":
		return complaint("exercise %d is begun, and its file stays as it is; this begins again: git checkout %s", e.number, file)
	case is == a.language:
	case is == language.Chinese:
		return complaint("the stub of exercise %d is in Chinese; this has the English one: git checkout %s", e.number, file)
	default:
		stub, err := os.ReadFile(at.files[e.writes()])
		if err != nil {
			return err
		}
		if stub, err = e.chineseStub(stub); err != nil {
			return err
		}
		if err := os.WriteFile(at.files[e.writes()], stub, 0o644); err != nil {
			return err
		}
	}
	return a.goal(e)
}

// chineseStub is a stub with Chinese comments. All else is as it was, the line ends too.
func (e *exercise) chineseStub(stub []byte) ([]byte, error) {
	text := string(unixLines(stub))
	list, marker := comments(text), "//"
	if e.ext == breaking.File {
		list, marker = notes(text), "#"
	}
	var out strings.Builder
	last := 0
	for _, c := range list {
		twin, ok := stubWords[unmarked(text[c.from:c.to], marker)]
		if !ok {
			return nil, fmt.Errorf("%s: this comment has no Chinese twin: %s", e.folder, text[c.from:c.to])
		}
		out.WriteString(text[last:c.from])
		out.WriteString(commented(twin, marker))
		last = c.to
	}
	out.WriteString(text[last:])
	if bytes.Contains(stub, []byte("\r\n")) {
		return []byte(strings.ReplaceAll(out.String(), "\n", "\r\n")), nil
	}
	return []byte(out.String()), nil
}

// A span is a comment of some lines.
type span struct{ from, to int }

// comments are those of a program.
func comments(program string) (list []span) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", program, parser.ParseComments)
	if err != nil {
		return nil
	}
	for _, group := range f.Comments {
		list = append(list, span{fset.Position(group.Pos()).Offset, fset.Position(group.End()).Offset})
	}
	return list
}

var noted = regexp.MustCompile(`(?m)^#.*(?:\n#.*)*`)

// notes are the comments of a file that is not a program.
func notes(text string) (list []span) {
	for _, at := range noted.FindAllStringIndex(text, -1) {
		list = append(list, span{at[0], at[1]})
	}
	return list
}

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
		fits := func(piece string) bool { return wide(line)+1+wide(strings.TrimLeft(piece, " ")) <= columns }
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

// wide says how many columns a text takes on a terminal.
func wide(text string) (n int) {
	for _, r := range text {
		n++
		if unicode.Is(unicode.Han, r) || 0x3000 <= r && r <= 0x303f || 0xff00 <= r && r <= 0xff60 || r == '“' || r == '”' {
			n++
		}
	}
	return n
}
