// Package broken has locks that are wrong in one place each.
package broken

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Bug is a fault of a lock, and the words with which a suite reports it.
type Bug struct {
	Name, Zh string // in English, for New, and in Chinese
	Case     string // the first case of the whole suite that fails
	Words    string // a part of its message
	Harmful  bool   // the lock lets two in, or deletes another contender's node
}

//go:embed bugs.json
var bugsJSON []byte

// Bugs are the faults, as bugs.json tells them. Each breaks one line of step 3's lock; "none" breaks
// none. The first six after it were found in classes.
var Bugs = func() (bugs []Bug) {
	if err := json.Unmarshal(bugsJSON, &bugs); err != nil {
		panic("bugs.json: " + err.Error())
	}
	return bugs
}()

// Five more bugs, which are not in bugs.json.
const (
	CreatesAgain    = "a lost create is sent again" // whose node may be there: the lock does not look for it
	BrokenIsExpired = "a broken connection is taken for an expired session"
	TakesNothing    = "TryLock takes nothing"
	IgnoresError    = "TryLock ignores an error"
	ParentsOfOthers = "parents made by others fail"
)

// A Manner is a way in which a right lock may differ from step 3's.
type Manner struct {
	Prefix   string // of the names of the contenders' nodes; "" is lock-
	AnyChild bool   // every child counts as a contender, and numbers alone order them, as in zk.Lock
}

// A Lock is one contender for a lock like step 3's, with a bug. With "none" it is step 3's, request by request.
type Lock struct {
	Manner
	bug  string
	conn *zk.Conn
	path string
	node string // the contender's, while it holds the lock
	used bool   // it has locked before
}

// New makes a contender with one of the [Bugs].
func New(bug string, conn *zk.Conn, path string) *Lock { return With(Manner{}, bug, conn, path) }

// With makes a contender with a manner and a bug.
func With(m Manner, bug string, conn *zk.Conn, path string) *Lock {
	m.Prefix = cmp.Or(m.Prefix, "lock-")
	return &Lock{Manner: m, bug: bug, conn: conn, path: path}
}

// ErrNotLocked: the contender does not hold the lock.
var ErrNotLocked = errors.New("not locked")

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
		if l.bug == "one list too many" {
			l.conn.Children(l.path)
		}
		if before == "" {
			l.node = node
			return nil
		}

		if l.bug == "polls" {
			time.Sleep(10 * time.Millisecond)
		}
		if strings.HasPrefix(l.bug, "polls") { // "polls" and "polls without a pause"
			continue
		}

		changed, err := l.watch(l.path + "/" + before)
		if errors.Is(err, zk.ErrNoNode) {
			if l.bug == "gone before it is watched" {
				l.node = node
				return nil
			}
			continue
		}
		if err != nil {
			return l.giveUp(node, err)
		}
		if event := <-changed; event.Err != nil {
			return l.giveUp(node, event.Err)
		}
		if l.bug == "no look after waking" {
			l.node = node
			return nil
		}
	}
}

// watch sets a watch on the node before. If that has gone, the error is zk.ErrNoNode.
func (l *Lock) watch(before string) (<-chan zk.Event, error) {
	switch l.bug {
	case "watches the list":
		children, _, changed, err := l.conn.ChildrenW(l.path)
		if err == nil && !slices.Contains(children, path.Base(before)) {
			err = zk.ErrNoNode
		}
		return changed, err
	case "watches the parent":
		before = l.path
	case "look first, watch later":
		_, _, changed, err := l.conn.ExistsW(before)
		return changed, err
	}
	_, _, changed, err := l.conn.GetW(before)
	return changed, err
}

func (l *Lock) TryLock() (bool, error) {
	node, err := l.enqueue()
	if err != nil {
		if l.bug == "every error means held" {
			return false, nil
		}
		return false, err
	}
	before, err := l.predecessor(node)
	switch {
	case before == "" && (err == nil || l.bug == IgnoresError) && l.bug != TakesNothing: // ours is the first
		l.node = node
		return true, nil
	case err == nil && l.bug == "TryLock leaves its node":
		return false, nil
	case err != nil && l.bug == "no clean-up after TryLock":
		return false, l.wrap("try "+l.path, err)
	}
	return false, l.giveUp(node, err)
}

