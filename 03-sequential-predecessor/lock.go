// Package predecessor is step 3: a fair queue in which each contender watches
// only the one before it.
//
// The idea (article A, section 3; article B's second algorithm; articles C
// and E): as in step 2 each contender creates an ephemeral sequential znode,
// and the contender whose number is the smallest holds the lock. Each of the
// others watches only the node just before its own. A release then wakes one
// contender, like a parcel that is passed along the queue.
//
// The contender that wakes reads the whole queue again before it takes the lock:
// the deleted node may have belonged to a waiter that gave up.
//
// Cost: a contender that has to wait sends create, children, get (with the
// watch), children and delete, and gets one event; a contender that does
// not have to wait sends create, children and delete. N contenders that arrive
// one by one and each lock once send 5N-2 requests: fewer than 5 per
// acquisition, however many there are. Only the list of children still grows
// with the crowd: two lists of up to N names per acquisition.
//
// What is still wrong, and the step that cures it:
//
//   - The reply to create is lost with the connection, but the node was
//     created: Lock returns an error, and the node blocks the queue until the
//     session ends: zklock. A node that could not be deleted after another
//     error does the same: step 5.
//   - The names sort by number only until the server's counter passes 2³¹-1.
//     If somebody deletes the parent, a new one counts from 0 again, so that
//     names occur a second time: zklock.
//   - The lock is not reentrant: a holder that locks again waits for itself:
//     step 4.
//   - A waiter cannot give up: step 5.
//   - A holder that is cut off for longer than its session timeout does not
//     notice that it has lost the lock (article E's chain does not break, but
//     two hold the lock): step 5, with a fencing token.
//   - Two lists per acquisition are more than necessary: zklock.
package predecessor

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it
// never held it, its session has ended since, or an earlier Unlock released it
// but the reply was lost.
var ErrNotLocked = errors.New("predecessor: not locked")

const prefix = "lock-" // the server appends the number, ten digits

// A Lock is one contender for the lock at a path. It is for one goroutine at
// a time, and can be used again after Unlock.
type Lock struct {
	conn *zk.Conn
	path string
	node string // our node's path while we hold the lock; "" when we do not
}

// New returns a contender for the lock whose queue is under path. The parent
// and all nodes above it are created when they are needed.
func New(conn *zk.Conn, path string) *Lock {
	return &Lock{conn: conn, path: path}
}

// Lock waits until it holds the lock, for as long as that takes. If it returns
// an error, it does not hold the lock, and it has left the queue or the error
// says that its node is still there. errors.Is finds the zk error:
// zk.ErrSessionExpired or zk.ErrNoNode if the session ended and its node was
// deleted.
func (l *Lock) Lock() error {
	node, err := l.enqueue()
	if err != nil {
		return err
	}
	for {
		before, err := l.predecessor(node)
		if err != nil {
			return l.giveUp(node, err)
		}
		if before == "" {
			l.node = node
			return nil
		}
		// GetW and not ExistsW: if the node was deleted after the list was
		// read, ExistsW would set a watch that nothing ever fires.
		_, _, changed, err := l.conn.GetW(l.path + "/" + before)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return l.giveUp(node, err)
		}
		if event := <-changed; event.Err != nil {
			return l.giveUp(node, event.Err)
		}
	}
}

// TryLock takes the lock if nobody holds it or waits for it. It does not wait
// for a release. If it returns false and no error, another contender holds the
// lock or waits for it, and no node of ours is left behind.
func (l *Lock) TryLock() (bool, error) {
	node, err := l.enqueue()
	if err != nil {
		return false, err
	}
	before, err := l.predecessor(node)
	if err == nil && before == "" {
		l.node = node
		return true, nil
	}
	return false, l.giveUp(node, err)
}

// enqueue creates our node, at the end of the queue.
func (l *Lock) enqueue() (node string, err error) {
	for {
		node, err = l.conn.Create(l.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err == nil {
			return node, nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = l.createParents(l.path)
		}
		if err != nil {
			return "", fmt.Errorf("predecessor: lock %s: %w", l.path, err)
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

// predecessor returns the name of the node just before ours in the queue, ""
// if ours is the first.
func (l *Lock) predecessor(node string) (before string, err error) {
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", err
	}
	name := path.Base(node)
	found := false
	for _, child := range children {
		if len(child) != len(name) || !strings.HasPrefix(child, prefix) {
			continue // this node is not a contender's
		}
		switch strings.Compare(child, name) {
		case 0:
			found = true
		case -1:
			before = max(before, child)
		}
	}
	if !found {
		return "", fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	return before, nil
}

// giveUp leaves the queue: a node left behind would block all later
// contenders. It returns cause, joined with the error of the delete, if any.
func (l *Lock) giveUp(node string, cause error) error {
	if cause != nil {
		cause = fmt.Errorf("predecessor: wait at %s: %w", node, cause)
	}
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) {
		return cause // the server deletes the node at the end of the session
	}
	// When a connection breaks, the requests under way fail. A moment later
	// the client has noticed, and the next delete waits for a new connection.
	var err error
	for range 3 {
		err = l.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return cause
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(cause, fmt.Errorf("predecessor: %s stays in the queue until its session ends: %w", node, err))
}

// Unlock releases the lock. It returns ErrNotLocked if this Lock does not hold
// it. After any other error the lock may still be held, and Unlock can be
// called again.
func (l *Lock) Unlock() error {
	if l.node == "" {
		return ErrNotLocked
	}
	err := l.conn.Delete(l.node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: %s is gone, most likely with its session", ErrNotLocked, l.node)
		l.node = ""
		return err
	}
	if err != nil {
		return fmt.Errorf("predecessor: unlock %s: %w", l.node, err)
	}
	l.node = ""
	return nil
}
