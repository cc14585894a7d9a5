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

// FindsBugs gives the articles' listings whose bugs break the idea of a step to
// the explorer, without a schedule. In the scene's world it must find the bug,
// with no more choices than the catalogue's diagram has steps. In the same
// world, with the lock that cures it, it must not.
func FindsBugs(t *testing.T, step string) {
	NeedsEmbedded(t)
	all := scenes.Of(step)
	require.NotEmpty(t, all)
	for _, s := range all {
		t.Run(s.ID, func(t *testing.T) {
			t.Run("the article's", func(t *testing.T) {
				r, found := search(t, s, s.World, s.Search)
				require.NotNil(t, found, "%v shows nothing", r)
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

func search(t *testing.T, s scenes.Scene, w explore.World, how explore.Search) (*explore.Report, *explore.Trace) {
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
	_, entry, ok := strings.Cut(string(page), "<!-- "+id+" -->\n")
	require.True(t, ok, "the catalogue has no %s", id)
	_, diagram, _ := strings.Cut(entry, "```mermaid\n")
	diagram, _, ok = strings.Cut(diagram, "```")
	require.True(t, ok, "%s has no diagram", id)
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