// enqueue makes the contender's node, and returns its path.
func (l *Lock) enqueue() (node string, err error) {
	if l.bug == "works once" && l.used {
		return "", errors.New("used up")
	}
	l.used = true
	flags := int32(zk.FlagEphemeralSequential)
	if l.bug == "not ephemeral" {
		flags = zk.FlagSequence
	}
	for {
		node, err = l.conn.Create(l.path+"/"+l.Prefix, nil, flags, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) && l.bug != "parents are not made" {
			if err = l.createParents(l.path); err == nil {
				continue
			}
		}
		if l.bug == CreatesAgain && (errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)) {
			continue
		}
		if err != nil && l.bug != "the error names nothing" {
			err = l.wrap("lock "+l.path, err)
		}
		return node, err
	}
}

func (l *Lock) createParents(dir string) error {
	for {
		_, err := l.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) && l.bug != ParentsOfOthers {
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

// place is the part of a node's name by which the queue is ordered.
func (l *Lock) place(name string) string {
	if l.AnyChild {
		return name[max(0, len(name)-10):] // the number has ten digits
	}
	return name
}

// predecessor returns the node that is to be watched, "" if ours is the first.
func (l *Lock) predecessor(node string) (before string, err error) {
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", err
	}
	found := l.bug == "own node is not looked for"
	for _, child := range children {
		isContender := len(child) == len(path.Base(node)) && strings.HasPrefix(child, l.Prefix)
		if !isContender && l.bug != "every child is a contender" && !l.AnyChild {
			continue
		}
		order := strings.Compare(l.place(child), l.place(path.Base(node)))
		if l.bug == "the last to come goes first" {
			order = -order
		}
		switch order {
		case 0:
			found = true
		case -1:
			isNearer := l.place(child) > l.place(before)
			if before == "" || isNearer != (l.bug == "everybody is watched") { // with that bug, the first of all
				before = child
			}
		}
	}
	if !found {
		return "", fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	if l.bug == "everybody is first" {
		before = ""
	}
	return before, nil
}

// giveUp deletes the contender's node, and returns the cause with what went wrong.
func (l *Lock) giveUp(node string, cause error) error {
	if cause != nil {
		cause = l.wrap("wait at "+node, cause)
		switch l.bug {
		case "no clean-up after an error":
			return cause
		case "the cause is hidden":
			err := l.conn.Delete(node, -1)
			if err != nil {
				err = l.wrap("delete "+node, err)
			}
			return err
		}
	}
	nodeGoes := errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) // with its session
	if nodeGoes || l.bug == BrokenIsExpired && errors.Is(cause, zk.ErrConnectionClosed) {
		return cause
	}
	var err error
	for range 3 {
		err = l.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) || l.bug == "clean-up is tried once" {
			return cause
		}
		time.Sleep(100 * time.Millisecond) // as in step 3, and in virtual time
	}
	return errors.Join(cause, l.wrap(node+" stays in the queue until its session ends", err))
}

// Unlock lets the next contender in.
func (l *Lock) Unlock() error {
	if l.bug == "Unlock asks nobody" {
		l.conn.Delete(l.node, -1)
		return nil
	}
	if l.node == "" && l.bug != "Unlock deletes the holder's" {
		return ErrNotLocked
	}
	node := l.node
	if l.bug == "Unlock deletes the first" || l.bug == "Unlock deletes the holder's" {
		children, _, _ := l.conn.Children(l.path)
		children = slices.DeleteFunc(children, func(child string) bool { return !strings.HasPrefix(child, l.Prefix) })
		if len(children) > 0 {
			node = l.path + "/" + slices.Min(children)
		}
	}
	err := l.conn.Delete(node, -1)
	hides := l.bug == "Unlock hides its error"
	if err == nil || errors.Is(err, zk.ErrNoNode) || hides || l.bug == "Unlock forgets too early" {
		l.node = ""
	}
	switch {
	case err == nil || hides:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: %s is gone, most likely with its session", ErrNotLocked, node)
	}
	return l.wrap("unlock "+node, err)
}

func (l *Lock) wrap(what string, err error) error {
	return fmt.Errorf("predecessor: %s: %w", what, err)
}
