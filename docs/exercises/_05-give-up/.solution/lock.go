// Package giveup is a fair queue in which a waiter can give up: step 3's queue,
// with a ctx.
//
// A waiter that gives up deletes its node. Its successor is woken by that, reads
// the queue again, and waits for the node before. The client's calls cannot be
// cancelled: a goroutine makes them, Lock stops waiting for it when ctx ends, and
// the goroutine cleans up when its call returns.
package giveup

import (
	"context"
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
var ErrNotLocked = errors.New("giveup: not locked")

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

// Lock waits until it holds the lock or ctx ends. If it returns an error, it
// does not hold the lock, and it leaves the queue: before it returns, or, if ctx
// ends while no server answers, as soon as one answers. After the end of ctx the
// error wraps ctx.Err().
func (l *Lock) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("giveup: lock %s: %w", l.path, err)
	}
	// The client's calls take no ctx, so a goroutine makes them.
	type result struct {
		node string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		node, err := l.acquire(ctx)
		done <- result{node, err}
	}()
	select {
	case r := <-done:
		l.node = r.node
		return r.err
	case <-ctx.Done():
		// The goroutine may get the lock in this instant. Nobody would unlock it.
		go func() {
			if r := <-done; r.err == nil {
				l.giveUp(r.node, nil)
			}
		}()
		return fmt.Errorf("giveup: lock %s: %w", l.path, ctx.Err())
	}
}

// acquire queues and waits. It returns our node, which holds the lock, or an
// error, and then it has left the queue.
func (l *Lock) acquire(ctx context.Context) (node string, err error) {
	node, err = l.enqueue()
	if err != nil {
		return "", err
	}
	for {
		if err := ctx.Err(); err != nil {
			return "", l.giveUp(node, err)
		}
		before, err := l.predecessor(node)
		if err != nil {
			return "", l.giveUp(node, err)
		}
		if before == "" {
			return node, nil
		}
		// GetW and not ExistsW: if the node was deleted after the list was
		// read, ExistsW would set a watch that nothing ever fires.
		_, _, changed, err := l.conn.GetW(l.path + "/" + before)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return "", l.giveUp(node, err)
		}
		select {
		case event := <-changed:
			if event.Err != nil {
				return "", l.giveUp(node, event.Err)
			}
		case <-ctx.Done():
			return "", l.giveUp(node, ctx.Err())
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
			return "", fmt.Errorf("giveup: lock %s: %w", l.path, err)
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
		cause = fmt.Errorf("giveup: wait at %s: %w", node, cause)
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
	return errors.Join(cause, fmt.Errorf("giveup: %s stays in the queue until its session ends: %w", node, err))
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
		return fmt.Errorf("giveup: unlock %s: %w", l.node, err)
	}
	l.node = ""
	return nil
}
