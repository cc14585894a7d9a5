package explore

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/explore/player"
)

// Draw plays one random schedule and returns its trace, with all choices.
func Draw(t *testing.T, w player.World, seed uint64) *player.Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	return player.TraceOf(w, player.Play(t, w, false, func(p *player.Point) int { return draw(rng, p) }, nil))
}

// randomSearch draws schedules.
func randomSearch(t *testing.T, w player.World, s Search, r *Report, began time.Time) {
	for n := uint64(0); !s.over(r, began); n++ {
		rng := rand.New(rand.NewPCG(s.Seed, n))
		choose := func(p *player.Point) int { return draw(rng, p) }
		if s.Depth > 0 {
			choose = pct(rng, s.Depth)
		}
		r.count(t, w, s, player.Play(t, w, s.Count, choose, nil))
		if r.Found != nil && !s.All {
			return
		}
	}
}

// draw takes a fault once in eight points, if one is possible: taken as often
// as anything else, they would all come at the start.
func draw(rng *rand.Rand, p *player.Point) int {
	plain := p.Plain()
	if plain < len(p.Enabled) && rng.IntN(8) == 0 {
		return plain + rng.IntN(len(p.Enabled)-plain)
	}
	return rng.IntN(max(plain, 1))
}

// pct is Burckhardt's probabilistic concurrency testing: each actor has a
// priority, the highest acts, and at a few points drawn before, the actor that
// would act falls behind all others.
func pct(rng *rand.Rand, depth int) func(p *player.Point) int {
	priority := make(map[string]int)
	drop := make(map[int]bool) // by the number of a point
	for range depth {
		drop[rng.IntN(40)] = true // among the first 40 points
	}
	point, low := 0, 0
	return func(p *player.Point) int {
		best, top := 0, -1<<31
		for i, name := range p.Enabled {
			actor := name // each fault is one of its own
			if p.Faults[i] == "" {
				actor, _, _ = strings.Cut(name, ": ")
			}
			if _, ok := priority[actor]; !ok {
				priority[actor] = rng.IntN(1000)
				if p.Faults[i] != "" {
					priority[actor] -= 900 // a fault is not the rule: nine in ten are below all else
				}
			}
			if priority[actor] > top {
				best, top = i, priority[actor]
			}
		}
		if point++; drop[point] {
			actor, _, _ := strings.Cut(p.Enabled[best], ": ")
			low--
			priority[actor] = -1000 + low // below all others, also those that fell earlier
		}
		return best
	}
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
