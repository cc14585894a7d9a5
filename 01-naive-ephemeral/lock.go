// Package naive is step 1: a lock that is one ephemeral znode.
//
// The idea (article A, section 2): a znode can be created only once, so the
// contender that creates it holds the lock. All others watch the node, and
// when it is deleted they all try again. The node is ephemeral: if the holder
// dies, the server deletes the node at the end of the session.
//
// Cost, with w contenders waiting: a release sends w watch events, and 2w+1
// requests belong to it (get and delete; then w creates, of which one
// succeeds, and w-1 gets that set a new watch). N contenders that arrive one
// by one and each lock once send N²+2N requests: N+2 per acquisition, growing
// with the crowd. That is the herd effect. A contender that is alone sends
// create, get and delete.
//
// What is still wrong, and the step that cures it:
//
//   - Every release wakes everybody: step 3. (Step 2 queues, but still wakes
//     everybody.)
//   - The waiters have no order, so a waiter can starve: step 2.
//   - Unlock checks that the node is its own and then deletes it. If the
//     session ends between the two and another contender takes the lock,
//     Unlock deletes that contender's node. A delete can depend on a version,
//     but every new node starts at version 0. Step 2 cures this: there, every
//     node has a name of its own.
//   - The reply to create is lost with the connection, but the node was
//     created: Lock returns an error, and the node keeps everybody out until
//     the session ends: zklock.
//   - The lock is not reentrant: a holder that locks again waits for itself:
//     step 4.
//   - A waiter cannot give up: step 5.
//   - A holder that is cut off for longer than its session timeout does not
//     notice that it has lost the lock: step 5, which reports the loss and has a
//     fencing token for the protected resource.
package naive

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it
// never held it, its session has ended since, or an earlier Unlock released it
// but the reply was lost.
var ErrNotLocked = errors.New("naive: not locked")

// A Lock is one contender for the lock at a path. It is for one goroutine at
// a time, and can be used again after Unlock.
type Lock struct {
	conn *zk.Conn
	path string
	id   string // the data of our node while we hold the lock; "" when we do not
}

// New returns a contender for the lock whose znode is path. Missing parents
// are created when they are needed.
func New(conn *zk.Conn, path string) *Lock {
	return &Lock{conn: conn, path: path}
}

// Lock waits until it holds the lock, for as long as that takes. If it returns
// an error, it does not hold the lock; errors.Is finds the zk error, such as
// zk.ErrSessionExpired if the session ended while Lock waited.
func (l *Lock) Lock() error {
	for {
		held, err := l.TryLock()
		if held || err != nil {
			return err
		}
		if err := l.waitForRelease(); err != nil {
			return err
		}
	}
}

// TryLock takes the lock if nobody holds it. It does not wait for a release.
// It returns false and no error only if another contender holds the lock.
func (l *Lock) TryLock() (bool, error) {
	id := rand.Text()
	err := l.create(id)
	switch {
	case err == nil:
		l.id = id
		return true, nil
	case errors.Is(err, zk.ErrNodeExists):
		return false, nil
	}
	return false, fmt.Errorf("naive: lock %s: %w", l.path, err)
}

func (l *Lock) create(id string) error {
	if l.path == "/" {
		return zk.ErrInvalidPath // it always exists, so Lock would never return
	}
	for {
		_, err := l.conn.Create(l.path, []byte(id), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.createParents(path.Dir(l.path)); err != nil {
			return err
		}
	}
}

func (l *Lock) createParents(dir string) error {
	for {
		_, err := l.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another contender was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// waitForRelease returns when the holder's node is gone, or may be gone.
func (l *Lock) waitForRelease() error {
	// One request reads the node and sets the watch, so no release can happen
	// between the two. GetW and not ExistsW: if the node is gone, ExistsW
	// succeeds, and its watch waits for the next holder to create the node.
	_, _, changed, err := l.conn.GetW(l.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("naive: watch %s: %w", l.path, err)
	}
	// After any event Lock tries again. An event with an error is the end of
	// the session or of the client: no other event follows it.
	if event := <-changed; event.Err != nil {
		return fmt.Errorf("naive: wait for %s: %w", l.path, event.Err)
	}
	return nil
}

// Unlock releases the lock. If this Lock does not hold it, Unlock returns
// ErrNotLocked and deletes no other contender's node. After any other error
// the lock may still be held, and Unlock can be called again.
func (l *Lock) Unlock() error {
	if l.id == "" {
		return ErrNotLocked
	}
	data, stat, err := l.conn.Get(l.path)
	if err == nil && string(data) != l.id {
		err = zk.ErrNoNode // our node is gone, and this one is another contender's
	}
	if err == nil {
		err = l.conn.Delete(l.path, stat.Version)
	}
	if errors.Is(err, zk.ErrNoNode) {
		l.id = ""
		return fmt.Errorf("%w: the node at %s is gone, most likely with its session", ErrNotLocked, l.path)
	}
	if err != nil {
		return fmt.Errorf("naive: unlock %s: %w", l.path, err)
	}
	l.id = ""
	return nil
}
