package zklock_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
)

// A meter is a table (onTable) that counts all that the clients send. A table is the embedded server in virtual time
// (lock_table_test.go, which also has of, gets and passes). queued locks aside n times (queue_test.go), distant leads to a
// server that is far away (lease_test.go), and always is WithCaching that keeps every node (caching_test.go).
type meter struct {
	*table
	tap *wiretap.Tap
}

func onMeter(t *testing.T, play func(m *meter)) {
	t.Helper()
	onTable(t, func(tb *table) {
		m := &meter{tb, new(wiretap.Tap)}
		tb.makeTop() // or the first makes it
		play(m)
	})
}

func (m *meter) newMutex() *zklock.Mutex {
	m.Helper()
	return m.mutex(m.connectWith(ensemble.Options{Tap: m.tap}))
}

type requests = map[jute.Op]int64

// settle returns when every goroutine waits for something.
func (m *meter) settle() {
	time.Sleep(10 * time.Millisecond) // of virtual time: a client takes one for the first reply of a connection
}

// sent returns what is sent while f runs and until every goroutine waits for something.
func (m *meter) sent(f func()) requests {
	m.settle()
	before := m.tap.Counts()
	f()
	m.settle()
	sent := m.tap.Counts().Since(before).Requests
	delete(sent, jute.OpPing)
	return sent
}

// arrives locks aside, and fails the test if the lock is free.
func (m *meter) arrives(mutex *zklock.Mutex) <-chan locked {
	m.Helper()
	waiter := lockAside(context.Background(), mutex, zklock.NewOwner("waiter"))
	m.settle()
	require.Empty(m, waiter, "it holds the lock")
	return waiter
}

// acquired returns the lease that a waiter has got by now.
func (m *meter) acquired(waiter <-chan locked) *zklock.Lease {
	m.Helper()
	m.settle()
	require.Len(m, waiter, 1, "it waits, and nobody is before it")
	got := <-waiter
	require.NoError(m, got.err)
	return got.lease
}

func (m *meter) mustUnlock(l *zklock.Lease) {
	m.Helper()
	require.NoError(m, l.Unlock(context.Background()))
}

// TestCostWithoutContention: the first acquisition of a Mutex lists the queue, unless it makes
// the parent. After that a contender that is alone sends two requests, the least there is.
func TestCostWithoutContention(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		alone := func() { m.mustUnlock(m.mustLock(ours, zklock.NewOwner("alone"))) }
		require.Equal(t, requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}, m.sent(alone))
		for range 3 {
			require.Equal(t, requests{jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
		}
		require.NoError(t, m.connect().Delete(top, -1))
		ours = m.newMutex()
		require.Equal(t, requests{jute.OpCreate: 1, jute.OpCreateContainer: 1, jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
	})
}

// TestAParentIsNotWrittenThatHasDataOrMayNotBeWritten: the list shows both. That costs a
// contender that is alone a list and a read of its node.
func TestAParentIsNotWrittenThatHasDataOrMayNotBeWritten(t *testing.T) {
	for what, parent := range map[string]struct {
		data  string
		perms int32
	}{
		"it has data":           {"the lock of the orders", zk.PermAll},
		"it has a mark's size":  {"the lock of the orders and no mark", zk.PermAll},
		"it may not be written": {"", zk.PermAll &^ zk.PermWrite},
	} {
		t.Run(what, func(t *testing.T) {
			onMeter(t, func(m *meter) {
				admin := m.connect()
				m.allow(admin, top, parent.perms)
				if parent.data != "" {
					m.set(admin, top, parent.data)
				}
				before, _ := m.srv.Node(top)
				ours := m.newMutex()
				alone := func() { m.mustUnlock(m.mustLock(ours, nil)) }
				for range 3 {
					alone()
				}
				require.Equal(t, requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}, m.sent(alone))
				node, _ := m.srv.Node(top)
				require.Equal(t, parent.data, string(node.Data))
				require.Equal(t, before.Stat.Version, node.Stat.Version, "it was written")
			})
		})
	}
}

