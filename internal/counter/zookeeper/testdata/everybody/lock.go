// Package everybody excludes nobody.
package everybody

import (
	"github.com/go-zookeeper/zk"
)

// A Lock is one contender.
type Lock struct{ conn *zk.Conn }

// New returns a contender.
func New(conn *zk.Conn, path string) *Lock { return &Lock{conn} }

// Lock is broken.
func (l *Lock) Lock() error {
	_, _, err := l.conn.Exists("/")
	return err
}

// Unlock does nothing.
func (l *Lock) Unlock() error { return nil }
