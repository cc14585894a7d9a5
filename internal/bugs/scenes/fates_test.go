package scenes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// TestTheFatesOfTheScenesAreTheirs: fates.json has a list for each schedule, and for each route of
// a level. Of a few of them the continuations are played again here.
func TestTheFatesOfTheScenesAreTheirs(t *testing.T) {
	testenv.RacedAtLength(t, "it plays some scenes hundreds of times, and other tests race each of them")
	schedules := make(map[string][]string) // by the keys of scenes.Fates
	for _, s := range scenes.All {
		schedules[s.ID] = scenes.Schedules()[s.ID].Choices
		if s.Level.Route != nil {
			schedules[s.ID+"/"] = s.Level.Route
		}
	}
	play := func(key string) []int {
		s := scenes.Get(strings.TrimSuffix(key, "/"))
		return explore.Fates(t, s.World, schedules[key], scenes.FateTries, s.Reached, nil)
	}
	if site.Updates() {
		fates := make(map[string][]int)
		for key := range schedules {
			fates[key] = play(key)
		}
		text := testenv.Must(json.MarshalIndent(fates, "", ""))(t)
		site.Holds(t, "internal/bugs/scenes/fates.json", "", string(text)+"\n")
		return
	}

	require.Len(t, scenes.Fates(), len(schedules), "fates.json is stale: go generate ./...")
	for key, fates := range scenes.Fates() {
		require.Len(t, fates, len(schedules[key])+1, key)
		require.Equal(t, scenes.FateTries, fates[len(fates)-1], "%s: its whole schedule ends in its bug", key)
		if key == "D3" || testenv.AtLanding() && (key == "D7/" || key == "A7") {
			require.Equal(t, fates, play(key), key)
		}
	}
	d3 := scenes.Fates()["D3"]
	require.Less(t, slices.Max(d3[:len(d3)-1]), scenes.FateTries/2, "before its session expires, D3 mostly goes well")
}
