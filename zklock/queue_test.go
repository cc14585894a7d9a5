package zklock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// withHandOver makes a Mutex of a client of its own.
func (tb *table) withHandOver(holds int, d time.Duration) *zklock.Mutex {
	tb.Helper()
	return tb.mutex(tb.connect(), zklock.WithHandOver(holds, d))
}

// queued locks aside n times, one after the other.
func queued(m *zklock.Mutex, n int) (waiters []<-chan locked) {
	for range n {
		waiters = append(waiters, lockAside(context.Background(), m, zklock.NewOwner("waiter")))
		synctest.Wait()
	}
	return waiters
}

// TestTheLockIsHandedOnInMemory in the order in which the owners came, and each
// token is higher than the one before.
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

// TestAnotherProcessWaitsForNoMoreHoldsThanAgreed, however many owners wait in
// the Mutex of the holder.
func TestAnotherProcessWaitsForNoMoreHoldsThanAgreed(t *testing.T) {
	for _, holds := range []int{1, 2, 16} {
		onTable(t, func(tb *table) {
			ours := tb.withHandOver(holds, time.Hour)
			holder := tb.mustLock(ours, zklock.NewOwner("first"))
			waiters := queued(ours, 50)
			stranger := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
			time.Sleep(time.Second) // until it is in the queue
			require.Len(tb, tb.srv.Children(top), 2, "the second node of ours would give it two turns")
			served := 0
			for ; len(stranger) == 0; served++ {
				require.Less(tb, served, holds, "holds after which the stranger still waits")
				require.NoError(tb, holder.Unlock(context.Background()))
				time.Sleep(10 * time.Millisecond) // for the requests
				if len(waiters[0]) > 0 {
					holder, waiters = (<-waiters[0]).lease, waiters[1:]
				}
			}
			require.Equal(tb, holds, served)
			passes(tb, stranger)
			for _, waiter := range waiters {
				passes(tb, waiter)
			}
		})
	}
}

// TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold, whenever it comes: goroutines of
// another Mutex lock again and again.
func TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold(t *testing.T) {
	for _, c := range []struct {
		goroutines, holds int
		during, hold      time.Duration
	}{
		{2, 16, 50 * time.Millisecond, time.Second},
		{100, 16, 50 * time.Millisecond, 10 * time.Millisecond},
		{100, 5, 10 * time.Second, 2 * time.Second},
		{3, 1, 0, time.Second},
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
			turn := c.during + c.hold
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

// TestAnotherProcessWaitsNoLongerThanAgreed: every process has ten goroutines that
// lock again and again, and each hold takes a fifth of the time for which a node
// may serve. A process that has come waits for one turn of each other process.
func TestAnotherProcessWaitsNoLongerThanAgreed(t *testing.T) {
	const (
		during = 50 * time.Millisecond
		hold   = 10 * time.Millisecond
	)
	for _, processes := range []int{2, 50} {
		onTables(t, fmt.Sprint(processes), func(tb *table) {
			ctx, stop := context.WithCancel(context.Background())
			var all []*zklock.Mutex
			longest := make([]time.Duration, processes) // between two turns of a process
			for i := range processes {
				m := tb.withHandOver(16, during)
				all = append(all, m)
				last := time.Now()
				for range 10 {
					go func() {
						owner := zklock.NewOwner("goroutine")
						for ctx.Err() == nil {
							l, err := m.Lock(ctx, owner)
							if err != nil {
								return
							}
							longest[i] = max(longest[i], time.Since(last)) // guarded by the lock
							time.Sleep(hold)                               // the work
							last = time.Now()
							if l.Unlock(context.Background()) != nil {
								return
							}
						}
					}()
				}
			}
			time.Sleep(time.Duration(processes) * time.Second) // of work
			stop()
			for _, m := range all {
				require.NoError(t, m.Shutdown(context.Background()))
			}
			worst := slices.Max(longest)
			require.LessOrEqual(t, worst, time.Duration(processes-1)*(during+hold), "a process waits for its next turn")
			require.Positive(t, slices.Min(longest))
		})
	}
}

// TestNothingIsHandedOnOnceTheTimeIsOver.
func TestNothingIsHandedOnOnceTheTimeIsOver(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.withHandOver(16, 50*time.Millisecond)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		next := lockAside(context.Background(), ours, zklock.NewOwner("next"))
		stranger := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		time.Sleep(50 * time.Millisecond)
		late := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("late"))
		time.Sleep(time.Second) // until it is in the queue
		require.NoError(tb, holder.Unlock(context.Background()))
		for _, waiter := range []<-chan locked{stranger, late, next} {
			synctest.Wait()
			require.Len(tb, waiter, 1)
			passes(tb, waiter)
			time.Sleep(10 * time.Millisecond) // for the requests
		}
	})
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
			require.Equal(t, requests{jute.OpMulti: 1, jute.OpDelete: 1}, sent)
		}
		m.mustUnlock(holder)
	})
}

