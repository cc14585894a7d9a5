package timeout_test

import (
	"context"

	"github.com/go-zookeeper/zk"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/museum"
)

// leaseLock is step 5's lock, for one owner.
type leaseLock struct {
	mutex *timeout.Mutex
	owner *timeout.Owner
	lease *timeout.Lease
}

func newLeaseLock(conn *zk.Conn, path string) museum.Lock {
	mutex, err := timeout.New(conn, path)
	if err != nil {
		panic(err)
	}
	return &leaseLock{mutex: mutex, owner: timeout.NewOwner("somebody")}
}

func (l *leaseLock) Lock() (err error) {
	l.lease, err = l.mutex.Lock(context.Background(), l.owner)
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
