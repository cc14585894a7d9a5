// Package predecessor is step 3: a fair queue in which each contender watches
// only the one before it.
//
// The idea (article A, section 3; article B's second algorithm; articles C
// and E): as in step 2 each contender makes an ephemeral sequential znode,
// and whose number is the smallest holds the lock. All others watch just the
// node before their own. A release then wakes one contender, like a parcel
// that is passed along the queue.
//
// The one who wakes looks at the whole queue again before it believes that
// it holds the lock: the node that went may have been a waiter that gave up.
//
// Cost: whoever has to wait sends create, children, get (with the watch),
// children, delete and is sent one event; whoever need not sends create,
// children, delete. N contenders that arrive one by one and each lock once
// send 5N-2 requests, fewer than 5 per acquisition, however many there are.
// What still grows with the crowd is the list of children: two of up to N
// names per acquisition.
//
// What is still wrong, and the step that cures it:
//
//   - The reply to create is lost with the connection, but the node was made:
//     Lock returns an error, and the node blocks the queue until the session
//     ends. So does one that could not be deleted after another error: step 5.
//   - The names sort by number only until the server's counter passes 2³¹-1;
//     and if somebody deletes the parent, a new one counts from 0 again, so
//     that names come back: step 5.
//   - Not reentrant: whoever locks twice waits for itself: step 4.
//   - A waiter cannot give up: step 5.
//   - A holder that is cut off for longer than its session goes on believing
//     that it holds the lock ("the chain cannot break", says article E; it
//     can): step 5, with a fencing token.
//   - Two lists per acquisition are more than it takes: step 5.
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
// never did, its session has ended meanwhile, or an earlier Unlock whose reply
// was lost has let go of it after all.
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
// and all above it are made when they are needed.
func New(conn *zk.Conn, path string) *Lock {
	return &Lock{conn: conn, path: path}
}

// Lock waits until it holds the lock, for as long as that takes. After an
// error it does not hold it and has left the queue, or the error says that
// its node is still there. errors.Is finds the zk error: zk.ErrSessionExpired
// or zk.ErrNoNode if the session ended, and the node with it.
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
		// Get and not Exists: on a node that went after the list was read,
		// Exists would set a watch that nothing ever fires.
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

// TryLock takes the lock if nobody holds it or waits for it. It never waits.
// False without an error means that somebody does, and that nothing was left
// behind.
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

// enqueue takes a place at the end of the queue.
func (l *Lock) enqueue() (node string, err error) {
	for {
		node, err = l.conn.Create(l.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			err = l.createParents(l.path)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("predecessor: lock %s: %w", l.path, err)
		}
		return node, nil
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
		if !strings.HasPrefix(child, prefix) {
			continue // no contender
		}
		switch strings.Compare(child, name) {
		case 0:
			found = true
		case -1:
			before = max(before, child)
		}
	}
	if !found {
		return "", fmt.Errorf("our node has gone, most likely with its session: %w", zk.ErrNoNode)
	}
	return before, nil
}

// giveUp leaves the queue: a node left behind would block all who come
// after. It returns cause, and what went wrong on the way out.
func (l *Lock) giveUp(node string, cause error) error {
	if cause != nil {
		cause = fmt.Errorf("predecessor: wait at %s: %w", node, cause)
	}
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) {
		return cause // the end of the session takes the node along
	}
	// A connection that breaks fails what is under way. A moment later the
	// client has noticed, and the next try waits for its new connection.
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

// Unlock lets go of the lock. It returns ErrNotLocked if this Lock does not
// hold it. After any other error it may still hold it, and Unlock can be
// called again.
func (l *Lock) Unlock() error {
	if l.node == "" {
		return ErrNotLocked
	}
	err := l.conn.Delete(l.node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: %s has gone, most likely with its session", ErrNotLocked, l.node)
		l.node = ""
		return err
	}
	if err != nil {
		return fmt.Errorf("predecessor: unlock %s: %w", l.node, err)
	}
	l.node = ""
	return nil
}
