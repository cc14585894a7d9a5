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

// fatesOf plays the continuations of a scene's schedule, or of its route.
func fatesOf(t *testing.T, s scenes.Bug, choices []string) []int {
	return explore.Fates(t, s.World, choices, scenes.FateTries, s.Reached, nil)
}

// The file has the fates of each scene. A few scenes are played here, too.
func TestTheFatesOfTheScenesAreTheirs(t *testing.T) {
	testenv.RacedAtLength(t, "it plays some scenes hundreds of times, and other tests race each of them")
	all := make(map[string][]string) // the choices
	for _, s := range scenes.All {
		all[s.ID] = scenes.Schedules()[s.ID].Choices
		if s.Level.Route != nil {
			all[s.ID+"/"] = s.Level.Route
		}
	}
	found := func(id string) scenes.Bug { return scenes.Get(strings.TrimSuffix(id, "/")) }
	if site.Updates() {
		counted := make(map[string][]int)
		for id, choices := range all {
			counted[id] = fatesOf(t, found(id), choices)
		}
		text := testenv.Must(json.MarshalIndent(counted, "", ""))(t)
		site.Holds(t, "internal/bugs/scenes/fates.json", "", string(text)+"\n")
		return
	}
	require.Len(t, scenes.Fates(), len(all), "fates.json is stale: go generate ./...")
	for id, list := range scenes.Fates() {
		require.Len(t, list, len(all[id])+1, id)
		require.Equal(t, scenes.FateTries, list[len(list)-1], "%s: its whole schedule ends in its bug", id)
		if id == "D3" || testenv.AtLanding() && (id == "D7/" || id == "A7") {
			require.Equal(t, list, fatesOf(t, found(id), all[id]), id)
		}
	}
	d3 := scenes.Fates()["D3"]
	require.Less(t, slices.Max(d3[:len(d3)-1]), scenes.FateTries/2, "before its session expires, D3 mostly goes well")
}
