package explore

import (
	"math/rand/v2"
	"slices"
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
	r := player.Play(t, w, false, after(choices, func(p *player.Point) int {
		possible = p.Enabled
		return -1
	}), nil)
	return player.TraceOf(w, r), possible
}

// after makes the choices, and then those of then.
func after(choices []string, then func(p *player.Point) int) func(p *player.Point) int {
	return func(p *player.Point) int {
		switch {
		case len(p.Enabled) == 1:
			return 0
		case len(choices) == 0:
			return then(p)
		}
		i := slices.Index(p.Enabled, choices[0])
		choices = choices[1:]
		return i
	}
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
			choose := after(choices[:k], func(p *player.Point) int { return draw(rng, p) })
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
func EndsIn(kind player.Kind) func(*player.Trace) bool {
	return func(tr *player.Trace) bool {
		return tr.Violation != nil && tr.Violation.Kind == kind || tr.Knows(kind)
	}
}
