// Package reentrant is exercise 4: the holder of the lock may lock again.
package reentrant

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// ErrNotOwner is what Unlock returns if the owner does not hold the lock.
var ErrNotOwner = errors.New("reentrant: not the owner")

var errNotWritten = errors.New("reentrant: not written yet: docs/exercises/_04-reentrant/lock.go")

// An Owner is the identity of a holder, as a thread is in Java.
type Owner struct{ name string }

// NewOwner returns a new owner. Two owners are distinct even if their names
// are equal.
func NewOwner(name string) *Owner { return &Owner{name} }

// A Mutex is the lock at a path for all goroutines of a process. It is safe
// for concurrent use.
type Mutex struct {
	conn *zk.Conn
	path string
}

// New returns the lock whose queue is under path. It sends nothing. You may use
// step 3's lock: example.com/zklock/03-sequential-predecessor.
func New(conn *zk.Conn, path string) *Mutex {
	return &Mutex{conn: conn, path: path}
}

// Lock waits until the owner holds the lock. If the owner holds it already, Lock
// returns at once, and the owner holds it once more.
func (m *Mutex) Lock(owner *Owner) error {
	return errNotWritten
}

// TryLock is Lock, but does not wait. If another contender holds the lock, it
// returns false and no error, and leaves no node behind.
func (m *Mutex) TryLock(owner *Owner) (bool, error) {
	return false, errNotWritten
}

// Unlock undoes one Lock of the owner; the last Unlock releases the lock. It
// returns ErrNotOwner if the owner does not hold the lock.
func (m *Mutex) Unlock(owner *Owner) error {
	return errNotWritten
}

// Holds returns how many times the owner has locked without unlocking.
func (m *Mutex) Holds(owner *Owner) int {
	return 0
}
