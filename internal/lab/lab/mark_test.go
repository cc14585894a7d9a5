package lab_test

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
)

// marked reports whether a comment marks a line with a bug: [A3], or [A1, A3].
func marked(p film.Place, bug string) bool {
	source, err := os.ReadFile("../../../" + p.File)
	if err != nil {
		return false // a file of the client library
	}
	line := strings.Split(string(source), "\n")[p.Line-1]
	return regexp.MustCompile(`\[(\w+, )*` + bug + `[,\]]`).MatchString(line)
}

// contenderThatErrs returns the contender that errs when a film's lock breaks, and that instant. If two hold the lock
// or one starves, it is the one that got in; otherwise the one that the violation names, or the one that acted last.
func contenderThatErrs(f *film.Film) (erring string, breaks time.Duration) {
	lastActor, lastHolder := f.Clients[0].Contenders[0], ""
	for _, c := range f.Choices {
		if name, what, _ := strings.Cut(c.Choice, ": "); !strings.HasPrefix(name, "gap ") && what != "reconnect" {
			lastActor = name
		}
	}
	for _, m := range f.Marks {
		if m.Kind == "state" && m.State == "holds" {
			lastHolder = m.Who
		}
		if m.Kind == "violation" && m.Violation == f.Violation.Kind {
			if m.Violation == player.TwoHolders || m.Violation == player.Starves {
				return lastHolder, m.At
			}
			return cmp.Or(m.Who, lastActor), m.At
		}
	}
	return lastActor, 0
}

// sealedAt is the instant of the choice after which each continuation of a bug's schedule ends
// in the bug; -1: there is none.
func sealedAt(bug string, f *film.Film) time.Duration {
	fates := scenes.Fates()[bug] // for each number of choices, how many tries end in the bug
	sealed := len(fates)         // the fewest choices after which all tries do
	for sealed > 0 && fates[sealed-1] == scenes.FateTries {
		sealed--
	}
	if sealed == 0 || sealed > len(f.Choices) {
		return -1
	}
	return f.Choices[sealed-1].At
}

// stackAt returns the lines of the lock at which a contender is, or was last, at an instant; "" is any contender.
func stackAt(f *film.Film, contender string, at time.Duration) (stack []film.Place) {
	for _, w := range f.Where {
		if (contender == "" || w.Who == contender) && w.From <= at && len(w.At) > 0 {
			stack = nil
			for _, i := range w.At {
				stack = append(stack, f.Places[i])
			}
		}
	}
	return stack
}

// The page marks the line of a bug, and points to the lines at which the contenders are. When the lock breaks, or
// when the choice is made after which it must, the contender that errs is at the marked line, or has just left it.
func TestTheContenderThatErrsIsAtTheMarkedLine(t *testing.T) {
	for _, l := range locks.All() {
		if l.Group != locks.Museum || strings.ContainsAny(l.Name, "-EZ") { // cures, bugs of the steps, and of zklock
			continue
		}
		f := filmOf(t, l)
		erring, breaks := contenderThatErrs(f)
		var seen []string // instants, each with the functions in which the contender was
		atMark := false
		for _, instant := range []time.Duration{breaks, sealedAt(l.Name, f)} {
			seen = append(seen, instant.String())
			for _, line := range stackAt(f, erring, instant) {
				assert.Regexp(t, `^\w+$`, line.Func, "%s: the name of a function alone", l.Name)
				seen = append(seen, line.Func)
				atMark = atMark || marked(line, l.Name)
			}
		}
		assert.True(t, atMark, "%s: %s errs at no line that is marked [%s]: mark one of %v", l.Name, erring, l.Name, seen)
	}
}
