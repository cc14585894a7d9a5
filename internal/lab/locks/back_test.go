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

// TestEachScheduleCanBeTakenBack: when a reader takes back the last choices, the
// lab plays the schedule without them, and the world ends there. No client is drawn as connected
// then that the page offers to let reconnect.
func TestEachScheduleCanBeTakenBack(t *testing.T) {
	for _, s := range scenes.All {
		choices := s.Trace().Choices
		for n := range choices {
			played := testenv.Must(lab.Play(t, s.World, choices[:n]))(t)
			require.Equal(t, choices[:n], played.Trace.Choices[:n], s.ID)
			last, possible := make(map[string]string), []string{}
			for _, m := range played.Film.Marks {
				if m.Kind == "client" {
					last[m.Who] = m.State
				}
			}
			for _, c := range played.Enabled {
				possible = append(possible, c.Choice)
				if c.What == "reconnect" {
					require.NotContains(t, []string{"", "connected", "runs on"}, last[c.Who], "%s after %d choices", s.ID, n)
				}
			}
			require.Contains(t, possible, choices[n], "%s after %d choices", s.ID, n)
		}
	}
}
