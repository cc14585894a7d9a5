package rwlock

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

func TestReadersAndWriters(t *testing.T) {
	locktest.Run(t, suites.ReadWriteSubject{
		New:          func(conn *zk.Conn, path string) suites.ReadWriteLock { return New(conn, path) },
		ErrNotLocked: ErrNotLocked,
		Requests:     func(contenders, waits int) int { return 3*contenders + 2*waits }, // 3 of each, 2 of each that waits
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{
		Folder: "09-read-write", Open: locks.ReadersAndWriters(New), NotLocked: ErrNotLocked})
}
