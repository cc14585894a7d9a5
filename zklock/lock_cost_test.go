// Tests of how many requests the lock sends: a tap on its client's connection counts. helpers_test.go has the helpers.
// The Mutex ours is counted, and strangers are not. A proof of the session is a sync and a multi, or a multi alone.
package zklock_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// A contender that is alone sends two requests, and for the first acquisition of its Mutex also lists the queue.
func TestCostWithoutContention(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		ours := tb.countedMutex()
		alone := func() { tb.lockAndUnlock(ours) }
		require.Equal(tb, requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}, tb.sent(alone))
		for range 3 { // the multi is a create that asks whether its node is alone
			require.Equal(tb, requests{jute.OpMulti: 1, jute.OpDelete: 1}, tb.sent(alone))
		}

		tb.delete(tb.connect(), lockPath) // the contender has to make the parent
		ours = tb.countedMutex()
		require.Equal(tb, requests{jute.OpCreate: 1, jute.OpCreateContainer: 1, jute.OpMulti: 1, jute.OpDelete: 1}, tb.sent(alone))
	})
}

// A parent that has data, or that the contender may not write, is not written: each acquisition lists the queue.
func TestAParentIsNotWrittenThatHasDataOrMayNotBeWritten(t *testing.T) {
	for what, parent := range map[string]struct {
		data  string
		perms int32
	}{
		"it has data":           {data: "the lock of the orders", perms: zk.PermAll},
		"it has a mark's size":  {data: "the lock of the orders and no mark", perms: zk.PermAll}, // for the mark see crowd in queue_test.go
		"it may not be written": {perms: zk.PermAll &^ zk.PermWrite},
	} {
		t.Run(what, func(t *testing.T) {
			onMeteredServer(t, func(tb *meter) {
				admin := tb.connect()
				tb.set(admin, lockPath, parent.data)
				tb.allow(admin, lockPath, parent.perms)
				before := tb.stored(lockPath)
				ours := tb.countedMutex()
				alone := func() { tb.lockAndUnlock(ours) }
				for range 3 { // the Mutex learns that it must not write the parent
					alone()
				}
				require.Equal(tb, requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}, tb.sent(alone))
				node := tb.stored(lockPath)
				require.Equal(tb, parent.data, string(node.Data))
				require.Equal(tb, before.Stat.Version, node.Stat.Version, "it was written")
			})
		})
	}
}

// A contender keeps the data of a parent that somebody else makes at the same time, after one without data has gone.
func TestTheDataOfAParentThatIsMadeAgainIsKept(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		const path, data = "/locks/orders", "the lock of the orders"
		m := mutexAt(conn, path)
		for range 2 { // the list of the first one shows that the parent has no data
			tb.lockAndUnlock(m)
		}
		require.True(tb, tb.srv.Delete(path) && tb.srv.Delete("/locks"))
		makesParent := requestOf(conn.SessionID(), jute.OpCreateContainer, path)
		first, second := tb.srv.Hold(makesParent), tb.srv.Hold(makesParent)
		waiter := startLock(context.Background(), m)
		<-first.Hit()
		first.Release() // the create fails, because /locks has gone; the Mutex makes that, and tries again
		<-second.Hit()
		tb.create(tb.connect(), path, data, zk.FlagPersistent)
		second.Release()
		got := tb.receiveLease(waiter)
		require.Equal(tb, data, string(tb.stored(path).Data))
		tb.mustUnlock(got)
	})
}

// Goroutines of a Mutex send at most 0.2 requests per acquisition: 16 holds in a row share a node of 3 requests.
func TestCostOfManyGoroutines(t *testing.T) {
	const n = 160
	onMeteredServer(t, func(tb *meter) {
		ours := tb.countedMutex()
		sent := tb.sent(func() {
			for _, waiter := range startWaiters(ours, n) {
				tb.receiveAndUnlock(waiter)
			}
		})
		require.LessOrEqual(tb, float64(sum(sent))/n, 0.2, "requests per acquisition: %v", sent)
	})
}

