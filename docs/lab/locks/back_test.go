//go:build !race

// Without the race detector: some of the articles' locks have races.

package locks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

// TestEachScheduleCanBeTakenBack: when a reader takes back the last choices, the
// lab plays the schedule without them, and the world ends there.
func TestEachScheduleCanBeTakenBack(t *testing.T) {
	for _, s := range scenes.All {
		choices := s.Trace().Choices
		for n := range choices {
			tr, possible := explore.Play(t, s.World, choices[:n])
			require.Equal(t, choices[:n], tr.Choices[:n], s.ID)
			require.Contains(t, possible, choices[n], "%s after %d choices", s.ID, n)
		}
	}
}
