package museum

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

// ByItsScene is the exhibit of a bug whose schedule nobody has written: the one that
// the explorer has found is played with the article's lock, where it ends with the
// bug, and with the lock that cures it, where it does not.
func (b Bug) ByItsScene(t *testing.T) {
	t.Helper()
	NeedsEmbedded(t)
	saved := b.Trace()
	require.NotNil(t, saved, "%s has no schedule: go generate ./...", b.ID)
	t.Run("it happens to the article's lock", func(t *testing.T) {
		tr, _ := explore.Play(t, b.World, saved.Choices)
		require.True(t, b.Shows(tr), "%v", tr)
		b.inDocs(t, Draw(tr))
	})
	t.Run("it does not happen to ours", func(t *testing.T) {
		tr := played(t, b.Only(b.Ours), saved.Choices)
		require.Nil(t, tr.Violation, "%v", tr)
		require.False(t, b.Shows(tr), "%v", tr)
	})
	b.Print(t)
}

// played plays a schedule in another world, as far as that has the same choices;
// what is left is played in the order in which it comes.
func played(t *testing.T, w explore.World, choices []string) *explore.Trace {
	t.Helper()
	var made []string
	tr, possible := explore.Play(t, w, made)
	for len(possible) > 0 {
		next := possible[0]
		for i, choice := range choices {
			if slices.Contains(possible, choice) {
				next, choices = choice, choices[i+1:]
				break
			}
		}
		made = append(made, next)
		tr, possible = explore.Play(t, w, made)
	}
	return tr
}

// FindsBugs gives the articles' listings whose bugs break the idea of a step to
// the explorer, without a schedule. In the scene's world it must find the bug,
// with no more choices than the catalogue's diagram has steps, if that is of a
// schedule that somebody has written. In the same world, with the lock that cures
// it, it must not.
func FindsBugs(t *testing.T, step string) {
	NeedsEmbedded(t)
	for _, s := range scenes.All {
		if s.Step != step {
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			t.Run("the article's", func(t *testing.T) {
				r, found := search(t, s, s.World, s.Search)
				require.NotNil(t, found, "%v shows nothing", r)
				if !(Bug{s}).HasTest() {
					return
				}
				person := steps(diagramOf(t, s.ID))
				t.Logf("%d schedules, %d choices, the museum's schedule has %d steps: %v %v\n%q", r.Schedules, len(found.Choices), person, found.Violation, found.Known, found.Choices)
				require.LessOrEqual(t, len(found.Choices), person, "the museum's schedule of %s is shorter:\n%v", s.ID, found)
			})
			t.Run("ours", func(t *testing.T) {
				ours := s.Search
				ours.Limit = 50 // some worlds have too many schedules to play them all
				r, found := search(t, s, s.Ours, ours)
				require.Nil(t, found, "%v", found)
				require.True(t, r.Complete || r.Schedules+r.Cut+r.Left >= ours.Limit, "%v", r)
			})
		})
	}
}

func search(t *testing.T, s scenes.Bug, w explore.World, how explore.Search) (*explore.Report, *explore.Trace) {
	r := explore.Explore(t, s.Only(w), how)
	if slices.Contains(s.Kinds, explore.Outlived) { // it is reported apart, and does not end a search
		return r, r.Known[string(explore.Outlived)]
	}
	return r, r.Found
}

// diagramOf is the diagram of a bug in the catalogue.
func diagramOf(t *testing.T, id string) string {
	t.Helper()
	page, err := os.ReadFile(Page)
	require.NoError(t, err)
	_, drawn, _, ok := cutDiagram(string(page), id)
	_, diagram, drawnToo := strings.Cut(drawn, "```mermaid\n")
	require.True(t, ok && drawnToo, "docs/bugs.md has no diagram of %s", id)
	return diagram
}

// steps counts the lines of a diagram that say what happens.
func steps(diagram string) (n int) {
	for line := range strings.Lines(diagram) {
		if strings.Contains(line, ": ") {
			n++
		}
	}
	return n
}
