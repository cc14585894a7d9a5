package scenes_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

// fatesOf plays the continuations of a scene's schedule.
func fatesOf(t *testing.T, s scenes.Bug) []int {
	return explore.Fates(t, s.World, scenes.Schedules()[s.ID].Choices, scenes.FateTries, explore.EndsIn(s.Kinds[0]), nil)
}

// The file has the fates of each scene in which they can be counted. A few scenes are
// played here, too.
func TestTheFatesOfTheScenesAreTheirs(t *testing.T) {
	all := make(map[string][]int)
	for _, s := range scenes.All {
		if len(scenes.Schedules()[s.ID].Choices) > 0 && s.Like == nil && s.World.Lock.Check == nil {
			all[s.ID] = nil
			if *update {
				all[s.ID] = fatesOf(t, s)
			}
		}
	}
	if *update {
		text, err := json.MarshalIndent(all, "", "")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("fates.json", append(text, '\n'), 0o644))
		return
	}
	require.Len(t, scenes.Fates(), len(all), "fates.json is stale: go generate ./...")
	for id, list := range scenes.Fates() {
		s, ok := scenes.Find(id)
		require.True(t, ok, id)
		require.Len(t, list, len(scenes.Schedules()[id].Choices)+1, id)
		require.Equal(t, scenes.FateTries, list[len(list)-1], "%s: its whole schedule ends in its bug", id)
		if id == "D3" || id == "D7" || id == "A7" {
			require.Equal(t, list, fatesOf(t, s), id)
		}
	}
	d3 := scenes.Fates()["D3"]
	for _, n := range d3[:len(d3)-1] {
		require.Zero(t, n, "before its session expires, D3 goes well")
	}
	d7 := scenes.Fates()["D7"]
	require.Zero(t, d7[5])
	require.True(t, d7[6] > 0 && d7[6] < scenes.FateTries, "after the fault of D7 it can go either way: %v", d7)
}