func TestAHolderThatIsAskedForTheLockDoesNotHandItOn(t *testing.T) {
	onTable(t, func(tb *table) {
		ours, other := tb.withHandOver(16, time.Hour), tb.mutex(tb.connect())
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		next := lockAside(context.Background(), ours, zklock.NewOwner("next"))
		stranger := lockAside(context.Background(), other, zklock.NewOwner("stranger"))
		time.Sleep(2 * time.Second) // until the holder's node is watched
		queue, err := other.Participants(context.Background())
		require.NoError(tb, err)
		require.NoError(tb, other.Revoke(context.Background(), queue[0]))
		<-holder.RevokeRequested()
		require.NoError(tb, holder.Unlock(context.Background()))
		got := <-stranger
		require.NoError(tb, got.err)
		synctest.Wait()
		require.Empty(tb, next, "it was handed on")
		require.NoError(tb, got.lease.Unlock(context.Background()))
		got = <-next
		require.NoError(tb, got.err)
		require.False(tb, isClosed(got.lease.RevokeRequested()), "the other node was asked")
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

func TestALockThatIsLostIsNotHandedOn(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		waiters := queued(ours, 3)
		session := conn.SessionID()
		silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == session })
		<-holder.Lost()
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		time.Sleep(time.Minute) // until the session has ended
		for _, waiter := range waiters {
			require.Empty(tb, waiter)
		}
		stranger := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		releaseAll(silence)
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

// TestALeaseThatHasEndedIsNotLostWithTheNextOne: they have one node.
func TestALeaseThatHasEndedIsNotLostWithTheNextOne(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn)
		first := tb.mustLock(ours, zklock.NewOwner("first"))
		next := lockAside(context.Background(), ours, zklock.NewOwner("next"))
		synctest.Wait()
		require.NoError(tb, first.Unlock(context.Background()))
		second := (<-next).lease
		require.Equal(tb, first.Node(), second.Node())
		tb.srv.Expire(conn.SessionID())
		<-second.Lost()
		require.False(tb, isClosed(first.Lost()))
		require.True(tb, isClosed(first.Done()))
		require.ErrorIs(tb, second.Unlock(context.Background()), zklock.ErrLost)
	})
}

