package scenes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// levels.txt has the levels of each chapter whose order is measured. 3/5 means that the last hint of a level makes 3 of
// the 5 choices of its Way, the solution. If a number has changed, look whether the hint says what is left to do.
func TestTheOrderOfTheLevelsIsMeasured(t *testing.T) {
	var text strings.Builder
	for chapter, name := range scenes.Chapters[:scenes.OnYourOwn] {
		var levels []string
		for _, s := range scenes.Levels() {
			switch {
			case s.Chapter() != chapter:
			case len(s.Way()) == 0:
				levels = append(levels, s.ID)
			default:
				levels = append(levels, fmt.Sprintf("%s %d/%d", s.ID, s.Plays(), len(s.Way())))
			}
		}
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(levels, ", "))
	}
	site.Holds(t, "internal/bugs/scenes/levels.txt", "", text.String())
}

// The way of each level, its solution, reaches its goal, and the part of it that is played with the last hint does not.
func TestTheHintsLeadToTheGoal(t *testing.T) {
	for _, s := range scenes.Levels() {
		way, level := s.Way(), s.Level
		tr, _ := explore.Play(t, s.World, way)
		require.True(t, s.Reached(tr), "%s: %v", s.ID, tr)
		for _, text := range append([]scenes.Text{level.Name, level.Intro, level.Victory}, level.Hints...) {
			require.NotEmpty(t, text.String(), "texts/%s.json needs a name, an intro, a victory, and hints for a choice", s.ID)
			require.Regexp(t, `\p{Han}`, text.In(i18n.Chinese), "%s lacks a Chinese text", s.ID)
		}
		if len(way) == 0 {
			require.Empty(t, level.Hints, "%s has nothing to choose", s.ID)
			continue
		}
		require.Len(t, level.Hints, 3, "the hints of %s", s.ID)
		tr, possible := explore.Play(t, s.World, way[:s.Plays()])
		require.True(t, !s.Reached(tr) && slices.Contains(possible, way[s.Plays()]), "%s: the hint solves it: %v", s.ID, tr)
	}
}

// fates.json has a list of numbers for each key: the ID of a scene, for its schedule, or routeKey of the ID, for the
// route of its level, which is the solution of the game if that is not the schedule.
func routeKey(id string) string { return id + "/" }

// fatedChoices returns the choices of each schedule and route, by their keys in fates.json.
func fatedChoices() map[string][]string {
	choices := make(map[string][]string)
	for _, s := range scenes.WithScene {
		choices[s.ID] = scenes.Schedules()[s.ID].Choices
		if s.Level.Route != nil {
			choices[routeKey(s.ID)] = s.Level.Route
		}
	}
	return choices
}

// playFates counts, for each beginning of a list of choices, the random continuations that end in the bug.
func playFates(t *testing.T, key string, choices []string) []int {
	id, _, _ := strings.Cut(key, "/")
	s := scenes.Get(id)
	return explore.Fates(t, s.World, choices, scenes.FateTries, s.Reached, nil)
}

// fates.json has a number for each beginning of each list. Some fates are played again, as all of them take long.
func TestTheFatesAreCurrent(t *testing.T) {
	testenv.RacedAtLength(t, "it plays some scenes hundreds of times, and other tests race each of them")
	choices := fatedChoices()
	if site.Updates() {
		fates := make(map[string][]int)
		for key := range choices {
			fates[key] = playFates(t, key, choices[key])
		}
		text := testenv.Must(json.MarshalIndent(fates, "", ""))(t)
		site.Holds(t, "internal/bugs/scenes/fates.json", "", string(text)+"\n")
		return
	}
	require.Len(t, scenes.Fates(), len(choices), "fates.json is stale: go generate ./...")
	for key, fates := range scenes.Fates() {
		require.Len(t, fates, len(choices[key])+1, key)
		require.Equal(t, scenes.FateTries, fates[len(fates)-1], "%s: its whole schedule ends in its bug", key)
		// D3 has a fault to choose. At a landing, a route and a schedule without faults are played as well.
		if key == "D3" || testenv.AtLanding() && (key == routeKey("D7") || key == "A7") {
			require.Equal(t, fates, playFates(t, key, choices[key]), key)
		}
	}
	d3 := scenes.Fates()["D3"]
	require.Less(t, slices.Max(d3[:len(d3)-1]), scenes.FateTries/2, "before its session expires, D3 mostly goes well")
}
