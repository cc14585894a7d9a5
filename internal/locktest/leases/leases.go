// Package leases is a suite for locks with leases: cases that each must pass.
package leases

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest/stage"
)

// A Subject is a kind of lock that hands out leases: it takes a ctx, reports when it is lost, and has fencing tokens.
type Subject struct {
	// Open returns a function that makes the contenders of one client, which may share a Mutex. The
	// session timeout is ten seconds; on a ZooKeeper other than the embedded one it is 40.
	Open func(conn *zk.Conn, path string) func(name string) Lock
	// ErrHeld is what TryLock returns, or wraps, if another contender holds the lock.
	ErrHeld error
	// ErrLost is what Unlock returns, or wraps, if the lock was gone before.
	ErrLost error
	// Keeps is for how long a node may stay when nobody holds the lock any more.
	Keeps time.Duration
	// Level says how much is asked of the lock. The zero Level is Full. Basic does not ask that
	// Lock outlives a create whose reply is lost or a session that ends, nor for contenders with
	// other names, numbers that wrap, and parents that go by themselves.
	Level stage.Level
}

// A Lock is one contender.
type Lock interface {
	Lock(ctx context.Context) (Lease, error)
	TryLock(ctx context.Context) (Lease, error)
}

// A Shutdowner is a Lock whose Shutdown returns when the Lock does nothing more in the background. Before the suite
// closes a client it calls Shutdown of every Lock of the client that has one; an error fails the case.
type Shutdowner interface {
	Shutdown(ctx context.Context) error
}

// A Lease is a lock that is held.
type Lease interface {
	Unlock(ctx context.Context) error
	Token() int64
	Lost() <-chan struct{}
}
