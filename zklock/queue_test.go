package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
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

// queued locks aside n times, one after the other.
func queued(m *zklock.Mutex, n int) (waiters []<-chan locked) {
	for range n {
		waiters = append(waiters, waits(m))
	}
	return waiters
}

// TestTheLockIsHandedOnInMemory in the order in which the owners came, and each
// token is higher than the one before. TryLock sees in memory that others wait.
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
				m.isHeld(ours)
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

// TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold, nor for more holds than agreed, whenever
// it comes: goroutines of another Mutex lock again and again.
func TestAStrangerWaitsNoLongerThanTheHandOverAndOneHold(t *testing.T) {
	testenv.RacedAtLength(t, "it plays thousands of holds, and TestOwners hands the lock on with it")
	for _, c := range []struct {
		goroutines, holds int
		during, hold      time.Duration
	}{
		{2, 16, 50 * time.Millisecond, time.Second},
		{100, 16, 50 * time.Millisecond, 10 * time.Millisecond},
		{100, 5, 10 * time.Second, 2 * time.Second},
		{3, 1, 0, time.Second},
		{50, 2, time.Hour, time.Second}, {50, 16, time.Hour, time.Second},
	} {
		onTables(t, fmt.Sprint(c), func(tb *table) {
			m := tb.mutex(tb.connect(), zklock.WithHandOver(c.holds, c.during))
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
			turn := min(c.during+c.hold, time.Duration(c.holds)*c.hold)
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

// TestCostOfANodeForTheNextOwners: the Mutex sends the delete of its last node and the create of the next together.
// If the delete comes first, as it mostly does, the Mutex is alone, and else it lists the queue.
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
			delete(sent, jute.OpGetData) // of the token, if the list is answered before the node before has gone
			require.Equal(t, requests{jute.OpMulti: 1, jute.OpDelete: 1}, sent)
		}
		next := waits(ours)
		m.srv.Fail(throttled, of(conn.SessionID(), jute.OpDelete, holder.Node())) // until the list has shown the last node
		sent := m.sent(func() { m.mustUnlock(holder) })
		require.Equal(t, requests{jute.OpMulti: 1, jute.OpDelete: 2, jute.OpGetChildren2: 1, jute.OpGetData: 1}, sent)
		m.mustUnlock(m.acquired(next))
	})
}

// TestTryLockWaitsForNodesOfItsMutexAlone: the server refuses to delete the last one for a while. A
// contender of another process that waits behind that one is before TryLock.
func TestTryLockWaitsForNodesOfItsMutexAlone(t *testing.T) {
	for what, strange := range map[string]bool{"alone": false, "and a stranger": true} {
		onTables(t, what, func(tb *table) {
			conn := tb.connect()
			m := tb.mutex(conn)
			holder := tb.mustLock(m, nil)
			var stranger <-chan locked
			if strange {
				stranger = queues(tb.mutex(tb.connect()))
			}
			unlocked := tb.unlockThrottled(conn.SessionID(), holder)
			l, err := m.TryLock(context.Background(), nil)
			require.Equal(tb, strange, errors.Is(err, zklock.ErrHeld), "%v", err)
			if strange {
				passes(tb, stranger)
			} else {
				require.NoError(tb, l.Unlock(context.Background()))
			}
			require.NoError(tb, <-unlocked)
		})
	}
}

// TestAnErrorOfTheServerEndsTheWaitOfAllOwners: each of them would meet it.
func TestAnErrorOfTheServerEndsTheWaitOfAllOwners(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.allow(tb.makeTop(), top, zk.PermRead|zk.PermAdmin)
		ours := tb.mutex(tb.connect())
		for _, waiter := range queued(ours, 3) {
			require.ErrorIs(tb, (<-waiter).err, zk.ErrNoAuth)
		}
		require.NoError(tb, ours.Shutdown(context.Background()))
	})
}

