// Package panics panics in Lock.
package panics

import (
	"github.com/go-zookeeper/zk"
)

// A Lock is one contender.
type Lock struct{ conn *zk.Conn }

// New returns a contender.
func New(conn *zk.Conn, path string) *Lock { return &Lock{conn} }

// Lock is broken.
func (l *Lock) Lock() error {
	var queue []string
	return l.conn.Delete(queue[0], -1)
}

// Unlock does nothing.
func (l *Lock) Unlock() error { return nil }
