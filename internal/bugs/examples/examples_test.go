package examples_test

import (
	"slices"
	"testing"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' locks by
// itself, and none of them in the lock that cures it. The schedules that it has found
// are played in TestBugByItsScene.
func TestExploreFindsTheBugs(t *testing.T) {
	testenv.Long(t, "the saved schedules show the bugs")
	testenv.NotRaced(t, "its schedules are ten times as slow")
	for _, s := range slices.CompactFunc(slices.Clone(scenes.All), func(a, b scenes.Bug) bool { return a.Step == b.Step }) {
		t.Run(s.Step, func(t *testing.T) { bugs.FindsBugs(t, s.Step) })
	}
}

// TestBugByItsScene shows the bugs that have a scene.
func TestBugByItsScene(t *testing.T) {
	for _, s := range scenes.All {
		t.Run(s.ID, bugs.Example(s.ID).ByItsScene)
	}
}
