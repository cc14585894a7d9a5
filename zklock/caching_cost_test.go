package zklock_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func sum(r requests) (all int64) {
	for _, n := range r {
		all += n
	}
	return all
}

// takesInARow locks and unlocks again and again. It returns the median of how long that takes.
func takesInARow(t *testing.T, m *zklock.Mutex, times int, pause time.Duration) time.Duration {
	var busy []time.Duration
	last := int64(0)
	for range times {
		began := time.Now()
		l, err := m.Lock(context.Background(), nil)
		require.NoError(t, err)
		require.Greater(t, l.Token(), last)
		last = l.Token()
		require.NoError(t, l.Unlock(context.Background()))
		busy = append(busy, time.Since(began))
		time.Sleep(pause)
	}
	require.NoError(t, m.Shutdown(context.Background()))
	slices.Sort(busy)
	return busy[times/2]
}

// TestAProcessThatIsAloneSendsNearlyNothing: after five nodes, each of which the one before
// could have replaced. The rows are those of docs/figures.md.
func TestAProcessThatIsAloneSendsNearlyNothing(t *testing.T) {
	testenv.RacedAtLength(t, "it counts what hundreds of locks send")
	rows, err := os.ReadFile("../docs/figures/pauses.txt")
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for row := range strings.Lines(string(rows)) {
		t.Run(row, func(t *testing.T) {
			var times int
			var pause, d [2]string // of WithCaching; each a number and its unit
			var with, not float64  // requests per acquisition, with it and without
			_, err := fmt.Sscanf(row, "| %s %s | %d | %s %s | %f | %f |", &pause[0], &pause[1], &times, &d[0], &d[1], &with, &not)
			require.NoError(t, err)
			run := func(options ...zklock.Option) (perLock float64) {
				onMeter(t, func(m *meter) {
					far := distant(time.Millisecond)
					ours := m.mutex(m.connectWith(ensemble.Options{Tap: m.tap, Wrap: far}), options...)
					sent := m.sent(func() { takesInARow(t, ours, times, duration(t, pause)) })
					perLock = float64(sum(sent)) / float64(times)
				})
				return perLock
			}
			require.InDelta(t, with, run(zklock.WithCaching(duration(t, d))), 0.005)
			require.InDelta(t, not, run(), 0.005)
		})
	}
}

func duration(t *testing.T, words [2]string) time.Duration {
	d, err := time.ParseDuration(words[0] + words[1])
	require.NoError(t, err)
	return d
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
		tb.makeTop()
		conn, began := tb.connectAs(ordinary{wrap: distant(time.Millisecond)}), time.Now()
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
		tb.isHeld(ours)
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
