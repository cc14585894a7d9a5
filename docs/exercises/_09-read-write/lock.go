// Package rwlock is exercise 9: many readers or one writer, in the order in which
// they came.
package rwlock

import (
	"errors"
	"path"

	"github.com/go-zookeeper/zk"
)

// ErrNotLocked is what Unlock returns if this Lock does not hold the lock for
// writing, and RUnlock if it does not hold it for reading.
var ErrNotLocked = errors.New("rwlock: not locked")

var errNotWritten = errors.New("rwlock: not written yet: docs/exercises/_09-read-write/lock.go")

// A Lock is one contender for the lock at a path, for reading or for writing. It
// is for one goroutine at a time, and can be used again after it was released.
type Lock struct {
	conn *zk.Conn
	path string
}

// New returns a contender for the lock whose queue is under path. It sends nothing.
func New(conn *zk.Conn, path string) *Lock {
	return &Lock{conn: conn, path: path}
}

// RLock waits until it holds the lock for reading: together with other readers,
// and after every writer that came before.
func (l *Lock) RLock() error {
	return errNotWritten
}

// RUnlock releases a lock that is held for reading. If this Lock does not hold it
// so, RUnlock returns ErrNotLocked and deletes nothing.
func (l *Lock) RUnlock() error {
	return errNotWritten
}

// Lock waits until it holds the lock for writing: alone, and after everybody that
// came before.
func (l *Lock) Lock() error {
	return errNotWritten
}

// Unlock releases a lock that is held for writing. If this Lock does not hold it
// so, Unlock returns ErrNotLocked and deletes nothing.
func (l *Lock) Unlock() error {
	return errNotWritten
}

// createParents makes the node dir and those above it, if they are missing. It is
// written already: call it when a create says zk.ErrNoNode, and create again.
func createParents(conn *zk.Conn, dir string) error {
	for {
		_, err := conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another contender was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := createParents(conn, path.Dir(dir)); err != nil {
			return err
		}
	}
}
