package fence

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
)

func TestFence(t *testing.T) {
	locktest.Run(t, suites.FenceSubject{
		New:      func(conn *zk.Conn, path string) suites.Register { return New(conn, path) },
		ErrStale: ErrStale,
	})
}

// TestSchedules plays the schedules of exercise 7, in which a register takes the place of a lock: Lock writes with a
// token of the contender's own, and Unlock reads. A stale token counts as not locked.
func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "07-fence", Open: locks.Registers(New, ErrStale), NotLocked: ErrStale})
}