// costBehind returns what a Mutex sends for an acquisition behind some contenders of other clients, whose requests do
// not count. The first of these holds the lock for the time hold.
func (tb *meter) costBehind(ours *zklock.Mutex, strangers int, hold time.Duration) requests {
	holder := tb.mustLock(tb.mutex(tb.connect()))
	var waiters []<-chan lockResult
	for range strangers - 1 {
		waiters = append(waiters, tb.startBlockedWaiter(tb.mutex(tb.connect())))
	}
	return tb.sent(func() {
		waiters = append(waiters, tb.startBlockedWaiter(ours))
		time.Sleep(hold)
		for _, waiter := range waiters {
			tb.mustUnlock(holder)
			holder = tb.receiveLeaseNow(waiter)
		}
		tb.mustUnlock(holder)
	})
}

// A contender behind one or two others sends these requests: it reads its own node, and each before it, to watch them.
// If its create is older than maxRoundTrip when its turn comes, one more write proves the session.
func TestCostBehindStrangers(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		ours := tb.countedMutex()
		tb.lockAndUnlock(ours)
		for strangers, want := range map[int]requests{
			1: {jute.OpMulti: 1, jute.OpGetChildren2: 1, jute.OpGetData: 2, jute.OpDelete: 1},
			2: {jute.OpMulti: 1, jute.OpGetChildren2: 1, jute.OpGetData: 3, jute.OpDelete: 1},
		} {
			require.Equal(tb, want, tb.costBehind(ours, strangers, noHold), "behind %d", strangers)
			afterAWait := maps.Clone(want)
			afterAWait[jute.OpMulti]++
			const wait = maxRoundTrip * 12 / 11 // then the create no longer proves the session
			require.Equal(tb, afterAWait, tb.costBehind(ours, strangers, wait), "behind %d, after a wait", strangers)
		}
	})
}

// Two nodes are before a contender's. The first one goes, and the contender lists the queue. While the list is on its
// way, the other one goes, too: then one list is enough. Where servers are far and holds short, each hand-over meets this.
func TestAReleaseDuringTheListIsNotLookedFor(t *testing.T) {
	for range 20 { // the client hands the list and the event over in either order
		onMeteredServer(t, func(tb *meter) {
			holder := tb.mustLock(tb.mutex(tb.connect()))
			second := tb.startBlockedWaiter(tb.mutex(tb.connect()))
			third := tb.startBlockedWaiter(tb.mutex(tb.connect()))
			conn := tb.connectWith(ensemble.Options{Tap: tb.tap})
			ours := tb.startBlockedWaiter(tb.mutex(conn))
			tb.mustUnlock(holder)
			holder = tb.receiveLeaseNow(second)

			list := tb.srv.HoldReply(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
			require.Equal(tb, requests{jute.OpGetChildren2: 1}, tb.sent(func() {
				tb.mustUnlock(holder)
				tb.mustUnlock(tb.receiveLeaseNow(third))
				list.Release()
			}))
			tb.mustUnlock(tb.receiveLeaseNow(ours))
		})
	}
}

// A holder sends seventeen requests per session timeout, T: three reads, one each T/3, and a proof of two requests, a
// sync and a multi, each 7/48 T: 3 + 2 × 48/7 = 17. All waiters of a Mutex together send a proof each T/3, and one
// read. docs/production.md has the cost of a hundred holders of a client.
func TestCostOfHoldingIsSeventeenRequestsPerSessionTimeout(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		const (
			whileHeld   = sessionTimeout * 7 / 48 // between two proofs
			whileQueued = sessionTimeout / 3      // between two proofs; and between two reads while the lock is held
			long        = 10 * sessionTimeout
			alone       = 2 // multis without a sync, which come before the first proof
		)
		wait := func() { time.Sleep(long) }
		times := func(each time.Duration) float64 { return float64(long) / float64(each) }

		holder := tb.mustLock(tb.countedMutex())
		sent := tb.sent(wait) // the last argument of InDelta is for the requests that fall on the edges of that time
		require.Len(tb, sent, 3)
		proofs := times(whileHeld) - 1 // the first proof begins two of these times after the create
		require.InDelta(tb, proofs, sent[jute.OpSync], 1)
		require.InDelta(tb, proofs+alone, sent[jute.OpMulti], 2)
		require.InDelta(tb, times(whileQueued), sent[jute.OpGetData], 4)
		tb.mustUnlock(holder)

		stranger := tb.mustLock(tb.mutex(tb.connect()))
		ours := tb.countedMutex()
		first, second := tb.startBlockedWaiter(ours), tb.startBlockedWaiter(ours)
		sent = tb.sent(wait)
		require.Len(tb, sent, 3)
		require.InDelta(tb, times(sessionTimeout), sent[jute.OpGetData], 1)
		require.InDelta(tb, times(whileQueued), sent[jute.OpSync], 1)
		require.InDelta(tb, times(whileQueued)+alone, sent[jute.OpMulti], 2)
		tb.mustUnlock(stranger)
		tb.mustUnlock(tb.receiveLeaseNow(first))
		tb.mustUnlock(tb.receiveLeaseNow(second))
		require.Empty(tb, tb.sent(wait), "nobody needs a proof")
	})
}

