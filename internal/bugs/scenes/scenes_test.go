// Tests of the catalogue of bugs: the entry of each bug is complete, and each scene has a saved schedule that ends with
// its bug. A schedule is a list of choices, such as "A: request", which say what happens next in the scene's world.
package scenes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// With the article's lock, each saved schedule ends with its bug, in the saved way. -update finds the schedules again.
func TestEachScheduleEndsWithItsBug(t *testing.T) {
	if site.Updates() {
		writeSchedules(t)
		return // this program has the former schedules embedded
	}
	schedules := scenes.Schedules()
	require.Len(t, schedules, len(scenes.WithScene), "schedules.json has a schedule for each scene: go generate ./...")
	for _, s := range scenes.WithScene {
		t.Run(s.ID, func(t *testing.T) {
			saved := s.Trace()
			require.NotNil(t, saved, "there is no schedule: go generate ./...")
			again := testenv.Must(explore.Replay(t, saved))(t, "the schedule is stale: go generate ./...")
			require.True(t, s.Shows(again), "the schedule shows something else: go generate ./...\n%v", again)
			require.Equal(t, schedules[s.ID].Violation, ending(s, again), "it ends in another way: go generate ./...")
			played, _ := explore.Play(t, s.World, saved.Choices)
			require.True(t, s.Shows(played), "the schedule goes on after its last choice: go generate ./...\n%v", played)
		})
	}
}

// ending returns the violation with which the trace of a scene ends.
func ending(s scenes.Bug, tr *player.Trace) scenes.Text {
	if slices.Contains(s.Kinds, player.Outlived) {
		return player.Outlived.Text() // no lock can rule it out: the explorer lists it in Known, and the schedule goes on
	}
	return tr.Violation.Text()
}

// writeSchedules has the explorer find the schedules, and writes schedules.json.
func writeSchedules(t *testing.T) {
	schedules := make(map[string]scenes.Schedule)
	for _, s := range scenes.WithScene {
		choices := findSchedule(t, s)
		for {
			tr, possible := explore.Play(t, s.World, choices)
			if s.Shows(tr) {
				t.Logf("%s: %d choices: %v %v", s.ID, len(choices), tr.Violation, tr.Known)
				schedules[s.ID] = scenes.Schedule{Choices: choices, Widths: tr.Widths, Violation: ending(s, tr)}
				break
			}
			require.NotEmpty(t, possible, "%v", tr)
			choices = append(slices.Clone(choices), possible[0]) // a replay takes the first one after the last choice, too
		}
	}
	text := testenv.Must(json.MarshalIndent(schedules, "", "\t"))(t)
	site.Holds(t, "internal/bugs/scenes/schedules.json", "", string(text)+"\n")
}

// findSchedule returns the choices of a schedule that shows the scene's bug.
func findSchedule(t *testing.T, s scenes.Bug) []string {
	if s.Like != nil { // it tells the bug from another one with the same violation
		return drawSchedule(t, s)
	}
	result := explore.Explore(t, s.Only(s.World), s.Search)
	if slices.Contains(s.Kinds, player.Outlived) {
		result.Found = result.Known[string(player.Outlived)]
	}
	advice := "write Search: atRandom into its entry, or change its World or its Kinds"
	if result.Complete {
		advice = "none of all schedules shows it: change its World, which says what may go wrong, or its Kinds"
	}
	require.NotNil(t, result.Found, "%s: nothing is found: %s\n%v", s.ID, advice, result)
	return result.Found.Choices
}

// drawSchedule draws schedules at random and returns the choices of the shortest that shows the bug. Explore would
// shorten the first one that it finds, and the shorter one might show the other bug with the same violation.
func drawSchedule(t *testing.T, s scenes.Bug) []string {
	const mostDraws, enough = 3000, 300 // until one shows the bug, and if one does
	var shortest *player.Trace
	for seed := uint64(0); seed < mostDraws && (shortest == nil || seed < enough); seed++ {
		tr := explore.Draw(t, s.World, seed)
		if tr.Violation != nil && s.Shows(tr) && (shortest == nil || len(tr.Choices) < len(shortest.Choices)) {
			shortest = tr
		}
	}
	require.NotNil(t, shortest, "%s: nothing is found at random", s.ID)
	return shortest.Choices
}