// TestAnEntryIsGivenUpWhenTheLastOfItsGoroutinesGivesUp, whichever came first. Until then one of
// those that are left waits for the events of the node, which has no goroutine of its own.
func TestAnEntryIsGivenUpWhenTheLastOfItsGoroutinesGivesUp(t *testing.T) {
	for what, order := range map[string][]int{
		"the first first": {0, 1, 2}, "the last first": {2, 1, 0}, "one between": {1, 0, 2}, "one stays": {0, 1}, "the first stays": {2, 1},
	} {
		onTables(t, what, func(tb *table) {
			m, shared := tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			before := runtime.NumGoroutine()
			var waiters [3]<-chan locked
			var giveUp [3]func()
			for i := range giveUp {
				waiters[i], giveUp[i] = tb.mayGiveUp(m, shared)
			}
			time.Sleep(time.Second) // until they wait
			require.True(tb, bubble.Until(synctest.Wait, func() bool { return runtime.NumGoroutine() <= before+3 }))
			for _, i := range order {
				require.Len(tb, tb.srv.Children(top), 2, "before %d gives up", i)
				giveUp[i]()
				synctest.Wait()
			}
			freed := time.Now()
			require.NoError(tb, holder.Unlock(context.Background()))
			if len(order) == 2 {
				got := gets(tb, waiters[3-order[0]-order[1]])
				require.Zero(tb, time.Since(freed))
				require.NoError(tb, got.Unlock(context.Background()))
			}
			require.Empty(tb, tb.srv.Children(top), "nobody waits, and the node is in the queue")
		})
	}
}

// TestAWaiterThatLeavesLetsNobodyIn: before its node has gone, its Mutex has another waiter, with a node behind that
// one. A holder of another process is before both.
func TestAWaiterThatLeavesLetsNobodyIn(t *testing.T) {
	for what, c := range map[string]struct {
		leave func(tb *table, session int64, giveUp func())
		want  error
	}{
		"it gives up": {func(tb *table, session int64, giveUp func()) { giveUp() }, context.Canceled},
		"the server does not let it see the queue": {func(tb *table, session int64, giveUp func()) {
			tb.srv.Fail(jute.ErrNoAuth, of(session, jute.OpGetChildren2, ""))
			tb.set(tb.connect(), tb.node(0), "") // so that it lists the queue
		}, zk.ErrNoAuth},
	} {
		onTables(t, what, func(tb *table) {
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			conn := tb.connectAs(ordinary{})
			m := tb.mutex(conn)
			ctx, giveUp := context.WithCancel(context.Background())
			defer giveUp()
			first := lockAside(ctx, m, zklock.NewOwner("first"))
			synctest.Wait()
			refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpDelete, tb.node(1)))
			c.leave(tb, conn.SessionID(), giveUp)
			<-refused.Hit()
			second := waits(m)
			require.Len(tb, tb.srv.Children(top), 3)
			require.ErrorIs(tb, (<-first).err, c.want)
			time.Sleep(time.Second) // for the second to get in by mistake
			require.Len(tb, tb.srv.Children(top), 2, "the node of the first is in the queue")
			require.Empty(tb, second, "two holders: the first was not the first of all")
			handsOver(tb, holder, second)
		})
	}
}

// TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn: a holder of another library goes when the Mutex has no waiter, and
// the next one has its name, because the parent was made again in between.
func TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn(t *testing.T) {
	onTable(t, func(tb *table) {
		m, admin := tb.mutex(tb.connectAs(ordinary{})), tb.makeTop()
		foreign := func() string { return tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential) } // a lock without ids
		holder := foreign()
		tb.givesUp(m)
		require.NoError(tb, admin.Delete(holder, -1))
		tb.remakeTop(admin)
		next := foreign()
		require.Equal(tb, holder, next)
		second := queues(m) // for the second to get in by mistake
		require.Empty(tb, second, "two holders: the second was let in by a node that has gone")
		require.NoError(tb, admin.Delete(next, -1))
		passes(tb, second)
	})
}

