package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// withHandOver makes a Mutex of a client of its own.
func (tb *table) withHandOver(holds int, d time.Duration) *zklock.Mutex {
	tb.Helper()
	return tb.mutex(tb.connect(), zklock.WithHandOver(holds, d))
}

// queued locks aside n times, one after the other.
func queued(m *zklock.Mutex, n int) (waiters []<-chan locked) {
	for range n {
		waiters = append(waiters, waits(m))
	}
	return waiters
}

// TestTheLockIsHandedOnInMemory in the order in which the owners came, and each
// token is higher than the one before. TryLock sees in memory that others wait.
func TestTheLockIsHandedOnInMemory(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		holder := m.mustLock(ours, zklock.NewOwner("first"))
		waiters := queued(ours, 10)
		require.Empty(t, m.sent(func() {
			for i, waiter := range waiters {
				before := holder.Token()
				require.NoError(t, holder.Unlock(context.Background()))
				require.ErrorIs(t, holder.Unlock(context.Background()), zklock.ErrUnlocked)
				synctest.Wait()
				m.isHeld(ours)
				for _, later := range waiters[i+1:] {
					require.Empty(t, later, "it overtakes waiter %d", i)
				}
				holder = (<-waiter).lease
				require.Greater(t, holder.Token(), before)
			}
		}))
		last := holder.Token()
		m.mustUnlock(holder)
		holder = m.mustLock(ours, zklock.NewOwner("later"))
		require.Greater(t, holder.Token(), last, "by another node")
		m.mustUnlock(holder)
	})
}

// TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold, nor for more holds than agreed, whenever
// it comes: goroutines of another Mutex lock again and again.
func TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold(t *testing.T) {
	testenv.RacedAtLength(t, "it plays thousands of holds, and TestOwners hands the lock on with it")
	for _, c := range []struct {
		goroutines, holds int
		during, hold      time.Duration
	}{
		{2, 16, 50 * time.Millisecond, time.Second},
		{100, 16, 50 * time.Millisecond, 10 * time.Millisecond},
		{100, 5, 10 * time.Second, 2 * time.Second},
		{3, 1, 0, time.Second},
		{50, 2, time.Hour, time.Second}, {50, 16, time.Hour, time.Second},
	} {
		onTables(t, fmt.Sprint(c), func(tb *table) {
			m := tb.withHandOver(c.holds, c.during)
			ctx, stop := context.WithCancel(context.Background())
			for range c.goroutines {
				go func() {
					for {
						l, err := m.Lock(ctx, nil)
						if err != nil {
							return
						}
						time.Sleep(c.hold)
						l.Unlock(context.Background())
					}
				}()
			}
			stranger := tb.mutex(tb.connect())
			turn := min(c.during+c.hold, time.Duration(c.holds)*c.hold)
			for phase := range 20 {
				time.Sleep(3*turn + turn*time.Duration(phase)/20)
				began := time.Now()
				l := tb.mustLock(stranger, nil)
				require.LessOrEqual(tb, time.Since(began), turn, "phase %d", phase)
				require.NoError(tb, l.Unlock(context.Background()))
			}
			stop()
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// TestCostOfANodeForTheNextOwners: the Mutex sends the delete of its last node and the
// create of the next together. If the delete comes first, as it mostly does, the Mutex is
// alone, and else it lists the queue.
func TestCostOfANodeForTheNextOwners(t *testing.T) {
	onMeter(t, func(m *meter) {
		conn := m.connectWith(ensemble.Options{Tap: m.tap})
		ours := m.mutex(conn, zklock.WithHandOver(1, 0))
		holder := m.mustLock(ours, nil)
		for _, waiter := range queued(ours, 10) {
			sent := m.sent(func() {
				m.mustUnlock(holder)
				holder = m.acquired(waiter)
			})
			delete(sent, jute.OpGetChildren2)
			delete(sent, jute.OpGetData) // of the token, if the list is answered before the node before has gone
			require.Equal(t, requests{jute.OpMulti: 1, jute.OpDelete: 1}, sent)
		}
		m.mustUnlock(holder)
	})
}

func TestALockThatIsLostIsNotHandedOn(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		waiters := queued(ours, 3)
		session := conn.SessionID()
		silence := tb.srv.Hold(from(session)).Every()
		<-holder.Lost()
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		time.Sleep(time.Minute) // until the session has ended
		for _, waiter := range waiters {
			require.Empty(tb, waiter)
		}
		stranger := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		silence.Release()
		time.Sleep(time.Minute) // they queue again
		require.NoError(tb, stranger.Unlock(context.Background()))
		token := stranger.Token()
		for _, waiter := range waiters {
			got := gets(tb, waiter)
			require.Greater(tb, got.Token(), token)
			token = got.Token()
			require.NoError(tb, got.Unlock(context.Background()))
		}
	})
}

// TestTheHolderIsShownThoughItsNodeWasMadeForAnother.
func TestTheHolderIsShownThoughItsNodeWasMadeForAnother(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.mutex(tb.connect())
		first := tb.mustLock(ours, zklock.NewOwner("first"))
		next := waits(ours)
		require.NoError(tb, first.Unlock(context.Background()))
		got := gets(tb, next)
		queue := tb.participants(ours)
		require.Len(tb, queue, 1)
		require.Equal(tb, "waiter", queue[0].Owner)
		require.Equal(tb, got.Node(), queue[0].Node)
		require.Equal(tb, got.Token(), queue[0].Token)
		require.Greater(tb, queue[0].Token, first.Token())
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestTryLockTakesAFreeLockThoughItsMutexHasJustLostIt: the node that is lost is
// not another contender's.
func TestTryLockTakesAFreeLockThoughItsMutexHasJustLostIt(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		session := conn.SessionID()
		silence := tb.srv.Hold(from(session)).Every()
		<-holder.Lost()
		time.Sleep(time.Minute) // until the session has ended
		silence.Release()
		time.Sleep(10 * time.Second) // until the client has another session
		require.Empty(tb, tb.srv.Children(top))
		l, err := ours.TryLock(context.Background(), zklock.NewOwner("second"))
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()))
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
	})
}

// TestTryLockWaitsForTheNodeOfItsMutexThatWasGivenUp: its delete is on its way,
// and nobody else holds the lock or waits for it.
func TestTryLockWaitsForTheNodeOfItsMutexThatWasGivenUp(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		slow := tb.srv.Hold(of(conn.SessionID(), jute.OpDelete, ""))
		require.ErrorIs(tb, holder.Unlock(limited(tb, time.Second)), context.DeadlineExceeded)
		time.AfterFunc(time.Second, slow.Release)
		l, err := ours.TryLock(context.Background(), zklock.NewOwner("second"))
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestAnErrorOfTheServerEndsTheWaitOfAllOwners: each of them would meet it.
func TestAnErrorOfTheServerEndsTheWaitOfAllOwners(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.allow(tb.makeTop(), top, zk.PermRead|zk.PermAdmin)
		ours := tb.mutex(tb.connect())
		for _, waiter := range queued(ours, 3) {
			require.ErrorIs(tb, (<-waiter).err, zk.ErrNoAuth)
		}
		require.NoError(tb, ours.Shutdown(context.Background()))
	})
}
