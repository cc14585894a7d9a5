package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
)

// Bugs of leases.
const (
	endsByItself   = "a lease ends by itself"
	ofFirstSession = "a lease is of the session in which Lock begins"
)

// leaseBugs has for each case of leases a lock that fails it: a leasedLock with one of broken.Bugs, one of the two above,
// or "none". A case with words, which its message must have, is also played without ZKLOCK_TESTS.
var leaseBugs = map[string]struct{ bug, words string }{
	"TryLock returns though no server answers":                                          {"none", ""},
	"Unlock returns though no server answers and the node goes later":                   {"none", ""},
	"a create that the client keeps back until its next session makes a node that goes": {ofFirstSession, "lost"},
	"an expired session's holder is notified and its Unlock returns ErrLost":            {"none", "the session has expired, and Lost is not closed"},
	"Unlock after the parent was made again touches nobody else's node":                 {"none", "has deleted another contender's node"},
	"Unlock of a holder that is cut off is not carried out in the next session":         {"none", ""},
	"a holder that is cut off loses the lock before the next one gets in":               {"none", ""},
	"a holder whose answer comes late loses the lock before the next one gets in":       {"none", ""},
	"a holder that is cut off for a moment keeps the lock":                              {endsByItself, "the connection broke and came back, and Lost is closed"},
	"a holder that holds the lock for long keeps it":                                    {endsByItself, "nothing happened for an hour, and Lost is closed"},
	"a holder whose node is deleted is notified":                                        {"none", ""},
	"tokens grow though the parent is made again":                                       {"none", "the token of the next holder is not higher"},
	"the queue goes by number where numbers wrap":                                       {"every child is a contender", "a contender watches lock/lock--2147483648"},
	"a number that two may get is taken by nobody":                                      {"none", "two holders"},
	"a contender with another name waits its turn":                                      {"none", "the contender after one of Curator's has got the lock while another contender holds it: two holders"},
	"a contender with another name that comes later waits":                              {"every child is a contender", "Lock of the contender before one of Curator's does not return"},
	"zk.Lock and ours keep each other out":                                              {"none", ""},
	"a predecessor that changes and does not go lets nobody in":                         {"no look after waking", "takes it for gone: two holders"},
	"the parent is a container":                                                         {"none", ""},
	"a parent that goes between is made again":                                          {"parents are not made", "node does not exist"},
	"a closed client ends Lock with an error, and the lease":                            {"none", ""},
	"Lock with a closed client is an error at once":                                     {"none", ""},
}

var errHeld, errLost = errors.New("held"), errors.New("lost")

// A leasedLock makes a lock with leases of one like step 3's, which has none.
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
	lease := brokenLease{l, l.conn.SessionID(), 0, make(chan struct{})}
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

func (l leasedLock) TryLock(context.Context) (locktest.Lease, error) { return nil, errHeld }

func (l brokenLease) Token() int64          { return l.token + 1 }
func (l brokenLease) Lost() <-chan struct{} { return l.lost }

func (l brokenLease) Unlock(context.Context) error {
	if l.bug == ofFirstSession && l.began != l.conn.SessionID() || l.lock.Unlock() != nil {
		return errLost
	}
	return nil
}

// TestEachCaseOfLeasesFailsABrokenLock, with the right words.
func TestEachCaseOfLeasesFailsABrokenLock(t *testing.T) {
	aboutBrokenLocks(t)
	leasesBy := func(bug string) locktest.LeaseSubject {
		return locktest.LeaseSubject{
			Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
				return func(string) locktest.LeaseLock {
					return leasedLock{bug, broken.New(bug, conn, path), conn, path}
				}
			},
			ErrHeld: errHeld, ErrLost: errLost,
		}
	}
	require.ElementsMatch(t, locktest.Names(leasesBy("none")), slices.Collect(maps.Keys(leaseBugs)), "name a broken lock for each case of leases")
	for name, by := range leaseBugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if by.words == "" {
				testenv.Landing(t, "plays the case on the broken lock")
			}
			if v, judged := locktest.VerdictOf(t, leasesBy(by.bug), name); judged {
				require.NotEmpty(t, v.Words.En, "the case passes the lock %q", by.bug)
				require.Contains(t, v.Words.En, by.words)
			}
		})
	}
}
