package lab_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
)

// marked reports whether a line of a listing is marked with a bug: [A3], or [A1, A3].
func marked(p film.Place, bug string) bool {
	source, err := os.ReadFile("../../../" + p.File)
	if err != nil {
		return false // the client's
	}
	line := strings.Split(string(source), "\n")[p.Line-1]
	return regexp.MustCompile(`\[(\w+, )*` + bug + `[,\]]`).MatchString(line)
}

// contenderThatErrs is the contender that errs when a film's lock breaks, and the instant.
func contenderThatErrs(f *film.Film) (erring string, at time.Duration) {
	erring, holds := f.Clients[0].Contenders[0], ""
	for _, c := range f.Choices {
		if name, what, _ := strings.Cut(c.Choice, ": "); !strings.HasPrefix(name, "gap ") && what != "reconnect" {
			erring = name
		}
	}
	for _, m := range f.Marks {
		if m.Kind == "state" && m.State == "holds" {
			holds = m.Who
		}
		if m.Kind == "violation" && m.Violation == f.Violation.Kind {
			switch at = m.At; {
			case m.Violation == player.TwoHolders || m.Violation == player.Starves:
				erring = holds // it got in
			case m.Who != "":
				erring = m.Who
			}
			break
		}
	}
	return erring, at
}

// sealedAt is the instant of the choice after which each continuation of a bug's schedule ends
// in the bug; -1: there is none.
func sealedAt(bug string, f *film.Film) time.Duration {
	fates := scenes.Fates()[bug]
	k := len(fates)
	for k > 0 && fates[k-1] == scenes.FateTries {
		k--
	}
	if k == 0 || k > len(f.Choices) {
		return -1
	}
	return f.Choices[k-1].At
}

// The page marks the line of a bug, and points to the lines at which the contenders are. The
// one that errs is at the marked line, or has just left it, when the lock breaks or when the
// choice is made after which it must.
func TestTheContenderThatErrsIsAtTheMarkedLine(t *testing.T) {
	for _, l := range locks.All() {
		if l.Group != locks.Museum || strings.Contains(l.Name, "-") || strings.ContainsAny(l.Name, "EZ") { // steps, and zklock
			continue
		}
		f := filmOf(t, l)
		erring, breaks := contenderThatErrs(f)
		var at []string
		if !slices.ContainsFunc([]time.Duration{breaks, sealedAt(l.Name, f)}, func(instant time.Duration) bool {
			var stack []int
			for _, w := range f.Where {
				if w.Who == erring && w.From <= instant && len(w.At) > 0 {
					stack = w.At
				}
			}
			at = append(at, instant.String())
			return slices.ContainsFunc(stack, func(i int) bool {
				at = append(at, f.Places[i].Func)
				return marked(f.Places[i], l.Name)
			})
		}) {
			t.Errorf("%s: %s, which errs, is at no line that is marked [%s]: mark the one at which it is then: %v", l.Name, erring, l.Name, at)
		}
	}
}
