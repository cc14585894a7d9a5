package zklock_test

import (
	"context"
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

// always keeps every node for an hour.
var always = []zklock.Option{zklock.WithCaching(time.Hour), zklock.CachingFrom(0)}

// cached locks and unlocks, and returns the lease when its node is cached.
func (tb *table) cached(m *zklock.Mutex) *zklock.Lease {
	tb.Helper()
	l := tb.mustLock(m, zklock.NewOwner("earlier"))
	require.NoError(tb, l.Unlock(context.Background()))
	time.Sleep(10 * time.Millisecond) // for the answer to the list
	tb.isCached(m)
	return l
}

func (tb *table) isCached(m *zklock.Mutex) {
	tb.Helper()
	require.Len(tb, tb.srv.Children(top), 1, "it is not kept")
	require.Equal(tb, 1, m.Stats().Cached)
	require.Zero(tb, m.Stats().Held)
}

func (tb *table) isNotCached(m *zklock.Mutex) {
	tb.Helper()
	synctest.Wait()
	require.Empty(tb, tb.srv.Children(top), "it is kept")
	require.Zero(tb, m.Stats().Cached)
}

// ourClient makes a Mutex that keeps every node, and whose requests are counted.
func (m *meter) ourClient() (*zklock.Mutex, *zk.Conn) {
	m.Helper()
	conn := m.connectWith(ensemble.Options{Tap: m.tap})
	return m.mutex(conn, always...), conn
}

// TestANodeIsKeptAfterFiveInARow: each soon after the release before it, and nobody in between.
func TestANodeIsKeptAfterFiveInARow(t *testing.T) {
	const d = 100 * time.Millisecond
	onTable(t, func(tb *table) {
		ours, other := tb.mutex(tb.connect(), zklock.WithCaching(d)), tb.mutex(tb.connect())
		alone := func(times int, pause time.Duration) {
			for range times {
				l := tb.mustLock(ours, nil)
				time.Sleep(d) // the time of a hold does not count
				require.NoError(tb, l.Unlock(context.Background()))
				time.Sleep(pause)
			}
		}
		keptAfter := func(times int) {
			tb.Helper()
			alone(times-1, d/10)
			tb.isNotCached(ours)
			alone(1, d/10)
			tb.isCached(ours)
		}
		alone(20, 2*d)
		alone(4, d/10) // the first of them is the last that came late
		tb.isNotCached(ours)
		require.NoError(tb, tb.mustLock(other, nil).Unlock(context.Background()))
		keptAfter(5)
		alone(1, d/10) // it serves two holds, and nobody comes: that changes nothing
		time.Sleep(d)
		keptAfter(5)
		alone(2, d/10) // it serves three holds, which is little: twice as many nodes are needed now
		require.NoError(tb, tb.mustLock(other, nil).Unlock(context.Background()))
		time.Sleep(18 * (d + d/10))
		keptAfter(9)
		alone(3, d/10) // it serves four, which is not
		require.NoError(tb, tb.mustLock(other, nil).Unlock(context.Background()))
		keptAfter(61) // twice the time of thirty since another contender came before
		alone(3, d/10)
		require.NoError(tb, tb.mustLock(other, nil).Unlock(context.Background()))
		time.Sleep(time.Minute)
		keptAfter(5) // and never fewer
		var needed []int
		for range 6 { // nodes that serve one hold
			time.Sleep(d)
			n := 0
			for ; ours.Stats().Cached == 0; n++ {
				alone(1, d/10)
			}
			needed = append(needed, n)
		}
		require.Equal(tb, []int{9, 17, 33, 65, 65, 65}, needed)
	})
}

// TestTryLockBesideAProcessThatCaches gets the lock nearly as often as beside one that does not: a process locks
// for no time, again and again, and another one tries now and then, such as each second.
func TestTryLockBesideAProcessThatCaches(t *testing.T) {
	for _, c := range []struct {
		every, tried    time.Duration
		attempts, fewer int
	}{{10 * time.Millisecond, time.Second, 60, 5}, {5 * time.Second, 50 * time.Second, 12, 2}} {
		got := map[bool]int{}
		for _, caches := range []bool{false, true} {
			onTable(t, func(tb *table) {
				tb.makeTop() // which stays: else the numbers begin again
				options := map[bool][]zklock.Option{true: {zklock.WithCaching(10 * c.every)}}[caches]
				ours := tb.mutex(tb.connectAs(ordinary{wrap: distant(4 * time.Millisecond)}), options...)
				other := tb.mutex(tb.connectAs(ordinary{wrap: distant(2 * time.Millisecond)}))
				ctx, stop := context.WithCancel(context.Background())
				ended := aside(func() error {
					for ctx.Err() == nil {
						require.NoError(tb, tb.mustLock(ours, nil).Unlock(context.Background()))
						time.Sleep(c.every) // in virtual time: the pause between two uses of the lock
					}
					return ours.Shutdown(context.Background())
				})
				for i := range c.attempts {
					time.Sleep(c.tried + time.Duration(i)*1100*time.Microsecond)
					if l, err := other.TryLock(context.Background(), nil); err == nil {
						got[caches]++
						require.NoError(tb, l.Unlock(context.Background()))
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

// TestAnotherContenderTakesACachedNodeAway, however long the node might stay, and of whatever library it is.
func TestAnotherContenderTakesACachedNodeAway(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	far := ordinary{wrap: distant(roundTrip)}
	for name, open := range map[string]func(tb *table, conn *zk.Conn) (lock, unlock func() error){
		"zklock": func(tb *table, conn *zk.Conn) (lock, unlock func() error) {
			c := locktest.Background(contender(conn, top))
			return c.Lock, c.Unlock
		},
		"zk.Lock": func(_ *table, conn *zk.Conn) (lock, unlock func() error) {
			l := zk.NewLock(conn, top, zk.WorldACL(zk.PermAll))
			return l.Lock, l.Unlock
		},
		"Curator's recipe": func(_ *table, conn *zk.Conn) (lock, unlock func() error) {
			l := foreignLock(conn, top, "4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f")
			return l.Lock, l.Unlock
		},
	} {
		onTables(t, name, func(tb *table) {
			tb.makeTop()
			ours := tb.mutex(tb.connectAs(far), always...)
			lock, unlock := open(tb, tb.connectAs(far))
			require.NoError(tb, lock()) // the first time it reads more
			require.NoError(tb, unlock())
			for i := range 30 {
				require.NoError(tb, tb.mustLock(ours, nil).Unlock(context.Background()))
				time.Sleep(time.Minute + time.Duration(i)*roundTrip/10)
				tb.isCached(ours)
				began := time.Now()
				require.NoError(tb, lock())
				require.LessOrEqual(tb, time.Since(began), 4*roundTrip)
				require.NoError(tb, unlock())
				time.Sleep(time.Second)
				tb.isNotCached(ours)
			}
		})
	}
}

// TestGoroutinesWaitForTheList, when the node has served as many holds as WithHandOver says:
// if nobody else is there, it serves them, too.
func TestGoroutinesWaitForTheList(t *testing.T) {
	for name, strange := range map[string]bool{"alone": false, "and a stranger": true} {
		t.Run(name, func(t *testing.T) {
			onMeter(t, func(m *meter) {
				ours, conn := m.ourClient()
				m.cached(ours)
				passes(m.table, lockAside(context.Background(), m.mutex(m.connect()), nil))
				list := m.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
				var l *zklock.Lease
				for range 16 {
					l = m.mustLock(ours, nil)
					m.mustUnlock(l)
				}
				waiters := queued(ours, 2)
				m.isHeld(ours, "others wait")
				var stranger <-chan locked
				if strange {
					stranger = m.arrives(m.mutex(m.connect()))
				}
				require.ErrorContains(t, ours.Shutdown(limited(m.table, time.Millisecond)), "owners that wait for the lock: 2; requests that are not answered")
				require.Empty(t, waiters[0])
				list.Release()
				if strange {
					m.mustUnlock(m.acquired(stranger))
				}
				for _, waiter := range waiters {
					got := m.acquired(waiter)
					require.Equal(t, !strange, got.Node() == l.Node())
					m.mustUnlock(got)
				}
				require.NoError(t, ours.Shutdown(context.Background()))
				require.Empty(t, m.srv.Children(top))
			})
		})
	}
}

// TestAContenderIsLetInThoughTheWatchOnTheQueueIsThrottled: the connection breaks, and the
// server refuses to set the watches again, which nobody reports.
func TestAContenderIsLetInThoughTheWatchOnTheQueueIsThrottled(t *testing.T) {
	for _, back := range []time.Duration{time.Second / 4, 5 * time.Second} {
		onTables(t, back.String(), func(tb *table) {
			conn := tb.connect()
			ours := tb.mutex(conn, always...)
			tb.cached(ours)
			refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpSetWatches, ""))
			tb.srv.Cut(conn.SessionID())
			time.Sleep(back)
			require.Len(tb, refused.Hit(), 1)
			tb.isCached(ours)
			stranger := lockAside(context.Background(), tb.mutex(tb.connect()), nil)
			time.Sleep(10*time.Second/3 + time.Second/10) // a third of the session timeout, and a list
			require.Len(tb, stranger, 1)
			passes(tb, stranger)
		})
	}
}

// TestACachedNodeOfAClientThatIsCutOffGrantsNothing: the client cannot know that it is, and a
// lease that is granted is as good as lost. The node is given up when its session may end.
func TestACachedNodeOfAClientThatIsCutOffGrantsNothing(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		ours := tb.mutex(conn, always...)
		l := tb.mustLock(ours, nil)
		time.Sleep(time.Minute) // it is proved
		silence := tb.srv.Hold(from(conn.SessionID())).Every()
		safe := l.ValidUntil()
		require.NoError(tb, l.Unlock(context.Background()))
		tb.isCached(ours)
		time.Sleep(time.Until(safe) - time.Millisecond)
		require.ErrorIs(tb, testenv.Err(ours.Lock(limited(tb, time.Second), nil)), context.DeadlineExceeded, "the lease is as good as lost")
		require.Zero(tb, ours.Stats().Cached)
		time.Sleep(time.Minute) // until the session has ended
		stranger := tb.mustLock(tb.mutex(tb.connect()), nil)
		silence.Release()
		require.Greater(tb, stranger.Token(), l.Token())
		require.NoError(tb, stranger.Unlock(context.Background()))
		passes(tb, lockAside(context.Background(), ours, nil))
	})
}

// TestACachedNodeThatIsTakenAway by an operator, with its session, or by a request to
// release the lock: the next Lock makes another one, and an earlier lease is not lost.
func TestACachedNodeThatIsTakenAway(t *testing.T) {
	for name, take := range map[string]func(tb *table, conn *zk.Conn, ours *zklock.Mutex){
		"the node is deleted": func(tb *table, _ *zk.Conn, _ *zklock.Mutex) {
			require.NoError(tb, tb.connect().Delete(tb.node(0), -1))
		},
		"the session is ended": func(tb *table, conn *zk.Conn, _ *zklock.Mutex) { tb.srv.Expire(conn.SessionID()) },
		"it is revoked": func(tb *table, _ *zk.Conn, ours *zklock.Mutex) {
			all := tb.participants(ours)
			require.Len(tb, all, 1)
			require.NoError(tb, tb.mutex(tb.connect()).Revoke(context.Background(), all[0]))
		},
		"Curator's Revoker asks": func(tb *table, _ *zk.Conn, _ *zklock.Mutex) {
			tb.set(tb.connect(), tb.node(0), "__REVOKE__")
		},
	} {
		for when, after := range map[string]time.Duration{"at once": 0, "later": time.Minute} {
			onTables(t, name+" "+when, func(tb *table) {
				conn := tb.connect()
				ours := tb.mutex(conn, always...)
				earlier := tb.cached(ours)
				time.Sleep(after)
				take(tb, conn, ours)
				time.Sleep(10 * time.Second / 8) // by then its node is watched
				tb.isNotCached(ours)
				time.Sleep(time.Minute)
				require.False(tb, isClosed(earlier.Lost()))
				require.Zero(tb, ours.Stats().Lost)
				next := tb.mustLock(ours, nil)
				require.NotEqual(tb, earlier.Node(), next.Node())
				require.Greater(tb, next.Token(), earlier.Token())
				require.NoError(tb, next.Unlock(context.Background()))
			})
		}
	}
}

// TestCallsOnACachedNode are those of any lease, and they send nothing that others would not.
func TestCallsOnACachedNode(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours, _ := m.ourClient()
		other := m.mutex(m.connect())
		earlier := m.cached(ours)
		time.Sleep(time.Minute)

		all := m.participants(ours)
		require.Len(t, all, 1)
		require.True(t, all[0].Cached)
		require.Equal(t, "zklock", all[0].Library, "by the name and the record, as earlier versions read them")
		require.Empty(t, all[0].Owner, "nobody holds it")
		require.Equal(t, earlier.Token()+1, all[0].Token, "that of the next lease")
		all = m.participants(other)
		require.False(t, all[0].Cached, "others cannot see it")
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, testenv.Err(ours.Lock(ended, nil)), context.Canceled)
		m.isCached(ours)
		var l *zklock.Lease
		owner := zklock.NewOwner("owner")
		require.Empty(t, m.sent(func() {
			l = testenv.Must(ours.TryLock(context.Background(), owner))(t)
			again := testenv.Must(ours.Lock(context.Background(), owner))(t)
			require.Equal(t, 2, ours.Holds(owner))
			m.mustUnlock(again)
			m.isHeld(ours)
		}))
		require.Equal(t, all[0].Token+1, l.Token())
		require.Equal(t, earlier.Node(), l.Node())
		require.False(t, isClosed(l.RevokeRequested()))
		require.Greater(t, time.Until(l.ValidUntil()), 10*time.Second/3-time.Second)
		all = m.participants(ours)
		require.False(t, all[0].Cached)
		require.Equal(t, "owner", all[0].Owner, "and not the one for whom the node was made")
		require.Equal(t, l.Token(), all[0].Token)
		require.ErrorIs(t, testenv.Err(earlier.Guard(context.Background(), "/guard")), zklock.ErrFenced, "of an earlier lease by the same node")
		ctx := l.Context(context.Background())
		require.NoError(t, ctx.Err())
		require.Empty(t, m.sent(func() { m.mustUnlock(l) }))
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), zklock.ErrUnlocked)
		require.True(t, isClosed(l.Done()))
		require.Zero(t, l.ValidUntil())
		require.False(t, isClosed(l.Lost()))
		require.ErrorIs(t, l.Unlock(context.Background()), zklock.ErrUnlocked)
		m.isCached(ours)
		s := ours.Stats()
		require.EqualValues(t, 2, s.Acquired)
		require.EqualValues(t, 1, s.HandedOn)
	})
}

