package locktest_test

import (
	"errors"
	"fmt"
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

// A failure is the first that a suite must find in a broken lock, and words that
// it must say.
type failure struct {
	name  string
	words string
}

// Each breaks one line of a queue lock that is otherwise right. The first six
// after "none" are what classes were seen to write.
var bugs = map[bug]failure{
	"none":                         {},
	"watches the parent":           {"a waiter sleeps on a watch and does not poll", "watches lock, the parent: a release does not change the parent's data; watch the node before its own"},
	"watches the list":             {"a release wakes exactly as many as predicted", "you wake everybody: a release with 12 waiting sent 12 watch events, and 1 was predicted (the herd effect); watch only the node before yours"},
	"not ephemeral":                {"the holder has a node and it is ephemeral", "is not ephemeral: if the holder dies, its node stays"},
	"Unlock deletes the first":     {"Unlock after the session expired is ErrNotLocked and touches nobody else's node", "has deleted another contender's node"},
	"Unlock deletes the holder's":  {"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing", "has deleted another contender's node, the holder's: delete only the node that this contender has made"},
	"look first, watch later":      {"a release between looking and watching is not missed", "the event is lost"},
	"polls":                        {"a waiter sleeps on a watch and does not poll", "polls"},
	"polls without a pause":        {"a waiter sleeps on a watch and does not poll", "polls"},
	"one list too many":            {"the requests are exactly as many as predicted", "create 1, delete 1, getChildren2 2"},
	"everybody is first":           {"a waiter sleeps on a watch and does not poll", "two holders"},
	"TryLock leaves its node":      {"TryLock on a held lock says false at once and leaves nothing behind", "has returned false and has left a node behind"},
	"every error means held":       {"an error other than node exists is returned and not taken for held", "only zk.ErrNodeExists says that"},
	"no look after waking":         {"a waiter that goes lets nobody in before the holder has let go", "look again at the whole queue"},
	"the watch's error is ignored": {"an expired session wakes a waiter with an error", "the event that wakes the waiter has zk.ErrSessionExpired in Err"},
	"every child is a contender":   {"a child that is no contender is ignored", "beside three nodes that are no contenders' does not return"},
	"the last to come goes first":  {"a waiter sleeps on a watch and does not poll", "two holders"},
	"everybody is watched":         {"a release wakes exactly as many as predicted", "you wake everybody"},
	"no clean-up after an error":   {"an error on the way leaves no node behind", "it leaves its node behind"},
	"parents are not made":         {"missing parents are made", "make them when create returns zk.ErrNoNode"},
	"Unlock asks nobody":           {"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing", "returns no error, though the lock is not held"},
	"works once":                   {"can be used again after Unlock", "used up"},
	"gone before it is watched":    {"a waiter that goes before it is watched lets nobody in", "look again at the whole queue"},
	"own node is not looked for":   {"a waiter whose own node has gone does not take the lock", "takes the lock without a node"},
	"Unlock hides its error":       {"Unlock after the session expired is ErrNotLocked and touches nobody else's node", "returns no error, though the lock is not held"},
	"Unlock forgets too early":     {"an Unlock that fails can be tried again", "forget the node only once it has gone"},
	"the cause is hidden":          {"an expired session wakes a waiter with an error", "zk.ErrSessionExpired in Err"},
	"no clean-up after TryLock":    {"an error in TryLock leaves no node behind", "it leaves its node behind"},
	"clean-up is tried once":       {"an error on the way leaves no node behind", "it leaves its node behind"},
	"parents made by others fail":  {"parents that another contender makes at the same moment are no error", "another one has made at the same moment"},
	"the error names nothing":      {"an error on the way leaves no node behind", "the error does not name the lock"},
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
		if l.bug == "polls" {
			time.Sleep(10 * time.Millisecond)
		}
		if strings.HasPrefix(string(l.bug), "polls") {
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
	if err != nil { // no clean-up after TryLock
		return false, fmt.Errorf("%s: %w", l.path, err)
	}
	if l.bug != "TryLock leaves its node" {
		l.conn.Delete(node, -1)
	}
	return false, nil
}

func (l *lockWith) Unlock() error {
	if l.bug == "Unlock asks nobody" {
		l.conn.Delete(l.node, -1)
		return nil
	}
	if l.node == "" && l.bug != "Unlock deletes the holder's" {
		return errNotLocked
	}
	node := l.node
	if l.bug == "Unlock deletes the first" || l.bug == "Unlock deletes the holder's" {
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
	for b, want := range bugs {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			failsFirst(t, want, locktest.Subject{
				New:          func(conn *zk.Conn, path string) locktest.Lock { return &lockWith{bug: b, conn: conn, path: path} },
				ErrNotLocked: errNotLocked,
				Queue:        true,
				WakeUps:      func(int) int { return 1 },
				Requests:     func(n int) int { return 5*n - 2 },
			})
		})
	}
}

// failsFirst runs a suite up to the first case that fails.
func failsFirst(t *testing.T, want failure, suite locktest.Suite) {
	t.Helper()
	verdicts := locktest.Verdicts(t, suite, nil, func(v locktest.Verdict) bool { return v.Words != "" })
	if verdicts == nil {
		return // this is the process in which the cases ran
	}
	last := verdicts[len(verdicts)-1]
	if want.name == "" {
		require.Empty(t, last.Words, "the suite fails a lock that is right, under %q", last.Case)
		return
	}
	require.NotEmpty(t, last.Words, "the suite passes the lock")
	require.Equal(t, want.name, last.Case, "%s", last.Words)
	require.Contains(t, last.Words, want.words)
}

// TestBasic passes what is right as far as a first attempt goes, and fails what
// is wrong for that, too.
func TestBasic(t *testing.T) {
	for b, want := range map[bug]failure{
		"the error names nothing":    {},
		"one list too many":          {},
		"watches the list":           {},
		"no clean-up after an error": {},
		"not ephemeral":              bugs["not ephemeral"],
		"watches the parent":         bugs["watches the parent"],
		"Unlock deletes the first":   bugs["Unlock deletes the first"],
		"look first, watch later":    bugs["look first, watch later"],
		"polls":                      bugs["polls"],
		"parents are not made":       bugs["parents are not made"],
	} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			failsFirst(t, want, locktest.Subject{
				New:          func(conn *zk.Conn, path string) locktest.Lock { return &lockWith{bug: b, conn: conn, path: path} },
				ErrNotLocked: errNotLocked,
				Level:        locktest.Basic,
				Queue:        true,
				WakeUps:      func(int) int { return 1 },
				Requests:     func(n int) int { return 5*n - 2 },
			})
		})
	}
}