// TestAWaiterThatGivesUpInMemoryIsSkipped, whichever it is, and nothing is left.
func TestAWaiterThatGivesUpInMemoryIsSkipped(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.mutex(tb.connect())
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		var cancels []context.CancelFunc
		var waiters []<-chan locked
		for range 4 {
			ctx, cancel := context.WithCancel(context.Background())
			cancels = append(cancels, cancel)
			waiters = append(waiters, lockAside(ctx, ours, zklock.NewOwner("waiter")))
			synctest.Wait()
		}
		for _, i := range []int{0, 2, 3} {
			cancels[i]()
			require.ErrorIs(tb, (<-waiters[i]).err, context.Canceled)
		}
		require.NoError(tb, holder.Unlock(context.Background()))
		passes(tb, waiters[1])
		cancels[1]()
		require.NoError(tb, ours.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestANodeThatNobodyNeedsAnyMoreGoes: its owners wait behind a stranger, and give up.
func TestANodeThatNobodyNeedsAnyMoreGoes(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		ours := tb.mutex(tb.connect())
		ctx, giveUp := context.WithCancel(context.Background())
		waiters := []<-chan locked{lockAside(ctx, ours, nil), lockAside(ctx, ours, nil)}
		time.Sleep(time.Second) // until they wait
		require.Len(tb, tb.srv.Children(top), 2)
		giveUp()
		for _, waiter := range waiters {
			require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		}
		synctest.Wait()
		require.Len(tb, tb.srv.Children(top), 1, "nobody waits")
		require.NoError(tb, holder.Unlock(context.Background()))
		require.NoError(tb, ours.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestTheHolderIsShownThoughItsNodeWasMadeForAnother.
func TestTheHolderIsShownThoughItsNodeWasMadeForAnother(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.mutex(tb.connect())
		first := tb.mustLock(ours, zklock.NewOwner("first"))
		next := lockAside(context.Background(), ours, zklock.NewOwner("next"))
		synctest.Wait()
		require.NoError(tb, first.Unlock(context.Background()))
		got := <-next
		queue, err := ours.Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, 1)
		require.Equal(tb, "next", queue[0].Owner)
		require.Equal(tb, got.lease.Node(), queue[0].Node)
		require.Equal(tb, got.lease.Token(), queue[0].Token)
		require.Greater(tb, queue[0].Token, first.Token())
		require.NoError(tb, got.lease.Unlock(context.Background()))
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
		silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == session })
		<-holder.Lost()
		time.Sleep(time.Minute) // until the session has ended
		releaseAll(silence)
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
		ctx := limited(tb, time.Second)
		require.ErrorIs(tb, holder.Unlock(ctx), context.DeadlineExceeded)
		time.AfterFunc(time.Second, slow.Release)
		l, err := ours.TryLock(context.Background(), zklock.NewOwner("second"))
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestAnErrorOfTheServerEndsTheWaitOfAllOwners: each of them would meet it.
func TestAnErrorOfTheServerEndsTheWaitOfAllOwners(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		tb.makeTop(admin)
		_, err := admin.SetACL(top, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1)
		require.NoError(tb, err)
		ours := tb.mutex(tb.connect())
		for _, waiter := range queued(ours, 3) {
			require.ErrorIs(tb, (<-waiter).err, zk.ErrNoAuth)
		}
		require.NoError(tb, ours.Shutdown(context.Background()))
	})
}

func TestAHandOverThatMakesNoSenseIsRefused(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		for want, option := range map[string]zklock.Option{
			"0 holds":     zklock.WithHandOver(0, time.Second),
			"1025 holds":  zklock.WithHandOver(1025, time.Second),
			"is negative": zklock.WithHandOver(2, -1),
		} {
			_, err := zklock.New(conn, top, option)
			require.ErrorContains(tb, err, want)
			require.ErrorContains(tb, err, top)
		}
	})
}

// TestANodeServesAsManyHoldsAsAgreed, and not one fewer.
func TestANodeServesAsManyHoldsAsAgreed(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.withHandOver(3, time.Hour)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		nodes := []string{holder.Node()}
		for _, waiter := range queued(ours, 8) {
			require.NoError(tb, holder.Unlock(context.Background()))
			got := gets(tb, waiter)
			holder = got
			nodes = append(nodes, holder.Node())
		}
		require.NoError(tb, holder.Unlock(context.Background()))
		for i := range nodes {
			require.Equal(tb, nodes[i/3*3], nodes[i], "hold %d", i)
		}
		require.Len(tb, slices.Compact(nodes), 3)
	})
}

// TestALockThatIsAboutToBeLostIsNotHandedOn: the servers are silent, and nothing
// proves that the session lasts long enough for another hold.
func TestALockThatIsAboutToBeLostIsNotHandedOn(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		ours := tb.mutex(conn, zklock.WithHandOver(16, time.Hour))
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		waiter := queued(ours, 1)[0]
		session := conn.SessionID()
		silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == session })
		time.Sleep(3 * time.Second) // the lease has 3/8 of the session timeout
		require.False(tb, tb.isLost(holder))
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		synctest.Wait()
		require.Empty(tb, waiter, "it would lose the lock at once")
		releaseAll(silence)
		require.NoError(tb, <-unlocked)
		got := gets(tb, waiter)
		require.NoError(tb, got.Unlock(context.Background()))
	})
}
