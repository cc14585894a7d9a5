// Tests of queues: in a Mutex, between Mutexes, and of a crowd that leaves marks. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// The owners of a Mutex hand the lock on in memory, without a request, in the order in which they came. Each token is
// higher than the one before. TryLock sees in memory that others wait.
func TestTheLockIsHandedOnInMemory(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		ours := tb.countedMutex()
		holder := tb.mustLock(ours)
		waiters := startWaiters(ours, 10)
		require.Empty(tb, tb.sent(func() {
			for i, waiter := range waiters {
				before := holder.Token()
				require.NoError(tb, holder.Unlock(context.Background()))
				require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrUnlocked)
				synctest.Wait()
				tb.requireTryLockRefused(ours)
				for _, later := range waiters[i+1:] {
					require.Empty(tb, later, "it overtakes waiter %d", i)
				}
				holder = (<-waiter).lease
				require.Greater(tb, holder.Token(), before)
			}
		}))
		last := holder.Token()
		tb.mustUnlock(holder)
		holder = tb.mustLock(ours)
		require.Greater(tb, holder.Token(), last, "by another node")
		tb.mustUnlock(holder)
	})
}

// A stranger waits no longer than WithHandOver's time and one hold, nor for more holds than WithHandOver says, whenever
// it comes, although goroutines of another Mutex lock again and again.
func TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold(t *testing.T) {
	testenv.RacedAtLength(t, "it plays thousands of holds, and TestOwners hands the lock on with it")
	for _, c := range []struct {
		goroutines, holds int           // goroutines that lock again and again; and the first argument of WithHandOver
		during, hold      time.Duration // WithHandOver's second argument; and the time from each Lock to its Unlock
	}{
		{goroutines: 2, holds: 16, during: 50 * time.Millisecond, hold: time.Second},
		{goroutines: 100, holds: 16, during: 50 * time.Millisecond, hold: 10 * time.Millisecond},
		{goroutines: 100, holds: 5, during: 10 * time.Second, hold: 2 * time.Second},
		{goroutines: 3, holds: 1, during: 0, hold: time.Second},
		{goroutines: 50, holds: 2, during: time.Hour, hold: time.Second},
		{goroutines: 50, holds: 16, during: time.Hour, hold: time.Second},
	} {
		onServerCase(t, fmt.Sprint(c), func(tb *serverTest) {
			m := tb.mutex(tb.connect(), zklock.WithHandOver(c.holds, c.during))
			ctx, stop := context.WithCancel(context.Background())
			for range c.goroutines {
				go func() {
					for l, err := m.Lock(ctx, nil); err == nil; l, err = m.Lock(ctx, nil) {
						time.Sleep(c.hold)
						l.Unlock(context.Background())
					}
				}()
			}
			stranger := tb.mutex(tb.connect())
			// A turn is the longest time for which one node may be held. A limit in time lets one hold more begin.
			untilTime, untilHolds := c.during+c.hold, time.Duration(c.holds)*c.hold
			turn := min(untilTime, untilHolds)
			const phases = 20 // of a turn: the stranger comes once in each
			for phase := range phases {
				time.Sleep(3 * turn) // until the goroutines have the lock among them again
				time.Sleep(turn * time.Duration(phase) / phases)
				began := time.Now()
				l := tb.mustLock(stranger)
				require.LessOrEqual(tb, time.Since(began), turn, "phase %d", phase)
				tb.mustUnlock(l)
			}
			stop()
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// A Mutex whose next owner needs a new node sends two requests at once: the delete of the last node and the create of
// the next one, which is a multi. It lists the queue only if the create comes first.
func TestCostOfANodeForTheNextOwners(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		conn := tb.connectWith(ensemble.Options{Tap: tb.tap})
		ours := tb.mutex(conn, zklock.WithHandOver(1, 0))
		holder := tb.mustLock(ours)
		for _, waiter := range startWaiters(ours, 10) {
			sent := tb.sent(func() {
				tb.mustUnlock(holder)
				holder = tb.receiveLeaseNow(waiter)
			})
			// If the create comes first, a list is sent; and if that has the last node, a read for the token.
			delete(sent, jute.OpGetChildren2)
			delete(sent, jute.OpGetData)
			require.Equal(tb, requests{jute.OpMulti: 1, jute.OpDelete: 1}, sent)
		}

		next := startWaiter(ours)
		tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpDelete, holder.Node())) // the list has the last node then
		sent := tb.sent(func() { tb.mustUnlock(holder) })
		require.Equal(tb, requests{jute.OpMulti: 1, jute.OpDelete: 2, jute.OpGetChildren2: 1, jute.OpGetData: 1}, sent)
		tb.mustUnlock(tb.receiveLeaseNow(next))
	})
}