// TestTheDataOfAParentThatIsMadeAgainIsKept: the first parent has no data, and has gone, with its own parent, when a
// contender makes its node; the one that somebody else makes has some.
func TestTheDataOfAParentThatIsMadeAgainIsKept(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		const path, data = "/locks/orders", "the lock of the orders"
		m, makes := tb.mutexAt(path, conn), of(conn.SessionID(), jute.OpCreateContainer, path)
		for range 2 { // the list of the first one shows that the parent has no data
			require.NoError(tb, tb.mustLock(m, zklock.NewOwner("earlier")).Unlock(context.Background()))
		}
		require.True(tb, tb.srv.Delete(path) && tb.srv.Delete("/locks"))
		alone, again := tb.srv.Hold(makes), tb.srv.Hold(makes)
		waiter := lockAside(context.Background(), m, zklock.NewOwner("owner"))
		<-alone.Hit()
		alone.Release()
		<-again.Hit()
		tb.create(tb.connect(), path, data, zk.FlagPersistent)
		again.Release()
		got := gets(tb, waiter)
		node, _ := tb.srv.Node(path)
		require.Equal(tb, data, string(node.Data))
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestCostOfManyGoroutines: at the defaults sixteen of them share a node.
func TestCostOfManyGoroutines(t *testing.T) {
	const n = 160
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		sent := m.sent(func() {
			holder := m.mustLock(ours, zklock.NewOwner("first"))
			for _, waiter := range queued(ours, n-1) {
				m.mustUnlock(holder)
				holder = (<-waiter).lease
			}
			m.mustUnlock(holder)
		})
		require.LessOrEqual(t, float64(sum(sent))/n, 0.2, "requests per acquisition: %v", sent)
	})
}

// behind returns what a Mutex sends for an acquisition behind some contenders
// of others, whose requests do not count: they have no tap. The first of them holds the lock for a while.
func (m *meter) behind(ours *zklock.Mutex, strangers int, hold time.Duration) requests {
	m.Helper()
	holder := m.mustLock(m.mutex(m.connect()), zklock.NewOwner("first stranger"))
	var waiters []<-chan locked
	for range strangers - 1 {
		waiters = append(waiters, m.arrives(m.mutex(m.connect())))
	}
	return m.sent(func() {
		waiters = append(waiters, m.arrives(ours))
		time.Sleep(hold)
		for _, waiter := range waiters {
			m.mustUnlock(holder)
			holder = m.acquired(waiter)
		}
		m.mustUnlock(holder)
	})
}

// TestCostBehindStrangers: if the create is older than a twelfth of the session timeout when the turn
// comes, the session is proved by a write more.
func TestCostBehindStrangers(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		m.mustUnlock(m.mustLock(ours, zklock.NewOwner("earlier")))
		for strangers, want := range map[int]requests{
			1: {jute.OpMulti: 1, jute.OpGetChildren2: 1, jute.OpGetData: 2, jute.OpDelete: 1},
			2: {jute.OpMulti: 1, jute.OpGetChildren2: 1, jute.OpGetData: 3, jute.OpDelete: 1},
		} {
			require.Equal(t, want, m.behind(ours, strangers, 0), "behind %d", strangers)
			afterAWait := maps.Clone(want)
			afterAWait[jute.OpMulti]++
			const old = 10 * time.Second / 11 // more than a twelfth of the session timeout
			require.Equal(t, afterAWait, m.behind(ours, strangers, old), "behind %d, after a wait", strangers)
		}
	})
}

// TestAReleaseDuringTheListIsNotLookedFor: the node before ours goes while the list is on its way that the node before
// that one has caused. Where servers are far and the lock is held for a short time, every hand-over meets this.
func TestAReleaseDuringTheListIsNotLookedFor(t *testing.T) {
	for range 20 { // the client hands the list and the event over in either order
		onMeter(t, func(m *meter) {
			holder := m.mustLock(m.mutex(m.connect()), zklock.NewOwner("holder"))
			second := m.arrives(m.mutex(m.connect()))
			third := m.arrives(m.mutex(m.connect()))
			conn := m.connectWith(ensemble.Options{Tap: m.tap})
			ours := m.arrives(m.mutex(conn))
			m.mustUnlock(holder)
			holder = m.acquired(second)
			list := m.srv.HoldReply(of(conn.SessionID(), jute.OpGetChildren2, top))
			require.Equal(t, requests{jute.OpGetChildren2: 1}, m.sent(func() {
				m.mustUnlock(holder)
				m.mustUnlock(m.acquired(third))
				list.Release()
			}))
			m.mustUnlock(m.acquired(ours))
		})
	}
}

