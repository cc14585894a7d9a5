package main

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	reentrant "example.com/zklock/04-reentrant"
	timeout "example.com/zklock/05-timeout"
)

// newReentrant gives all contenders of a session one Mutex of step 4, and
// each an owner.
func newReentrant(conn *zk.Conn, path string) func() locker {
	m := reentrant.New(conn, path)
	return func() locker { return &reentrantOwner{m, reentrant.NewOwner("bench")} }
}

type reentrantOwner struct {
	mutex *reentrant.Mutex
	owner *reentrant.Owner
}

func (o *reentrantOwner) Lock() error   { return o.mutex.Lock(o.owner) }
func (o *reentrantOwner) Unlock() error { return o.mutex.Unlock(o.owner) }

// newTimeout does the same for step 5.
func newTimeout(conn *zk.Conn, path string) func() locker {
	m, err := timeout.New(conn, path)
	if err != nil {
		panic(err) // the path is the benchmark's own
	}
	return func() locker { return &timeoutOwner{mutex: m, owner: timeout.NewOwner("bench")} }
}

type timeoutOwner struct {
	mutex *timeout.Mutex
	owner *timeout.Owner
	lease *timeout.Lease
}

func (o *timeoutOwner) Lock() (err error) {
	o.lease, err = o.mutex.Lock(context.Background(), o.owner)
	return err
}

func (o *timeoutOwner) Unlock() error {
	select {
	case <-o.lease.Lost():
		return fmt.Errorf("%w before its Unlock", timeout.ErrLost)
	default:
		return o.lease.Unlock(context.Background())
	}
}
