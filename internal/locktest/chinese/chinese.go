// Package chinese translates the messages of the exercises' graders into Chinese, and has
// the Chinese of what the lab's engine says.
//
// The graders speak English wherever a program reads what they say: in the reports
// of a test's process, in the cache, in the files for a lecturer. A sentence is
// translated where a person reads it, as a whole: the table has the format of an
// English sentence and that of its Chinese twin. A finished sentence is found by
// its format, and what was put into it is translated in turn.
package chinese

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Book has the Chinese twins of English sentences: format to format, with the
// same verbs. The Chinese one may take them in another order, as in %[2]s.
type Book struct {
	twins func() map[string]string // made when they are first asked for: most processes never are

	once sync.Once
	// patterns match the English sentences that have something put into them, those
	// with most words of their own first.
	patterns []pattern
}

type pattern struct {
	english *regexp.Regexp
	verbs   int
	twin    string
}

// New makes a book of a table.
func New(table map[string]string) *Book {
	return &Book{twins: func() map[string]string { return table }}
}

// Messages is the book of the graders' messages, with the names of their cases.
var Messages = &Book{twins: sync.OnceValue(table)}

// And makes a book of this one and a table. A sentence that is in both is taken from
// the table.
func (b *Book) And(table map[string]string) *Book {
	return &Book{twins: sync.OnceValue(func() map[string]string { return joined(b.twins(), table) })}
}

// Table returns a copy of the book as a table.
func (b *Book) Table() map[string]string { return joined(b.twins()) }

func table() map[string]string { return joined(glossed(), messages, ofSchedules()) }

// ofSchedules are what is said of a lock that does not come to its end, as exercise 11
// says it of a schedule.
func ofSchedules() map[string]string {
	all := make(map[string]string)
	for english, twin := range messages {
		if endless.MatchString(english) {
			all[strings.Replace(english, "the lock", "the schedule", 1)] = strings.Replace(twin, "锁", "调度", 1)
		}
	}
	return all
}

var endless = regexp.MustCompile(`^the lock (?:hangs|spins|polls|panics|prints|uses|leaks|has started)\b|^the process ends|a goroutine of the lock is busy`)

// glossed are the names of the cases, each with its gloss in brackets: the name is
// what the files and the articles on the cases call it.
func glossed() map[string]string {
	names := make(map[string]string)
	for name, gloss := range cases {
		names[name] = name + "（" + gloss + "）"
	}
	return names
}

// Verbatim is text that is printed as it is: what a lock has printed, or a page.
type Verbatim string

// Verb matches a verb of a format, or a %% in it.
var Verb = regexp.MustCompile(`%%|%(?:\[(\d+)\])?([-+# 0]*(?:\d+|\*)?(?:\.\d+)?)([a-zA-Z])`)

// Sprintf is fmt.Sprintf of the twin of a format, if it has one, with what is put
// into it translated as well. White space around a format is not part of the
// sentence, unless the book has it so.
func (b *Book) Sprintf(format string, args ...any) string {
	english := strings.TrimSpace(format)
	twin, ok := b.twins()[format]
	if !ok {
		if twin, ok = b.twins()[english]; ok {
			before, after, _ := strings.Cut(format, english)
			twin = before + twin + after
		}
	}
	translated := make([]any, len(args))
	for i, arg := range args {
		translated[i] = b.inserted(arg)
	}
	if !ok {
		return fmt.Sprintf(format, translated...)
	}
	return fill(twin, translated)
}

