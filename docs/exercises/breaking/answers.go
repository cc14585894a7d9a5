// Package breaking judges the answers to exercise 12, break this lock: links of
// the lab, each with a schedule in which a listing comes to harm.
package breaking

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
)

// File is the file with the answers.
const File = "answers.txt"

const (
	maxLink    = 16 << 10 // bytes; the longest schedule that the lab shows has half of that
	maxChoices = 400      // a schedule in the lab ends before
	shown      = 60       // bytes of a student's text in a message
)

// Read reads the answers, by number. A line is a number, a colon and a link;
// an empty one and a comment, which begins with a # and a blank, say nothing.
func Read(text []byte) (map[int]string, error) {
	answers := make(map[int]string)
	for i, line := range bytes.Split(text, []byte("\n")) {
		line := strings.TrimSpace(string(line))
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors on Windows begin a file with it
		}
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		before, link, ok := strings.Cut(line, ":")
		number, err := strconv.Atoi(strings.TrimSpace(before))
		if !ok || err != nil || number < 1 || number > len(locks.Tasks) {
			return nil, fmt.Errorf("%s, line %d: %s is not an answer: write the number of the listing, from 1 to %d, a colon and the link, all in one line", File, i+1, short(line), len(locks.Tasks))
		}
		if _, twice := answers[number]; twice {
			return nil, fmt.Errorf("%s, line %d: there is an answer %d already: take one of them away", File, i+1, number)
		}
		answers[number] = strings.TrimSpace(link)
	}
	return answers, nil
}

// short is the beginning of a text, quoted.
func short(text string) string {
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return strconv.Quote(text)
}

// keys are those that the lab writes into a link.
var keys = []string{"lock", "n", "shared", "latency", "seed", "do", "vs", "mode", "kinds", "faults", "packets", "choices", "t", "lang", "speed", "play", "panel"}

// parse reads the link that is the answer to a task. Its errors say what to do.
func parse(task locks.Task, link string) (a locks.Address, err error) {
	open := fmt.Sprintf("go run ./docs/lab -open -scene %s", task.Lock.Name)
	if link == "" {
		return a, fmt.Errorf("answer %d is not written yet: open the listing with %s, choose what happens until the lab says \"Goal reached\", press \"Copy link\" and paste the link behind \"%d:\"", task.Number, open, task.Number)
	}
	if len(link) > maxLink {
		return a, fmt.Errorf("this link has %d bytes, more than any of the lab: copy it again", len(link))
	}
	_, fragment, ok := strings.Cut(link, "#")
	if !ok {
		return a, fmt.Errorf("%s is not a link of the lab, which has a # in it: press \"Copy link\" in the lab and paste all of it", short(link))
	}
	if strings.ContainsAny(fragment, " \t#") {
		return a, fmt.Errorf("this link has a blank or a second # in it: paste one link, and nothing behind it")
	}
	for pair := range strings.SplitSeq(fragment, "&") {
		if key, _, _ := strings.Cut(pair, "="); !slices.Contains(keys, key) {
			return a, fmt.Errorf("the link has %s, which the lab does not write: copy the link again", short(key))
		}
	}
	if strings.Count("&"+fragment, "&lock=") != 1 || strings.Count(fragment, "&choices=") > 1 {
		return a, fmt.Errorf("the link must say once which lock it is of, and once what the choices are: copy it again")
	}
	if a, err = locks.ParseAddress("#" + fragment); err != nil {
		return a, fmt.Errorf("the link cannot be read (%s): copy it again", firstBytes(err.Error()))
	}
	w, want := task.Lock.World, task.Lock.Name
	slices.Sort(a.Kinds)
	switch {
	case len(a.Locks) > 1:
		return a, fmt.Errorf("the link is of two locks beside each other: open the listing with %s", open)
	case a.Lock != want:
		return a, fmt.Errorf("the link is of the lock %q, and answer %d is about %q: open it with %s", a.Lock, task.Number, want, open)
	case a.Mode == "find":
		return a, fmt.Errorf("the link opens the search, and has no choices in it: press \"You are the scheduler\", make the choices that the search has listed, and copy the link then")
	case a.Mode != "schedule" || len(a.Changes) > 0:
		return a, fmt.Errorf("the link is of a run in which packets arrive by the clock: press \"You are the scheduler\" and choose what happens")
	case a.Contenders != w.Contenders || a.Shared:
		return a, fmt.Errorf("the link has %d contenders%s, and answer %d has %d with a session each: open the listing with %s, which sets all of this", a.Contenders, map[bool]string{true: " in one session"}[a.Shared], task.Number, w.Contenders, open)
	case a.Packets:
		return a, fmt.Errorf("the link is of a world in which replies and events wait, too, and answer %d is not: open the listing with %s, which sets all of this", task.Number, open)
	case !slices.Equal(a.Kinds, w.Kinds) || len(w.Kinds) > 0 && a.Faults != w.Faults:
		return a, fmt.Errorf("the link is of a world with %s, and answer %d of one with %s: open the listing with %s, which sets all of this", faults(a.Kinds, a.Faults), task.Number, faults(w.Kinds, w.Faults), open)
	case len(a.Choices) > maxChoices:
		return a, fmt.Errorf("the link has %d choices, and no schedule of the lab has more than %d: copy it again", len(a.Choices), maxChoices)
	}
	return a, nil
}

// faults says what may go wrong: 1 fault ("expire").
func faults(kinds []explore.Fault, n int) string {
	if len(kinds) == 0 || n == 0 {
		return "no fault"
	}
	var names []string
	for _, k := range kinds[:min(len(kinds), 3)] {
		names = append(names, short(string(k)))
	}
	if len(kinds) > 3 {
		names = append(names, "…")
	}
	s := "s"
	if n == 1 {
		s = ""
	}
	return fmt.Sprintf("%d fault%s (%s)", n, s, strings.Join(names, ", "))
}

// Open is the scene of a link for the lab, from the # on: read and written again,
// so that nothing else is in it. It is "" if the link has no schedule.
func Open(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	if len(link) > maxLink {
		return ""
	}
	a, err := locks.ParseAddress("#" + fragment)
	if err != nil || a.Mode != "schedule" || len(a.Changes) > 0 || len(a.Choices) == 0 {
		return ""
	}
	for i, k := range a.Kinds {
		a.Kinds[i] = explore.Fault(url.QueryEscape(strings.ReplaceAll(string(k), " ", "-")))
	}
	a.Extra = nil
	return a.String()
}
