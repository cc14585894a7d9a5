package explore

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// Draw plays one random schedule and returns its trace, with all choices.
func Draw(t *testing.T, w player.World, seed uint64) *player.Trace {
	t.Helper()
	return player.TraceOf(w, player.Play(t, w, draw(rand.New(rand.NewPCG(seed, 0)))))
}

// drawAll plays random schedules until the search is over.
func (x *searcher) drawAll() {
	for n := uint64(0); !x.over(); n++ {
		rng := rand.New(rand.NewPCG(x.search.Seed, n))
		choose := draw(rng)
		if x.search.Depth > 0 {
			choose = pct(rng, x.search.Depth)
		}
		x.count(player.PlayWatched(x.t, x.world, choose, x.search.Count, nil))
		if x.report.Found != nil && !x.search.All {
			return
		}
	}
}

// draw returns a Chooser that chooses at random. Faults are rarer than other actions, or all would come at the start.
func draw(rng *rand.Rand) player.Chooser {
	const pointsOfAFault = 8
	return func(p *player.Point) int {
		plain := p.Plain() // the faults come behind these
		if plain < len(p.Enabled) && rng.IntN(pointsOfAFault) == 0 {
			return plain + rng.IntN(len(p.Enabled)-plain)
		}
		return rng.IntN(max(plain, 1))
	}
}

// pct returns a Chooser for probabilistic concurrency testing, by Burckhardt and others. Each actor has a random
// priority, and the one with the highest acts. At depth points, drawn before, the priority of the next one drops.
func pct(rng *rand.Rand, depth int) player.Chooser {
	const (
		priorities = 1000 // those of a client or a contender are from 0 to that
		dropsEnd   = 40   // each drop is at one of the points before this one
	)
	priority := make(map[string]int) // by actor: a client, a contender, or a fault
	dropsAt := make(map[int]bool)    // by the number of a point
	for range depth {
		dropsAt[rng.IntN(dropsEnd)] = true
	}
	point, dropped := 0, 0 // how many points, and how many drops, there were
	return func(p *player.Point) int {
		best, top := 0, math.MinInt // the action to take, and the priority of its actor
		for i, name := range p.Enabled {
			actor, isFault := name, p.Faults[i] != ""
			if !isFault {
				actor, _, _ = strings.Cut(name, ": ")
			}
			if _, ok := priority[actor]; !ok {
				priority[actor] = rng.IntN(priorities)
				if isFault {
					priority[actor] -= priorities * 9 / 10 // faults are rare: nine in ten are below all else
				}
			}
			if priority[actor] > top {
				best, top = i, priority[actor]
			}
		}

		point++
		if dropsAt[point] {
			actor, _, _ := strings.Cut(p.Enabled[best], ": ")
			dropped++
			priority[actor] = -priorities - dropped // below all others, also those that fell earlier
		}
		return best
	}
}

// Play plays the schedule of the choices, those of a Trace, for tools that let a person choose. It returns the trace so
// far, and the actions that are possible next; at the end there are none. A choice that is not possible ends the trace.
func Play(t *testing.T, w player.World, choices []string) (tr *player.Trace, possible []string) {
	t.Helper()
	atEnd := func(p *player.Point) int {
		possible = p.Enabled
		return -1 // nothing is chosen: the trace ends here
	}
	_ = player.Follow(choices, nil, atEnd, func(choose player.Chooser) { tr = player.TraceOf(w, player.Play(t, w, choose)) })
	return tr, possible
}

// Fates shows which choice of a schedule decides how it ends. For each k from 0 to len(choices) it plays schedules, as
// many as tries says, that begin with the first k choices and go on at random.
// fates[k] is how many of them ends reports true for. progress, if it is not nil, is called with each k and fates[k].
func Fates(t *testing.T, w player.World, choices []string, tries int, ends func(*player.Trace) bool, progress func(k, n int)) []int {
	t.Helper()
	defer player.OneCore()()
	fates := make([]int, len(choices)+1)
	for k := range fates {
		for try := range tries {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(try)))
			_ = player.Follow(choices[:k], nil, draw(rng), func(choose player.Chooser) {
				if ends(player.TraceOf(w, player.Play(t, w, choose))) {
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

// EndsIn returns a function that reports whether a trace has a violation of a kind, also if the lock is known for it.
func EndsIn(kind player.Kind) func(*player.Trace) bool {
	return func(tr *player.Trace) bool {
		return tr.Violation != nil && tr.Violation.Kind == kind || tr.Knows(kind)
	}
}
