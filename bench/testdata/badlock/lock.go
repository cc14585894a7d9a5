// Package badlock has no Unlock.
package badlock

import "github.com/go-zookeeper/zk"

// A Lock is one contender.
type Lock struct{}

// New returns a contender.
func New(conn *zk.Conn, path string) *Lock { return &Lock{} }

// Lock locks.
func (l *Lock) Lock() error { return nil }
