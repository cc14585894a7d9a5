package naive_test

import (
	"testing"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of article A's first
// lock by itself. A1 and A3 are about the depth of the stack, and A6 is about
// fairness: no single schedule shows them.
func TestExploreFindsTheBugs(t *testing.T) {
	none := explore.Subject{}
	t.Run("A2", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.Stop}, Faults: 1}, 12, explore.ForeignDelete)
	})
	t.Run("A4", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, 12, explore.Hang)
	})
	t.Run("A5", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Contenders: 1, Kinds: []explore.Fault{explore.LoseReply}, Faults: 1}, 12, explore.Hang)
	})
	t.Run("A11", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1}, 12, explore.TwoHolders)
	})
}
