package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// owners is the subject of the suite for locks with owners.
func owners(options ...zklock.Option) locktest.OwnersSubject {
	s := leases(options...)
	return locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			owner := s.Open(conn, path)
			return func(name string) locktest.Lock { return locktest.Background(locktest.NewContender(s, owner(name))) }
		},
		Nobody: func(conn *zk.Conn, path string) locktest.Lock {
			return locktest.Background(locktest.NewContender(s, ownedLock{mutexAt(conn, path, options...), nil}))
		},
		ErrNotOwner: locktest.ErrNotLocked,
		Requeues:    true,
		Shared:      true,
	}
}

func TestOwners(t *testing.T) { locktest.Run(t, owners()) }

// TestTryLockBesideALockOfItsOwnerIsRefused at once if another owner of the Mutex is before it.
func TestTryLockBesideALockOfItsOwnerIsRefused(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		tb.create(conn, top, "", zk.FlagPersistent)
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		slow := tb.srv.Hold(creates(conn.SessionID()))
		first := lockAside(context.Background(), m, nil)
		<-slow.Hit()
		second := lockAside(context.Background(), m, owner)
		synctest.Wait()
		for range 2 { // before the other holds the lock, and then
			_, err := m.TryLock(limited(tb, time.Minute), owner)
			require.ErrorIs(tb, err, zklock.ErrHeld)
			slow.Release()
			synctest.Wait()
		}
		passes(tb, first)
		passes(tb, second)
	})
}

// TestTryLockDoesNotWaitForALockThatCameAfterIt: another process is before both, which the list
// shows, and the Lock of another owner goes on waiting.
func TestTryLockDoesNotWaitForALockThatCameAfterIt(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m := tb.mutex(conn)
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		list := tb.srv.HoldReply(of(conn.SessionID(), jute.OpGetChildren2, top))
		tried := aside(func() error { _, err := m.TryLock(context.Background(), nil); return err })
		<-list.Hit()
		waiter := waits(m)
		list.Release()
		synctest.Wait()
		require.Len(tb, tried, 1, "it waits")
		require.ErrorIs(tb, <-tried, zklock.ErrHeld)
		require.NoError(tb, holder.Unlock(context.Background()))
		passes(tb, waiter)
	})
}

// TestTryLockBesideALockOfItsOwner gets the lock if Lock does, and ErrHeld once another
// contender is known to be before it. That does not end Lock, whichever came first.
func TestTryLockBesideALockOfItsOwner(t *testing.T) {
	for _, c := range []struct{ first, held bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
		onTables(t, fmt.Sprintf("Lock first: %v; held: %v", c.first, c.held), func(tb *table) {
			conn := tb.connectAs(ordinary{})
			m, owner := tb.mutex(conn), zklock.NewOwner("owner")
			tb.create(conn, top, "", zk.FlagPersistent)
			var holder *zklock.Lease
			if c.held {
				holder = tb.mustLock(tb.mutex(tb.connect()), nil)
			}
			late := tb.srv.HoldReply(of(conn.SessionID(), jute.OpGetChildren2, ""))
			tried, tries := make(chan locked, 2), 1
			var waiter <-chan locked
			try := func() {
				l, err := m.TryLock(context.Background(), owner)
				tried <- locked{l, err}
			}
			if c.first {
				waiter = lockAside(context.Background(), m, owner)
				synctest.Wait()
				go try()
			} else {
				tries = 2 // which share the attempt, too
				go try()
				go try()
				<-late.Hit()
				waiter = lockAside(context.Background(), m, owner)
			}
			synctest.Wait()
			require.Empty(tb, tried)
			late.Release()
			if c.held {
				for range tries {
					require.ErrorIs(tb, (<-tried).err, zklock.ErrHeld)
				}
				began := time.Now()
				try()
				require.ErrorIs(tb, (<-tried).err, zklock.ErrHeld)
				require.Zero(tb, time.Since(began), "the Mutex knows already that another contender is before it")
				require.EqualValues(tb, tries+1, m.Stats().Refused)
				tries = 1
				synctest.Wait()
				unproved := tb.srv.Hold(func(r zkserver.Request) bool { return r.Session == conn.SessionID() && r.Op != jute.OpPing }).Every()
				time.Sleep(5 * time.Second) // until the session is not known to be safe
				require.Empty(tb, waiter)
				require.NoError(tb, holder.Unlock(context.Background()))
				synctest.Wait()
				go try() // it is the first, and needs a proof
				synctest.Wait()
				require.Empty(tb, waiter)
				unproved.Release()
			}
			token := gets(tb, waiter).Token()
			for range tries {
				require.Equal(tb, token, gets(tb, tried).Token())
			}
			require.Equal(tb, tries+1, m.Holds(owner))
		})
	}
}