// TestTheTokenOfACachedNodeThatHasServedAllItMay is higher than all that it has served, whether its zxid is even or
// odd.
func TestTheTokenOfACachedNodeThatHasServedAllItMay(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		for range 2 {
			ours := tb.mutex(conn, always...)
			tb.cached(ours)
			for range 1022 { // with the two of cached, 1024: a token counts them in 10 bits
				require.NoError(tb, tb.mustLock(ours, nil).Unlock(context.Background()))
			}
			last := tb.cached(ours)
			require.Greater(tb, tb.participants(ours)[0].Token, last.Token())
			require.NoError(tb, ours.Shutdown(context.Background()))
			tb.create(conn, "/x", "", zk.FlagSequence) // so that the other one follows
		}
	})
}

// TestAClientThatIsClosedWithACachedNode leaves it to the session, and no goroutine.
func TestAClientThatIsClosedWithACachedNode(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		ours := tb.mutex(conn, always...)
		tb.cached(ours)
		tb.srv.LoseRequest(of(conn.SessionID(), jute.OpCloseSession, ""))
		conn.Close()
		synctest.Wait() // until the Mutex has noticed it
		require.Error(tb, testenv.Err(ours.Lock(limited(tb, 10*time.Second), nil)))
		require.NoError(tb, ours.Shutdown(limited(tb, time.Minute)))
		require.Zero(tb, ours.Stats().Cached)
		require.Len(tb, tb.srv.Children(top), 1, "it is not deleted, because Shutdown came late")
		passes(tb, lockAside(context.Background(), tb.mutex(tb.connect()), nil))
	})
}

// TestAHolderLearnsFromTheListThatItsNodeHasGone, by hand, alone or with the parent: nothing else watches it so soon.
func TestAHolderLearnsFromTheListThatItsNodeHasGone(t *testing.T) {
	for _, parent := range []bool{false, true} {
		onClient(t, func(tb *table, conn *zk.Conn) {
			list, admin := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top)), tb.connect()
			l := tb.mustLock(tb.mutex(conn, always...), nil)
			<-list.Hit()
			require.NoError(tb, admin.Delete(l.Node(), -1))
			if parent {
				require.NoError(tb, admin.Delete(top, -1))
			}
			list.Release()
			synctest.Wait()
			require.True(tb, isClosed(l.Lost()), "the parent has gone, too: %v", parent)
		})
	}
}

// TestAChildThatIsNotAContenderDoesNotCount, though its event takes a cached node away.
func TestAChildThatIsNotAContenderDoesNotCount(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.mutex(tb.connect(), always...)
		tb.cached(ours)
		tb.create(tb.connect(), top+"/config", "", 0)
		require.NoError(tb, tb.mustLock(ours, nil).Unlock(context.Background()))
		time.Sleep(time.Second)
		require.Equal(tb, 1, ours.Stats().Cached)
	})
}
