// Tests of WithCaching: when a Mutex keeps a node that nobody needs, and gives it up. helpers_test.go has the helpers.
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
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// cacheAlways are options of a Mutex that keeps every node for an hour.
var cacheAlways = []zklock.Option{zklock.WithCaching(time.Hour), zklock.CachingFrom(0)}

// lockAndLeaveCached locks and unlocks, and returns the old lease when its node is cached.
func (tb *serverTest) lockAndLeaveCached(m *zklock.Mutex) *zklock.Lease {
	tb.Helper()
	l := tb.mustLock(m)
	tb.mustUnlock(l)
	time.Sleep(10 * time.Millisecond) // for the answer to the list
	tb.requireCached(m)
	return l
}

// requireCached asserts that the Mutex keeps a node, which nobody holds.
func (tb *serverTest) requireCached(m *zklock.Mutex) {
	require.Len(tb, tb.srv.Children(lockPath), 1, "it is not kept")
	require.Equal(tb, 1, m.Stats().Cached)
	require.Zero(tb, m.Stats().Held)
}

func (tb *serverTest) requireNotCached(m *zklock.Mutex) {
	synctest.Wait()
	require.Empty(tb, tb.srv.Children(lockPath), "it is kept")
	require.Zero(tb, m.Stats().Cached)
}

// A node is kept after a streak of four in a row: each was made soon after the release before it, with nobody in
// between. The streak is doubled after a kept node that has served fewer than four holds when another contender comes,
// or only one when its time is over. It is halved after four or more when another comes. After another contender has
// taken a node away, none is kept for twice the time since the last such visit, or first for 1 s.
func TestANodeIsKeptAfterFiveInARow(t *testing.T) {
	const (
		least     = 4                      // the shortest streak
		caching   = 100 * time.Millisecond // the argument of WithCaching
		soon      = caching / 10           // from a release to the next Lock: a node in a row
		late      = 2 * caching            // too long for that
		oneOfARow = caching + soon         // the time that each node in a row takes, with its hold
	)
	onServer(t, func(tb *serverTest) {
		ours, other := tb.mutex(tb.connect(), zklock.WithCaching(caching)), tb.mutex(tb.connect())
		lockTimes := func(times int, pause time.Duration) {
			for range times {
				l := tb.mustLock(ours)
				time.Sleep(caching) // of virtual time, in all tests here; the time of a hold does not count
				tb.mustUnlock(l)
				time.Sleep(pause)
			}
		}
		requireKeptAfter := func(streak int) { // asserts that no node of the streak stays, and the next one does
			lockTimes(streak, soon)
			tb.requireNotCached(ours)
			lockTimes(1, soon)
			tb.requireCached(ours)
		}

		lockTimes(20, late) // none of these stays
		lockTimes(4, soon)  // the first of these came too late, too
		tb.requireNotCached(ours)
		tb.lockAndUnlock(other) // which takes no kept node away
		requireKeptAfter(least)
		lockTimes(1, soon)  // the kept node serves two holds, and nobody comes: that changes nothing
		time.Sleep(caching) // in which no contender comes
		requireKeptAfter(least)

		lockTimes(2, soon) // the kept node serves three holds, which is little
		tb.lockAndUnlock(other)
		const pause = 18              // in nodes of a row: longer than the second in which no node is kept
		time.Sleep(pause * oneOfARow) // of virtual time
		requireKeptAfter(2 * least)
		lockTimes(3, soon) // the kept node serves four, which is enough
		tb.lockAndUnlock(other)
		const sinceOtherCame = pause + 2*least + 1 + 3 // in nodes of a row
		requireKeptAfter(2 * sinceOtherCame)
		lockTimes(3, soon)
		tb.lockAndUnlock(other)
		time.Sleep(time.Minute)
		requireKeptAfter(least)

		var needed []int // streaks
		for range 6 {
			time.Sleep(caching) // until the kept node goes, which has served no other hold
			streak := 0
			for lockTimes(1, soon); ours.Stats().Cached == 0; lockTimes(1, soon) {
				streak++
			}
			needed = append(needed, streak)
		}
		require.Equal(tb, []int{8, 16, 32, 64, 64, 64}, needed) // 64 is the longest
	})
}

