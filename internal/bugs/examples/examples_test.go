package examples_test

import (
	"testing"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// TestBugByItsScene shows the bugs that have a scene.
func TestBugByItsScene(t *testing.T) {
	for _, s := range scenes.All {
		t.Run(s.ID, bugs.Example(s.ID).ByItsScene)
	}
}
