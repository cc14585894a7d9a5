package predecessor

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return New(conn, path) },
		ErrNotLocked: ErrNotLocked,
		Queue:        true,
		Prefix:       "lock-",
		WakeUps:      func(waiting int) int { return 1 }, // a release wakes one waiter
		Requests:     func(n int) int { return 5*n - 2 }, // 3 of the first contender, and 5 of each that waits
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "03-predecessor", Open: locks.Alone(New), NotLocked: ErrNotLocked})
}