// A TryLock gets the lock nearly as often beside a process that caches as beside one that does not. The process locks
// for no time, again and again, and the other one tries now and then.
func TestTryLockBesideAProcessThatCaches(t *testing.T) {
	for _, c := range []struct {
		every, tried    time.Duration // between two locks of the process, and between two attempts of the other one
		attempts, fewer int           // attempts of the other one, and how many fewer of them may succeed if the process caches
	}{
		{every: 10 * time.Millisecond, tried: time.Second, attempts: 60, fewer: 5},
		{every: 5 * time.Second, tried: 50 * time.Second, attempts: 12, fewer: 2},
	} {
		got := map[bool]int{}
		for _, caches := range []bool{false, true} {
			onServer(t, func(tb *serverTest) {
				tb.makeParent() // which stays: else the numbers begin again
				var options []zklock.Option
				if caches {
					options = append(options, zklock.WithCaching(10*c.every))
				}
				ours := tb.mutex(tb.connectOrdinaryWith(ordinary{wrap: distant(4 * time.Millisecond)}), options...)
				other := tb.mutex(tb.connectOrdinaryWith(ordinary{wrap: distant(2 * time.Millisecond)}))
				ctx, stop := context.WithCancel(context.Background())
				ended := inBackground(func() error {
					for ctx.Err() == nil {
						tb.lockAndUnlock(ours)
						time.Sleep(c.every)
					}
					return ours.Shutdown(context.Background())
				})
				for i := range c.attempts {
					time.Sleep(c.tried + time.Duration(i)*1100*time.Microsecond)
					if l, err := other.TryLock(context.Background(), nil); err == nil {
						got[caches]++
						tb.mustUnlock(l)
					}
				}
				stop()
				require.NoError(tb, <-ended)
			})
		}
		t.Logf("of %d attempts these get the lock: %v", c.attempts, got)
		require.Greater(t, got[false], c.attempts*2/3)
		require.GreaterOrEqual(t, got[true], got[false]-c.fewer)
	}
}

// Another contender, of whatever library, gets the lock from a Mutex with a cached node within four round trips.
func TestAnotherContenderTakesACachedNodeAway(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	far := ordinary{wrap: distant(roundTrip)}
	type plainLock interface {
		Lock() error
		Unlock() error
	}
	for name, open := range map[string]func(conn *zk.Conn) plainLock{
		"zklock":  func(conn *zk.Conn) plainLock { return locktest.Background(contender(conn, lockPath)) },
		"zk.Lock": func(conn *zk.Conn) plainLock { return zk.NewLock(conn, lockPath, everybody) },
		"Curator's recipe": func(conn *zk.Conn) plainLock {
			return foreignLock(conn, lockPath, "4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f")
		},
	} {
		onServerCase(t, name, func(tb *serverTest) {
			tb.makeParent()
			ours := tb.mutex(tb.connectOrdinaryWith(far), cacheAlways...)
			stranger := open(tb.connectOrdinaryWith(far))
			require.NoError(tb, stranger.Lock()) // the first time it reads more
			require.NoError(tb, stranger.Unlock())

			for i := range 30 { // at different moments of what the Mutex does while it caches
				tb.lockAndUnlock(ours)
				time.Sleep(time.Minute + time.Duration(i)*roundTrip/10)
				tb.requireCached(ours)
				began := time.Now()
				require.NoError(tb, stranger.Lock())
				require.LessOrEqual(tb, time.Since(began), 4*roundTrip)
				require.NoError(tb, stranger.Unlock())
				time.Sleep(time.Second)
				tb.requireNotCached(ours)
			}
		})
	}
}

