package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

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

// TestANilOwnerIsANewOne: it does not share the lock with another one.
func TestANilOwnerIsANewOne(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutex(tb.connect())
		holder := tb.mustLock(m, nil)
		_, err := m.TryLock(context.Background(), nil)
		require.ErrorIs(tb, err, zklock.ErrHeld)
		waiter := lockAside(context.Background(), m, new(zklock.Owner))
		synctest.Wait()
		require.Empty(tb, waiter)
		require.NoError(tb, holder.Unlock(context.Background()))
		passes(tb, waiter)
	})
}

// TestTwoTriesOfAnOwnerShareTheLock: they do not exclude each other.
func TestTwoTriesOfAnOwnerShareTheLock(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		late := tb.srv.HoldReply(creates(conn.SessionID()))
		tries := make(chan locked, 2)
		for range 2 {
			go func() {
				l, err := m.TryLock(context.Background(), owner)
				tries <- locked{l, err}
			}()
		}
		<-late.Hit()
		synctest.Wait()
		late.Release()
		first, second := gets(tb, tries), gets(tb, tries)
		require.Equal(tb, first.Token(), second.Token())
		require.Equal(tb, 2, m.Holds(owner))
		require.NoError(tb, first.Unlock(context.Background()))
		require.NoError(tb, second.Unlock(context.Background()))
	})
}
