package explore

import (
	"fmt"
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
// still is what it is to be. The choices are where to begin.
func Shrink(t *testing.T, w World, choices []string, still func(r *Run) bool) *Trace {
	t.Helper()
	try := func(names []string) (*Run, bool) {
		r := watched(t, w, false, follow(names), nil)
		return r, still(r)
	}
	best := slices.Clone(choices)
	r, ok := try(best)
	if !ok {
		panic(fmt.Sprintf("explore: a schedule does not repeat: %q", choices))
	}
	// First the end, by halves; then piece by piece.
	for n := 0; n < len(best); {
		half := (n + len(best)) / 2
		if _, ok := try(best[:half]); ok {
			best = best[:half]
		} else {
			n = half + 1
		}
	}
	for changed := true; changed; {
		changed = false
		for size := max(len(best)/2, 1); size > 0; size /= 2 {
			for i := 0; i+size <= len(best); {
				if names := slices.Delete(slices.Clone(best), i, i+size); len(names) < len(best) {
					if _, ok := try(names); ok {
						best, changed = names, true
						continue
					}
				}
				i++
			}
		}
	}
	r, _ = try(best)
	return traceOf(w, r, len(best))
}

// traceOf makes a trace of a run, with at most n choices: after them the
// explorer would have gone on as it did.
func traceOf(w World, r *Run, n int) *Trace {
	w.Name = w.Lock.Name
	tr := &Trace{World: w, Choices: []string{}, Widths: []int{}, Violation: r.Violation, Known: r.Known, Results: r.Results, Log: r.Log}
	last := 0
	for _, p := range r.Points {
		if len(p.Enabled) == 1 {
			continue
		}
		tr.Choices = append(tr.Choices, p.choice())
		tr.Widths = append(tr.Widths, len(p.Enabled))
		if p.Chosen != 0 {
			last = len(tr.Choices)
		}
	}
	tr.Choices, tr.Widths = tr.Choices[:last], tr.Widths[:last]
	return tr
}

// Replay plays a trace. It fails if the schedule is not possible, or if there
// are more or fewer possibilities at a choice than there were.
func Replay(t *testing.T, tr *Trace) (*Trace, error) {
	t.Helper()
	n := 0
	var err error
	r := watched(t, tr.World, false, func(p *Point) int {
		if len(p.Enabled) == 1 || n >= len(tr.Choices) {
			return 0
		}
		name := tr.Choices[n]
		i := slices.Index(p.Enabled, name)
		switch {
		case i < 0:
			err = fmt.Errorf("choice %d is %q, but these are possible: %q", n+1, name, p.Enabled)
		case n < len(tr.Widths) && tr.Widths[n] != len(p.Enabled):
			err = fmt.Errorf("choice %d had %d possibilities, and now %q", n+1, tr.Widths[n], p.Enabled)
			i = -1
		}
		n++
		return i
	}, nil)
	if err == nil && n < len(tr.Choices) {
		err = fmt.Errorf("the schedule ends after %d of %d choices", n, len(tr.Choices))
	}
	return traceOf(tr.World, r, 0).with(tr), err
}

func (tr *Trace) with(old *Trace) *Trace {
	tr.Choices, tr.Widths = old.Choices, old.Widths
	return tr
}
