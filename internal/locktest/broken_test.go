package locktest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

// A bug is what is wrong with a broken lock.
type bug string

// Each breaks one line of a queue lock that is otherwise right, and names the
// case that must notice.
var bugs = map[bug]string{
	"none":                         "",
	"everybody is first":           "one at a time holds it, each contender in a session of its own",
	"TryLock leaves its node":      "TryLock on a held lock says false at once and leaves nothing behind",
	"every error means held":       "an error other than node exists is returned and not taken for held",
	"no look after waking":         "a waiter that goes lets nobody in before the holder has let go",
	"the watch's error is ignored": "an expired session wakes a waiter with an error",
	"look first, watch later":      "a release between looking and watching is not missed",
	"every child is a contender":   "a child that is no contender is ignored",
	"the last to come goes first":  "contenders get in in the order in which they came",
	"everybody is watched":         "a release wakes exactly as many as predicted",
	"one list too many":            "the requests are exactly as many as predicted",
	"no clean-up after an error":   "an error on the way leaves no node behind",
	"parents are not made":         "missing parents are made",
	"Unlock asks nobody":           "Unlock by who does not hold it is ErrNotLocked and frees nothing",
	"Unlock deletes the first":     "Unlock after the session expired is ErrNotLocked and touches nobody else's node",
	"works once":                   "can be used again after Unlock",
	"gone before it is watched":    "a waiter that goes before it is watched lets nobody in",
	"own node is not looked for":   "a waiter whose own node has gone does not take the lock",
	"Unlock hides its error":       "an Unlock that fails can be tried again",
	"Unlock forgets too early":     "an Unlock that fails can be tried again",
	"the cause is hidden":          "an error on the way leaves no node behind",
	"no clean-up after TryLock":    "an error in TryLock leaves no node behind",
	"clean-up is tried once":       "an error on the way leaves no node behind",
	"parents made by others fail":  "parents that another contender makes at the same moment are no error",
}

// lockWith is a lock like step 3's, with a bug.
type lockWith struct {
	bug
	conn *zk.Conn
	path string
	node string
	used bool
}

var errNotLocked = errors.New("not locked")

func (l *lockWith) enqueue() (string, error) {
	if l.bug == "works once" && l.used {
		return "", errors.New("used up")
	}
	l.used = true
	for {
		node, err := l.conn.Create(l.path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
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

// ahead lists who is before us, nearest first.
func (l *lockWith) ahead(node string) ([]string, error) {
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

func (l *lockWith) giveUp(node string, err error) error {
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

func (l *lockWith) Lock() error {
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
		var gone <-chan zk.Event
		if l.bug == "look first, watch later" {
			_, _, gone, err = l.conn.ExistsW(watched) // and nobody looks whether it does
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
		if ev := <-gone; ev.Err != nil && l.bug != "the watch's error is ignored" {
			return l.giveUp(node, ev.Err)
		}
		if l.bug == "no look after waking" {
			l.node = node
			return nil
		}
	}
}

func (l *lockWith) TryLock() (bool, error) {
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
	if l.bug != "TryLock leaves its node" {
		l.conn.Delete(node, -1)
	}
	return false, err
}

func (l *lockWith) Unlock() error {
	if l.bug == "Unlock asks nobody" {
		l.conn.Delete(l.node, -1)
		return nil
	}
	if l.node == "" {
		return errNotLocked
	}
	node := l.node
	if l.bug == "Unlock deletes the first" {
		if children, _, _ := l.conn.Children(l.path); len(children) > 0 {
			node = l.path + "/" + slices.Min(children)
		}
	}
	err := l.conn.Delete(node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = errNotLocked
	} else if err != nil && l.bug != "Unlock forgets too early" && l.bug != "Unlock hides its error" {
		return err
	}
	l.node = ""
	if l.bug == "Unlock hides its error" {
		return nil
	}
	return err
}

// TestBrokenLocksFailUnderTheRightName breaks a lock in one place after the
// other.
func TestBrokenLocksFailUnderTheRightName(t *testing.T) {
	failUnderTheRightName(t, bugs, func(t *testing.T, b bug) {
		locktest.Run(t, locktest.Subject{
			New:          func(conn *zk.Conn, path string) locktest.Lock { return &lockWith{bug: b, conn: conn, path: path} },
			ErrNotLocked: errNotLocked,
			Queue:        true,
			WakeUps:      func(int) int { return 1 },
			Requests:     func(n int) int { return 5*n - 2 },
		})
	})
}

// failUnderTheRightName runs a suite on one bug after the other. It must fail,
// in a process of its own, and the case that is there for this bug must be
// among those that fail.
func failUnderTheRightName(t *testing.T, bugs map[bug]string, suite func(t *testing.T, b bug)) {
	const variable = "LOCKTEST_BUG"
	if b := os.Getenv(variable); b != "" {
		suite(t, bug(b))
		return
	}
	test := t.Name()
	for b, name := range bugs {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			run := "^" + test + "$"
			if name != "" {
				run += "/^" + name + "$"
			}
			cmd := exec.Command(os.Args[0], "-test.run="+run, "-test.v")
			cmd.Env = append(os.Environ(), variable+"="+string(b), "ZK=embedded")
			out, err := cmd.CombinedOutput()
			if name == "" {
				require.NoError(t, err, "the suite fails a lock that is right:\n%s", out)
				return
			}
			require.Error(t, err, "the suite passes a lock with the bug %q", b)
			require.True(t, bytes.Contains(out, []byte("--- FAIL: "+test+"/"+strings.ReplaceAll(name, " ", "_"))),
				"the case %q does not fail:\n%s", name, out)
		})
	}
}
