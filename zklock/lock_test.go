package zklock_test

import (
	"context"
	"io"
	"log"
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

func TestMain(m *testing.M) {
	zk.DefaultLogger = log.New(io.Discard, "", 0)
	debug.SetGCPercent(400) // a client of the library is born with 1.5 MB of garbage
	locktest.Main(m)
}

// contender makes one with the methods of step 3, for the suite.
func contender(conn *zk.Conn, path string, options ...zklock.Option) locktest.ContextLock {
	s := leases(options...)
	return locktest.NewContender(s, s.Open(conn, path)("contender"))
}

func TestContexts(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.ContextSubject{
		New:          func(conn *zk.Conn, path string) locktest.ContextLock { return contender(conn, path) },
		ErrNotLocked: locktest.ErrNotLocked,
	})
}

func TestLostReplies(t *testing.T) {
	testenv.Embedded(t, "loses replies, which only the embedded server can")
	t.Parallel()
	locktest.Run(t, locktest.LostReplySubject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return locktest.Background(contender(conn, path)) },
		ErrNotLocked: locktest.ErrNotLocked,
	})
}

// locks is the subject of the suite for any lock.
func locks(options ...zklock.Option) locktest.Subject {
	return locktest.Subject{
		New: func(conn *zk.Conn, path string) locktest.Lock {
			return locktest.Background(contender(conn, path, options...))
		},
		ErrNotLocked: locktest.ErrNotLocked,
		Queue:        true,
		Requeues:     true,
		WakeUps:      func(waiting int) int { return min(waiting, 2) },
		Requests:     func(n int) int { return 3*min(n, 1) + 5*min(max(n-1, 0), 1) + 6*min(max(n-2, 0), 1) + 7*max(n-3, 0) },
	}
}

func TestLock(t *testing.T) {
	t.Parallel() // its cases run in a process of their own
	locktest.Run(t, locks())
}

// leases is the subject of the suite for locks with leases.
func leases(options ...zklock.Option) locktest.LeaseSubject {
	return locktest.LeaseSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
			m := mutexAt(conn, path, options...)
			return func(name string) locktest.LeaseLock { return ownedLock{m, zklock.NewOwner(name)} }
		},
		ErrHeld: zklock.ErrHeld,
		ErrLost: zklock.ErrLost,
	}
}

func mutexAt(conn *zk.Conn, path string, options ...zklock.Option) *zklock.Mutex {
	m, err := zklock.New(conn, path, append(options, zklock.WithSessionTimeout(bubble.SessionTimeout))...)
	if err != nil {
		panic(err) // the paths are the suite's, and right
	}
	return m
}

type ownedLock struct {
	mutex *zklock.Mutex
	owner *zklock.Owner
}

func (o ownedLock) Lock(ctx context.Context) (locktest.Lease, error) {
	return o.mutex.Lock(ctx, o.owner)
}
func (o ownedLock) TryLock(ctx context.Context) (locktest.Lease, error) {
	return o.mutex.TryLock(ctx, o.owner)
}

func TestFaults(t *testing.T) {
	testenv.RacedAtLength(t, "its schedules run the lines of the other suites, one at a time")
	t.Parallel()
	exploretest.Faults(t, steps.Zklock())
}

func TestFaultsWithCaching(t *testing.T) {
	testenv.Landing(t, "plays on what the fault series plays without caching")
	testenv.RacedAtLength(t, "its schedules run the lines of the other suites, one at a time")
	t.Parallel()
	exploretest.Faults(t, steps.ZklockWith(explore.SessionTimeout, caching.options...))
}

const keeps = 2100 * time.Millisecond // a node of caching.options, until it has been deleted, too

// TestSuitesWithCaching: what differs is what WithCaching says of Unlock, and no more.
func TestSuitesWithCaching(t *testing.T) {
	testenv.Landing(t, "plays on what others play without caching")
	testenv.RacedAtLength(t, "the suites without caching, and the forced schedules with it, run the same lines")
	t.Parallel()
	differs := map[string]string{
		"a holder whose node is deleted is notified":                                `"zklock: the lock was lost" in chain but got nil`,
		"an Unlock that fails can be tried again":                                   "Unlock sends no request",
		"an owner whose Unlock has failed does not get in without a node":           "Should NOT be empty",
		"Unlock returns though no server answers and the node goes later":           `"context deadline exceeded" in chain but got nil`,
		"Unlock of a holder that is cut off is not carried out in the next session": `"zklock: the lock was lost" in chain but got nil`,
	}
	one, withLeases, withOwners := locks(caching.options...), leases(caching.options...), owners(caching.options...)
	one.Keeps, withLeases.Keeps, withOwners.Keeps = keeps, keeps, keeps
	alone := one.Requests
	one.Requests = func(n int) int { return alone(n) + n - 1 } // each lists the queue, and the last one's node is there
	for name, s := range map[string]locktest.Suite{"Lock": one, "Leases": withLeases, "Owners": withOwners} {
		t.Run(name, func(t *testing.T) {
			p := s.Plan()
			j := p.Judge(t)
			for i := 0; j != nil && i < len(p.Names); i++ {
				what := differs[p.Names[i]]
				if what == "" {
					j.Run(p.Names[i])
				} else if said := j.Ask(p.Names[i]).Words.En; said != "" { // else Unlock came before the answer to the list
					require.Contains(t, said, what)
				}
			}
		})
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	locktest.Run(t, leases())
}
