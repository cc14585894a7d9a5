package zklock_test

import (
	"testing"

	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) {
	t.Parallel()
	exploretest.Test(t, steps.Zklock())
}
