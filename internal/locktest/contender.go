package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrNotLocked is what Unlock of a Contender wraps if it has no lease, or has lost it.
var ErrNotLocked = errors.New("not locked")

// A Contender makes a contender for the other suites of a lock with leases: it keeps the leases that it gets,
// and Unlock ends the latest.
type Contender struct {
	lock    LeaseLock
	subject LeaseSubject

	mu     sync.Mutex
	leases []Lease
}

// NewContender makes a Contender of a lock of a subject.
func NewContender(s LeaseSubject, l LeaseLock) *Contender { return &Contender{lock: l, subject: s} }

// Lock waits for a lease.
func (c *Contender) Lock(ctx context.Context) error { return c.keep(c.lock.Lock(ctx)) }

// TryLock asks for a lease.
func (c *Contender) TryLock() (bool, error) {
	err := c.keep(c.lock.TryLock(context.Background()))
	if errors.Is(err, c.subject.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

func (c *Contender) keep(lease Lease, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.leases = append(c.leases, lease)
	}
	return err
}

func (c *Contender) takeLatest() Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.leases) - 1
	if last < 0 {
		return nil
	}
	lease := c.leases[last]
	c.leases = c.leases[:last]
	return lease
}

// Unlock ends the latest lease. If it fails, it may be called again.
func (c *Contender) Unlock() error {
	lease := c.takeLatest()
	if lease == nil {
		return ErrNotLocked
	}
	err := lease.Unlock(context.Background())
	if errors.Is(err, c.subject.ErrLost) {
		return fmt.Errorf("%w: %w", ErrNotLocked, err)
	}
	if err != nil {
		c.keep(lease, nil)
	}
	return err
}