// TryLock waits until the last node of its own Mutex, which the server refuses to delete for a while, has gone. It is
// refused if a contender of another process waits behind that node.
func TestTryLockWaitsForNodesOfItsMutexAlone(t *testing.T) {
	for _, strangers := range []int{0, 1} {
		onServerCase(t, fmt.Sprintf("strangers: %d", strangers), func(tb *serverTest) {
			conn := tb.connect()
			m := tb.mutex(conn)
			holder := tb.mustLock(m)
			waiters := tb.startQueuedClients(strangers)
			unlocked := tb.unlockWhileDeletesFail(conn.SessionID(), holder)
			l, err := m.TryLock(context.Background(), nil)
			if strangers == 0 {
				require.NoError(tb, err)
				tb.mustUnlock(l)
			} else {
				require.ErrorIs(tb, err, zklock.ErrHeld)
				tb.receiveAndUnlock(waiters[0])
			}
			require.NoError(tb, <-unlocked)
		})
	}
}

// An error of the server ends the wait of all owners of a Mutex: each of them would meet it.
func TestAnErrorOfTheServerEndsTheWaitOfAllOwners(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tb.allow(tb.makeParent(), lockPath, zk.PermRead|zk.PermAdmin)
		ours := tb.mutex(tb.connect())
		for _, waiter := range startWaiters(ours, 3) {
			require.ErrorIs(tb, (<-waiter).err, zk.ErrNoAuth)
		}
		require.NoError(tb, ours.Shutdown(context.Background()))
	})
}

// A node is given up when the last goroutine that waits with it gives up, in whatever order they do. Until then one of
// the goroutines that still wait gets the events of the node, which has no goroutine of its own.
func TestAnEntryIsGivenUpWhenTheLastOfItsGoroutinesGivesUp(t *testing.T) {
	const goroutines = 3
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 1}, {2, 1}} { // a goroutine that is not in it stays
		onServerCase(t, fmt.Sprint(order), func(tb *serverTest) {
			m, shared := tb.mutex(tb.connectOrdinary()), zklock.NewOwner("shared")
			holder := tb.mustLock(tb.mutex(tb.connect()))
			before := runtime.NumGoroutine()
			var waiters [goroutines]<-chan lockResult
			var giveUp [goroutines]func()
			for i := range giveUp {
				waiters[i], giveUp[i] = tb.startWaiterThatMayGiveUp(m, shared)
			}
			time.Sleep(time.Second) // until they wait
			noneOfTheNode := func() bool { return runtime.NumGoroutine() <= before+goroutines }
			require.True(tb, bubble.Until(synctest.Wait, noneOfTheNode))

			for _, i := range order {
				require.Len(tb, tb.srv.Children(lockPath), 2, "before %d gives up", i)
				giveUp[i]()
				synctest.Wait()
			}
			freed := time.Now()
			tb.mustUnlock(holder)
			for i, waiter := range waiters {
				if !slices.Contains(order, i) {
					got := tb.receiveLease(waiter)
					require.Zero(tb, time.Since(freed))
					tb.mustUnlock(got)
				}
			}
			require.Empty(tb, tb.srv.Children(lockPath), "nobody waits, and the node is in the queue")
		})
	}
}

