package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/zklock"
)

// A holder is the complete lock with one owner, for the suite: it has the owner's
// leases, and ends the latest first.
type holder struct {
	mutex *zklock.Mutex
	owner *zklock.Owner

	mu     sync.Mutex
	leases []*zklock.Lease // guarded by mu
}

func (h *holder) Lock() error {
	lease, err := h.mutex.Lock(context.Background(), h.owner)
	h.got(lease)
	return err
}

func (h *holder) TryLock() (bool, error) {
	lease, err := h.mutex.TryLock(context.Background(), h.owner)
	h.got(lease)
	if errors.Is(err, zklock.ErrHeld) {
		err = nil
	}
	return lease != nil, err
}

func (h *holder) got(lease *zklock.Lease) {
	if lease == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases = append(h.leases, lease)
}

func (h *holder) latest() *zklock.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.leases) - 1
	if last < 0 {
		return nil
	}
	lease := h.leases[last]
	h.leases = h.leases[:last]
	return lease
}

func (h *holder) Unlock() error {
	lease := h.latest()
	if lease == nil {
		return errNotLocked
	}
	err := lease.Unlock(context.Background())
	if errors.Is(err, zklock.ErrLost) {
		return fmt.Errorf("%w: %w", errNotLocked, err)
	}
	if err != nil {
		h.got(lease) // Unlock may be called again
	}
	return err
}

func TestOwners(t *testing.T) {
	open := func(conn *zk.Conn, path string) *zklock.Mutex {
		m, err := zklock.New(conn, path, zklock.WithSessionTimeout(10*time.Second))
		if err != nil {
			panic(err) // the paths are the suite's, and right
		}
		return m
	}
	locktest.Run(t, locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			m := open(conn, path)
			return func(name string) locktest.Lock { return &holder{mutex: m, owner: zklock.NewOwner(name)} }
		},
		Nobody:      func(conn *zk.Conn, path string) locktest.Lock { return &holder{mutex: open(conn, path)} },
		ErrNotOwner: errNotLocked,
		Requeues:    true,
		Shared:      true,
	})
}
