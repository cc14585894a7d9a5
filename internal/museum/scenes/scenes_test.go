package scenes_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

var update = flag.Bool("update", false, "let the explorer find the schedules again")

// TestEachScheduleEndsWithItsBug: with the article's lock, not with ours.
func TestEachScheduleEndsWithItsBug(t *testing.T) {
	if *update {
		write(t)
		return // what is embedded here is what was there before
	}
	all := scenes.Schedules()
	require.Len(t, all, len(scenes.All), "schedules.json has a schedule for each scene: go generate ./...")
	for _, s := range scenes.All {
		t.Run(s.ID, func(t *testing.T) {
			saved := s.Trace()
			require.NotNil(t, saved, "there is no schedule: go generate ./...")
			again, err := explore.Replay(t, saved)
			require.NoError(t, err, "the schedule is stale: go generate ./...")
			require.True(t, s.Shows(again), "the schedule shows something else: go generate ./...\n%v", again)
			require.Equal(t, all[s.ID].Violation, ending(s, again), "it ends in another way: go generate ./...")
			played, _ := explore.Play(t, s.World, saved.Choices)
			require.True(t, s.Shows(played), "the schedule goes on after its last choice: go generate ./...\n%v", played)
		})
	}
}

// ending returns the end of the trace of a scene.
func ending(s scenes.Scene, tr *explore.Trace) string {
	if slices.Contains(s.Kinds, explore.Outlived) {
		return string(explore.Outlived) // it is reported apart
	}
	return tr.Violation.String()
}

// write lets the explorer find the schedules again.
func write(t *testing.T) {
	all := make(map[string]scenes.Schedule)
	for _, s := range scenes.All {
		choices := find(t, s)
		for {
			tr, possible := explore.Play(t, s.World, choices)
			if s.Shows(tr) {
				t.Logf("%s: %d choices: %v %v", s.ID, len(choices), tr.Violation, tr.Known)
				all[s.ID] = scenes.Schedule{Choices: choices, Widths: tr.Widths, Violation: ending(s, tr)}
				break
			}
			require.NotEmpty(t, possible, "%v", tr)
			choices = append(slices.Clone(choices), possible[0]) // as a trace goes on
		}
	}
	b, err := json.MarshalIndent(all, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("schedules.json", append(b, '\n'), 0o644))
}

// find returns the choices of a schedule that shows the scene's bug.
func find(t *testing.T, s scenes.Scene) []string {
	if s.Like == nil {
		r := explore.Explore(t, s.Only(s.World), s.Search)
		if slices.Contains(s.Kinds, explore.Outlived) {
			r.Found = r.Known[string(explore.Outlived)]
		}
		require.NotNil(t, r.Found, "%s: %v", s.ID, r)
		return r.Found.Choices
	}
	// Shrinking might turn it into another bug.
	var shortest *explore.Trace
	for seed := uint64(0); seed < 3000 && (shortest == nil || seed < 300); seed++ {
		tr := explore.Draw(t, s.World, seed)
		if tr.Violation != nil && s.Shows(tr) && (shortest == nil || len(tr.Choices) < len(shortest.Choices)) {
			shortest = tr
		}
	}
	require.NotNil(t, shortest, "%s: nothing is found at random", s.ID)
	return shortest.Choices
}

// TestTheTitlesAreThoseOfTheCatalogue: and every bug of the catalogue has a
// scene, in the same order, or is in the list of those that have none, with the
// reason.
func TestTheTitlesAreThoseOfTheCatalogue(t *testing.T) {
	page, err := os.ReadFile("../../../docs/bugs.md")
	require.NoError(t, err)
	var without []string
	for _, n := range scenes.Without {
		without = append(without, n.ID)
		require.NotEmpty(t, n.Why, n.ID)
		fullWidth(t, n.WhyZh, n.ID)
		if n.Near != "" {
			_, ok := scenes.Find(n.Near)
			require.True(t, ok, "%s: scenes.All has no %s, which is to be near to it", n.ID, n.Near)
		}
	}
	var want, have [][2]string
	var none []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+): (.*)$`).FindAllStringSubmatch(string(page), -1) {
		title, zh := scenes.Title(m[1])
		require.Equal(t, m[2], title, "titles of scenes.go has another title for %s than docs/bugs.md", m[1])
		fullWidth(t, zh, m[1])
		if slices.Contains(without, m[1]) {
			none = append(none, m[1])
			continue
		}
		want = append(want, [2]string{m[1], m[2]})
	}
	require.Equal(t, none, without, "scenes.Without names other bugs than docs/bugs.md has, or in another order")
	for _, s := range scenes.All {
		have = append(have, [2]string{s.ID, s.What})
		en, zh := s.Goal()
		require.NotEmpty(t, en, "titles.go has no goal for %s: %v", s.ID, s.Kinds)
		fullWidth(t, zh, s.ID)
		if s.Substitute[0] != "" {
			fullWidth(t, s.Substitute[1], s.ID)
		}
	}
	require.Equal(t, want, have, "each bug of docs/bugs.md needs a scene in scenes.All, or a reason in scenes.Without")
}

// fullWidth fails if a text is not Chinese, or has Latin punctuation beside a
// Chinese character.
func fullWidth(t *testing.T, text, id string) {
	t.Helper()
	require.Regexp(t, `\p{Han}`, text, "%s: titles.go or scenes.go lacks a Chinese text", id)
	require.NotRegexp(t, `\p{Han}["']?[,.;:!?()]|[,;:!?()]["']?\p{Han}`, text, "%s: use ，。；：！？（）", id)
}

// TestTokensAreShownToTheStockWhenItIsRead: then it refuses a late write that
// comes between the read of the next holder and its write, too.
func TestTokensAreShownToTheStockWhenItIsRead(t *testing.T) {
	s, ok := scenes.Find("E1")
	require.True(t, ok)
	r := explore.Explore(t, s.Ours, explore.Search{Seed: 2, Limit: 300})
	require.Nil(t, r.Found, "%v", r.Found)
	require.Equal(t, 300, r.Schedules+r.Left)
}
