package locktest_test

import (
	"context"
	_ "embed"
	"encoding/json"
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

// Two bugs of leasedLock. broken.New does not know them, so the lock that it makes with one of them is right.
const (
	endsByItself   = "a lease ends by itself"
	ofFirstSession = "a lease is of the session in which Lock begins"
)

// leaseBugsJSON has, for each bug of a leasedLock, the cases of leases that fail it, each with words that the message
// must contain. A bug is one of broken.Bugs or one of the two above. A leasedLock with the bug "none" fails many cases:
// its Lost does not close when its session ends, and no method minds its ctx. A case with words needs no ZKLOCK_TESTS.
//
//go:embed testdata/lease_bugs.json
var leaseBugsJSON []byte

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
		fmt.Sscanf(slices.Min(children), "lock-%d", &lease.token) // the holder's node is the first
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
	var leaseBugs map[string]map[string]string // bug → case → words
	require.NoError(t, json.Unmarshal(leaseBugsJSON, &leaseBugs))
	for bug, wordsOf := range leaseBugs {
		for name, words := range wordsOf {
			cases = append(cases, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if words == "" {
					testenv.Landing(t, "plays the case on the broken lock")
				}
				v := locktest.VerdictOf(t, leasesBy(bug), name)
				require.True(t, v.Failed(), "the case passes the lock %q", bug)
				require.Contains(t, v.Words.String(), words)
			})
		}
	}
	require.ElementsMatch(t, locktest.Names(leasesBy("none")), cases, "name a broken lock for each case of leases")
}