// A process that caches and is alone sends nearly nothing, once it has made five nodes one soon after the other. A row
// of docs/figures/pauses.txt, as "| 10 ms | 50 | 100 ms | 0.24 | 2.02 |", has the pause after each Unlock, how often
// the process locks, WithCaching's time, and how many requests an acquisition takes, with caching and without.
func TestAProcessThatIsAloneSendsNearlyNothing(t *testing.T) {
	testenv.RacedAtLength(t, "it counts what hundreds of locks send")
	rows := testenv.Must(os.ReadFile("../docs/figures/pauses.txt"))(t)
	require.NotEmpty(t, rows)
	for row := range strings.Lines(string(rows)) {
		t.Run(row, func(t *testing.T) {
			var times int
			var pauses, keeps [2]string // each is a number and its unit
			var with, without float64   // requests per acquisition
			const format = "| %s %s | %d | %s %s | %f | %f |"
			testenv.Must(fmt.Sscanf(row, format, &pauses[0], &pauses[1], &times, &keeps[0], &keeps[1], &with, &without))(t)
			pause := testenv.Must(time.ParseDuration(pauses[0] + pauses[1]))(t)
			keep := testenv.Must(time.ParseDuration(keeps[0] + keeps[1]))(t)

			run := func(options ...zklock.Option) (perLock float64) {
				onMeteredServer(t, func(tb *meter) {
					far := distant(time.Millisecond)
					ours := tb.mutex(tb.connectWith(ensemble.Options{Tap: tb.tap, Wrap: far}), options...)
					sent := tb.sent(func() {
						last := int64(0)
						for range times {
							l := tb.mustLock(ours)
							require.Greater(tb, l.Token(), last)
							last = l.Token()
							tb.mustUnlock(l)
							time.Sleep(pause)
						}
						require.NoError(tb, ours.Shutdown(context.Background()))
					})
					perLock = float64(sum(sent)) / float64(times)
				})
				return perLock
			}
			const rounding = 0.005 // the row has two decimals
			require.InDelta(t, with, run(zklock.WithCaching(keep)), rounding)
			require.InDelta(t, without, run(), rounding)
		})
	}
}

// After an Unlock, another process finds what the doc of WithCaching says. With caching the node stays in the queue
// until the other process asks for the lock. observe is that process, and returns what it finds, as a text.
func TestWhatACachedNodeChanges(t *testing.T) {
	// tryDuringDelete returns whether two calls of TryLock get the lock. The delete of a cached node, which the first call
	// brings about, is held back until that has returned. Without caching no delete follows: Unlock has deleted the node.
	tryDuringDelete := func(tb *serverTest, conn *zk.Conn, try func() (bool, error)) string {
		slow := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpDelete, ""))
		first := testenv.Must(try())(tb)
		slow.Release()
		time.Sleep(time.Second)
		second := testenv.Must(try())(tb)
		return fmt.Sprintf("%v, then %v", first, second)
	}
	for _, c := range []struct {
		what          string
		with, without string // what observe returns with caching, and without
		observe       func(tb *serverTest, conn *zk.Conn) string
	}{
		{what: "TryLock", with: "false, then true", without: "true, then true", observe: func(tb *serverTest, conn *zk.Conn) string {
			return tryDuringDelete(tb, conn, contender(tb.connect(), lockPath).TryLock)
		}},
		// Without caching the first attempt gets the lock. The second one fails, because the lock is not reentrant.
		{what: "another library", with: "false, then true", without: "true, then false", observe: func(tb *serverTest, conn *zk.Conn) string {
			return tryDuringDelete(tb, conn, foreignLock(tb.connect(), lockPath, "other").TryLock)
		}},
		// The client is silent from the Unlock on. With caching another contender waits for the end of the session.
		{what: "a crash", with: "10s", without: "0s", observe: func(tb *serverTest, conn *zk.Conn) string {
			began := time.Now()
			silence := tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
			tb.lockAndUnlock(tb.mutex(tb.connect()))
			silence.Release()
			return fmt.Sprint(time.Since(began).Round(sessionTimeout))
		}},
	} {
		for _, with := range []bool{true, false} {
			onServerCase(t, fmt.Sprintf("%s, with caching %v", c.what, with), func(tb *serverTest) {
				conn, options, want := tb.connect(), cacheAlways, c.with
				if !with {
					options, want = nil, c.without
				}
				ours := tb.mutex(conn, options...)
				l := tb.mustLock(ours)
				time.Sleep(time.Minute)
				tb.mustUnlock(l)
				require.Equal(tb, want, c.observe(tb, conn))
			})
		}
	}
}

