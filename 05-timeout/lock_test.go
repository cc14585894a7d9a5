package timeout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

var errNotLocked = errors.New("not locked")

// contender shows a Lock to the suites as step 3's.
type contender struct {
	lock  *timeout.Lock
	lease *timeout.Lease
}

func newContender(conn *zk.Conn, path string) *contender {
	return &contender{lock: timeout.New(conn, path, 10*time.Second)}
}

func (c *contender) Lock(ctx context.Context) (err error) {
	c.lease, err = c.lock.Lock(ctx)
	return err
}

func (c *contender) TryLock() (ok bool, err error) {
	lease, err := c.lock.TryLock(context.Background())
	if errors.Is(err, timeout.ErrHeld) {
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
	if errors.Is(err, timeout.ErrLost) {
		err = fmt.Errorf("%w: %w", errNotLocked, err)
	}
	c.lease = nil
	return err
}

// A patient contender never gives up.
type patient struct{ *contender }

func (p patient) Lock() error { return p.contender.Lock(context.Background()) }

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return patient{newContender(conn, path)} },
		ErrNotLocked: errNotLocked,
		Queue:        true,
		Retries:      true,
		WakeUps:      func(waiting int) int { return 1 },
		Requests:     func(n int) int { return 6*n - 2 },
	})
}

func TestContexts(t *testing.T) {
	locktest.RunContexts(t, locktest.ContextSubject{
		New:          func(conn *zk.Conn, path string) locktest.ContextLock { return newContender(conn, path) },
		ErrNotLocked: errNotLocked,
	})
}

// leased shows a Lock to the suites for locks with leases.
type leased struct{ lock *timeout.Lock }

func (l leased) Lock(ctx context.Context) (locktest.Lease, error)    { return l.lock.Lock(ctx) }
func (l leased) TryLock(ctx context.Context) (locktest.Lease, error) { return l.lock.TryLock(ctx) }

var leases = locktest.LeaseSubject{
	Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
		l := timeout.New(conn, path, 10*time.Second)
		return func(string) locktest.LeaseLock { return leased{l} }
	},
	ErrHeld: timeout.ErrHeld,
	ErrLost: timeout.ErrLost,
	Level:   locktest.Basic,
}

func TestLeases(t *testing.T) { locktest.RunLeases(t, leases) }

func TestFaults(t *testing.T) { locktest.RunFaults(t, leases) }
