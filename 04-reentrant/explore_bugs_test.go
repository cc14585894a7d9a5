package reentrant_test

import (
	"testing"

	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bug of article C's count by
// itself, and not in our lock.
func TestExploreFindsTheBugs(t *testing.T) { museum.FindsBugs(t, "04-reentrant") }
