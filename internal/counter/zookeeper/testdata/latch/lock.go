// Package latch waits for its turn with a timed latch, and takes the lock when the time
// is up.
package latch

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// A Lock is one contender.
type Lock struct {
	conn *zk.Conn
	path string
}

// New returns a contender.
func New(conn *zk.Conn, path string) *Lock { return &Lock{conn, path} }

// Lock is broken.
func (l *Lock) Lock() error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != zk.ErrNodeExists {
			return err
		}
		there, _, gone, err := l.conn.ExistsW(l.path)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		select {
		case <-gone:
		case <-time.After(30 * time.Second): // the article has await(5, SECONDS); this is longer than a trial takes on a busy machine
			return nil // nothing looks at the result of await
		}
	}
}

// Unlock removes the node.
func (l *Lock) Unlock() error {
	if err := l.conn.Delete(l.path, -1); err != zk.ErrNoNode {
		return err
	}
	return nil
}
