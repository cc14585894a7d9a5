package timeout_test

import (
	"testing"

	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of article D's
// heartbeat by itself, and none of them in our lock.
func TestExploreFindsTheBugs(t *testing.T) { museum.FindsBugs(t, "05-timeout") }
