package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
)

// Two bugs of leasedLock. They are none of broken.Bugs: the lock that broken.New makes with one of them has no bug.
const (
	endsByItself   = "a lease ends by itself"
	ofFirstSession = "a lease is of the session in which Lock begins"
)

// leaseBugs has, for each bug of a leasedLock, the cases of leases that fail it, each with words that the message must
// contain. A bug is one of broken.Bugs or one of the two above. A leasedLock with the bug "none" fails many cases: its
// Lost does not close when its session ends, and no method minds its ctx. A case with words is also played without
// ZKLOCK_TESTS.
var leaseBugs = map[string]map[string]string{
	"none": {
		"TryLock returns though no server answers":                                    "",
		"Unlock returns though no server answers and the node goes later":             "",
		"Unlock of a holder that is cut off is not carried out in the next session":   "",
		"a holder that is cut off loses the lock before the next one gets in":         "",
		"a holder whose answer comes late loses the lock before the next one gets in": "",
		"a holder whose node is deleted is notified":                                  "",
		"zk.Lock and ours keep each other out":                                        "",
		"the parent is a container":                                                   "",
		"a closed client ends Lock with an error, and the lease":                      "",
		"Lock with a closed client is an error at once":                               "",

		"an expired session's holder is notified and its Unlock returns ErrLost": "has expired, and Lost is not closed",
		"Unlock after the parent was made again touches nobody else's node":      "has deleted another contender's node",
		"tokens grow though the parent is made again":                            "the token of the next holder is not higher",
		"a number that two may get is taken by nobody":                           "two holders",
		"a contender with another name waits its turn":                           "the contender after one of Curator's has got the lock",
	},
	ofFirstSession: {"a create that the client keeps back until its next session makes a node that goes": "lost"},
	endsByItself: {
		"a holder that is cut off for a moment keeps the lock": "the connection broke and came back, and Lost is closed",
		"a holder that holds the lock for long keeps it":       "nothing happened for an hour, and Lost is closed",
	},
	"every child is a contender": {
		"the queue goes by number where numbers wrap":          "a contender watches lock/lock--2147483648",
		"a contender with another name that comes later waits": "the contender before one of Curator's does not return",
	},
	"no look after waking": {"a predecessor that changes and does not go lets nobody in": "takes it for gone: two holders"},
	"parents are not made": {"a parent that goes between is made again": "node does not exist"},
}

var errHeld, errLost = errors.New("held"), errors.New("lost")

// A leasedLock is a lock with leases, made of a broken.Lock, which has none.
type leasedLock struct {
	bug  string
	lock *broken.Lock
	conn *zk.Conn
	path string
}

// A brokenLease has its node's number for a token. Lost does not close when its session ends.
type brokenLease struct {
	leasedLock
	began int64 // the session in which Lock began
	token int64
	lost  chan struct{}
}

func (l leasedLock) Lock(context.Context) (locktest.Lease, error) {
	lease := brokenLease{leasedLock: l, began: l.conn.SessionID(), lost: make(chan struct{})}
	if err := l.lock.Lock(); err != nil {
		return nil, err
	}
	if children, _, err := l.conn.Children(l.path); err == nil && len(children) > 0 {
		fmt.Sscanf(slices.Min(children), "lock-%d", &lease.token)
	}
	if l.bug == endsByItself {
		time.AfterFunc(10*time.Second, func() { close(lease.lost) })
	}
	return lease, nil
}

// TryLock takes no lock, and asks no server: that is wrong where no server answers or the client is closed.
func (l leasedLock) TryLock(context.Context) (locktest.Lease, error) { return nil, errHeld }

func (l brokenLease) Token() int64          { return l.token + 1 }
func (l brokenLease) Lost() <-chan struct{} { return l.lost }

func (l brokenLease) Unlock(context.Context) error {
	if l.bug == ofFirstSession && l.began != l.conn.SessionID() || l.lock.Unlock() != nil {
		return errLost
	}
	return nil
}

// TestEachCaseOfLeasesFailsABrokenLock plays each case on its broken lock: the case must fail, with its words.
func TestEachCaseOfLeasesFailsABrokenLock(t *testing.T) {
	aboutBrokenLocks(t)
	leasesBy := func(bug string) locktest.LeaseSubject {
		return locktest.LeaseSubject{
			Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
				return func(string) locktest.LeaseLock {
					return leasedLock{bug: bug, lock: broken.New(bug, conn, path), conn: conn, path: path}
				}
			},
			ErrHeld: errHeld, ErrLost: errLost,
		}
	}
	var cases []string
	for bug, wordsOf := range leaseBugs {
		for name, words := range wordsOf {
			cases = append(cases, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if words == "" {
					testenv.Landing(t, "plays the case on the broken lock")
				}
				if v, judged := locktest.VerdictOf(t, leasesBy(bug), name); judged {
					require.NotEmpty(t, v.Words.String(), "the case passes the lock %q", bug)
					require.Contains(t, v.Words.String(), words)
				}
			})
		}
	}
	require.ElementsMatch(t, locktest.Names(leasesBy("none")), cases, "name a broken lock for each case of leases")
}