// TestTryLockDoesNotWaitForANodeThatCannotBeDeleted: Unlock has said so.
func TestTryLockDoesNotWaitForANodeThatCannotBeDeleted(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		m := tb.mutex(conn)
		l := tb.mustLock(m, zklock.NewOwner("holder"))
		tb.allow(admin, top, zk.PermAll&^zk.PermDelete)
		require.ErrorIs(tb, l.Unlock(context.Background()), zk.ErrNoAuth)
		tb.isHeld(m)
		tb.allow(admin, top, zk.PermAll)
		require.NoError(tb, l.Unlock(context.Background()), "it waits until the node has gone")
		require.ErrorIs(tb, l.Unlock(context.Background()), zklock.ErrUnlocked)
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// A crowd is so many contenders that the first of them marks in the parent's data that it has
// gone: number 5 holds the lock, and has found five before it.
type crowd struct {
	*table
	admin   *zk.Conn
	conns   []*zk.Conn
	holder  *zklock.Lease
	waiters []<-chan locked // by number
	giveUp  []func()
}

const lastOfCrowd = 10 // its number, from 0

// crowded plays one schedule of a crowd.
func crowded(t *testing.T, play func(c *crowd)) {
	t.Helper()
	onTable(t, func(tb *table) {
		c := &crowd{table: tb, admin: tb.makeTop()}
		for i := range lastOfCrowd + 1 {
			conn := tb.connect()
			if i == lastOfCrowd { // it misses what happens to its node
				conn = tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return withoutEvents(nc, fmt.Sprintf("-lock-%010d", lastOfCrowd)) }})
			}
			waiter, giveUp := tb.mayGiveUp(tb.mutex(conn), nil)
			time.Sleep(time.Second) // until it waits
			c.conns, c.waiters, c.giveUp = append(c.conns, conn), append(c.waiters, waiter), append(c.giveUp, giveUp)
		}
		for i := range 5 {
			passes(tb, c.waiters[i])
			time.Sleep(time.Second) // until the others have noticed
		}
		c.holder = gets(tb, c.waiters[5])
		play(c)
	})
}

// mark returns the mark that all up to a number have gone.
func (c *crowd) mark(n int) string {
	parent, _ := c.srv.Node(top)
	return fmt.Sprintf("zklock %016x %010d", parent.Stat.Czxid, n)
}

func (tb *table) data() string { // of the parent
	parent, _ := tb.srv.Node(top)
	return string(parent.Data)
}

