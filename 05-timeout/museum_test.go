package timeout_test

import (
	"context"

	"github.com/go-zookeeper/zk"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/museum"
)

// leaseLock is step 5's lock as the museum's stage calls it.
type leaseLock struct {
	lock  *timeout.Lock
	lease *timeout.Lease
}

func newTimeout(conn *zk.Conn, path string) museum.Lock {
	return &leaseLock{lock: timeout.New(conn, path, museum.SessionTimeout)}
}

func (l *leaseLock) Lock() (err error) {
	l.lease, err = l.lock.Lock(context.Background())
	return err
}

func (l *leaseLock) Unlock() error { return l.lease.Unlock(context.Background()) }

// leaseOf returns the lease that a client holds.
func leaseOf(c *museum.Client) *timeout.Lease { return c.Contender().(*leaseLock).lease }

func isLost(c *museum.Client) bool {
	select {
	case <-leaseOf(c).Lost():
		return true
	default:
		return false
	}
}