// TestCostOfHoldingIsSeventeenRequestsPerSessionTimeout: a proof, a sync and a multi, each 7/48
// of it, and three reads. That of waiting is two requests per third of it, and one per session timeout,
// however many wait. docs/production.md has the cost of a hundred holders of a client.
func TestCostOfHoldingIsSeventeenRequestsPerSessionTimeout(t *testing.T) {
	onMeter(t, func(m *meter) {
		const (
			session     = 10 * time.Second
			whileHeld   = session * 7 / 48 // between two proofs
			whileQueued = session / 3      // the same, and between two reads while the lock is held
			long        = 10 * session
			alone       = 2 // writes before the first proof
		)
		wait := func() { time.Sleep(long) }
		times := func(each time.Duration) float64 { return float64(long) / float64(each) }
		holder := m.mustLock(m.newMutex(), zklock.NewOwner("holder"))
		sent := m.sent(wait)
		require.Len(t, sent, 3)
		require.InDelta(t, times(whileHeld)-1, sent[jute.OpSync], 1) // the first proof comes later
		require.InDelta(t, times(whileHeld)-1+alone, sent[jute.OpMulti], 2)
		require.InDelta(t, times(whileQueued), sent[jute.OpGetData], 4)
		m.mustUnlock(holder)

		stranger := m.mustLock(m.mutex(m.connect()), zklock.NewOwner("stranger"))
		ours := m.newMutex()
		first, second := m.arrives(ours), m.arrives(ours)
		sent = m.sent(wait)
		require.Len(t, sent, 3)
		require.InDelta(t, times(session), sent[jute.OpGetData], 1)
		require.InDelta(t, times(whileQueued), sent[jute.OpSync], 1)
		require.InDelta(t, times(whileQueued)+alone, sent[jute.OpMulti], 2)
		m.mustUnlock(stranger)
		m.mustUnlock(m.acquired(first))
		m.mustUnlock(m.acquired(second))
		require.Empty(t, m.sent(wait), "nobody needs a proof")
	})
}

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
			var pause, d [2]string    // of WithCaching; each a number and its unit
			var with, without float64 // requests per acquisition
			testenv.Must(fmt.Sscanf(row, "| %s %s | %d | %s %s | %f | %f |", &pause[0], &pause[1], &times, &d[0], &d[1], &with, &without))(t)
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
			require.InDelta(t, without, run(), 0.005)
		})
	}
}

func duration(t *testing.T, words [2]string) time.Duration {
	return testenv.Must(time.ParseDuration(words[0] + words[1]))(t)
}

// TestWhatACachedNodeChanges is what WithCaching says that differs, beside what is without it:
// what another process finds, or the caller, after an Unlock.
func TestWhatACachedNodeChanges(t *testing.T) {
	tryDuringDelete := func(tb *table, conn *zk.Conn, try func() (bool, error)) string {
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
			return tryDuringDelete(tb, conn, other.TryLock)
		}, "false true <nil>", "true true <nil>"},
		{"TryLock of another library", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			return tryDuringDelete(tb, conn, foreignLock(tb.connect(), top, "other").TryLock)
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
			// No two are equally far away, so that the order of the answers is always the same.
			far := distant(2*time.Millisecond + time.Duration(i)*7*time.Microsecond)
			all = append(all, m.mutex(m.connectWith(ensemble.Options{Tap: m.tap, Wrap: far}), options...))
		}
		lock := func(mutex *zklock.Mutex) {
			held := m.mustLock(mutex, nil)
			time.Sleep(l.hold)
			m.mustUnlock(held)
		}
		began := time.Now()
		requests := m.sent(func() {
			if l.burst > 0 {
				l.takeTurns(all, lock)
			} else {
				l.compete(all, lock)
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

// compete has all processes lock at the same time, each after its own pauses.
func (l load) compete(all []*zklock.Mutex, lock func(*zklock.Mutex)) {
	var done sync.WaitGroup
	for i, mutex := range all {
		done.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond) // they come one after the other
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range l.times {
				time.Sleep(time.Duration(2 * r.Float64() * float64(l.think)))
				lock(mutex)
			}
		})
	}
	done.Wait()
}

// takeTurns has one process after the other lock, a burst each.
func (l load) takeTurns(all []*zklock.Mutex, lock func(*zklock.Mutex)) {
	for n := 0; n < l.processes*l.times; n += l.burst {
		for range l.burst {
			lock(all[n/l.burst%l.processes])
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // the next one comes while a node may be cached
	}
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