// A Mutex has two nodes in the queue behind the holder's, which is of another process. When the owner of the first node
// leaves, the owner of the second must not get the lock. The second owner comes before the first node has gone.
func TestAWaiterThatLeavesLetsNobodyIn(t *testing.T) {
	for what, c := range map[string]struct {
		want  error // that its Lock returns
		leave func(tb *serverTest, session int64, giveUp func())
	}{
		"it gives up": {want: context.Canceled, leave: func(_ *serverTest, _ int64, giveUp func()) { giveUp() }},
		"the server does not let it see the queue": {want: zk.ErrNoAuth, leave: func(tb *serverTest, session int64, _ func()) {
			tb.srv.Fail(jute.ErrNoAuth, requestOf(session, jute.OpGetChildren2, ""))
			tb.set(tb.connect(), tb.nodeAt(0), "") // so that it lists the queue
		}},
	} {
		onServerCase(t, what, func(tb *serverTest) {
			holder := tb.mustLock(tb.mutex(tb.connect()))
			conn := tb.connectOrdinary()
			m := tb.mutex(conn)
			ctx, giveUp := context.WithCancel(context.Background())
			defer giveUp()
			first := startLock(ctx, m)
			synctest.Wait()

			refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpDelete, tb.nodeAt(1)))
			c.leave(tb, conn.SessionID(), giveUp)
			<-refused.Hit()
			second := startWaiter(m)
			require.Len(tb, tb.srv.Children(lockPath), 3)
			require.ErrorIs(tb, (<-first).err, c.want)
			time.Sleep(time.Second) // for the second to get in by mistake
			require.Len(tb, tb.srv.Children(lockPath), 2, "the node of the first is in the queue")
			require.Empty(tb, second, "two holders: the second, and the one before the first")
			tb.handOverAndUnlock(holder, second)
		})
	}
}

// A waiter watches the holder's node, and gives up. The node goes, and the parent is made again, so that the next
// holder has a node of the same name. The event of the old node does not let a later waiter in.
func TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		m, admin := tb.mutex(tb.connectOrdinary()), tb.makeParent()
		holder := tb.createForeign(admin)
		tb.waitAndGiveUp(m)
		tb.delete(admin, holder)
		tb.remakeParent(admin)
		next := tb.createForeign(admin)
		require.Equal(tb, holder, next)
		second := startQueuedWaiter(m) // in the second that this takes, it may get in by mistake
		require.Empty(tb, second, "two holders: the second was let in by a node that has gone")
		tb.delete(admin, next)
		tb.receiveAndUnlock(second)
	})
}

