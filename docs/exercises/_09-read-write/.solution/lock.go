// Package rwlock is a fair read/write lock: many readers or one writer, in the
// order of their nodes.
//
// Each contender creates an ephemeral sequential node, read-… or write-…. A reader
// waits for the nearest writer before it, a writer for the node just before its
// own. A contender that does not wait sends 3 requests, each wait costs 2 more.
package rwlock

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrNotLocked is returned by Unlock and RUnlock when the Lock does not hold its
// lock in that way: it never held it, its session has ended since, or an earlier
// call released it but the reply was lost.
var ErrNotLocked = errors.New("rwlock: not locked")

const (
	readPrefix  = "read-" // the server appends the number, ten digits
	writePrefix = "write-"
	digits      = 10
)

// A Lock is one contender for the lock at a path, for reading or for writing. It
// is for one goroutine at a time, and can be used again after Unlock or RUnlock.
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

// RLock waits until no writer is before it, and holds the lock for reading. Its
// errors are Lock's.
func (l *Lock) RLock() error { return l.acquire(readPrefix) }

// Lock waits until it is the first in the queue, and holds the lock for writing.
// If it returns an error, it does not hold the lock, and it has left the queue or
// the error says that its node is still there. errors.Is finds the zk error:
// zk.ErrSessionExpired or zk.ErrNoNode if the session ended and its node was
// deleted.
func (l *Lock) Lock() error { return l.acquire(writePrefix) }

func (l *Lock) acquire(prefix string) error {
	node, err := l.enqueue(prefix)
	if err != nil {
		return err
	}
	for {
		before, err := l.obstacle(node)
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

// enqueue creates our node, at the end of the queue.
func (l *Lock) enqueue(prefix string) (node string, err error) {
	for {
		node, err = l.conn.Create(l.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err == nil {
			return node, nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = l.createParents(l.path)
		}
		if err != nil {
			return "", fmt.Errorf("rwlock: lock %s: %w", l.path, err)
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

// obstacle returns the name of the node that a contender's node has to wait for,
// "" if there is none: the nearest before it that keeps it out.
func (l *Lock) obstacle(node string) (before string, err error) {
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", err
	}
	own := path.Base(node)
	reads := strings.HasPrefix(own, readPrefix)
	nearest, found := "", false
	for _, child := range children {
		kind := strings.TrimRight(child, "0123456789")
		writes := kind == writePrefix
		if !writes && kind != readPrefix {
			continue // this node is not a contender's
		}
		if child == own {
			found = true
			continue
		}
		// Names sort by prefix first: read-0000000001 before write-0000000000.
		n := number(child)
		if n > number(own) {
			continue // it comes later
		}
		if reads && !writes {
			continue // readers are inside together
		}
		if n >= nearest {
			nearest, before = n, child
		}
	}
	if !found {
		return "", fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	return before, nil
}

// number returns the ten digits of a node's name: as strings they sort as the numbers.
func number(name string) string { return name[max(0, len(name)-digits):] }

// giveUp leaves the queue: a node left behind would block all later
// contenders. It returns cause, joined with the error of the delete, if any.
func (l *Lock) giveUp(node string, cause error) error {
	cause = fmt.Errorf("rwlock: wait at %s: %w", node, cause)
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
	return errors.Join(cause, fmt.Errorf("rwlock: %s stays in the queue until its session ends: %w", node, err))
}

// RUnlock releases a lock that is held for reading; else it returns
// ErrNotLocked. After any other error the lock may still be held, and RUnlock can
// be called again.
func (l *Lock) RUnlock() error { return l.release(readPrefix) }

// Unlock is to Lock what RUnlock is to RLock.
func (l *Lock) Unlock() error { return l.release(writePrefix) }

func (l *Lock) release(prefix string) error {
	if l.node == "" || !strings.HasPrefix(path.Base(l.node), prefix) {
		return ErrNotLocked
	}
	err := l.conn.Delete(l.node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: %s is gone, most likely with its session", ErrNotLocked, l.node)
		l.node = ""
		return err
	}
	if err != nil {
		return fmt.Errorf("rwlock: unlock %s: %w", l.node, err)
	}
	l.node = ""
	return nil
}
