package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/zklock"
)

func TestMain(m *testing.M) {
	zk.DefaultLogger = silentLogger{}
	debug.SetGCPercent(400) // a client of the library is born with 1.5 MB of garbage
	locktest.Main(m)
}

var errNotLocked = errors.New("not locked")

// A contender is the complete lock with the methods of step 3, for the suite.
type contender struct {
	mutex *zklock.Mutex
	owner *zklock.Owner
	err   error
	lease *zklock.Lease
}

func (c *contender) Lock() (err error) {
	if c.err != nil {
		return c.err
	}
	c.lease, err = c.mutex.Lock(context.Background(), c.owner)
	return err
}

func (c *contender) TryLock() (ok bool, err error) {
	if c.err != nil {
		return false, c.err
	}
	lease, err := c.mutex.TryLock(context.Background(), c.owner)
	if errors.Is(err, zklock.ErrHeld) {
		return false, nil
	}
	if err == nil {
		c.lease = lease
	}
	return err == nil, err
}

func (c *contender) Unlock() error {
	if c.lease == nil {
		return errNotLocked
	}
	err := c.lease.Unlock(context.Background())
	if errors.Is(err, zklock.ErrLost) {
		err = fmt.Errorf("%w: %w", errNotLocked, err)
	}
	if err == nil || errors.Is(err, zklock.ErrLost) {
		c.lease = nil
	}
	return err
}

func TestLock(t *testing.T) {
	t.Parallel() // its cases run in a process of their own
	locktest.Run(t, locktest.Subject{
		New: func(conn *zk.Conn, path string) locktest.Lock {
			m, err := zklock.New(conn, path, zklock.WithSessionTimeout(10*time.Second))
			return &contender{mutex: m, err: err, owner: zklock.NewOwner("contender")}
		},
		ErrNotLocked: errNotLocked,
		Queue:        true,
		Requeues:     true,
		WakeUps:      func(waiting int) int { return min(waiting, 2) },
		Requests:     func(n int) int { return 3*min(n, 1) + 5*min(max(n-1, 0), 1) + 6*min(max(n-2, 0), 1) + 7*max(n-3, 0) },
	})
}

// leases is the subject of the suite for locks with leases.
func leases(options ...zklock.Option) locktest.LeaseSubject {
	return locktest.LeaseSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
			m, err := zklock.New(conn, path, append(options, zklock.WithSessionTimeout(10*time.Second))...)
			if err != nil {
				panic(err)
			}
			return func(name string) locktest.LeaseLock { return ownedLock{m, zklock.NewOwner(name)} }
		},
		ErrHeld: zklock.ErrHeld,
		ErrLost: zklock.ErrLost,
	}
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
	t.Parallel()
	locktest.RunFaults(t, leases())
}

// TestFaultsWithCaching: each node stays for a while.
func TestFaultsWithCaching(t *testing.T) {
	t.Parallel()
	locktest.RunFaults(t, leases(zklock.WithCaching(time.Second), zklock.CachingFrom(0)))
}

func TestLeases(t *testing.T) {
	t.Parallel()
	locktest.Run(t, leases())
}