// TryLock is refused at once if the server has refused to delete the node of the last holder of its Mutex.
func TestTryLockDoesNotWaitForANodeThatCannotBeDeleted(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		m := tb.mutex(conn)
		l := tb.mustLock(m)
		tb.allow(admin, lockPath, zk.PermAll&^zk.PermDelete)
		require.ErrorIs(tb, l.Unlock(context.Background()), zk.ErrNoAuth)
		tb.requireTryLockRefused(m)
		tb.allow(admin, lockPath, zk.PermAll)
		require.NoError(tb, l.Unlock(context.Background()), "it waits until the node has gone")
		require.ErrorIs(tb, l.Unlock(context.Background()), zklock.ErrUnlocked)
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// A crowd is so many contenders that the first one, when it goes, writes a low-water mark into the parent's data: the
// number up to which all have gone, and the parent's czxid, which is another one when the parent is made again. A waiter
// watches the two nodes before it. When the farther one goes, the mark may show that the nearer one is the first, and
// the waiter needs no list of the crowd. When a test begins, contenders 0 to 4 have had the lock, 5 holds it, and 6 to
// 10 wait. The mark says 4.
type crowd struct {
	*serverTest
	admin  *zk.Conn
	holder *zklock.Lease

	// By the number of a contender.
	conns   []*zk.Conn
	waiters []<-chan lockResult
	giveUp  []func()
}

const holderOfCrowd, lastOfCrowd = 5, 10

func onCrowd(t *testing.T, play func(c *crowd)) {
	onServer(t, func(tb *serverTest) {
		c := &crowd{serverTest: tb, admin: tb.makeParent()}
		for i := range lastOfCrowd + 1 {
			conn := tb.connect()
			if i == lastOfCrowd { // it gets no event of its own node
				conn = tb.connectOrdinaryWith(ordinary{wrap: withoutEvents(fmt.Sprintf("-lock-%010d", lastOfCrowd))})
			}
			waiter, giveUp := tb.startWaiterThatMayGiveUp(tb.mutex(conn))
			time.Sleep(time.Second) // until it waits
			c.conns = append(c.conns, conn)
			c.waiters = append(c.waiters, waiter)
			c.giveUp = append(c.giveUp, giveUp)
		}
		for i := range holderOfCrowd {
			tb.receiveAndUnlock(c.waiters[i])
			time.Sleep(time.Second) // until the others have noticed
		}
		c.holder = tb.receiveLease(c.waiters[holderOfCrowd])
		play(c)
	})
}

// mark returns the mark which says that all up to number n have gone.
func (c *crowd) mark(n int) string {
	return fmt.Sprintf("zklock %016x %010d", c.stored(lockPath).Stat.Czxid, n)
}

// data returns the data of the parent.
func (tb *serverTest) data() string { return string(tb.stored(lockPath).Data) }

// The last contender, 10, watches 8 and 9, which give up. It must not take the lock, which 5 holds: none of these marks
// is a proof that 7, the next one before it, has gone.
func TestAMarkIsOnlyAboutThoseUpToItsNumber(t *testing.T) {
	for name, mark := range map[string]func(c *crowd) string{ // the data of the parent
		"none":                       func(*crowd) string { return "" },
		"up to 4, of the holder":     func(c *crowd) string { return c.data() },
		"up to 6":                    func(c *crowd) string { return c.mark(6) },
		"of an earlier parent":       func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 7, lastOfCrowd) },
		"of a later parent":          func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 1<<62, lastOfCrowd) },
		"a byte is missing":          func(c *crowd) string { m := c.mark(lastOfCrowd); return m[:len(m)-1] },
		"and a space more, up to 10": func(c *crowd) string { return c.mark(lastOfCrowd) + " " },
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // the server lists the nodes in another order each time
				onCrowd(t, func(c *crowd) {
					require.Equal(c, c.mark(4), c.data(), "what the first one before the holder has marked")
					c.set(c.admin, lockPath, mark(c))
					for _, i := range []int{8, 9} {
						c.giveUp[i]()
						time.Sleep(time.Second) // for the last one to get in by mistake
						require.Empty(c, c.waiters[lastOfCrowd], "two holders: 5, and the last one")
					}
					require.Equal(c, mark(c), c.data(), "one that gives up marks nothing")
				})
			}
		})
	}
}

// The last contender does not use the mark of an earlier parent: all nodes are deleted by hand, and the parent is made
// again with the mark of the old one. The last contender misses the event of its own node.
func TestAMarkIsOfOneParent(t *testing.T) {
	onCrowd(t, func(c *crowd) {
		mark, id := c.mark(lastOfCrowd), c.conns[lastOfCrowd].SessionID()

		// 8, which the last one watches, gives up. Before the last one gets the parent's mark, all nodes go.
		late := c.srv.Hold(requestOf(id, jute.OpGetData, lockPath))
		c.giveUp[8]()
		<-late.Hit()
		for _, i := range []int{6, 7, 9} {
			c.giveUp[i]()
		}
		time.Sleep(time.Second) // until their nodes have gone
		for range 2 {           // the nodes of 5 and 10
			c.delete(c.admin, c.nodeAt(0))
		}

		// Another contender holds the lock, on the new parent. The last one then reads the old mark.
		c.remakeParent(c.admin)
		c.set(c.admin, lockPath, mark)
		next := c.mustLock(c.mutex(c.connect()))
		late.Release()
		time.Sleep(time.Second) // for the last one to get in by mistake
		require.Empty(c, c.waiters[lastOfCrowd], "two holders: the last one has no node")
		require.Len(c, c.srv.Children(lockPath), 2)
		c.handOverAndUnlock(next, c.waiters[lastOfCrowd])
	})
}

