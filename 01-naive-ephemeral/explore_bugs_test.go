package naive_test

import (
	"testing"

	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of article A's first
// lock by itself, and none of them in the lock that cures it.
func TestExploreFindsTheBugs(t *testing.T) { museum.FindsBugs(t, "01-naive-ephemeral") }
