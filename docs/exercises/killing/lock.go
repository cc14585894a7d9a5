package killing

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A lock is step 3's, with places at which it can be another lock. If kind is
// its zero value it does what step 3 does, request by request.
type lock struct {
	kind
	conn *zk.Conn
	path string
	node string
}

// A kind says what is different.
type kind struct {
	// What is right, and another lock: a schedule that fails on it has looked at
	// something else than what a lock promises.

	names string // the contenders' nodes are named so; "" is lock-
	says  string // how its errors begin; "" is predecessor
	data  string // of its nodes
	more  bool   // sends requests that it does not need
	exist bool   // watches with exists, and looks whether there was a node
	less  bool   // does not list the queue again if the node that went was the only one before its own

	// What is wrong.

	persistent      bool
	takesTheEvent   bool
	watchesNoNode   bool
	anyChild        bool
	watchesTheFirst bool
	ownNodeUnknown  bool
	goneIsFree      bool
	forgets         bool
	createsAgain    bool
	brokenIsExpired bool
}

var errNotLocked = errors.New("not locked")

// Lock waits until it holds the lock.
func (l *lock) Lock() error {
	node, err := l.enqueue()
	if err != nil {
		return err
	}
	for {
		before, alone, err := l.predecessor(node)
		if err != nil {
			return l.giveUp(node, err)
		}
		if before == "" {
			l.node = node
			return nil
		}
		changed, err := l.watch(l.path + "/" + before)
		if errors.Is(err, zk.ErrNoNode) {
			if l.goneIsFree {
				l.node = node
				return nil
			}
			continue
		}
		if err != nil {
			return l.giveUp(node, err)
		}
		event := <-changed
		if event.Err != nil {
			return l.giveUp(node, event.Err)
		}
		if l.takesTheEvent {
			l.node = node
			return nil
		}
		if l.less && alone && event.Type == zk.EventNodeDeleted {
			if _, _, err := l.conn.Get(node); err != nil {
				return l.giveUp(node, err)
			}
			l.node = node
			return nil
		}
	}
}

// watch sets a watch on the node before. If that has gone, the error is
// zk.ErrNoNode.
func (l *lock) watch(before string) (<-chan zk.Event, error) {
	if !l.exist && !l.watchesNoNode {
		_, _, changed, err := l.conn.GetW(before)
		return changed, err
	}
	there, _, changed, err := l.conn.ExistsW(before)
	if err == nil && !there && !l.watchesNoNode {
		err = zk.ErrNoNode
	}
	return changed, err
}

func (l *lock) prefix() string { return cmp.Or(l.names, "lock-") }

func (l *lock) enqueue() (node string, err error) {
	flags := int32(zk.FlagEphemeralSequential)
	if l.persistent {
		flags = zk.FlagSequence
	}
	if l.more {
		l.conn.Exists(l.path)
	}
	for {
		node, err = l.conn.Create(l.path+"/"+l.prefix(), []byte(l.data), flags, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			err = l.createParents(l.path)
			if err == nil {
				continue
			}
		}
		if l.createsAgain && errors.Is(err, zk.ErrConnectionClosed) {
			continue
		}
		if err != nil {
			return "", l.wrap("lock "+l.path, err)
		}
		return node, nil
	}
}

func (l *lock) createParents(dir string) error {
	for {
		_, err := l.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// predecessor returns the node that is to be watched, "" if ours is the first.
// Alone says that it is the only one before ours.
func (l *lock) predecessor(node string) (before string, alone bool, err error) {
	if l.more {
		if _, err := l.conn.Sync(l.path); err != nil {
			return "", false, err
		}
		if _, _, err := l.conn.Get(node); err != nil {
			return "", false, err
		}
		if _, _, err := l.conn.Children(l.path); err != nil {
			return "", false, err
		}
	}
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", false, err
	}
	name := path.Base(node)
	found, ahead := l.ownNodeUnknown, 0
	for _, child := range children {
		if !strings.HasPrefix(child, l.prefix()) && !l.anyChild {
			continue
		}
		switch strings.Compare(child, name) {
		case 0:
			found = true
		case -1:
			ahead++
			if l.watchesTheFirst && before != "" {
				before = min(before, child)
			} else {
				before = max(before, child)
			}
		}
	}
	if !found {
		return "", false, fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	return before, ahead == 1, nil
}

func (l *lock) giveUp(node string, cause error) error {
	if cause != nil {
		cause = l.wrap("wait at "+node, cause)
	}
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) || l.brokenIsExpired && errors.Is(cause, zk.ErrConnectionClosed) {
		return cause
	}
	var err error
	for range 3 {
		err = l.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return cause
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(cause, l.wrap(node+" stays in the queue until its session ends", err))
}

// Unlock releases the lock.
func (l *lock) Unlock() error {
	if l.node == "" {
		return errNotLocked
	}
	node := l.node
	if l.forgets {
		l.node = ""
	}
	if l.more {
		l.conn.Children(l.path)
	}
	err := l.conn.Delete(node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		l.node = ""
		return fmt.Errorf("%w: %s is gone, most likely with its session", errNotLocked, node)
	}
	if err != nil {
		return l.wrap("unlock "+node, err)
	}
	l.node = ""
	return nil
}

func (l *lock) wrap(what string, err error) error {
	return fmt.Errorf("%s: %s: %w", cmp.Or(l.says, "predecessor"), what, err)
}