// TestAMarkIsOnlyAboutThoseUpToItsNumber: both that the last one watches give up, and 5 holds the
// lock. No mark says that 7 has gone, which is before these two.
func TestAMarkIsOnlyAboutThoseUpToItsNumber(t *testing.T) {
	for name, mark := range map[string]func(c *crowd) string{
		"none":                      func(*crowd) string { return "" },
		"up to 4, of the holder":    func(c *crowd) string { return c.data() },
		"up to 6":                   func(c *crowd) string { return c.mark(6) },
		"of an earlier parent":      func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 7, lastOfCrowd) },
		"of a later parent":         func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 1<<62, lastOfCrowd) },
		"not as they are written":   func(c *crowd) string { return c.mark(lastOfCrowd)[:33] },
		"and a word more, up to 10": func(c *crowd) string { return c.mark(lastOfCrowd) + " " },
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // a list has any order
				crowded(t, func(c *crowd) {
					require.Equal(c, c.mark(4), c.data(), "what the first one before the holder has marked")
					c.set(c.admin, top, mark(c))
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

// TestAMarkIsOfOneParent: all nodes are deleted by hand, and the parent is made again with the mark of
// the old one. The last one has missed the event of its own node.
func TestAMarkIsOfOneParent(t *testing.T) {
	crowded(t, func(c *crowd) {
		mark, id := c.mark(lastOfCrowd), c.conns[lastOfCrowd].SessionID()
		late := c.srv.Hold(of(id, jute.OpGetData, top))
		c.giveUp[8]()
		<-late.Hit()
		for _, i := range []int{6, 7, 9} {
			c.giveUp[i]()
		}
		time.Sleep(time.Second) // until their nodes have gone
		for range 2 {
			require.NoError(c, c.admin.Delete(c.node(0), -1))
		}
		c.remakeTop(c.admin)
		c.set(c.admin, top, mark)
		next := c.mustLock(c.mutex(c.connect()), nil)
		late.Release()
		time.Sleep(time.Second) // for the last one to get in by mistake
		require.Empty(c, c.waiters[lastOfCrowd], "two holders: the last one has no node")
		require.Len(c, c.srv.Children(top), 2)
		handsOver(c.table, next, c.waiters[lastOfCrowd])
	})
}

// TestACrowdIsNotMarkedWhereTheParentHasDataOrMayNotBeWritten, and each has its turn.
func TestACrowdIsNotMarkedWhereTheParentHasDataOrMayNotBeWritten(t *testing.T) {
	crowded(t, func(c *crowd) {
		c.allow(c.admin, top, zk.PermAll&^zk.PermWrite)
		handsOver(c.table, c.holder, c.waiters[6])
		require.Equal(c, c.mark(4), c.data())
	})
	onMeter(t, func(m *meter) {
		m.set(m.connect(), top, "the lock of the orders and no mark") // of the same size
		sent := m.behind(m.newMutex(), 9, 0)
		require.Equal(m, requests{jute.OpCreate: 1, jute.OpGetChildren2: 2, jute.OpGetData: 4, jute.OpDelete: 1}, sent)
		require.Equal(m, "the lock of the orders and no mark", m.data())
	})
}

// TestALostReplyToADeleteThatMarks: the node has gone, and Unlock says so once the client is back.
func TestALostReplyToADeleteThatMarks(t *testing.T) {
	crowded(t, func(c *crowd) {
		id := c.conns[5].SessionID()
		lost, back := c.srv.LoseReply(of(id, jute.OpDelete, "")), c.srv.Hold(of(id, jute.OpConnect, ""))
		unlocked := aside(func() error { return c.holder.Unlock(context.Background()) })
		<-lost.Hit()
		next := gets(c.table, c.waiters[6])
		require.Equal(c, c.mark(5), c.data())
		back.Release()
		require.NoError(c, <-unlocked)
		handsOver(c.table, next, c.waiters[7])
	})
}

// TestCostOfACrowd: a Mutex that has found one asks nothing of its next create, and so needs one list to
// see that it is alone again. One that finds a mark reads it once.
func TestCostOfACrowd(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		alone := func() { m.mustUnlock(m.mustLock(ours, nil)) }
		alone()
		require.Equal(m, requests{jute.OpMulti: 2, jute.OpGetChildren2: 1, jute.OpGetData: 4}, m.behind(ours, 5, 0))
		want := requests{jute.OpCreate: 1, jute.OpMulti: 1, jute.OpGetChildren2: 2, jute.OpGetData: 3}
		require.Equal(m, want, m.behind(ours, 4, 0), "not so many")
		require.Equal(m, requests{jute.OpMulti: 2, jute.OpGetChildren2: 1, jute.OpGetData: 4}, m.behind(ours, 9, 0))
		want = requests{jute.OpCreate: 1, jute.OpMulti: 2, jute.OpGetChildren2: 1, jute.OpGetData: 4}
		require.Equal(m, want, m.behind(ours, 9, 10*time.Second/11), "after a wait, with a write of the proof")
		first := requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}
		require.Equal(m, first, m.sent(alone))
		m.behind(m.mutex(m.connectWith(ensemble.Options{})), 9, 0) // the last one leaves a mark
		cold := m.newMutex()
		require.Equal(m, first, m.sent(func() { m.mustUnlock(m.mustLock(cold, nil)) }))
		ours = cold
		require.Equal(m, requests{jute.OpGetData: 1, jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
		require.Equal(m, requests{jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
	})
}
