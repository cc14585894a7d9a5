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
			// Ours may be before it with two nodes: the holder's, and one for those
			// whom that will not serve.
			served := 0
			for ; len(stranger) == 0; served++ {
				require.LessOrEqual(tb, served, 2*holds, "holds after which the stranger still waits")
				require.NoError(tb, holder.Unlock(context.Background()))
				time.Sleep(10 * time.Millisecond) // for the requests
				if len(waiters[0]) > 0 {
					holder, waiters = (<-waiters[0]).lease, waiters[1:]
				}
			}
			require.GreaterOrEqual(tb, served, holds)
			passes(tb, stranger)
			for _, waiter := range waiters {
				passes(tb, waiter)
			}
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
			require.LessOrEqual(t, worst, time.Duration(processes)*(during+hold), "a process waits for its next turn")
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
		time.Sleep(51 * time.Millisecond) // the node for the next one is made when the time is over
		late := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("late"))
		time.Sleep(time.Second) // until it is in the queue
		require.Len(tb, tb.srv.Children(top), 4)
		require.NoError(tb, holder.Unlock(context.Background()))
		for _, waiter := range []<-chan locked{stranger, next, late} {
			synctest.Wait()
			require.Len(tb, waiter, 1)
			passes(tb, waiter)
			time.Sleep(10 * time.Millisecond) // for the requests
		}
	})
}

// TestAMutexQueuesAgainBeforeItsNodeGoes: the parent, a container, is never empty
// while owners wait.
func TestAMutexQueuesAgainBeforeItsNodeGoes(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.withHandOver(2, time.Hour)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		waiters := queued(ours, 20)
		for _, waiter := range waiters {
			nodes := tb.srv.Children(top)
			require.NoError(tb, holder.Unlock(context.Background()))
			require.NotEmpty(tb, tb.srv.Children(top), "there were %v", nodes)
			holder = (<-waiter).lease
			synctest.Wait()
		}
		require.NoError(tb, holder.Unlock(context.Background()))
		require.NoError(tb, ours.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
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

// TestOwnersQueueAgainWhenTheirHolderIsAsked, and not when it lets go: contenders of
// other processes that come in between would overtake them.
func TestOwnersQueueAgainWhenTheirHolderIsAsked(t *testing.T) {
	onTable(t, func(tb *table) {
		ours, other := tb.withHandOver(16, time.Hour), tb.mutex(tb.connect())
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		time.Sleep(2 * time.Second) // until its node is watched
		next := lockAside(context.Background(), ours, zklock.NewOwner("next"))
		synctest.Wait()
		require.NoError(tb, other.Revoke(context.Background(), zklock.Participant{Node: holder.Node()}))
		<-holder.RevokeRequested()
		time.Sleep(time.Second) // until the next one has a node
		late := lockAside(context.Background(), other, zklock.NewOwner("late"))
		time.Sleep(time.Second) // until it waits
		require.NoError(tb, holder.Unlock(context.Background()))
		for _, waiter := range []<-chan locked{next, late} {
			time.Sleep(time.Second) // for both, by mistake
			require.Len(tb, waiter, 1)
			passes(tb, waiter)
		}
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

// TestANodeThatNobodyNeedsAnyMoreGoes: it was made for owners that the holder's node
// would not serve, and they have given up.
func TestANodeThatNobodyNeedsAnyMoreGoes(t *testing.T) {
	onTable(t, func(tb *table) {
		ours := tb.withHandOver(4, time.Hour)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		ctx, giveUp := context.WithCancel(context.Background())
		served := queued(ours, 2)
		var others []<-chan locked
		for range 5 {
			others = append(others, lockAside(ctx, ours, zklock.NewOwner("other")))
			synctest.Wait()
		}
		require.Len(tb, tb.srv.Children(top), 2)
		giveUp()
		for _, other := range others {
			require.ErrorIs(tb, (<-other).err, context.Canceled)
		}
		for _, waiter := range served {
			require.NoError(tb, holder.Unlock(context.Background()))
			holder = (<-waiter).lease
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

// TestAHolderWhoseNodeHasGoneLosesTheLockToTheNextNodeOfItsMutex: somebody deletes
// the node by hand before it is watched, and another node takes the lock.
func TestAHolderWhoseNodeHasGoneLosesTheLockToTheNextNodeOfItsMutex(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		ours := tb.withHandOver(1, 0)
		holder := tb.mustLock(ours, zklock.NewOwner("first"))
		require.NoError(tb, tb.connect().Delete(tb.node(0), -1))
		next := tb.mustLock(ours, zklock.NewOwner("next"))
		require.True(tb, tb.isLost(holder), "two holders")
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		require.NoError(tb, next.Unlock(context.Background()))
	})
}
