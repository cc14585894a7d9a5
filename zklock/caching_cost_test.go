package zklock_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
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
		l := testenv.Must(m.Lock(context.Background(), nil))(t)
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
	rows := testenv.Must(os.ReadFile("../docs/figures/pauses.txt"))(t)
	require.NotEmpty(t, rows)
	for row := range strings.Lines(string(rows)) {
		t.Run(row, func(t *testing.T) {
			var times int
			var pause, d [2]string // of WithCaching; each a number and its unit
			var with, not float64  // requests per acquisition, with it and without
			testenv.Must(fmt.Sscanf(row, "| %s %s | %d | %s %s | %f | %f |", &pause[0], &pause[1], &times, &d[0], &d[1], &with, &not))(t)
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
	return testenv.Must(time.ParseDuration(words[0] + words[1]))(t)
}

// TestWhatACachedNodeChanges is what WithCaching says that differs, beside what is without it:
// what another process finds, or the caller, after an Unlock.
func TestWhatACachedNodeChanges(t *testing.T) {
	twice := func(tb *table, conn *zk.Conn, try func() (bool, error)) string {
		slow := tb.srv.Hold(of(conn.SessionID(), jute.OpDelete, "")) // the first attempt is faster
		first := testenv.Must(try())(tb)
		slow.Release()
		time.Sleep(time.Second)
		second, err := try()
		return fmt.Sprint(first, second, err)
	}
	for _, c := range []struct {
		what          string
		see           func(tb *table, conn *zk.Conn, ours *zklock.Mutex) string
		with, without string
	}{
		{"TryLock", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			other := contender(tb.connect(), top)
			return twice(tb, conn, other.TryLock)
		}, "false true <nil>", "true true <nil>"},
		{"TryLock of another library", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			other := &foreignLock{conn: tb.connect(), path: top, name: "other"}
			return twice(tb, conn, func() (bool, error) { return other.TryLock(context.Background()) })
		}, "false true <nil>", "true false <nil>"}, // it is not reentrant
		{"a crash", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			id, began := conn.SessionID(), time.Now()
			silence := tb.srv.Hold(from(id)).Every()
			passes(tb, lockAside(context.Background(), tb.mutex(tb.connect()), nil))
			silence.Release()
			return fmt.Sprint(time.Since(began).Round(10 * time.Second))
		}, "10s", "0s"}, // the session timeout
	} {
		for _, with := range []bool{true, false} {
			onTables(t, fmt.Sprintf("%s, with caching %v", c.what, with), func(tb *table) {
				conn, options, want := tb.connect(), always, c.with
				if !with {
					options, want = nil, c.without
				}
				ours := tb.mutex(conn, options...)
				l := tb.mustLock(ours, nil)
				time.Sleep(time.Minute)
				require.NoError(tb, l.Unlock(context.Background()))
				require.Equal(tb, want, c.see(tb, conn, ours))
			})
		}
	}
}

// A load is what some processes do with one lock, whose server is 2 ms away.
type load struct {
	processes, times int           // that each of them locks
	think, hold      time.Duration // before each Lock, on average, and until its Unlock
	burst            int           // at once, 1 ms apart, before another process does; 0: they do not take turns
}

func (l load) String() string {
	if l.burst > 0 {
		return fmt.Sprintf("bursts of %d", l.burst)
	}
	return fmt.Sprintf("%d processes, think %v, hold %v", l.processes, l.think, l.hold)
}

// run returns how many requests a load takes, and how long.
func (l load) run(t *testing.T, options ...zklock.Option) (sent int64, took time.Duration) {
	onMeter(t, func(m *meter) {
		var all []*zklock.Mutex
		for i := range l.processes {
			away := 2*time.Millisecond + time.Duration(i)*7*time.Microsecond // so that the order of the answers is always the same
			far := distant(away)
			all = append(all, m.mutex(m.connectWith(ensemble.Options{Tap: m.tap, Wrap: far}), options...))
		}
		lock := func(mutex *zklock.Mutex) {
			held := m.mustLock(mutex, nil)
			time.Sleep(l.hold)
			m.mustUnlock(held)
		}
		began := time.Now()
		requests := m.sent(func() {
			done := make(chan bool)
			for i, mutex := range all {
				go func() {
					defer func() { done <- true }()
					time.Sleep(time.Duration(i) * 100 * time.Microsecond) // they come one after the other
					r := rand.New(rand.NewPCG(1, uint64(i)))
					for range l.times {
						if l.burst > 0 {
							return
						}
						time.Sleep(time.Duration(2 * r.Float64() * float64(l.think)))
						lock(mutex)
					}
				}()
			}
			for range all {
				<-done
			}
			for n := 0; l.burst > 0 && n < l.processes*l.times; n += l.burst {
				for range l.burst {
					lock(all[n/l.burst%l.processes])
					time.Sleep(time.Millisecond)
				}
				time.Sleep(10 * time.Millisecond) // the next one comes while a node may be cached
			}
			took = time.Since(began)
			for _, mutex := range all {
				require.NoError(m, mutex.Shutdown(context.Background()))
			}
		})
		sent = sum(requests)
	})
	return sent, took
}

// TestCachingCostsNothingUnderContention: where several processes want the lock, there are at
// most 1 % more requests than without it, and it takes at most 1 % longer.
func TestCachingCostsNothingUnderContention(t *testing.T) {
	testenv.Landing(t, "plays many contenders")
	testenv.RacedAtLength(t, "it counts what thousands of locks send")
	const ms = time.Millisecond
	loads := []load{
		{2, 500, 0, 0, 0}, {2, 500, ms, 0, 0}, {2, 500, 4 * ms, 0, 0}, {2, 500, 10 * ms, 0, 0}, {2, 500, 30 * ms, 0, 0},
		{2, 500, 90 * ms, 0, 0}, {2, 500, 4 * ms, 3 * ms, 0}, {2, 500, 20 * ms, 3 * ms, 0},
		{5, 200, 20 * ms, ms, 0}, {5, 200, 60 * ms, ms, 0}, {50, 20, 0, 0, 0}, {50, 20, 0, ms, 0},
	}
	for _, burst := range []int{1, 2, 3, 4, 5, 6, 8, 10, 20, 50} {
		loads = append(loads, load{processes: 2, times: 300, burst: burst})
	}
	for _, l := range loads {
		sent, took := l.run(t)
		sentWith, tookWith := l.run(t, zklock.WithCaching(100*time.Millisecond))
		more := 100 * (float64(sentWith)/float64(sent) - 1)
		longer := 100 * (float64(tookWith)/float64(took) - 1)
		t.Logf("%v: %d requests in %v; with caching %+.1f %%, %+.1f %%", l, sent, took, more, longer)
		require.LessOrEqual(t, math.Max(more, longer), 1.0, "%v", l)
	}
}
