//go:build !race

// Without the race detector: some of the articles' locks have races.

package locks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/testenv"
)

// TestEachScheduleCanBeTakenBack: when a reader takes back the last choices, the lab plays the schedule without
// them, and offers the next one again. A client that it offers to reconnect is not drawn as connected.
func TestEachScheduleCanBeTakenBack(t *testing.T) {
	for _, s := range scenes.WithScene {
		choices := s.Trace().Choices
		for n := range choices {
			played := testenv.Must(lab.Play(t, s.World, choices[:n]))(t)
			require.Equal(t, choices[:n], played.Trace.Choices[:n], s.ID)
			state := make(map[string]string) // of each client, at the end
			for _, m := range played.Film.Marks {
				if m.Kind == "client" {
					state[m.Who] = m.State
				}
			}
			var possible []string // the choices that the lab offers next
			for _, c := range played.Enabled {
				possible = append(possible, c.Choice)
				if c.What == "reconnect" {
					require.NotContains(t, []string{"", "connected", "runs on"}, state[c.Who], "%s after %d choices", s.ID, n)
				}
			}
			require.Contains(t, possible, choices[n], "%s after %d choices", s.ID, n)
		}
	}
}
