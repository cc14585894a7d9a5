package timeout_test

import (
	"testing"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of article D's
// heartbeat by itself.
func TestExploreFindsTheBugs(t *testing.T) {
	deep := explore.Subject{Path: "/locks/lock"}
	t.Run("D11", func(t *testing.T) {
		museum.Found(t, newHeartbeatLock, explore.World{
			Lock: deep, Contenders: 1, Kinds: []explore.Fault{explore.Pause}, Faults: 1,
		}, explore.Endless)
	})
	t.Run("D12", func(t *testing.T) {
		museum.Found(t, newHeartbeatLock, explore.World{
			Lock: deep, Kinds: []explore.Fault{explore.Expire}, Faults: 1,
		}, explore.Outlived)
	})
}
