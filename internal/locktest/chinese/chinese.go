// Package chinese has the Chinese of what the explorer and the lab's engine say, for the lab's page and
// the graders, and of what is said of a schedule of exercise 11.
//
// These say it in English, as one text. The table has the format of an English sentence and
// that of its Chinese twin. A finished sentence is found by its format, and what was put
// into it is translated in turn. All other messages are written in both languages where they
// are made: see package language.
package chinese

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"example.com/zklock/internal/language"
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

// Table returns a copy of the book as a table.
func (b *Book) Table() map[string]string { return maps.Clone(b.twins()) }

func joined(tables ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

// Verb matches a verb of a format, or a %% in it.
var Verb = regexp.MustCompile(`%%|%(?:\[(\d+)\])?([-+# 0]*(?:\d+|\*)?(?:\.\d+)?)([a-zA-Z])`)

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
	for i, line := range lines {
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
		return language.Say(p.twin, p.twin, args...).Zh, true
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