// A node that has served as many holds as WithHandOver says serves no more until the Mutex has listed the queue. If no
// other contender is there, the node serves the goroutines that wait; if a stranger is there, it comes first.
func TestGoroutinesWaitForTheList(t *testing.T) {
	for _, strange := range []bool{false, true} {
		t.Run(fmt.Sprintf("a stranger waits: %v", strange), func(t *testing.T) {
			onMeteredServer(t, func(tb *meter) {
				conn := tb.connectWith(ensemble.Options{Tap: tb.tap})
				ours := tb.mutex(conn, cacheAlways...)
				tb.lockAndLeaveCached(ours)
				tb.lockAndUnlock(tb.mutex(tb.connect())) // takes the node away
				// The next node serves holds until its list is answered, and no more than the default of WithHandOver.
				list := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
				var l *zklock.Lease
				for range 16 {
					l = tb.mustLock(ours)
					tb.mustUnlock(l)
				}

				waiters := startWaiters(ours, 2)
				tb.requireTryLockRefused(ours, "others wait")
				var stranger <-chan lockResult
				if strange {
					stranger = tb.startBlockedWaiter(tb.mutex(tb.connect()))
				}
				require.ErrorContains(tb, ours.Shutdown(tb.within(time.Millisecond)),
					"owners that wait for the lock: 2; requests that are not answered")
				require.Empty(tb, waiters[0])
				list.Release()
				if strange {
					tb.mustUnlock(tb.receiveLeaseNow(stranger))
				}
				for _, waiter := range waiters {
					got := tb.receiveLeaseNow(waiter)
					require.Equal(tb, !strange, got.Node() == l.Node())
					tb.mustUnlock(got)
				}
				require.NoError(tb, ours.Shutdown(context.Background()))
				require.Empty(tb, tb.srv.Children(lockPath))
			})
		})
	}
}

// A contender gets the lock from a Mutex with a cached node although the Mutex gets no event: its connection breaks,
// the server refuses to set the watches again, and nobody reports that.
func TestAContenderIsLetInThoughTheWatchOnTheQueueIsThrottled(t *testing.T) {
	for _, back := range []time.Duration{time.Second / 4, 5 * time.Second} { // after the break, before the client is back and after
		onServerCase(t, back.String(), func(tb *serverTest) {
			conn := tb.connect()
			ours := tb.mutex(conn, cacheAlways...)
			tb.lockAndLeaveCached(ours)
			refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpSetWatches, ""))
			tb.srv.Cut(conn.SessionID())
			time.Sleep(back) // until the client is connected again
			require.Len(tb, refused.Hit(), 1)
			tb.requireCached(ours)
			stranger := startLock(context.Background(), tb.mutex(tb.connect()))
			time.Sleep(sessionTimeout/3 + time.Second/10) // then the Mutex has listed the queue again
			require.Len(tb, stranger, 1)
			tb.receiveAndUnlock(stranger)
		})
	}
}

// A client that is cut off cannot know that. When the session of its cached node may end, the node grants no lease
// more, because that would be lost at once; it is given up.
func TestACachedNodeOfAClientThatIsCutOffGrantsNothing(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		ours := tb.mutex(conn, cacheAlways...)
		l := tb.mustLock(ours)
		time.Sleep(time.Minute) // it is proved
		silence := tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
		safeUntil := l.ValidUntil()
		tb.mustUnlock(l)
		tb.requireCached(ours)
		time.Sleep(time.Until(safeUntil) - time.Millisecond) // until just before the end of the lease
		err := testenv.Err(ours.Lock(tb.within(time.Second), nil))
		require.ErrorIs(tb, err, context.DeadlineExceeded, "the lease is as good as lost")
		require.Zero(tb, ours.Stats().Cached)
		time.Sleep(time.Minute) // until the session has ended
		stranger := tb.mustLock(tb.mutex(tb.connect()))
		silence.Release()
		require.Greater(tb, stranger.Token(), l.Token())
		tb.mustUnlock(stranger)
		tb.lockAndUnlock(ours)
	})
}

