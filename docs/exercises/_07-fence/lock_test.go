package fence

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/docs/exercises/suites"
	"example.com/zklock/internal/locktest"
)

func TestFence(t *testing.T) {
	locktest.Run(t, suites.FenceSubject{
		New:      func(conn *zk.Conn, path string) suites.Register { return New(conn, path) },
		ErrStale: ErrStale,
	})
}
