package rwlock

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
)

func TestReadersAndWriters(t *testing.T) {
	locktest.RunReadWrite(t, locktest.ReadWriteSubject{
		New:          func(conn *zk.Conn, path string) locktest.ReadWriteLock { return New(conn, path) },
		ErrNotLocked: ErrNotLocked,
		Requests:     func(contenders, waits int) int { return 3*contenders + 2*waits },
	})
}