// A cached node goes by hand, with its session, or by a request to release the lock. The next Lock makes another one,
// and an earlier lease by the node is not lost: it was unlocked.
func TestACachedNodeThatIsTakenAway(t *testing.T) {
	for name, take := range map[string]func(tb *serverTest, conn *zk.Conn, ours *zklock.Mutex){
		"the node is deleted": func(tb *serverTest, _ *zk.Conn, _ *zklock.Mutex) {
			tb.delete(tb.connect(), tb.nodeAt(0))
		},
		"the session is ended": func(tb *serverTest, conn *zk.Conn, _ *zklock.Mutex) { tb.srv.Expire(conn.SessionID()) },
		"it is revoked": func(tb *serverTest, _ *zk.Conn, ours *zklock.Mutex) {
			all := tb.participants(ours)
			require.Len(tb, all, 1)
			require.NoError(tb, tb.mutex(tb.connect()).Revoke(context.Background(), all[0]))
		},
		"Curator's Revoker asks": func(tb *serverTest, _ *zk.Conn, _ *zklock.Mutex) {
			tb.set(tb.connect(), tb.nodeAt(0), curatorRevoke)
		},
	} {
		for when, after := range map[string]time.Duration{"at once": 0, "later": time.Minute} {
			onServerCase(t, name+" "+when, func(tb *serverTest) {
				conn := tb.connect()
				ours := tb.mutex(conn, cacheAlways...)
				earlier := tb.lockAndLeaveCached(ours)
				time.Sleep(after)
				take(tb, conn, ours)
				time.Sleep(sessionTimeout / 8) // by then its node is watched
				tb.requireNotCached(ours)
				time.Sleep(time.Minute)
				require.False(tb, isClosed(earlier.Lost()))
				require.Zero(tb, ours.Stats().Lost)
				next := tb.mustLock(ours)
				require.NotEqual(tb, earlier.Node(), next.Node())
				require.Greater(tb, next.Token(), earlier.Token())
				tb.mustUnlock(next)
			})
		}
	}
}

// Calls by a cached node send nothing, and report what those by any other node would.
func TestCallsOnACachedNode(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		ours := tb.mutex(tb.connectWith(ensemble.Options{Tap: tb.tap}), cacheAlways...)
		other := tb.mutex(tb.connect())
		earlier := tb.lockAndLeaveCached(ours)
		time.Sleep(time.Minute)

		all := tb.participants(ours)
		require.Len(tb, all, 1)
		require.True(tb, all[0].Cached)
		require.Equal(tb, "zklock", all[0].Library, "by the name and the record, as earlier versions read them")
		require.Empty(tb, all[0].Owner, "nobody holds it")
		require.Equal(tb, earlier.Token()+1, all[0].Token, "that of the next lease")
		all = tb.participants(other)
		require.False(tb, all[0].Cached, "others cannot see it")
		require.ErrorIs(tb, testenv.Err(ours.Lock(tb.within(0), nil)), context.DeadlineExceeded)
		tb.requireCached(ours)
		var l *zklock.Lease
		owner := zklock.NewOwner("owner")
		require.Empty(tb, tb.sent(func() {
			l = testenv.Must(ours.TryLock(context.Background(), owner))(tb)
			again := testenv.Must(ours.Lock(context.Background(), owner))(tb)
			require.Equal(tb, 2, ours.Holds(owner))
			tb.mustUnlock(again)
			tb.requireTryLockRefused(ours)
		}))
		require.Equal(tb, all[0].Token+1, l.Token())
		require.Equal(tb, earlier.Node(), l.Node())
		require.False(tb, isClosed(l.RevokeRequested()))
		require.Greater(tb, time.Until(l.ValidUntil()), sessionTimeout/3-time.Second)

		all = tb.participants(ours)
		require.False(tb, all[0].Cached)
		require.Equal(tb, "owner", all[0].Owner, "and not the one for whom the node was made")
		require.Equal(tb, l.Token(), all[0].Token)
		require.ErrorIs(tb, testenv.Err(earlier.Guard(context.Background(), "/guard")), zklock.ErrFenced, "of an earlier lease by the same node")
		ctx := l.Context(context.Background())
		require.NoError(tb, ctx.Err())
		require.Empty(tb, tb.sent(func() { tb.mustUnlock(l) }))
		synctest.Wait()
		require.ErrorIs(tb, context.Cause(ctx), zklock.ErrUnlocked)
		require.True(tb, isClosed(l.Done()))
		require.Zero(tb, l.ValidUntil())
		require.False(tb, isClosed(l.Lost()))
		require.ErrorIs(tb, l.Unlock(context.Background()), zklock.ErrUnlocked)
		tb.requireCached(ours)
		s := ours.Stats()
		require.EqualValues(tb, 2, s.Acquired)
		require.EqualValues(tb, 1, s.HandedOn)
	})
}

