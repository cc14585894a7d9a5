package reentrant

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

// An ownedMutex is a contender: an owner with the Mutex that it locks.
type ownedMutex struct {
	mutex *Mutex
	owner *Owner
}

func (o *ownedMutex) Lock() error            { return o.mutex.Lock(o.owner) }
func (o *ownedMutex) TryLock() (bool, error) { return o.mutex.TryLock(o.owner) }
func (o *ownedMutex) Unlock() error          { return o.mutex.Unlock(o.owner) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New: func(conn *zk.Conn, path string) locktest.Lock {
			return &ownedMutex{New(conn, path), NewOwner("contender")}
		},
		ErrNotLocked: ErrNotOwner,
		Queue:        true,
		WakeUps:      func(waiting int) int { return 1 }, // a release wakes one waiter
		Requests:     func(n int) int { return 5*n - 2 }, // each locks once: 3 of the first, 5 of each that waits
	})
}

func TestOwners(t *testing.T) {
	locktest.Run(t, locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			m := New(conn, path)
			return func(name string) locktest.Lock { return &ownedMutex{m, NewOwner(name)} }
		},
		// Nobody is a Mutex that is called without an owner. Other is an owner's second Mutex, at another path.
		Nobody: func(conn *zk.Conn, path string) locktest.Lock { return &ownedMutex{New(conn, path), nil} },
		Other: func(l locktest.Lock, conn *zk.Conn, path string) locktest.Lock {
			return &ownedMutex{New(conn, path), l.(*ownedMutex).owner}
		},
		ErrNotOwner: ErrNotOwner,
		Holds:       func(l locktest.Lock) int { o := l.(*ownedMutex); return o.mutex.Holds(o.owner) },
	})
}

// TestSchedules plays the schedules of step 4, whose folder is named, with an owner for each contender.
func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "04-reentrant", Open: locks.Owned(New, NewOwner), NotLocked: ErrNotOwner})
}
