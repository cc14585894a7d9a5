package reentrant_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bug of article C's count by
// itself.
func TestExploreFindsTheBugs(t *testing.T) {
	counted := func(conn *zk.Conn, path string) museum.Lock {
		l := &countedLock{client: conn, path: path}
		return museum.Calls{
			CallLock:   func() error { return museum.False(l.lock("main")) },
			CallUnlock: func() error { return conn.Delete(l.lockedPath, -1) },
		}
	}
	again := []explore.Op{explore.LockOp, explore.UnlockOp, explore.LockOp, explore.UnlockOp}
	t.Run("C1", func(t *testing.T) {
		museum.Found(t, counted, explore.World{
			Lock: explore.Subject{Queue: true}, Scripts: [][]explore.Op{nil, again},
			Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1,
		}, explore.TwoHolders)
	})
}
