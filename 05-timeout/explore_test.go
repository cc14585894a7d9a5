package timeout_test

import (
	"testing"

	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Timeout()) }
