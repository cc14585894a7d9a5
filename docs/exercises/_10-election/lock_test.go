package election

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
)

func TestElection(t *testing.T) {
	locktest.RunElection(t, locktest.ElectionSubject{
		New: func(conn *zk.Conn, path string, timeout time.Duration) locktest.Candidate {
			return New(conn, path, timeout)
		},
		ErrLost:  ErrLost,
		ErrStale: ErrStale,
	})
}
