package reentrant_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// An owned Mutex is a contender: an owner with the Mutex that it locks.
type owned struct {
	mutex *reentrant.Mutex
	owner *reentrant.Owner
}

func (o *owned) Lock() error            { return o.mutex.Lock(o.owner) }
func (o *owned) TryLock() (bool, error) { return o.mutex.TryLock(o.owner) }
func (o *owned) Unlock() error          { return o.mutex.Unlock(o.owner) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New: func(conn *zk.Conn, path string) locktest.Lock {
			return &owned{reentrant.New(conn, path), reentrant.NewOwner("contender")}
		},
		ErrNotLocked: reentrant.ErrNotOwner,
		Queue:        true,
		WakeUps:      func(waiting int) int { return 1 },
		Requests:     func(n int) int { return 5*n - 2 }, // five for each that waits, and three for the first
	})
}

func TestOwners(t *testing.T) {
	locktest.Run(t, locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			m := reentrant.New(conn, path)
			return func(name string) locktest.Lock { return &owned{m, reentrant.NewOwner(name)} }
		},
		Nobody:      func(conn *zk.Conn, path string) locktest.Lock { return &owned{reentrant.New(conn, path), nil} },
		ErrNotOwner: reentrant.ErrNotOwner,
		Holds:       func(l locktest.Lock) int { o := l.(*owned); return o.mutex.Holds(o.owner) },
	})
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Reentrant()) }
