package predecessor_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return predecessor.New(conn, path) },
		ErrNotLocked: predecessor.ErrNotLocked,
		Queue:        true,
		Expired:      []error{zk.ErrSessionExpired, zk.ErrNoNode}, // ErrNoNode: its node went with the session
		WakeUps:      func(waiting int) int { return 1 },
		Requests:     func(n int) int { return 5*n - 2 }, // 5 each; the first needs no get and no second list
	})
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Predecessor()) }
