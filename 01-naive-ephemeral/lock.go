// Package naive is step 1: a lock that is one ephemeral znode.
//
// The idea (article A, section 2): a znode can be made only once, so whoever
// makes it holds the lock. All others watch the node, and when it goes they
// all try again. It is ephemeral, so a holder that dies lets go when its
// session ends.
//
// Cost, with w contenders waiting: a release sends w watch events, and 2w+1
// requests follow it (get, delete, w creates of which one succeeds, w-1 gets
// that set a new watch). N contenders that arrive one by one and each lock
// once send N²+2N requests: N+2 per acquisition, growing with the crowd. That
// is the herd effect. Alone, it costs create, get, delete.
//
// What is still wrong, and the step that cures it:
//
//   - Every release wakes everybody: step 3. (Step 2 queues, but still wakes
//     everybody.)
//   - Nobody waits in line, so a waiter can starve: step 2.
//   - Unlock looks whether the node is ours and then deletes it. If the
//     session ends between the two and somebody else takes the lock, their
//     node is deleted: ZooKeeper can make a delete depend on a version, but
//     every new node starts at version 0. Step 2, whose nodes have names that
//     nobody else ever gets.
//   - The reply to create is lost with the connection, but the node was made:
//     Lock returns an error, and the node keeps everybody out until the
//     session ends: step 5.
//   - Not reentrant: whoever locks twice waits for itself: step 4.
//   - A waiter cannot give up: step 5.
//   - A holder that is cut off for longer than its session goes on believing
//     that it holds the lock: step 5, which says when it is lost and has a
//     fencing token for what it protects.
package naive

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it
// never did, its session has ended meanwhile, or an earlier Unlock whose reply
// was lost has let go of it after all.
var ErrNotLocked = errors.New("naive: not locked")

// A Lock is one contender for the lock at a path. It is for one goroutine at
// a time, and can be used again after Unlock.
type Lock struct {
	conn *zk.Conn
	path string
	id   string // stands in our node while we hold the lock; "" when we do not
}

// New returns a contender for the lock whose znode is path. Missing parents
// are made when they are needed.
func New(conn *zk.Conn, path string) *Lock {
	return &Lock{conn: conn, path: path}
}

// Lock waits until it holds the lock, for as long as that takes. After an
// error it does not hold it; errors.Is finds the zk error, such as
// zk.ErrSessionExpired if the session ended while it waited.
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

// TryLock takes the lock if nobody holds it. It never waits. False without
// an error means that somebody holds it, and nothing else does.
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
		return zk.ErrInvalidPath // it exists always: we would wait for ever
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
			return nil // somebody else was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// waitForRelease returns when the holder's node has gone, or may have.
func (l *Lock) waitForRelease() error {
	// One request looks at the node and sets the watch, so no release falls
	// between the two. Get and not Exists: where there is no node any more,
	// Exists succeeds, and waits for the next holder to come.
	_, _, changed, err := l.conn.GetW(l.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("naive: watch %s: %w", l.path, err)
	}
	// Whatever the event is, Lock looks again; but when the session ends no
	// other event will ever come.
	if event := <-changed; event.Err != nil {
		return fmt.Errorf("naive: wait for %s: %w", l.path, event.Err)
	}
	return nil
}

// Unlock lets go of the lock. It returns ErrNotLocked, and touches nobody
// else's node, if this Lock does not hold it. After any other error it may
// still hold it, and Unlock can be called again.
func (l *Lock) Unlock() error {
	if l.id == "" {
		return ErrNotLocked
	}
	data, stat, err := l.conn.Get(l.path)
	if err == nil && string(data) != l.id {
		err = zk.ErrNoNode // our node has gone, and this is somebody else's
	}
	if err == nil {
		err = l.conn.Delete(l.path, stat.Version)
	}
	if errors.Is(err, zk.ErrNoNode) {
		l.id = ""
		return fmt.Errorf("%w: the node at %s has gone, most likely with its session", ErrNotLocked, l.path)
	}
	if err != nil {
		return fmt.Errorf("naive: unlock %s: %w", l.path, err)
	}
	l.id = ""
	return nil
}
