package zklock_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func sum(r requests) (all int64) {
	for _, n := range r {
		all += n
	}
	return all
}

// TestAProcessThatIsAloneSendsNearlyNothing: after five nodes, each of which the one before
// could have replaced.
func TestAProcessThatIsAloneSendsNearlyNothing(t *testing.T) {
	for _, c := range []struct {
		what      string
		times     int
		pause     time.Duration
		d         time.Duration // of WithCaching
		with, not float64       // requests per acquisition, with it and without
	}{ // zklock/README.md has these figures
		{"one after the other", 1000, 0, 100 * time.Millisecond, 0.01, 2},
		{"with pauses of 10 ms", 50, 10 * time.Millisecond, 100 * time.Millisecond, 0.24, 2.02},
		{"with pauses of 10 ms", 2000, 10 * time.Millisecond, 100 * time.Millisecond, 0.02, 2},
		{"with pauses of 100 ms", 1000, 100 * time.Millisecond, 200 * time.Millisecond, 0.13, 2},
		{"with pauses of 100 ms, and a time that is too short", 100, 100 * time.Millisecond, 50 * time.Millisecond, 2.01, 2.01},
		{"with pauses of 1 s", 500, time.Second, 2 * time.Second, 1.19, 2},
	} {
		t.Run(fmt.Sprintf("%d times, %s", c.times, c.what), func(t *testing.T) {
			run := func(options ...zklock.Option) (perLock float64) {
				onMeter(t, func(m *meter) {
					far := func(nc net.Conn) net.Conn { return newDistant(nc, time.Millisecond) }
					ours := m.mutex(m.connectWith(ensemble.Options{Tap: m.tap, Wrap: far}), options...)
					last := int64(0)
					sent := m.sent(func() {
						for range c.times {
							l := m.mustLock(ours, nil)
							require.Greater(t, l.Token(), last)
							last = l.Token()
							m.mustUnlock(l)
							time.Sleep(c.pause)
						}
						require.NoError(t, ours.Shutdown(context.Background()))
					})
					perLock = float64(sum(sent)) / float64(c.times)
				})
				return perLock
			}
			with, not := run(zklock.WithCaching(c.d)), run()
			t.Logf("%.4f requests per acquisition, and %.4f without", with, not)
			require.InDelta(t, c.with, with, 0.005)
			require.InDelta(t, c.not, not, 0.005)
		})
	}
}

// TestUntilANodeIsCachedNothingDiffers, to the last request and its moment: without the
// option, and with one that never finds a reason to keep a node.
func TestUntilANodeIsCachedNothingDiffers(t *testing.T) {
	without := allRequests(t)
	require.Greater(t, len(without), 100)
	// Requests of two clients at one moment have no order.
	require.ElementsMatch(t, without, allRequests(t, zklock.WithCaching(time.Hour), zklock.CachingFrom(1000)))
	require.ElementsMatch(t, without, allRequests(t, zklock.WithCaching(0), zklock.CachingFrom(0)), "0 is the default")
	require.NotSubset(t, without, allRequests(t, always...))
}

// allRequests are those of one Mutex, of which each call has a moment of its own: alone, with
// goroutines that wait, with another process, that tries, and after a connection that breaks.
func allRequests(t *testing.T, options ...zklock.Option) (all []string) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn, began := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return newDistant(nc, time.Millisecond) }}), time.Now()
		id := conn.SessionID()
		log := tb.srv.Hold(func(r zkserver.Request) bool {
			if r.Session == id && r.Op != jute.OpPing {
				all = append(all, fmt.Sprintf("%v %v %s", time.Since(began), r.Op, r.Path))
			}
			return false
		})
		defer log.Release()
		ours, other := tb.mutex(conn, options...), tb.mutex(tb.connect())
		unlock := func(l *zklock.Lease) {
			require.NoError(tb, l.Unlock(context.Background()))
			time.Sleep(50 * time.Millisecond) // until nothing is under way
		}
		for range 10 {
			unlock(tb.mustLock(ours, nil))
		}
		holder := tb.mustLock(ours, nil)
		for _, waiter := range queued(ours, 10) {
			require.NoError(tb, holder.Unlock(context.Background()))
			holder = gets(tb, waiter)
		}
		stranger := lockAside(context.Background(), other, nil)
		time.Sleep(time.Minute) // with the proof
		unlock(holder)
		unlock(gets(tb, stranger))
		holder = tb.mustLock(other, nil)
		_, err := ours.TryLock(context.Background(), nil)
		require.ErrorIs(tb, err, zklock.ErrHeld)
		waiter := lockAside(context.Background(), ours, nil)
		time.Sleep(time.Minute)
		unlock(holder)
		holder = gets(tb, waiter)
		tb.srv.Cut(id)
		time.Sleep(time.Minute)
		unlock(holder)
		require.NoError(tb, ours.Shutdown(context.Background()))
	})
	return all
}
