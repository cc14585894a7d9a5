package semaphore

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

// With one permit a semaphore is a lock.
type onePermit struct{ *Semaphore }

func (s onePermit) Lock() error            { return s.Acquire() }
func (s onePermit) TryLock() (bool, error) { return s.TryAcquire() }
func (s onePermit) Unlock() error          { return s.Release() }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return onePermit{New(conn, path, 1)} },
		ErrNotLocked: ErrNotAcquired,
		Queue:        true,
		Permits:      true,
		WakeUps:      func(int) int { return 1 },         // a release wakes one waiter
		Requests:     func(n int) int { return 5*n - 2 }, // 3 of the first contender, and 5 of each that waits
	})
}

func TestSemaphore(t *testing.T) {
	locktest.Run(t, suites.SemaphoreSubject{
		New:            func(conn *zk.Conn, path string, permits int) suites.Semaphore { return New(conn, path, permits) },
		ErrNotAcquired: ErrNotAcquired,
		WakeUps:        func(permits int) int { return permits },
		Requests:       func(permits, n int) int { return 3*n + max(0, n-permits)*(permits+1) }, // 3 of each, and permits+1 of one that waits
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "08-semaphore", Open: locks.Permits(New), NotLocked: ErrNotAcquired})
}