// The next token of a cached node that has served all holds that it may is higher than all of theirs.
func TestTheTokenOfACachedNodeThatHasServedAllItMay(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		for range 2 {
			ours := tb.mutex(conn, cacheAlways...)
			tb.lockAndLeaveCached(ours)
			const most = 1 << 10 // holds of a node: a token counts them in 10 bits
			for range most - 2 { // lockAndLeaveCached makes the first and the last one
				tb.lockAndUnlock(ours)
			}
			last := tb.lockAndLeaveCached(ours)
			require.Greater(tb, tb.participants(ours)[0].Token, last.Token())
			require.NoError(tb, ours.Shutdown(context.Background()))
			// The count of 1024 holds carries into the zxid's lowest bit. This create flips that bit for the next node.
			tb.create(conn, "/x", "", zk.FlagSequence)
		}
	})
}

// A client that is closed leaves a cached node to its session, and leaves no goroutine.
func TestAClientThatIsClosedWithACachedNode(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		ours := tb.mutex(conn, cacheAlways...)
		tb.lockAndLeaveCached(ours)
		tb.srv.LoseRequest(requestOf(conn.SessionID(), jute.OpCloseSession, ""))
		conn.Close()
		synctest.Wait() // until the Mutex has noticed it
		require.Error(tb, testenv.Err(ours.Lock(tb.within(sessionTimeout), nil)))
		require.NoError(tb, ours.Shutdown(tb.within(time.Minute)))
		require.Zero(tb, ours.Stats().Cached)
		require.Len(tb, tb.srv.Children(lockPath), 1, "it is not deleted, because Shutdown came late")
		tb.lockAndUnlock(tb.mutex(tb.connect()))
	})
}

// A lease is lost when the list shows that its node has gone: nothing else watches the node so soon.
func TestAHolderLearnsFromTheListThatItsNodeHasGone(t *testing.T) {
	for _, parentGoes := range []bool{false, true} {
		withClient(t, func(tb *serverTest, conn *zk.Conn) {
			list, admin := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath)), tb.connect()
			l := tb.mustLock(tb.mutex(conn, cacheAlways...))
			<-list.Hit()
			tb.delete(admin, l.Node())
			if parentGoes {
				tb.delete(admin, lockPath)
			}
			list.Release()
			synctest.Wait()
			require.True(tb, isClosed(l.Lost()), "the parent has gone, too: %v", parentGoes)
		})
	}
}

// A child of the parent that is not a contender takes a cached node away once, by its event: the next one is kept.
func TestAChildThatIsNotAContenderDoesNotCount(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		ours := tb.mutex(tb.connect(), cacheAlways...)
		tb.lockAndLeaveCached(ours)
		tb.create(tb.connect(), lockPath+"/config", "", zk.FlagPersistent)
		tb.lockAndUnlock(ours)
		time.Sleep(time.Second)
		require.Equal(tb, 1, ours.Stats().Cached)
	})
}
