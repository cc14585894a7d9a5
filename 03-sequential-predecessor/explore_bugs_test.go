package predecessor_test

import (
	"testing"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' queues
// by itself.
func TestExploreFindsTheBugs(t *testing.T) {
	queue := explore.Subject{Queue: true, Exists: true}
	bare := explore.Subject{}
	deep := explore.Subject{Queue: true, Path: "/locks/lock"}
	one := func(f explore.Fault) explore.World {
		return explore.World{Lock: queue, Kinds: []explore.Fault{f}, Faults: 1}
	}
	three := func(f explore.Fault) explore.World {
		return explore.World{Lock: queue, Contenders: 3, Kinds: []explore.Fault{f}, Faults: 1}
	}
	again := [][]explore.Op{{explore.LockOp, explore.UnlockOp, explore.LockOp, explore.UnlockOp}}
	wrong := []explore.Kind{explore.TwoHolders, explore.Overtaken, explore.NodeMissing}
	for _, bug := range []struct {
		id    string
		lock  museum.NewLock
		world explore.World
		kinds []explore.Kind
	}{
		{"A7", newZkClientLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"A8", newZkClientLock, one(explore.Expire), []explore.Kind{explore.Crash}},
		{"A9", newZkClientLock, explore.World{Lock: queue, Scripts: again}, []explore.Kind{explore.Crash}},
		{"A10", newZkClientLock, explore.World{Lock: bare, Missing: true}, []explore.Kind{explore.Crash}},
		{"B1", newCountingLock, explore.World{Lock: queue, Contenders: 3}, []explore.Kind{explore.Hang}},
		{"C2", newAwaitLock, explore.World{Lock: queue}, []explore.Kind{explore.Failure, explore.Crash}},
		{"D1", newZkLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"D2", newZkLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"D3", newZkLock, three(explore.Expire), wrong},
		{"D4", newZkLock, explore.World{Lock: bare, Missing: true}, []explore.Kind{explore.Failure}},
		{"D6", newDistributedLock, explore.World{Lock: deep}, []explore.Kind{explore.Failure, explore.NodeLeft}},
		{"D7", newDistributedLock, explore.World{Lock: deep, Contenders: 3, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, wrong},
	} {
		t.Run(bug.id, func(t *testing.T) { museum.Found(t, bug.lock, bug.world, 12, bug.kinds...) })
	}
}
