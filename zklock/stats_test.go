package zklock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

// TestStatsCountWhatHappens: a first owner, one that gets the lock from it in memory, one
// that loses it, and one that tries.
func TestStatsCountWhatHappens(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop()
		conn := tb.connectAs(ordinary{})
		m := tb.mutex(conn, zklock.WithHandOver(16, time.Hour))
		require.Zero(tb, m.Stats())
		shows := func(want zklock.Stats) {
			tb.Helper()
			require.Equal(tb, want, m.Stats())
			require.Zero(tb, testing.AllocsPerRun(10, func() { m.Stats() }))
		}
		first := tb.mustLock(m, nil)
		began := m.Stats()
		waiters := queued(m, 2)
		time.Sleep(time.Second)
		tb.isHeld(m)
		want := zklock.Stats{Waiting: 2, Held: 1, Acquired: 1, Refused: 1, WaitDuration: began.WaitDuration, HoldDuration: began.HoldDuration + time.Second}
		shows(want)

		require.NoError(tb, first.Unlock(context.Background()))
		passes(tb, waiters[0])
		held := gets(tb, waiters[1])
		time.Sleep(3 * time.Second)
		want.Waiting, want.Acquired, want.HandedOn = 0, 3, 2
		want.WaitDuration += 2 * time.Second // of two owners
		want.HoldDuration += 3 * time.Second
		shows(want)

		tb.srv.Expire(conn.SessionID())
		<-held.Lost()
		want.Held, want.Lost = 0, 1
		shows(want)
		time.Sleep(time.Minute)
		shows(want)
		require.ErrorIs(tb, held.Unlock(context.Background()), zklock.ErrLost)

		stranger := tb.mustLock(tb.mutex(tb.connect()), nil)
		for _, name := range []string{"by the server", "again"} {
			tried, err := m.TryLock(context.Background(), nil)
			require.ErrorIs(tb, err, zklock.ErrHeld, name)
			require.Nil(tb, tried)
		}
		want.Refused += 2
		shows(want)
		list := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
		ctx, cancel := context.WithCancel(context.Background())
		tried := aside(func() error { _, err := m.TryLock(ctx, nil); return err })
		<-list.Hit()
		cancel()
		list.Release()
		require.ErrorIs(tb, <-tried, context.Canceled)
		synctest.Wait() // until its node has gone
		shows(want)
		waiter := queues(m)
		tb.srv.Expire(conn.SessionID())
		time.Sleep(time.Minute) // until it has queued again
		want.Waiting, want.Retried = 1, 1
		shows(want)
		require.NoError(tb, stranger.Unlock(context.Background()))
		held = gets(tb, waiter)
		waiter = queues(m)              // of virtual time: the waiter waits in memory
		tb.srv.Expire(conn.SessionID()) // it has no node to lose
		passes(tb, waiter)
		require.ErrorIs(tb, held.Unlock(context.Background()), zklock.ErrLost)
		stats := m.Stats()
		require.EqualValues(tb, 5, stats.Acquired)
		require.EqualValues(tb, 1, stats.Retried)
		require.GreaterOrEqual(tb, stats.WaitDuration, want.WaitDuration+time.Minute+time.Second)
	})
}
