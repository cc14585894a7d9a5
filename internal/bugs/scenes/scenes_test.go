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
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// TestEachScheduleEndsWithItsBug: with the article's lock, not with ours.
func TestEachScheduleEndsWithItsBug(t *testing.T) {
	if site.Updates() {
		writeSchedules(t)
		return // what is embedded here is what was there before
	}
	all := scenes.Schedules()
	require.Len(t, all, len(scenes.All), "schedules.json has a schedule for each scene: go generate ./...")
	for _, s := range scenes.All {
		t.Run(s.ID, func(t *testing.T) {
			saved := s.Trace()
			require.NotNil(t, saved, "there is no schedule: go generate ./...")
			again := testenv.Must(explore.Replay(t, saved))(t, "the schedule is stale: go generate ./...")
			require.True(t, s.Shows(again), "the schedule shows something else: go generate ./...\n%v", again)
			require.Equal(t, all[s.ID].Violation, ending(s, again), "it ends in another way: go generate ./...")
			played, _ := explore.Play(t, s.World, saved.Choices)
			require.True(t, s.Shows(played), "the schedule goes on after its last choice: go generate ./...\n%v", played)
		})
	}
}

// ending returns the end of the trace of a scene.
func ending(s scenes.Bug, tr *player.Trace) scenes.Text {
	if slices.Contains(s.Kinds, player.Outlived) {
		return player.Outlived.Text() // it is reported apart
	}
	return tr.Violation.Text()
}

// writeSchedules lets the explorer find the schedules again.
func writeSchedules(t *testing.T) {
	all := make(map[string]scenes.Schedule)
	for _, s := range scenes.All {
		choices := findSchedule(t, s)
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
	b := testenv.Must(json.MarshalIndent(all, "", "\t"))(t)
	site.Holds(t, "internal/bugs/scenes/schedules.json", "", string(b)+"\n")
}

// findSchedule returns the choices of a schedule that shows the scene's bug.
func findSchedule(t *testing.T, s scenes.Bug) []string {
	if s.Like == nil {
		r := explore.Explore(t, s.Only(s.World), s.Search)
		if slices.Contains(s.Kinds, player.Outlived) {
			r.Found = r.Known[string(player.Outlived)]
		}
		cure := "write Search: atRandom into its entry, or change its World or its Kinds"
		if r.Complete {
			cure = "none of all schedules shows it: change its World, which says what may go wrong, or its Kinds"
		}
		require.NotNil(t, r.Found, "%s: nothing is found: %s\n%v", s.ID, cure, r)
		return r.Found.Choices
	}
	// Shrinking might turn it into another bug.
	var shortest *player.Trace
	for seed := uint64(0); seed < 3000 && (shortest == nil || seed < 300); seed++ { // 300 draws for a short one
		tr := explore.Draw(t, s.World, seed)
		if tr.Violation != nil && s.Shows(tr) && (shortest == nil || len(tr.Choices) < len(shortest.Choices)) {
			shortest = tr
		}
	}
	require.NotNil(t, shortest, "%s: nothing is found at random", s.ID)
	return shortest.Choices
}

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' locks again, by itself.
func TestExploreFindsTheBugs(t *testing.T) {
	testenv.Long(t, "the saved schedules show the bugs")
	for _, s := range scenes.All {
		t.Run(s.ID, func(t *testing.T) { findSchedule(t, s) })
	}
}

// TestEachBugIsDescribed: a part that an entry lacks is named.
func TestEachBugIsDescribed(t *testing.T) {
	files := testenv.Must(filepath.Glob("article_*.go"))(t)
	for _, file := range files {
		require.True(t, slices.ContainsFunc(scenes.Bugs, func(b scenes.Bug) bool { return "article_"+strings.ToLower(b.Article())+".go" == file }),
			"Bugs in scenes.go leaves out the bugs of %s", file)
	}
	told := testenv.Must(filepath.Glob("texts/*.json"))(t)
	require.Len(t, told, len(scenes.All), "texts has a file for each bug that has a scene, and no other")
	var marks []string
	listings := testenv.Must(filepath.Glob("../listings/*.go"))(t)
	for _, file := range listings {
		text := testenv.Must(os.ReadFile(file))(t)
		for _, mark := range regexp.MustCompile(`\[([A-Z]\d+(?:, [A-Z]\d+)*)\]`).FindAllStringSubmatch(string(text), -1) {
			marks = append(marks, strings.Split(mark[1], ", ")...)
		}
	}
	for i, b := range scenes.Bugs {
		where := fmt.Sprintf("%s in internal/bugs/scenes/article_%s.go", b.ID, strings.ToLower(b.Article()))
		require.Regexp(t, `^[A-Z][1-9]\d*$`, b.ID)
		require.False(t, i > 0 && scenes.Bugs[i-1].ID == b.ID, "%s is there twice", where)
		require.DirExists(t, "../../../"+b.Step, where)
		require.NotEmpty(t, b.Step, "%s needs a Step: step1 to step5", where)
		require.NotEmpty(t, b.Kinds, "%s needs the Kinds of violation that show it", where)
		require.NotEmpty(t, b.Title.En, "%s needs a Title", where)
		require.NotEmpty(t, b.Cure.Name, "%s needs a Cure: naive, herd, predecessor, reentrant, timeout or complete", where)
		texts := []scenes.Text{b.Title}
		if n := b.NoScene; n != nil {
			require.Nil(t, b.World.Lock.Open, "%s has both a scene and a NoScene", where)
			require.NotEmpty(t, n.Why.En, where)
			texts = append(texts, n.Why)
			if n.Near != "" {
				_, ok := scenes.Find(n.Near)
				require.True(t, ok, "%s: there is no scene %s, which is to be near to it", where, n.Near)
			}
		} else {
			require.NotNil(t, b.World.Lock.Open, "%s needs a Listing and a World, or the reason for which it has NoScene", where)
			require.NotEmpty(t, b.Goal.En, "%s needs a Goal: Goals in texts.go has nothing for %s, the first of its Kinds", where, b.Kinds[0])
			texts = append(texts, b.Goal)
			if b.Listing == nil {
				texts = append(texts, b.Substitute)
			} else {
				require.Contains(t, marks, b.ID, "no comment of internal/bugs/listings marks the line of %s", where)
			}
		}
		for _, text := range texts {
			require.Regexp(t, `\p{Han}`, text.Zh, "%s lacks a Chinese text", where)
		}
	}
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
