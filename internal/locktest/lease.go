package locktest

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// A LeaseSubject is a kind of lock that hands out leases: it takes a ctx,
// tells when it is lost, and has fencing tokens.
type LeaseSubject struct {
	// Open returns what makes the contenders of one client, which share what
	// they may share. The session timeout is ten seconds, and on a ZooKeeper
	// other than the embedded one 40.
	Open func(conn *zk.Conn, path string) func(name string) LeaseLock
	// ErrHeld is what TryLock returns, or wraps, if another contender holds the
	// lock.
	ErrHeld error
	// ErrLost is what Unlock returns, or wraps, if the lock was gone before.
	ErrLost error
	// Level says how much is asked of the lock. The zero Level is Full. Basic does
	// not ask that Lock outlives a create whose reply is lost or a session that
	// ends, nor for contenders with other names, numbers that wrap, and parents
	// that go by themselves.
	Level Level
}

// A LeaseLock is one contender of its own.
type LeaseLock interface {
	Lock(ctx context.Context) (Lease, error)
	TryLock(ctx context.Context) (Lease, error)
}

// A LeaseWaiter is a LeaseLock that can tell when what it does in the background
// has ended. Before the suite closes a client it calls Wait of every LeaseLock
// of the client that has one; an error fails the case.
type LeaseWaiter interface {
	Wait(ctx context.Context) error
}

// A Lease is a lock that is held.
type Lease interface {
	Unlock(ctx context.Context) error
	Token() int64
	Lost() <-chan struct{}
}
