package findagain

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
		FindsNode:    true,
		WakeUps:      func(int) int { return 1 },         // a release wakes one waiter
		Requests:     func(n int) int { return 5*n - 2 }, // 3 of the first contender, and 5 of each that waits
	})
}

func TestLostReplies(t *testing.T) {
	locktest.Run(t, locktest.LostReplySubject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return New(conn, path) },
		ErrNotLocked: ErrNotLocked,
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "06-find-again", Open: locks.Alone(New), NotLocked: ErrNotLocked})
}
