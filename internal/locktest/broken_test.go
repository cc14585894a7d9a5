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

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
)

// aboutBrokenLocks skips a test of the suite itself where it could find nothing new.
func aboutBrokenLocks(t *testing.T) {
	testenv.NotRaced(t, "the right locks go through the same cases with it")
	testenv.Embedded(t, "the suite that it tests is the same on each server")
}

// TestBrokenLocksFailUnderTheRightName breaks a lock in one place after the other. The first case that fails must be
// the one that bugs.json names, and a case may report harm (see Unsafe) only of a lock that does harm.
func TestBrokenLocksFailUnderTheRightName(t *testing.T) {
	testenv.Landing(t, "plays the suite on each broken lock")
	aboutBrokenLocks(t)
	for _, b := range broken.Bugs {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			untilFirstFailure := !testenv.AtLength()
			stop := func(v locktest.Verdict) bool {
				return locktest.Unsafe(v.Words.String()) || untilFirstFailure && v.Failed()
			}
			verdicts := locktest.Verdicts(t, brokenBy(b.Name, locktest.Full), stop)
			first := slices.IndexFunc(verdicts, locktest.Verdict.Failed)
			if b.Name == "none" {
				require.Negative(t, first, "the suite fails a lock that is right")
				return
			}
			require.GreaterOrEqual(t, first, 0, "the suite passes the lock")
			require.Equal(t, b.Case, verdicts[first].Case, "%s", verdicts[first].Words.String())
			require.NotEmpty(t, b.Words)
			require.Contains(t, verdicts[first].Words.String(), b.Words, "words of %q in internal/locktest/broken/bugs.json",
				b.Name)

			glosses := brokenBy(b.Name, locktest.Full).Plan().Glosses
			var harm []string
			for _, v := range verdicts {
				if isOfExercise := glosses[v.Case] != ""; isOfExercise { // no other cases are translated
					require.Empty(t, chinesetest.English(v.Words.In(i18n.Chinese)),
						"the Chinese of this message has English in it\n%s: %s", v.Case, v.Words.String())
				}
				if locktest.Unsafe(v.Words.String()) {
					harm = append(harm, v.Case+": "+v.Words.String())
				}
			}
			if !untilFirstFailure {
				require.Equal(t, b.Harmful, len(harm) > 0, "%q", harm)
			}
		})
	}
}

func brokenBy(bug string, level locktest.Level) locktest.Subject {
	return locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return broken.New(bug, conn, path) },
		ErrNotLocked: broken.ErrNotLocked,
		Level:        level,
		Queue:        true,
		WakeUps:      func(int) int { return 1 },         // only the successor's watch
		Requests:     func(n int) int { return 5*n - 2 }, // create, list, watch, list, delete; the first waits for nobody
	}
}

// TestBasic plays the cases of a first attempt on locks that are right as far as these go.
func TestBasic(t *testing.T) {
	testenv.Landing(t, "plays the suite on each broken lock")
	aboutBrokenLocks(t)
	for _, bug := range []string{"the error names nothing", "one list too many", "watches the list", "no clean-up after an error"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for _, v := range locktest.Verdicts(t, brokenBy(bug, locktest.Basic), nil) {
				require.Empty(t, v.Words.String(), "%s", v.Case)
			}
		})
	}
}

// alsoFailsJSON has the cases that no broken lock fails first, each with a broken lock that fails it.
//
//go:embed testdata/also_fails.json
var alsoFailsJSON []byte

// TestEachCaseFailsABrokenLock refuses a case that passes every broken lock: it proves nothing. Most cases are the
// first that some lock of broken.Bugs fails; this test plays the others. The cases of leases have a test of their own.
// Those of owners, contexts and lost replies fail mutants of exercises 4 to 6, and that of ids those of exercise 1.
func TestEachCaseFailsABrokenLock(t *testing.T) {
	elsewhere := []string{"Unlock distinguishes its own node from one that another process has made"}
	for _, b := range broken.Bugs {
		elsewhere = append(elsewhere, b.Case)
	}
	queue := locktest.Names(brokenBy("none", locktest.Full))
	var alsoFails map[string]string // case → bug
	require.NoError(t, json.Unmarshal(alsoFailsJSON, &alsoFails))
	for name := range alsoFails {
		require.Contains(t, queue, name, "no suite has this case")
	}
	for _, name := range locktest.Names(locktest.Subject{}) { // of a lock that is not a queue
		require.Contains(t, append(elsewhere, queue...), name, "no broken lock fails this case")
	}
	for _, name := range queue {
		if slices.Contains(elsewhere, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bug, ok := alsoFails[name]
			require.True(t, ok, "no broken lock fails this case: write one, and name it in testdata/also_fails.json")
			testenv.Landing(t, "plays the case on the broken lock")
			v := locktest.VerdictOf(t, brokenBy(bug, locktest.Full), name)
			require.True(t, v.Failed(), "the case passes the lock %q", bug)
		})
	}
}

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
