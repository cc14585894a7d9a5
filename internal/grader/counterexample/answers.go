// Package counterexample judges the answers to exercise 11, break this lock. An answer is a
// link of the lab, with a schedule in which the lock of a listing does harm.
package counterexample

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

const File = "answers.txt"

const (
	maxLink    = 16 << 10 // bytes; the longest schedule that the lab shows has half of that
	maxChoices = 400      // more than a schedule in the lab can have
	maxShown   = 60       // bytes of a student's text in a message
)

// Read reads the answers, by number. A line is a number, a colon and a link, or it is empty or a comment with #.
func Read(text []byte) (map[int]string, error) {
	answers := make(map[int]string)
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors on Windows begin a file with it
		}
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		before, link, ok := strings.Cut(strings.Replace(line, "：", ":", 1), ":") // a Chinese keyboard writes the other one
		number, err := strconv.Atoi(strings.TrimSpace(before))
		if !ok || err != nil || number < 1 || number > len(locks.Tasks) {
			return nil, i18n.Errorf("%s, line %d: %s is not an answer: write the number of the listing, from 1 to %d, a "+
				"colon and the link, all in one line", File, i+1, shortened(line), len(locks.Tasks))
		}
		if _, twice := answers[number]; twice {
			return nil, i18n.Errorf("%s, line %d: there is an answer %d already: take one of them away", File, i+1, number)
		}
		answers[number] = strings.TrimSpace(link)
	}
	return answers, nil
}

// shortened returns the beginning of a text, quoted.
func shortened(text string) string {
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return strconv.Quote(text)
}

// labKeys are the keys that the lab writes into the link of a task.
var labKeys = []string{"lock", "n", "shared", "latency", "seed", "do", "vs", "mode", "kinds", "faults", "packets",
	"choices", "t", "lang", "speed", "play", "panel"}

func openCommand(task locks.Task) string { return "go run ./cmd/lab -open -scene " + task.Lock.Name }

// parse reads the link that is the answer to a task. Its errors say what the student is to do.
func parse(task locks.Task, link string) (a locks.Address, err error) {
	if link == "" {
		return a, i18n.Errorf(`answer %d is not written yet: open the listing with %s, choose what happens `+
			`until the lab says "Goal reached", press "Copy link" and paste the link behind "%d:"`, task.Number, openCommand(task), task.Number)
	}
	if len(link) > maxLink {
		return a, i18n.Errorf("this link has %d bytes, more than any of the lab: copy it again", len(link))
	}
	_, fragment, ok := strings.Cut(link, "#")
	if !ok {
		return a, i18n.Errorf(`%s is not a link of the lab, which has a # in it: press "Copy link" in the lab and paste all of it`, shortened(link))
	}
	if strings.ContainsAny(fragment, " \t#") {
		return a, i18n.Errorf("this link has a blank or a second # in it: paste one link, and nothing behind it")
	}
	for pair := range strings.SplitSeq(fragment, "&") {
		if key, _, _ := strings.Cut(pair, "="); !slices.Contains(labKeys, key) {
			return a, i18n.Errorf("the link has %s, which the lab does not write: copy the link again", shortened(key))
		}
	}
	if strings.Count("&"+fragment, "&lock=") != 1 || strings.Count(fragment, "&choices=") > 1 {
		return a, i18n.Errorf("the link must say once which lock it is of, and once what the choices are: copy it again")
	}
	if a, err = locks.ParseAddress("#" + fragment); err != nil {
		return a, i18n.Errorf("the link cannot be read (%s): copy it again", inOneLine(i18n.TextOf(err)))
	}
	return a, checkTask(a, task)
}

// checkTask compares what the lab would play with the task: the lock, the world, and that the
// schedule is chosen by the student. Its errors say what the student is to do.
func checkTask(a locks.Address, task locks.Task) error {
	w, want, open := task.Lock.World, task.Lock.Name, openCommand(task)
	var shared i18n.Text
	if a.Shared {
		shared = " in one session"
	}
	slices.Sort(a.Kinds)
	switch {
	case len(a.Locks) > 1:
		return i18n.Errorf("the link is of two locks beside each other: open the listing with %s", open)
	case a.Lock != want:
		return i18n.Errorf("the link is of the lock %q, and answer %d is about %q: open it with %s", a.Lock, task.Number,
			want, open)
	case a.Mode == "find":
		return i18n.Errorf(`the link opens the search, and has no choices in it: press "You are the scheduler", ` +
			`make the choices that the search has listed, and copy the link then`)
	case a.Mode != "schedule" || len(a.Changes) > 0:
		return i18n.Errorf(`the link is of a run in which packets arrive by the clock: press "You are the scheduler" and choose what happens`)
	case a.Contenders != w.Contenders || a.Shared:
		return i18n.Errorf("the link has %d contenders%s, and answer %d has %d with a session each: open the listing "+
			"with %s, which sets all of this", a.Contenders, shared, task.Number, w.Contenders, open)
	case a.Packets:
		return i18n.Errorf("the link is of a world in which replies and events wait, too, and answer %d is not: open the "+
			"listing with %s, which sets all of this", task.Number, open)
	case !slices.Equal(a.Kinds, w.Kinds) || len(w.Kinds) > 0 && a.Faults != w.Faults:
		return i18n.Errorf("the link is of a world with %s, and answer %d of one with %s: open the listing with %s, "+
			"which sets all of this", faults(a.Kinds, a.Faults), task.Number, faults(w.Kinds, w.Faults), open)
	case len(a.Choices) > maxChoices:
		return i18n.Errorf("the link has %d choices, and no schedule of the lab has more than %d: copy it again",
			len(a.Choices), maxChoices)
	}
	return nil
}

// faults says what may go wrong, such as 1 fault ("expire").
func faults(kinds []player.Fault, n int) i18n.Text {
	if len(kinds) == 0 || n == 0 {
		return "no fault"
	}
	var names []string
	for _, k := range kinds[:min(len(kinds), 3)] {
		names = append(names, shortened(string(k)))
	}
	if len(kinds) > 3 {
		names = append(names, "…")
	}
	if n == 1 {
		return i18n.Textf("1 fault (%s)", i18n.List(names))
	}
	return i18n.Textf("%d faults (%s)", n, i18n.List(names))
}

// Open returns the address in the lab of a student's link, from the # on. It is read and written
// again, so that nothing else is in it. It is "" if the link has no schedule.
func Open(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	if len(link) > maxLink {
		return ""
	}
	a, err := locks.ParseAddress("#" + fragment)
	if err != nil || a.Mode != "schedule" || len(a.Changes) > 0 || len(a.Choices) == 0 {
		return ""
	}
	for i, k := range a.Kinds { // they are a student's text, and need not be faults
		a.Kinds[i] = player.Fault(url.QueryEscape(strings.ReplaceAll(string(k), " ", "-")))
	}
	a.Extra = nil
	return a.String()
}
