package explore

import (
	"math/rand/v2"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// Fates shows from which choice on a schedule must end as it does. For each number of
// its choices, from none to all, it plays tries schedules that begin with them
// and go on at random, with the faults that may still happen, and returns for how many of
// these ends is true. Progress, if it is not nil, is called with each number when it is there.
func Fates(t *testing.T, w World, choices []string, tries int, ends func(*Trace) bool, progress func(k, n int)) []int {
	t.Helper()
	defer player.OneCore()()
	fates := make([]int, len(choices)+1)
	for k := range fates {
		for try := range tries {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(try)))
			choose := after(choices[:k], func(p *Point) int { return draw(rng, p) })
			if ends(player.TraceOf(w, player.Play(t, w, false, choose, nil))) {
				fates[k]++
			}
		}
		if progress != nil {
			progress(k, fates[k])
		}
	}
	return fates
}

// EndsIn reports whether a trace ends in a kind of violation, or in one that a lock
// is known for.
func EndsIn(kind Kind) func(*Trace) bool {
	return func(tr *Trace) bool {
		return tr.Violation != nil && tr.Violation.Kind == kind || tr.Knows(kind)
	}
}
