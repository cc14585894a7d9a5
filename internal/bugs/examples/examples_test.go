package examples_test

import (
	"testing"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Each bug that has a scene happens with the article's lock, and not with the lock that cures it.
func TestBugByItsScene(t *testing.T) {
	for _, s := range scenes.WithScene {
		t.Run(s.ID, bugs.Example(s.ID).ByItsScene)
	}
}
