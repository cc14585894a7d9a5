package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
)

// Draw plays one random schedule and returns its trace, with all choices.
func Draw(t *testing.T, w World, seed uint64) *Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	return player.TraceOf(w, player.Play(t, w, false, func(p *Point) int { return draw(rng, p) }, nil))
}

// Play plays the schedule of the choices, which are those of a Trace, and returns
// its trace: for tools that let a person choose. Possible are the actions from
// which the next choice can be made; at the end there are none.
func Play(t *testing.T, w World, choices []string) (tr *Trace, possible []string) {
	t.Helper()
	rest := choices
	r := player.Play(t, w, false, func(p *Point) int {
		if len(p.Enabled) == 1 {
			return 0
		}
		if len(rest) == 0 {
			possible = p.Enabled
			return -1
		}
		i := slices.Index(p.Enabled, rest[0])
		rest = rest[1:]
		return i
	}, nil)
	return player.TraceOf(w, r), possible
}

// PlayFilm is Play with a film, and with an error if a choice is not possible.
func PlayFilm(t *testing.T, w World, choices []string) (*film.Film, *Trace, []film.Possible, error) {
	t.Helper()
	return film.Play(t, w, choices)
}
