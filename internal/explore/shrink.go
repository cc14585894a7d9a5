package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func cutName(action string) (who, what string, ok bool) { return strings.Cut(action, ": ") }

// follow chooses by name, and then by itself. A name that is not possible is
// left out.
func follow(names []string) func(p *Point) int {
	return func(p *Point) int {
		if len(p.Enabled) == 1 {
			return 0
		}
		for len(names) > 0 {
			name := names[0]
			names = names[1:]
			if i := slices.Index(p.Enabled, name); i >= 0 {
				return i
			}
		}
		return 0
	}
}

// Shrink returns the trace of a schedule that is as short as it gets and that
// still is what it is to be. The choices are where to begin. It returns nil if a
// Lenient lock does not repeat them.
func Shrink(t *testing.T, w World, choices []string, still func(r *Run) bool) *Trace {
	t.Helper()
	try := func(names []string) (*Run, bool) {
		var r *Run
		for range 2 {
			if r = watched(t, w, false, follow(names), nil); still(r) {
				return r, true
			}
		}
		return r, false
	}
	best := slices.Clone(choices)
	shortest, ok := try(best)
	for n := 1; !ok; n++ {
		if n >= tries && w.Lock.Lenient {
			return nil
		}
		if n >= tries {
			panic(fmt.Sprintf("explore: %s: a schedule does not repeat: %q", w.Lock.Name, choices))
		}
		shortest, ok = try(best)
	}
	// First the end, by halves; then piece by piece.
	for n := 0; n < len(best); {
		half := (n + len(best)) / 2
		if r, ok := try(best[:half]); ok {
			best, shortest = best[:half], r
		} else {
			n = half + 1
		}
	}
	for changed := true; changed; {
		changed = false
		for size := max(len(best)/2, 1); size > 0; size /= 2 {
			for i := 0; i+size <= len(best); {
				if names := slices.Delete(slices.Clone(best), i, i+size); len(names) < len(best) {
					if r, ok := try(names); ok {
						best, shortest, changed = names, r, true
						continue
					}
				}
				i++
			}
		}
	}
	tr := traceOf(w, shortest)
	// The choices at the end that the explorer would make by itself go.
	tr.Choices, tr.Widths = tr.Choices[:tr.needed], tr.Widths[:tr.needed]
	return tr
}

// traceOf makes a trace of a run, with all its choices.
func traceOf(w World, r *Run) *Trace {
	w.Name = w.Lock.Name
	tr := &Trace{World: w, Choices: []string{}, Widths: []int{}, Violation: r.Violation, Known: r.Known, Results: r.Results, Log: r.Log}
	for _, p := range r.Points {
		tr.acts, tr.chosen = append(tr.acts, p.choice()), append(tr.chosen, len(p.Enabled) > 1)
		if len(p.Enabled) == 1 {
			continue
		}
		tr.Choices = append(tr.Choices, p.choice())
		tr.Widths = append(tr.Widths, len(p.Enabled))
		if p.Chosen != 0 {
			tr.needed = len(tr.Choices)
		}
	}
	return tr
}

// Replay plays a trace, and returns what it has shown. It fails if the
// schedule is not possible, or if there are more or fewer possibilities at a
// choice than there were. It is played again if the log is not the same; see
// tries.
func Replay(t *testing.T, tr *Trace) (again *Trace, err error) {
	t.Helper()
	for range tries {
		if again, err = replay(t, tr); err == nil && reflect.DeepEqual(again.Log, tr.Log) {
			break
		}
	}
	return again, err
}

func replay(t *testing.T, tr *Trace) (*Trace, error) {
	n := 0
	var err error
	r := watched(t, tr.World, false, tr.chooser(&n, &err), nil)
	if err == nil && n < len(tr.Choices) {
		err = fmt.Errorf("the schedule ends after %d of %d choices", n, len(tr.Choices))
	}
	again := traceOf(tr.World, r)
	again.Choices, again.Widths = tr.Choices, tr.Widths
	return again, err
}

// chooser chooses as a trace says. It counts the choices that it has made, and
// says why it cannot make one.
func (tr *Trace) chooser(n *int, err *error) func(p *Point) int {
	return func(p *Point) int {
		if len(p.Enabled) == 1 || *n >= len(tr.Choices) {
			return 0
		}
		name := tr.Choices[*n]
		i := slices.Index(p.Enabled, name)
		switch {
		case i < 0:
			*err = fmt.Errorf("choice %d is %q, but these are possible: %q", *n+1, name, p.Enabled)
		case *n < len(tr.Widths) && tr.Widths[*n] != len(p.Enabled):
			*err = fmt.Errorf("choice %d had %d possibilities, and now %q", *n+1, tr.Widths[*n], p.Enabled)
			i = -1
		}
		*n++
		return i
	}
}
