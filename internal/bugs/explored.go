package bugs

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/explore"
)

// ByItsScene is the exhibit of a bug by the schedule that the explorer has found for it:
// played with the article's lock it ends with the bug, and with the lock that cures the
// bug it does not. If the bug's story has a schedule of its own, so must that, and it is the
// one that is drawn.
func (b Bug) ByItsScene(t *testing.T) {
	t.Helper()
	NeedsEmbedded(t)
	saved := b.Trace()
	require.NotNil(t, saved, "%s has no schedule: go generate ./...", b.ID)
	type told struct {
		world, ours explore.World
		choices     []string
	}
	all := []told{{b.World, b.Ours, saved.Choices}}
	if p := b.Play; p != nil {
		all = append(all, told{p.In(b.World), p.In(b.Ours), p.Choices})
	}
	t.Run("it happens to the article's lock", func(t *testing.T) {
		var last *explore.Trace
		for _, told := range all {
			last, _ = explore.Play(t, told.world, told.choices)
			require.True(t, b.Shows(last), "%v", last)
		}
		b.inDocs(t, diagram.Of(last))
	})
	t.Run("it does not happen to ours", func(t *testing.T) {
		for _, told := range all {
			tr := Played(t, b.Only(told.ours), told.choices)
			require.Nil(t, tr.Violation, "%v", tr)
			require.False(t, b.Shows(tr), "%v", tr)
		}
	})
	b.Print(t)
}

// Played plays a schedule in another world, as far as that has the same choices;
// what is left is played in the order in which it comes.
func Played(t *testing.T, w explore.World, choices []string) *explore.Trace {
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