// fill is fmt.Sprintf of a Chinese format. A blank comes between a character of Chinese
// and a letter or digit of what is put in beside it.
func fill(format string, args []any) string {
	var out strings.Builder
	last, n := 0, 0
	for _, at := range Verb.FindAllStringSubmatchIndex(format, -1) {
		out.WriteString(format[last:at[0]])
		last = at[1]
		if at[6] < 0 { // %%
			out.WriteByte('%')
			continue
		}
		if at[2] >= 0 {
			fmt.Sscan(format[at[2]:at[3]], &n)
			n--
		}
		value := "%!" + format[at[6]:at[7]] + "(MISSING)"
		if n < len(args) {
			value = fmt.Sprintf("%"+format[at[4]:at[7]], args[n])
		}
		n++
		before, _ := utf8.DecodeLastRuneInString(out.String())
		first, _ := utf8.DecodeRuneInString(value)
		end, _ := utf8.DecodeLastRuneInString(value)
		after, _ := utf8.DecodeRuneInString(format[last:])
		if apart(before, first) {
			out.WriteByte(' ')
		}
		out.WriteString(value)
		if apart(end, after) {
			out.WriteByte(' ')
		}
	}
	out.WriteString(format[last:])
	return out.String()
}

// apart reports whether a typesetter puts a blank between two characters.
func apart(a, b rune) bool {
	latin := func(r rune) bool { return r < 0x250 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return unicode.Is(unicode.Han, a) && latin(b) || latin(a) && unicode.Is(unicode.Han, b)
}

func (b *Book) inserted(arg any) any {
	switch arg := arg.(type) {
	case Verbatim:
		return string(arg)
	case error:
		return b.Text(arg.Error())
	case fmt.Stringer:
		if _, known := b.sentence(arg.String()); known {
			return b.Text(arg.String())
		}
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
		return b.Text(v.String())
	}
	return arg
}

// places are those in a test at which a case has failed.
var places = regexp.MustCompile(` \((?:\w+\.go:\d+(?: < )?)+\)$`)

// inCode is a place in the code behind a sentence: a function, or a file and a line.
var inCode = regexp.MustCompile(`,? (?:in|at) (\S+\.\S*[\w)])$`)

var ofClient = regexp.MustCompile(`^zk: [a-z ]+$`)

// several are the names of more than one contender or client.
var several = regexp.MustCompile(`^(?:[A-Z]\d*|client)(?: and (?:[A-Z]\d*|client))+$`)

// asserted is an assertion of a schedule in a line: what it says, its place, and what
// was found.
var asserted = regexp.MustCompile(`^(.*, at \w+\.go:\d+) (.+)$`)

// Text translates a finished text, line by line. A line that the book does not know
// stays as it is.
func (b *Book) Text(english string) string {
	if whole, ok := b.twins()[english]; ok && !strings.Contains(whole, "%") {
		return whole
	}
	lines := strings.Split(english, "\n")
	schedule := false
	for i, line := range lines {
		if schedule {
			lines[i] = step(line)
			continue
		}
		schedule = strings.HasSuffix(line, beforeSteps)
		body := strings.TrimSpace(line)
		before, after, _ := strings.Cut(line, body)
		place := places.FindString(body)
		body = strings.TrimSuffix(body, place)
		twin, ok := "", false
		if head, colon := strings.CutSuffix(body, ":"); colon { // it has lines of its own below
			twin, ok = b.sentence(head)
			twin += "："
		}
		if !ok {
			twin, ok = b.sentence(body)
		}
		if ok {
			lines[i] = before + twin + place + after
		}
	}
	return strings.Join(lines, "\n")
}

// Error translates the text of an error. It still wraps what the error wraps.
func (b *Book) Error(err error) error {
	if err == nil {
		return nil
	}
	return translatedError{err, b.Text(err.Error())}
}

type translatedError struct {
	error
	text string
}

func (s translatedError) Error() string { return s.text }
func (s translatedError) Unwrap() error { return s.error }

// sentence finds the twin of one line, and reports whether there is one.
func (b *Book) sentence(english string) (string, bool) {
	if twin, ok := b.twins()[english]; ok && !Verb.MatchString(twin) {
		return twin, true
	}
	if ofClient.MatchString(english) {
		return english, false // an error of the client library stays as it is
	}
	if m := asserted.FindStringSubmatch(english); m != nil {
		twin, ok := b.sentence(m[1])
		failure, also := b.sentence(m[2])
		return twin + "；" + failure, ok && also
	}
	if at := inCode.FindStringSubmatchIndex(english); at != nil {
		if twin, ok := b.sentence(english[:at[0]]); ok {
			return twin + "（" + english[at[2]:at[3]] + "）", true
		}
	}
	if twin, ok := results(english); ok {
		return twin, true
	}
	if last := strings.LastIndex(english, " and "); last > 0 && several.MatchString(english) {
		return strings.ReplaceAll(english[:last], " and ", "、") + " 和 " + english[last+len(" and "):], true
	}
	b.once.Do(b.prepare)
	for _, p := range b.patterns {
		found := p.english.FindStringSubmatch(english)
		if found == nil {
			continue
		}
		args := make([]any, p.verbs)
		for i := range args {
			args[i] = found[i+1]
			if part, ok := b.sentence(found[i+1]); ok {
				args[i] = part
			}
		}
		return fill(p.twin, args), true
	}
	return english, false
}

func (b *Book) prepare() {
	type entry struct {
		english, twin string
		own           int // letters of its own
	}
	var entries []entry
	for english, twin := range b.twins() {
		lines, twins := strings.Split(english, "\n"), strings.Split(twin, "\n")
		if len(lines) != len(twins) {
			continue
		}
		for i, line := range lines { // a text is translated line by line
			line, twin := strings.TrimSpace(line), strings.TrimSpace(twins[i])
			own := Verb.ReplaceAllString(line, "")
			if (own != line || len(lines) > 1) && strings.ContainsFunc(own, unicode.IsLetter) && Check(line, twin) == nil {
				entries = append(entries, entry{line, twin, len(own)})
			}
		}
	}
	slices.SortFunc(entries, func(x, y entry) int {
		return cmp.Or(cmp.Compare(y.own, x.own), strings.Compare(x.english, y.english))
	})
	for _, e := range entries {
		expression, n, last := "^", 0, 0
		for _, at := range Verb.FindAllStringSubmatchIndex(e.english, -1) {
			expression += regexp.QuoteMeta(e.english[last:at[0]])
			if at[6] < 0 { // %%
				expression, last = expression+"%", at[1]
				continue
			}
			switch e.english[at[6]:at[7]] {
			case "d":
				expression += `(-?\d+)`
			case "q":
				expression += `("(?:[^"\\]|\\.)*")`
			default:
				expression += `(.*?)`
			}
			n, last = n+1, at[1]
		}
		expression += regexp.QuoteMeta(e.english[last:]) + "$"
		// What was put into the sentence is text by now, whatever the verb was.
		twin := Verb.ReplaceAllStringFunc(e.twin, func(verb string) string {
			if i := strings.Index(verb, "]"); i > 0 {
				return verb[:i+1] + "s"
			} else if verb == "%%" {
				return verb
			}
			return "%s"
		})
		b.patterns = append(b.patterns, pattern{regexp.MustCompile(expression), n, twin})
	}
}

// Check returns the fault of a pair of formats: the verbs of a sentence and its
// twin must be the same.
func Check(english, twin string) error {
	if a, b := verbs(english), verbs(twin); !slices.Equal(a, b) {
		return fmt.Errorf("%q takes %v, and its twin %q takes %v", english, a, twin, b)
	}
	if strings.TrimSpace(twin) == "" {
		return errors.New("the twin is empty")
	}
	return nil
}

// verbs are those of a format, each with the number of what it takes.
func verbs(format string) (list []string) {
	n := 0
	for _, v := range Verb.FindAllStringSubmatch(format, -1) {
		if v[3] == "" {
			continue
		}
		if v[1] != "" {
			fmt.Sscan(v[1], &n)
		} else {
			n++
		}
		list = append(list, fmt.Sprintf("%d %s", n, strings.ReplaceAll(v[3], "w", "v"))) // an error that is put in is text
	}
	slices.Sort(list)
	return slices.Compact(list)
}
