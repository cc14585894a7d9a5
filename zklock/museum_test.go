package zklock_test

import (
	"context"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/museum"
	"example.com/zklock/zklock"
)

// leaseLock is step 5's lock, for one owner.
type leaseLock struct {
	mutex *zklock.Mutex
	owner *zklock.Owner
	lease *zklock.Lease
}

func newLeaseLock(conn *zk.Conn, path string) museum.Lock {
	mutex, err := zklock.New(conn, path)
	if err != nil {
		panic(err)
	}
	return &leaseLock{mutex: mutex, owner: zklock.NewOwner("somebody")}
}

func (l *leaseLock) Lock() (err error) {
	l.lease, err = l.mutex.Lock(context.Background(), l.owner)
	return err
}

func (l *leaseLock) Unlock() error { return l.lease.Unlock(context.Background()) }

// leaseOf returns the lease that a client holds.
func leaseOf(c *museum.Client) *zklock.Lease { return c.Contender().(*leaseLock).lease }

func isLost(c *museum.Client) bool {
	select {
	case <-leaseOf(c).Lost():
		return true
	default:
		return false
	}
}
