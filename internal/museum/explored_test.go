package museum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

// Each scene could be the exhibit of its bug: played choice by choice it shows the
// bug, and with the lock that cures it, it does not. That the diagrams have Chinese
// is seen with those of the catalogue.
func TestEachSceneCouldBeAnExhibit(t *testing.T) {
	for _, s := range scenes.All {
		saved := s.Trace()
		require.NotNil(t, saved, "%s has no schedule: go generate ./...", s.ID)
		choices := saved.Choices
		tr := played(t, s.World, choices)
		require.True(t, s.Shows(tr), "%s: %v", s.ID, tr)
		require.NotContains(t, Draw(tr), "Session")
		tr = played(t, s.Only(s.Ours), choices)
		require.Nil(t, tr.Violation, "%s: %v", s.ID, tr)
		require.False(t, s.Shows(tr), "%s: %v", s.ID, tr)
	}
	s, _ := scenes.Find("A2")
	tr := played(t, s.Only(s.World), append([]string{"what is not possible"}, s.Trace().Choices...))
	require.Equal(t, explore.ForeignDelete, tr.Violation.Kind)
}
