package explore

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// chooseByName makes the wanted choices, and then chooses the first action. A name that is not possible is passed over.
func chooseByName(wanted []string) player.Chooser {
	return func(p *player.Point) int {
		if len(p.Enabled) == 1 {
			return 0
		}
		for len(wanted) > 0 {
			name := wanted[0]
			wanted = wanted[1:]
			if i := slices.Index(p.Enabled, name); i >= 0 {
				return i
			}
		}
		return 0
	}
}

// Shrink leaves choices out while still is true of the schedule, and returns the trace of the shortest one that it
// finds. If the choices themselves no longer show it, it returns nil for a Lenient lock, and panics for another one.
func Shrink(t *testing.T, w player.World, choices []string, still func(r *player.Run) bool) *player.Trace {
	t.Helper()
	const twice = 2 // as a schedule may not repeat: see player.Tries
	try := func(wanted []string, times int) (*player.Run, bool) {
		for range times {
			if r := player.Play(t, w, chooseByName(wanted)); still(r) {
				return r, true
			}
		}
		return nil, false
	}

	best := slices.Clone(choices)
	shortest, ok := try(best, twice*player.Tries)
	switch {
	case !ok && w.Lock.Lenient:
		return nil
	case !ok:
		panic(fmt.Sprintf("explore: %s: a schedule does not repeat: %q", w.Lock.Name, choices))
	}

	// Find, by bisection, how many choices at the end can be left out.
	for n := 0; n < len(best); {
		half := (n + len(best)) / 2
		if r, ok := try(best[:half], twice); ok {
			best, shortest = best[:half], r
		} else {
			n = half + 1
		}
	}

	// Then leave out pieces anywhere: first halves, at the end single choices, until no piece can be left out.
	for changed := true; changed; {
		changed = false
		for size := max(len(best)/2, 1); size > 0; size /= 2 {
			for i := 0; i+size <= len(best); {
				fewer := slices.Delete(slices.Clone(best), i, i+size)
				if r, ok := try(fewer, twice); ok {
					best, shortest, changed = fewer, r, true
				} else {
					i++
				}
			}
		}
	}

	tr := player.TraceOf(w, shortest)
	tr.Cut()
	return tr
}

// Replay plays the schedule of a trace, and returns the new trace. It fails if a choice is not possible, or if another
// number of actions is possible there than before. If the log differs, it plays the schedule again: see player.Tries.
func Replay(t *testing.T, tr *player.Trace) (again *player.Trace, err error) {
	t.Helper()
	for range player.Tries {
		err = tr.Follow(func(choose player.Chooser) {
			again = player.TraceOf(tr.World, player.Play(t, tr.World, choose))
		})
		again.Choices, again.Widths = tr.Choices, tr.Widths // those given, which may be fewer than all that were made
		if err == nil && reflect.DeepEqual(again.Log, tr.Log) {
			break
		}
	}
	return again, err
}
