package explore

import (
	"math/rand/v2"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// Draw plays one random schedule and returns its trace, with all choices.
func Draw(t *testing.T, w player.World, seed uint64) *player.Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	return player.TraceOf(w, player.Play(t, w, false, func(p *player.Point) int { return draw(rng, p) }, nil))
}

// Play plays the schedule of the choices, which are those of a Trace, and returns
// its trace: for tools that let a person choose. Possible are the actions from
// which the next choice can be made; at the end there are none.
func Play(t *testing.T, w player.World, choices []string) (tr *player.Trace, possible []string) {
	t.Helper()
	_ = player.Follow(choices, nil, func(p *player.Point) int {
		possible = p.Enabled
		return -1
	}, func(choose func(p *player.Point) int) { tr = player.TraceOf(w, player.Play(t, w, false, choose, nil)) })
	return tr, possible
}

// Fates shows from which choice on a schedule must end as it does. For each number of
// its choices, from none to all, it plays tries schedules that begin with them
// and go on at random, with the faults that may still happen, and returns for how many of
// these ends is true. Progress, if it is not nil, is called with each number when it is there.
func Fates(t *testing.T, w player.World, choices []string, tries int, ends func(*player.Trace) bool, progress func(k, n int)) []int {
	t.Helper()
	defer player.OneCore()()
	fates := make([]int, len(choices)+1)
	for k := range fates {
		for try := range tries {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(try)))
			_ = player.Follow(choices[:k], nil, func(p *player.Point) int { return draw(rng, p) }, func(choose func(p *player.Point) int) {
				if ends(player.TraceOf(w, player.Play(t, w, false, choose, nil))) {
					fates[k]++
				}
			})
		}
		if progress != nil {
			progress(k, fates[k])
		}
	}
	return fates
}

// EndsIn reports whether a trace ends in a kind of violation, or in one that a lock
// is known for.
func EndsIn(kind player.Kind) func(*player.Trace) bool {
	return func(tr *player.Trace) bool {
		return tr.Violation != nil && tr.Violation.Kind == kind || tr.Knows(kind)
	}
}
