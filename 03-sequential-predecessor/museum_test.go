package predecessor_test

import (
	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/museum"
)

func newPredecessor(conn *zk.Conn, path string) museum.Lock { return predecessor.New(conn, path) }

// withParent creates the lock's parent, which the listings require.
func withParent(s *museum.Stage, c *museum.Client) {
	s.Aside(func() {
		_, err := c.Create(s.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		must(err)
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
