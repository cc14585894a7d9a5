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

func TestSchedules(t *testing.T) {
	locktest.Run(t, suites.ScheduleSubject{Folder: "07-fence", Open: locks.Registers(New, ErrStale), NotLocked: ErrStale})
}
