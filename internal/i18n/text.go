package i18n

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// A Text is a sentence for people, in both languages. It is made where the sentence is known, passed on as it is, and
// printed in the reader's language. A constant is the English, whose Chinese is in the catalogue.
// In JSON, a Text that is the same in both languages is a string.
type Text string

const between = "\x1e" // the two languages of a Text that has both; no sentence has it

// Both returns a text of which the catalogue need not have the Chinese. Equal texts are equal values.
func Both(en, zh string) Text {
	if chineseOf(en) == zh {
		return Text(en)
	}
	return Text(en + between + zh)
}

// Same returns a text that is the same in both languages: a name, or a message of a lock, the client library or Go.
func Same(text string) Text { return Both(text, text) }

// In returns the text in a language.
func (t Text) In(l Language) string {
	en, zh, both := strings.Cut(string(t), between)
	switch {
	case l != Chinese:
		return en
	case both:
		return zh
	default:
		return chineseOf(en)
	}
}

// String returns the English text, for programs and their authors.
func (t Text) String() string { return t.In(English) }

type pair struct {
	En string `json:"en"`
	Zh string `json:"zh"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the encoder of the value around it decides whether < is escaped
	p := pair{t.In(English), t.In(Chinese)}
	var value any = p
	if p.En == p.Zh {
		value = p.En
	}
	err := e.Encode(value)
	return b.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		var same string
		err := json.Unmarshal(b, &same)
		*t = Same(same)
		return err
	}
	var p pair
	err := json.Unmarshal(b, &p)
	*t = Both(p.En, p.Zh)
	return err
}

// Textf puts the same arguments into the English format and into its Chinese. If the Chinese takes them in another
// order, it numbers them, as in %[2]s. A Text, or an error that has one, is put into each format in its language.
func Textf(format string, args ...any) Text {
	if false {
		_ = fmt.Sprintf(format, args...) // never runs: by this call, vet takes Textf for a printf function
	}
	return textf(format, chineseOf(format), args)
}

// An inserted value is one that is put into a Chinese format. Its text has an edge at both ends.
type inserted struct{ value any }

const edge = "\x00" // which no text has

func (v inserted) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, edge+fmt.FormatString(f, verb)+edge, v.value)
}

// edges match the places at which a blank belongs between a Chinese character and a letter or digit: one of them
// is in the format, and the other in what is put into it.
var edges = []*regexp.Regexp{
	regexp.MustCompile(`(\p{Han})` + edge + `+([\p{Latin}\d])`),
	regexp.MustCompile(`([\p{Latin}\d])` + edge + `+(\p{Han})`),
}

// textf inserts the arguments into both formats. In the Chinese, a blank comes to the edges that match edges.
func textf(en, zh string, args []any) Text {
	english, chinese := make([]any, len(args)), make([]any, len(args))
	for i, arg := range args {
		english[i], chinese[i] = arg, inserted{arg}
		switch arg := arg.(type) {
		case Text:
			english[i], chinese[i] = arg.In(English), inserted{arg.In(Chinese)}
		case error:
			english[i], chinese[i] = arg.Error(), inserted{TextOf(arg).In(Chinese)}
		}
	}
	zh = fmt.Sprintf(zh, chinese...)
	for _, e := range edges {
		zh = e.ReplaceAllString(zh, "$1 $2")
	}
	return Both(fmt.Sprintf(en, english...), strings.ReplaceAll(zh, edge, ""))
}

// List returns names as a list in a sentence.
func List(names []string) Text { return Both(strings.Join(names, ", "), strings.Join(names, "、")) }

// Join puts texts into one. A comma and a semicolon are full-width in Chinese.
func Join(texts []Text, separator string) Text {
	var english, chinese []string
	for _, t := range texts {
		english, chinese = append(english, t.In(English)), append(chinese, t.In(Chinese))
	}
	wide := map[string]string{", ": "、", "; ": "；"}[separator]
	return Both(strings.Join(english, separator), strings.Join(chinese, cmp.Or(wide, separator)))
}

// An Error is an error with a message in both languages.
type Error struct {
	Text
	wraps []error
}

// Errorf returns an error whose message is that of Textf. If the format has a %w, it wraps all errors in the arguments.
func Errorf(format string, args ...any) error {
	if false {
		_ = fmt.Errorf(format, args...) // never runs: by this call, vet knows that a format may have a %w
	}
	e := &Error{Text: textf(strings.ReplaceAll(format, "%w", "%v"), chineseOf(format), args)}
	if strings.Contains(format, "%w") {
		for _, arg := range args {
			if err, ok := arg.(error); ok {
				e.wraps = append(e.wraps, err)
			}
		}
	}
	return e
}

type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// Misusef is Errorf, for an error in a command's arguments.
func Misusef(format string, args ...any) error { return misuse{Errorf(format, args...)} }

// Status is the exit status of a command that ends with err: 2 for an error of Misusef, otherwise 1.
func Status(err error) int {
	if errors.As(err, new(misuse)) {
		return 2
	}
	return 1
}

func (e *Error) Error() string   { return e.In(English) }
func (e *Error) Unwrap() []error { return e.wraps }

// TextOf returns the message of an error. If it is only in English, it is the same in both languages.
func TextOf(err error) Text {
	var e *Error
	if errors.As(err, &e) && e.In(English) == err.Error() { // otherwise something is around it that is only in English
		return e.Text
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []Text
		for _, one := range all.Unwrap() {
			texts = append(texts, TextOf(one))
		}
		if joined := Join(texts, "\n"); joined.In(English) == err.Error() { // by errors.Join
			return joined
		}
	}
	return Same(err.Error())
}

// Wide returns the number of columns that a text takes on a terminal.
func Wide(text string) (n int) {
	for _, r := range text {
		n++
		isWideMark := 0x3000 <= r && r <= 0x303f || 0xff00 <= r && r <= 0xff60 || r == '“' || r == '”'
		if unicode.Is(unicode.Han, r) || isWideMark {
			n++
		}
	}
	return n
}

// Table returns the rows as lines whose cells are below each other. The columns with the indexes right are flush right.
func Table(rows [][]string, right ...int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Wide(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			blanks := strings.Repeat(" ", widths[i]-Wide(cell))
			if slices.Contains(right, i) {
				line += blanks + cell + "  "
			} else {
				line += cell + blanks + "  "
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// Letter is the name of contender i in both languages: A, B, … Z, A2, B2, …
func Letter(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i/26 + 1)
	}
	return name
}

// chineseOf returns the Chinese of an English text or format, or the text itself if the catalogue does not have it.
func chineseOf(en string) string { return cmp.Or(catalogue()[en], en) }

// The catalogue has the Chinese of the texts of package a/b in zh/a-b.po, in the format of GNU gettext: for each
// text a line msgid with the English, and a line msgstr with the Chinese. Both are quoted as in Go.
var catalogue = sync.OnceValue(func() map[string]string {
	chinese := make(map[string]string)
	for _, file := range files() {
		var en string
		for _, line := range strings.Split(file, "\n") {
			keyword, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
			text, _ := strconv.Unquote(quoted)
			switch keyword {
			case "msgid":
				en = text
			case "msgstr":
				chinese[en] = text
			}
		}
	}
	delete(chinese, "") // it says what kind of file it is
	return chinese
})
