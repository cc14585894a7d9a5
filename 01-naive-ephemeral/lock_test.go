package naive_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return naive.New(conn, path) },
		ErrNotLocked: naive.ErrNotLocked,
		Expired:      []error{zk.ErrSessionExpired},
		WakeUps:      func(waiting int) int { return waiting },
		Requests:     func(n int) int { return n*n + 2*n }, // 3n, and 2 for each of n(n-1)/2 tries that fail
	})
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Naive()) }
