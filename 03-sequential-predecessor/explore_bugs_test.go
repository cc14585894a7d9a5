package predecessor_test

import (
	"testing"

	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' queues
// by itself, and none of them in the lock that cures it.
func TestExploreFindsTheBugs(t *testing.T) { museum.FindsBugs(t, "03-sequential-predecessor") }