func TestExploreFindsTheBugs(t *testing.T) {
	testenv.Long(t, "the saved schedules show the bugs")
	for _, s := range scenes.WithScene {
		t.Run(s.ID, func(t *testing.T) { findSchedule(t, s) })
	}
}

func fileOf(b scenes.Bug) string { return "article_" + strings.ToLower(b.Article()) + ".go" }

// marksOfListings returns the IDs of bugs in the comments of the listings, such as [A7] and [A9, A10].
func marksOfListings(t *testing.T) (ids []string) {
	for _, file := range testenv.Must(filepath.Glob("../listings/*.go"))(t) {
		text := testenv.Must(os.ReadFile(file))(t)
		for _, mark := range regexp.MustCompile(`\[([A-Z]\d+(?:, [A-Z]\d+)*)\]`).FindAllStringSubmatch(string(text), -1) {
			ids = append(ids, strings.Split(mark[1], ", ")...)
		}
	}
	return ids
}

// The entry of each bug is complete, and the texts and the marks in the listings have the same bugs.
func TestEachBugIsDescribed(t *testing.T) {
	for _, file := range testenv.Must(filepath.Glob("article_*.go"))(t) {
		hasEntry := func(b scenes.Bug) bool { return fileOf(b) == file }
		require.True(t, slices.ContainsFunc(scenes.Bugs, hasEntry), "Bugs in scenes.go leaves out the bugs of %s", file)
	}
	textFiles := testenv.Must(filepath.Glob("texts/*.json"))(t)
	require.Len(t, textFiles, len(scenes.WithScene), "texts has a file for each bug that has a scene, and no other")
	marks := marksOfListings(t)
	for i, b := range scenes.Bugs {
		where := fmt.Sprintf("%s in internal/bugs/scenes/%s", b.ID, fileOf(b))
		require.Regexp(t, `^[A-Z][1-9]\d*$`, b.ID)
		require.False(t, i > 0 && scenes.Bugs[i-1].ID == b.ID, "%s is there twice", where)
		require.DirExists(t, "../../../"+b.Step, where)
		require.NotEmpty(t, b.Step, "%s needs a Step: step1 to step5", where)
		require.NotEmpty(t, b.Kinds, "%s needs the Kinds of violation that show it", where)
		require.NotEmpty(t, b.Title.String(), "%s needs a Title", where)
		require.NotEmpty(t, b.Cure.Name, "%s needs a Cure: naive, herd, predecessor, reentrant, timeout or complete", where)

		hasScene := b.World.Lock.Open != nil // a Listing gives World's lock its Open
		texts := []scenes.Text{b.Title}
		if n := b.NoScene; n != nil {
			require.False(t, hasScene, "%s has both a scene and a NoScene", where)
			require.NotEmpty(t, n.Why.String(), where)
			texts = append(texts, n.Why)
			_, isScene := scenes.Find(n.Near)
			require.True(t, n.Near == "" || isScene, "%s: there is no scene %s, which is to be near to it", where, n.Near)
		} else {
			require.True(t, hasScene, "%s needs a Listing and a World, or the reason for which it has NoScene", where)
			require.NotEmpty(t, b.Goal.String(), "%s needs a Goal: Goals has none for %s, its first Kind", where, b.Kinds[0])
			texts = append(texts, b.Goal)
			if b.Listing == nil {
				texts = append(texts, b.Substitute)
			} else {
				require.Contains(t, marks, b.ID, "no comment of internal/bugs/listings marks the line of %s", where)
			}
		}
		for _, text := range texts {
			require.Regexp(t, `\p{Han}`, text.In(i18n.Chinese), "%s lacks a Chinese text", where)
		}
	}
}

// E1's stock is a number that the lock protects. It refuses a token that is lower than one it has seen. A read, too,
// shows the stock the reader's token: so the stock refuses a late write also before the next holder has written.
func TestTokensAreShownToTheStockWhenItIsRead(t *testing.T) {
	const schedules = 300
	result := explore.Explore(t, scenes.Get("E1").Ours, explore.Search{Seed: 2, Limit: schedules})
	require.Nil(t, result.Found, "%v", result.Found)
	require.Equal(t, schedules, result.Schedules+result.Left) // Left: those that did not repeat
}