// A load is how some processes use one lock, whose server is 2 ms away.
type load struct {
	processes, times int           // times: how often each process locks
	think            time.Duration // before each Lock, on average
	hold             time.Duration // from each Lock to its Unlock
	burst            int           // how often a process locks, 1 ms apart, before the next one does; 0: all lock at once
}

// run returns how many requests a load takes, and how long.
func (l load) run(t *testing.T, options ...zklock.Option) (sent int64, took time.Duration) {
	onMeteredServer(t, func(tb *meter) {
		var all []*zklock.Mutex
		for i := range l.processes {
			// No two are equally far away, so that the order of the answers is always the same.
			far := distant(2*time.Millisecond + time.Duration(i)*7*time.Microsecond)
			all = append(all, tb.mutex(tb.connectWith(ensemble.Options{Tap: tb.tap, Wrap: far}), options...))
		}
		lock := func(mutex *zklock.Mutex) {
			held := tb.mustLock(mutex)
			time.Sleep(l.hold)
			tb.mustUnlock(held)
		}
		began := time.Now()
		requests := tb.sent(func() {
			if l.burst > 0 {
				l.takeTurns(all, lock)
			} else {
				l.compete(all, lock)
			}
			took = time.Since(began)
			for _, mutex := range all {
				require.NoError(tb, mutex.Shutdown(context.Background()))
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
				time.Sleep(time.Duration(2 * r.Float64() * float64(l.think))) // from 0 to twice think
				lock(mutex)
			}
		})
	}
	done.Wait()
}

// takeTurns has one process after the other lock, a burst each.
func (l load) takeTurns(all []*zklock.Mutex, lock func(*zklock.Mutex)) {
	for n := 0; n < l.processes*l.times; n += l.burst {
		turn := n / l.burst
		for range l.burst {
			lock(all[turn%l.processes])
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // the next one comes while a node may be cached
	}
}

// Where several processes want the lock, caching makes at most 1 % more requests, and takes at most 1 % longer.
func TestCachingCostsNothingUnderContention(t *testing.T) {
	testenv.Landing(t, "plays many contenders")
	testenv.RacedAtLength(t, "it counts what thousands of locks send")
	const ms = time.Millisecond
	loads := []load{ // of few processes and of many; with long pauses, with short ones and with none
		{processes: 2, times: 500, think: 4 * ms, hold: 3 * ms}, {processes: 2, times: 500, think: 20 * ms, hold: 3 * ms},
		{processes: 5, times: 200, think: 20 * ms, hold: ms}, {processes: 5, times: 200, think: 60 * ms, hold: ms},
		{processes: 50, times: 20}, {processes: 50, times: 20, hold: ms},
	}
	for _, think := range []time.Duration{0, ms, 4 * ms, 10 * ms, 30 * ms, 90 * ms} {
		loads = append(loads, load{processes: 2, times: 500, think: think})
	}
	for _, burst := range []int{1, 2, 3, 4, 5, 6, 8, 10, 20, 50} {
		loads = append(loads, load{processes: 2, times: 300, burst: burst})
	}
	for _, l := range loads {
		sent, took := l.run(t)
		sentWith, tookWith := l.run(t, zklock.WithCaching(100*time.Millisecond))
		more := 100 * (float64(sentWith)/float64(sent) - 1)
		longer := 100 * (float64(tookWith)/float64(took) - 1)
		t.Logf("%+v: %d requests in %v; with caching %+.1f %%, %+.1f %%", l, sent, took, more, longer)
		require.LessOrEqual(t, math.Max(more, longer), 1.0, "%+v", l)
	}
}
