package herd_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	herd "example.com/zklock/02-herd-effect"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return herd.New(conn, path) },
		ErrNotLocked: herd.ErrNotLocked,
		Queue:        true,
		Expired:      []error{zk.ErrSessionExpired, zk.ErrNoNode}, // ErrNoNode: its node went with the session
		WakeUps:      func(waiting int) int { return waiting },
		Requests:     func(n int) int { return n*n + n + 1 }, // 3n, and (n-1)² lists of waiters that are woken
	})
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Herd()) }
