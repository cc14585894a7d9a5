// Package broken has locks that are wrong in one place each.
package broken

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Bugs are the names of what may be wrong. Each breaks one line of a queue lock
// that is otherwise right; "none" breaks none. The first six after it are what
// classes were seen to write.
var Bugs = []string{
	"none",
	"watches the parent",
	"watches the list",
	"not ephemeral",
	"Unlock deletes the first",
	"Unlock deletes the holder's",
	"look first, watch later",
	"polls",
	"polls without a pause",
	"one list too many",
	"everybody is first",
	"TryLock leaves its node",
	"every error means held",
	"no look after waking",
	"every child is a contender",
	"the last to come goes first",
	"everybody is watched",
	"no clean-up after an error",
	"parents are not made",
	"Unlock asks nobody",
	"works once",
	"gone before it is watched",
	"own node is not looked for",
	"Unlock hides its error",
	"Unlock forgets too early",
	"the cause is hidden",
	"no clean-up after TryLock",
	"clean-up is tried once",
	"parents made by others fail",
	"the error names nothing",
}

// A Lock is one contender for a lock like step 3's, with a bug.
type Lock struct {
	bug  string
	conn *zk.Conn
	path string
	node string
	used bool
}

// New makes a contender with one of the [Bugs].
func New(bug string, conn *zk.Conn, path string) *Lock {
	return &Lock{bug: bug, conn: conn, path: path}
}

// ErrNotLocked: the contender does not hold the lock.
var ErrNotLocked = errors.New("not locked")

func (l *Lock) enqueue() (string, error) {
	if l.bug == "works once" && l.used {
		return "", errors.New("used up")
	}
	l.used = true
	for {
		flags := int32(zk.FlagEphemeralSequential)
		if l.bug == "not ephemeral" {
			flags = zk.FlagSequence
		}
		node, err := l.conn.Create(l.path+"/lock-", nil, flags, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			if l.bug == "the error names nothing" {
				return "", err
			}
			return "", fmt.Errorf("%s: %w", l.path, err)
		}
		if err == nil || l.bug == "parents are not made" {
			return node, err
		}
		for i := 1; i <= len(l.path); i++ {
			if i < len(l.path) && l.path[i] != '/' {
				continue
			}
			if _, err := l.conn.Create(l.path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && (!errors.Is(err, zk.ErrNodeExists) || l.bug == "parents made by others fail") {
				return "", err
			}
		}
	}
}

// ahead lists the contenders before ours, nearest first.
func (l *Lock) ahead(node string) ([]string, error) {
	children, _, err := l.conn.Children(l.path)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(children, path.Base(node)) && l.bug != "own node is not looked for" {
		return nil, zk.ErrNoNode
	}
	if l.bug == "everybody is first" {
		return nil, nil
	}
	var ahead []string
	for _, c := range children {
		contender := strings.HasPrefix(c, "lock-") || l.bug == "every child is a contender"
		if contender && (c < path.Base(node)) != (l.bug == "the last to come goes first") && c != path.Base(node) {
			ahead = append(ahead, c)
		}
	}
	slices.Sort(ahead)
	slices.Reverse(ahead)
	return ahead, nil
}

func (l *Lock) giveUp(node string, err error) error {
	if l.bug == "no clean-up after an error" {
		return err
	}
	if l.bug == "the cause is hidden" {
		return l.conn.Delete(node, -1)
	}
	if errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrClosing) {
		return err
	}
	for range 3 {
		deleteErr := l.conn.Delete(node, -1)
		if deleteErr == nil || errors.Is(deleteErr, zk.ErrNoNode) || l.bug == "clean-up is tried once" {
			break
		}
		time.Sleep(100 * time.Millisecond) // as in step 3, and in virtual time
	}
	return fmt.Errorf("%s: %w", node, err)
}

// Lock waits until the contender holds the lock.
func (l *Lock) Lock() error {
	node, err := l.enqueue()
	if err != nil {
		return err
	}
	for {
		ahead, err := l.ahead(node)
		if err != nil {
			return l.giveUp(node, err)
		}
		if l.bug == "one list too many" {
			l.conn.Children(l.path)
		}
		if len(ahead) == 0 {
			l.node = node
			return nil
		}
		watched := l.path + "/" + ahead[0]
		if l.bug == "everybody is watched" {
			watched = l.path + "/" + ahead[len(ahead)-1]
		}
		if l.bug == "polls" {
			time.Sleep(10 * time.Millisecond)
		}
		if strings.HasPrefix(l.bug, "polls") {
			continue
		}
		var gone <-chan zk.Event
		switch l.bug {
		case "watches the parent":
			watched = l.path
		case "watches the list":
			var children []string
			if children, _, gone, err = l.conn.ChildrenW(l.path); err == nil && slices.Min(children) != path.Base(node) {
				<-gone
			}
			if err == nil {
				continue
			}
			return l.giveUp(node, err)
		}
		if l.bug == "look first, watch later" {
			_, _, gone, err = l.conn.ExistsW(watched) // and does not look whether it exists
		} else {
			_, _, gone, err = l.conn.GetW(watched)
		}
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
		if ev := <-gone; ev.Err != nil {
			return l.giveUp(node, ev.Err)
		}
		if l.bug == "no look after waking" {
			l.node = node
			return nil
		}
	}
}

// TryLock does not wait.
func (l *Lock) TryLock() (bool, error) {
	node, err := l.enqueue()
	if err != nil {
		if l.bug == "every error means held" {
			return false, nil
		}
		return false, err
	}
	ahead, err := l.ahead(node)
	if err == nil && len(ahead) == 0 {
		l.node = node
		return true, nil
	}
	if err != nil && l.bug != "no clean-up after TryLock" {
		return false, l.giveUp(node, err)
	}
	if err != nil { // no clean-up after TryLock
		return false, fmt.Errorf("%s: %w", l.path, err)
	}
	if l.bug != "TryLock leaves its node" {
		l.conn.Delete(node, -1)
	}
	return false, nil
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
		if children, _, _ := l.conn.Children(l.path); len(children) > 0 {
			node = l.path + "/" + slices.Min(children)
		}
	}
	err := l.conn.Delete(node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = ErrNotLocked
	} else if err != nil && l.bug != "Unlock forgets too early" && l.bug != "Unlock hides its error" {
		return err
	}
	l.node = ""
	if l.bug == "Unlock hides its error" {
		return nil
	}
	return err
}
