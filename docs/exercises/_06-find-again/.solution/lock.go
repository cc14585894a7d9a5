// Package findagain is a fair queue that survives a lost reply to create: step
// 3's queue, in which each node has an id.
//
// If the connection breaks while a create is under way, the client cannot see
// whether the node was made. Its number is not known, so the contender looks for
// its id among the children, and creates a node only if it is not there.
package findagain

import (
	"crypto/rand"
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
var ErrNotLocked = errors.New("findagain: not locked")

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

// enqueue creates our node, at the end of the queue. If the connection breaks
// meanwhile the node may be there or not, so enqueue looks for it.
func (l *Lock) enqueue() (node string, err error) {
	id := rand.Text()
	for {
		node, err = l.conn.Create(l.path+"/"+prefix, []byte(id), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if lost(err) {
			node, err = l.find(id, l.conn.SessionID()) // read now: the create may have waited for a session
			if err == nil && node == "" {
				continue // create has never arrived
			}
		}
		if err == nil {
			return node, nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = l.createParents(l.path)
		}
		if err != nil {
			return "", fmt.Errorf("findagain: lock %s: %w", l.path, err)
		}
	}
}

// find looks for the node of a session whose data is id, "" if there is none.
// It asks until there is an answer or the session has ended, and the node with
// it, or for a quarter of an hour, after which the client was closed.
func (l *Lock) find(id string, session int64) (node string, err error) {
	for range 10_000 { // in a client that was closed each request fails, without end
		node, err = l.findOnce(id, session)
		if !lost(err) {
			return node, err
		}
		time.Sleep(100 * time.Millisecond) // until the client has noticed
	}
	return "", err
}

// lost reports whether a request may have been carried out or not, or could not be sent.
func lost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

func (l *Lock) findOnce(id string, session int64) (node string, err error) {
	// The client may be connected to another server now, which may not have the node
	// yet.
	if _, err := l.conn.Sync(l.path); err != nil {
		return "", err
	}
	if l.conn.SessionID() != session {
		return "", zk.ErrSessionExpired
	}
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", err
	}
	for _, child := range children {
		if !strings.HasPrefix(child, prefix) {
			continue // this node is not a contender's
		}
		data, stat, err := l.conn.Get(l.path + "/" + child)
		if errors.Is(err, zk.ErrNoNode) {
			continue // a contender has left
		}
		if err != nil {
			return "", err
		}
		// Another session's node would not go with our session.
		if string(data) == id && stat.EphemeralOwner == session {
			return l.path + "/" + child, nil
		}
	}
	return "", nil
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
		cause = fmt.Errorf("findagain: wait at %s: %w", node, cause)
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
	return errors.Join(cause, fmt.Errorf("findagain: %s stays in the queue until its session ends: %w", node, err))
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
		return fmt.Errorf("findagain: unlock %s: %w", l.node, err)
	}
	l.node = ""
	return nil
}
