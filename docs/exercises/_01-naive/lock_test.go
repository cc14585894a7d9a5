package naive

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
		WakeUps:      func(waiting int) int { return waiting },
		Requests:     func(n int) int { return n*n + 2*n },
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "01-naive", Open: locks.Alone(New), NotLocked: ErrNotLocked})
}
