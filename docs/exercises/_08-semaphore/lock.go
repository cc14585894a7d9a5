// Package semaphore is exercise 8: a fair queue in which as many contenders are
// inside at a time as there are permits.
package semaphore

import (
	"errors"
	"path"

	"github.com/go-zookeeper/zk"
)

// ErrNotAcquired is what Release returns if this contender is not inside.
var ErrNotAcquired = errors.New("semaphore: not acquired")

var errNotWritten = errors.New("semaphore: not written yet: docs/exercises/_08-semaphore/lock.go")

// A Semaphore is one contender for a place inside. It is for one goroutine at a
// time, and can be used again after Release.
type Semaphore struct {
	conn    *zk.Conn
	path    string
	permits int
}

// New returns a contender for the semaphore whose queue is under path. All
// contenders must agree on the number of permits. It sends nothing; with less than
// one permit, Acquire and TryAcquire return an error and send nothing.
func New(conn *zk.Conn, path string, permits int) *Semaphore {
	return &Semaphore{conn: conn, path: path, permits: permits}
}

// Acquire waits until it is inside, for as long as that takes.
func (s *Semaphore) Acquire() error {
	return errNotWritten
}

// TryAcquire goes inside if there is room, and waits for nobody. If there is no
// room, it returns false and no error, and leaves no node behind.
func (s *Semaphore) TryAcquire() (bool, error) {
	return false, errNotWritten
}

// Release goes out. If this contender is not inside, Release returns
// ErrNotAcquired and deletes nothing.
func (s *Semaphore) Release() error {
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
