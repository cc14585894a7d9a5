package locktest_test

import (
	"context"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

// A bug is the fault of a broken lock.
type bug string

// Each breaks one line of a lock with leases that is right as far as it goes,
// and names the case that must fail, and words that this must say.
var leaseBugs = map[bug]struct{ name, words string }{
	"Unlock by path after an expiry":      {"Unlock after the parent was made again touches nobody else's node", "has deleted another contender's node"},
	"order by whole name":                 {"a contender with another name that comes later waits", "Lock of the contender before one of Curator's does not return"},
	"other names are ignored":             {"a contender with another name waits its turn", "the contender after one of Curator's has got the lock while another contender holds it: two holders"},
	"signed order":                        {"the queue goes by number where numbers wrap", "a contender watches lock/lock--2147483648"},
	"negative numbers are taken":          {"the queue goes by number where numbers wrap", "two holders"},
	"the token is the number":             {"tokens grow though the parent is made again", "the token of the next holder is not higher"},
	"Lost is never closed":                {"an expired session's holder is notified and its Unlock returns ErrLost", "the session has expired, and Lost is not closed"},
	"a lease ends by itself":              {"a holder that is cut off for a moment keeps the lock", "the connection broke and came back, and Lost is closed"},
	"of the session when Lock began":      {"a create that the client keeps back until its next session makes a node that goes", "lost"},
	"parents are not made":                {"a parent that goes between is made again", "node does not exist"},
	"any event on the predecessor counts": {"a predecessor that changes and does not go lets nobody in", "takes it for gone: two holders"},
}

var errHeld, errLost = errors.New("held"), errors.New("lost")

// A brokenLeaseLock is a plain lock with leases, with a bug.
type brokenLeaseLock struct {
	bug
	conn *zk.Conn
	path string

	began int64 // the session in which Lock has begun
}

type brokenLease struct {
	*brokenLeaseLock
	node    string
	token   int64
	session int64
	lost    chan struct{}
}

func (l *brokenLeaseLock) enqueue() (node string, err error) {
	for {
		node, err = l.conn.Create(l.path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		switch {
		case errors.Is(err, zk.ErrNoNode) && l.bug != "parents are not made":
			for i := 1; i <= len(l.path); i++ {
				if i == len(l.path) || l.path[i] == '/' {
					l.conn.Create(l.path[:i], nil, 0, zk.WorldACL(zk.PermAll))
				}
			}
		case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer): // until the client has connected again
		case err == nil && (suffix(node) == math.MaxInt32 || suffix(node) < 0 && l.bug != "negative numbers are taken"):
			l.conn.Delete(node, -1)
			return "", zk.ErrNodeExists
		default:
			return node, err
		}
	}
}

// before reports whether a comes before b.
func (l *brokenLeaseLock) before(a, b string) bool {
	na, nb := suffix(a), suffix(b)
	switch l.bug {
	case "order by whole name":
		return a < b
	case "signed order":
		return na < nb
	}
	return na-nb < 0
}

func (l *brokenLeaseLock) Lock(ctx context.Context) (locktest.Lease, error) {
	l.began = l.conn.SessionID()
	node, err := l.enqueue()
	if err != nil {
		return nil, err
	}
	for {
		names, _, err := l.conn.Children(l.path)
		if err != nil {
			return nil, err
		}
		ahead := ""
		for _, name := range names {
			contender := strings.HasPrefix(name, "lock-") || strings.Contains(name, "-lock-") && l.bug != "other names are ignored"
			if contender && l.before(name, path.Base(node)) && (ahead == "" || l.before(ahead, name)) {
				ahead = name
			}
		}
		if ahead == "" {
			return l.lease(node)
		}
		_, _, gone, err := l.conn.GetW(l.path + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		select {
		case ev := <-gone:
			if l.bug == "any event on the predecessor counts" && ev.Type == zk.EventNodeDataChanged {
				return l.lease(node)
			}
		case <-ctx.Done(): // the case is over
			return nil, ctx.Err()
		}
	}
}

func (l *brokenLeaseLock) lease(node string) (locktest.Lease, error) {
	_, stat, gone, err := l.conn.GetW(node)
	if err != nil {
		return nil, err
	}
	lease := &brokenLease{l, node, stat.Czxid, stat.EphemeralOwner, make(chan struct{})}
	if l.bug == "of the session when Lock began" {
		lease.session = l.began
	}
	if l.bug == "the token is the number" {
		lease.token = int64(suffix(node)) + 1
	}
	var ends <-chan time.Time
	if l.bug == "a lease ends by itself" {
		ends = time.After(10 * time.Second)
	}
	go func() {
		select {
		case ev := <-gone:
			if ev.Type != zk.EventNodeDataChanged && l.bug != "Lost is never closed" {
				close(lease.lost)
			}
		case <-ends:
			close(lease.lost)
		}
	}()
	return lease, nil
}

func (l *brokenLeaseLock) TryLock(context.Context) (locktest.Lease, error) { return nil, errHeld }

func (l *brokenLease) Unlock(ctx context.Context) error {
	if l.conn.SessionID() != l.session && l.bug != "Unlock by path after an expiry" {
		return errLost
	}
	if err := l.conn.Delete(l.node, -1); err != nil {
		return errLost
	}
	return nil
}

func (l *brokenLease) Token() int64          { return l.token }
func (l *brokenLease) Lost() <-chan struct{} { return l.lost }

// TestBrokenLeasesFailUnderTheRightName is to locks with leases what
// TestBrokenLocksFailUnderTheRightName is to the others. The lock is right only
// as far as the cases that are named here go: without a bug it passes each of
// them.
func TestBrokenLeasesFailUnderTheRightName(t *testing.T) {
	aboutBrokenLocks(t)
	for b, want := range leaseBugs {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			if v, judged := locktest.VerdictOf(t, leasesBy(b), want.name); judged {
				require.NotEmpty(t, v.Words.En, "the case %q passes a lock with the bug %q", want.name, b)
				require.Contains(t, v.Words.En, want.words)
			}
			if v, judged := locktest.VerdictOf(t, leasesBy(""), want.name); judged {
				require.Empty(t, v.Words.En, "the case %q fails a lock that is right", want.name)
			}
		})
	}
}

// leasesBy is the lock with leases and a bug, as the subject of its suite.
func leasesBy(b bug) locktest.LeaseSubject {
	return locktest.LeaseSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
			return func(string) locktest.LeaseLock {
				return &brokenLeaseLock{bug: b, conn: conn, path: path}
			}
		},
		ErrHeld: errHeld, ErrLost: errLost,
	}
}

// suffix is the number at the end of a node's name.
func suffix(name string) int32 {
	n, _ := strconv.ParseInt(name[strings.LastIndex(name, "lock-")+len("lock-"):], 10, 32)
	return int32(n)
}
