package election

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

func TestElection(t *testing.T) {
	locktest.Run(t, suites.ElectionSubject{
		New: func(conn *zk.Conn, path string, timeout time.Duration) suites.Candidate {
			return New(conn, path, timeout)
		},
		ErrLost:  ErrLost,
		ErrStale: ErrStale,
	})
}

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "10-election", Open: locks.Candidates(New), NotLocked: ErrLost})
}