// Where the parent has data or may not be written, a crowd leaves no mark, and each contender has its turn.
func TestACrowdIsNotMarkedWhereTheParentHasDataOrMayNotBeWritten(t *testing.T) {
	onCrowd(t, func(c *crowd) {
		c.allow(c.admin, lockPath, zk.PermAll&^zk.PermWrite)
		c.handOverAndUnlock(c.holder, c.waiters[6])
		require.Equal(c, c.mark(4), c.data())
	})
	onMeteredServer(t, func(tb *meter) {
		tb.set(tb.connect(), lockPath, "the lock of the orders and no mark") // of the same size
		sent := tb.costBehind(tb.countedMutex(), 9, noHold)
		require.Equal(tb, requests{jute.OpCreate: 1, jute.OpGetChildren2: 2, jute.OpGetData: 4, jute.OpDelete: 1}, sent)
		require.Equal(tb, "the lock of the orders and no mark", tb.data())
	})
}

// Unlock returns nil, once its client is back, if the reply to its delete, which also leaves a mark, was lost.
func TestALostReplyToADeleteThatMarks(t *testing.T) {
	onCrowd(t, func(c *crowd) {
		id := c.conns[holderOfCrowd].SessionID()
		lost := c.srv.LoseReply(requestOf(id, jute.OpDelete, ""))
		back := c.srv.Hold(requestOf(id, jute.OpConnect, ""))
		unlocked := inBackground(func() error { return c.holder.Unlock(context.Background()) })
		<-lost.Hit()
		next := c.receiveLease(c.waiters[6])
		require.Equal(c, c.mark(5), c.data())
		back.Release()
		require.NoError(c, <-unlocked)
		c.handOverAndUnlock(next, c.waiters[7])
	})
}

// A Mutex that has found a crowd needs one list to see that it is alone again. One that finds a mark reads it once. A
// multi is a create that asks whether its node is alone, or a delete that leaves a mark. OpGetData reads the
// contender's own node, the two before it, or the mark.
func TestCostOfACrowd(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		ours := tb.countedMutex()
		alone := func() { tb.lockAndUnlock(ours) }
		alone()
		const enough, tooFew, many = 5, 4, 9 // strangers: from enough on, it reads a mark in place of a second list

		// The create asks, and the delete leaves a mark: a multi each. It reads three nodes and the mark.
		withMark := requests{jute.OpMulti: 2, jute.OpGetChildren2: 1, jute.OpGetData: 4}
		require.Equal(tb, withMark, tb.costBehind(ours, enough, noHold))
		// After a list with a crowd the create does not ask. A second list takes the place of the mark that is read.
		want := requests{jute.OpCreate: 1, jute.OpMulti: 1, jute.OpGetChildren2: 2, jute.OpGetData: 3}
		require.Equal(tb, want, tb.costBehind(ours, tooFew, noHold))
		// The second list has shown no crowd: the create asks again.
		require.Equal(tb, withMark, tb.costBehind(ours, many, noHold))

		first := requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}
		require.Equal(tb, first, tb.sent(alone), "the list shows that the crowd has gone")
		tb.costBehind(tb.mutex(tb.connect()), many, noHold) // leaves a mark
		ours = tb.countedMutex()
		require.Equal(tb, first, tb.sent(alone), "it finds a mark")
		require.Equal(tb, requests{jute.OpGetData: 1, jute.OpMulti: 1, jute.OpDelete: 1}, tb.sent(alone), "it reads the mark")
		require.Equal(tb, requests{jute.OpMulti: 1, jute.OpDelete: 1}, tb.sent(alone))
	})
}
