package zklock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp: both wait for
// one entry of the queue, which is given up when neither waits any more.
func TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp(t *testing.T) {
	onTable(t, func(tb *table) {
		m, shared := tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx, cancel := context.WithCancel(context.Background())
		first := lockAside(ctx, m, shared)
		synctest.Wait()
		second := lockAside(context.Background(), m, shared)
		synctest.Wait()
		rival := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("rival"))
		time.Sleep(time.Second) // until it waits
		require.Len(tb, tb.srv.Children(top), 3)
		cancel()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		time.Sleep(time.Second) // for a node that goes by mistake
		require.Len(tb, tb.srv.Children(top), 3,
			"the second goroutine has lost its turn")
		require.NoError(tb, holder.Unlock(context.Background()))
		select {
		case got := <-second:
			require.NoError(tb, got.err)
			require.Empty(tb, rival)
			require.NoError(tb, got.lease.Unlock(context.Background()))
		case <-rival:
			require.Fail(tb, "the second goroutine is overtaken by a contender that came later")
		}
		passes(tb, rival)
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAnEntryIsGivenUpWhenTheLastOfItsGoroutinesGivesUp, whichever came first.
func TestAnEntryIsGivenUpWhenTheLastOfItsGoroutinesGivesUp(t *testing.T) {
	for what, order := range map[string][]int{"the first first": {0, 1, 2}, "the last first": {2, 1, 0}, "one between": {1, 0, 2}} {
		onTables(t, what, func(tb *table) {
			m, shared := tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			var waiters []<-chan locked
			var giveUp []context.CancelFunc
			for range 3 {
				ctx, cancel := context.WithCancel(context.Background())
				waiters, giveUp = append(waiters, lockAside(ctx, m, shared)), append(giveUp, cancel)
				synctest.Wait()
			}
			for _, i := range order {
				require.Len(tb, tb.srv.Children(top), 2, "before %d gives up", i)
				giveUp[i]()
				require.ErrorIs(tb, (<-waiters[i]).err, context.Canceled)
				synctest.Wait()
			}
			require.Len(tb, tb.srv.Children(top), 1, "nobody waits, and the node is in the queue")
			require.NoError(tb, holder.Unlock(context.Background()))
		})
	}
}

// TestTheFirstGivesUpAndOneUnlockOfTheSecondIsEnough: one Unlock is enough.
func TestTheFirstGivesUpAndOneUnlockOfTheSecondIsEnough(t *testing.T) {
	onTable(t, func(tb *table) {
		m, shared := tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx, cancel := context.WithCancel(context.Background())
		first := lockAside(ctx, m, shared)
		synctest.Wait()
		second, third := lockAside(context.Background(), m, shared), lockAside(context.Background(), m, shared)
		synctest.Wait()
		cancel()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		require.NoError(tb, holder.Unlock(context.Background()))
		a, b := <-second, <-third
		require.NoError(tb, a.err)
		require.NoError(tb, b.err)
		require.Equal(tb, a.lease.Token(), b.lease.Token())
		require.NoError(tb, a.lease.Unlock(context.Background()))
		require.Len(tb, tb.srv.Children(top), 1, "the third holds the lock")
		require.NoError(tb, b.lease.Unlock(context.Background()))
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAWaiterThatLeavesLetsNobodyIn: before its node has gone, its Mutex has
// another waiter, with a node behind that one. A holder of another process is
// before both.
func TestAWaiterThatLeavesLetsNobodyIn(t *testing.T) {
	for what, c := range map[string]struct {
		leave func(tb *table, session int64, giveUp func())
		want  error
	}{
		"it gives up": {func(tb *table, session int64, giveUp func()) { giveUp() }, context.Canceled},
		"the server does not let it see the queue": {func(tb *table, session int64, giveUp func()) {
			tb.srv.Fail(jute.ErrNoAuth, of(session, jute.OpGetChildren2, ""))
			_, err := tb.connect().Set(tb.node(0), nil, -1) // so that it lists the queue
			require.NoError(tb, err)
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
			second := lockAside(context.Background(), m, zklock.NewOwner("second"))
			synctest.Wait()
			require.Len(tb, tb.srv.Children(top), 3)
			require.ErrorIs(tb, (<-first).err, c.want)
			time.Sleep(time.Second) // for the second to get in by mistake
			require.Len(tb, tb.srv.Children(top), 2, "the node of the first is in the queue")
			require.Empty(tb, second, "two holders: the first was not the first of all")
			require.NoError(tb, holder.Unlock(context.Background()))
			passes(tb, second)
		})
	}
}

// TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn: a holder of another library goes
// when the Mutex has no waiter, and the next one has its name, because the parent
// was made again in between.
func TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn(t *testing.T) {
	onTable(t, func(tb *table) {
		m, admin := tb.mutex(tb.connectAs(ordinary{})), tb.connect()
		foreign := func() string { // a lock without ids
			node, err := admin.Create(top+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			require.NoError(tb, err)
			return node
		}
		tb.makeTop(admin)
		holder := foreign()
		ctx, giveUp := context.WithCancel(context.Background())
		first := lockAside(ctx, m, zklock.NewOwner("first"))
		synctest.Wait()
		giveUp()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		synctest.Wait()
		require.NoError(tb, admin.Delete(holder, -1))
		tb.remakeTop(admin)
		next := foreign()
		require.Equal(tb, holder, next)
		second := lockAside(context.Background(), m, zklock.NewOwner("second"))
		time.Sleep(time.Second) // for the second to get in by mistake
		require.Empty(tb, second, "two holders: the second was let in by a node that has gone")
		require.NoError(tb, admin.Delete(next, -1))
		passes(tb, second)
	})
}

// TestAWaiterBehindTwoIsNotLetInWhenTheNearerLeaves: the farther one still holds
// the lock.
func TestAWaiterBehindTwoIsNotLetInWhenTheNearerLeaves(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx, giveUp := context.WithCancel(context.Background())
		nearer := lockAside(ctx, tb.mutex(tb.connect()), zklock.NewOwner("nearer"))
		time.Sleep(time.Second) // until it waits
		waiter := lockAside(context.Background(), tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it watches both
		giveUp()
		require.ErrorIs(tb, (<-nearer).err, context.Canceled)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders")
		require.NoError(tb, holder.Unlock(context.Background()))
		passes(tb, waiter)
	})
}

// TestAMutexOvertakesNoStranger: of two nodes of a Mutex, one of which leaves, a
// contender of another process is between.
func TestAMutexOvertakesNoStranger(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, id := tb.mutex(conn), conn.SessionID()
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx, giveUp := context.WithCancel(context.Background())
		lockAside(ctx, m, zklock.NewOwner("leaves"))
		time.Sleep(time.Second) // until it waits
		stranger := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		time.Sleep(time.Second) // until it waits
		refused := tb.srv.Fail(throttled, of(id, jute.OpDelete, tb.node(1)))
		giveUp()
		<-refused.Hit() // its node is in the queue until the next try
		last := lockAside(context.Background(), m, zklock.NewOwner("last"))
		synctest.Wait()
		require.Len(tb, tb.srv.Children(top), 4)
		time.Sleep(time.Second) // until the next try
		require.Len(tb, tb.srv.Children(top), 3)
		require.NoError(tb, holder.Unlock(context.Background()))
		synctest.Wait()
		require.Empty(tb, last, "two holders: the stranger is before the last one")
		passes(tb, stranger)
		passes(tb, last)
	})
}

// TestAStrangerIsNotTakenForTheNodeOfItsOwnMutex: somebody deletes the holder's
// node by hand, and a stranger gets the lock. The next one of the holder's Mutex
// finds that one node is before its own, and its Mutex has an entry before it, too.
func TestAStrangerIsNotTakenForTheNodeOfItsOwnMutex(t *testing.T) {
	for what, unlocks := range map[string]bool{"the holder finds that it has gone": false, "the holder unlocks": true} {
		onTables(t, what, func(tb *table) {
			m := tb.mutex(tb.connectAs(ordinary{}), zklock.WithHandOver(1, 0))
			holder := tb.mustLock(m, zklock.NewOwner("holder"))
			require.NoError(tb, tb.connect().Delete(holder.Node(), -1)) // which nobody watches yet
			stranger := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
			require.False(tb, tb.isLost(holder), "Lost has closed: there is nothing to show")
			last := lockAside(context.Background(), m, zklock.NewOwner("last"))
			synctest.Wait()
			if unlocks {
				require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			}
			time.Sleep(2 * time.Second) // until the holder looks at its node
			require.True(tb, isClosed(holder.Done()))
			require.Empty(tb, last, "two holders: the stranger is before the last one")
			require.NoError(tb, stranger.Unlock(context.Background()))
			passes(tb, last)
		})
	}
}

// TestTryLockDoesNotWaitForANodeThatCannotBeDeleted: Unlock has said so.
func TestTryLockDoesNotWaitForANodeThatCannotBeDeleted(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		m := tb.mutex(conn)
		l := tb.mustLock(m, zklock.NewOwner("holder"))
		_, err := admin.SetACL(top, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
		require.NoError(tb, err)
		require.ErrorIs(tb, l.Unlock(context.Background()), zk.ErrNoAuth)
		ctx := limited(tb, time.Minute)
		_, err = m.TryLock(ctx, zklock.NewOwner("other"))
		require.ErrorIs(tb, err, zklock.ErrHeld)
		_, err = admin.SetACL(top, zk.WorldACL(zk.PermAll), -1)
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()), "it waits until the node has gone")
		require.ErrorIs(tb, l.Unlock(context.Background()), zklock.ErrUnlocked)
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestTryLockDoesNotWaitBehindOneThatIsAboutToGetTheLock: nobody holds it by this
// Mutex yet, but another owner has asked for it before.
func TestTryLockDoesNotWaitBehindOneThatIsAboutToGetTheLock(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := tb.connect()
		m := tb.mutex(conn)
		late := tb.srv.HoldReply(creates(conn.SessionID()))
		first := lockAside(context.Background(), m, zklock.NewOwner("first"))
		<-late.Hit()
		ctx := limited(tb, time.Second)
		_, err := m.TryLock(ctx, zklock.NewOwner("second"))
		require.ErrorIs(tb, err, zklock.ErrHeld)
		late.Release()
		passes(tb, first)
	})
}

// TestTryLockDoesNotWaitForAStrangerBeforeNodesThatGo: the nearest two are of its
// Mutex, and are about to go. Before them a stranger holds the lock. Nodes that went
// earlier are not counted.
func TestTryLockDoesNotWaitForAStrangerBeforeNodesThatGo(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m := tb.mutex(conn)
		for range 3 {
			require.NoError(tb, tb.mustLock(m, zklock.NewOwner("earlier")).Unlock(context.Background()))
		}
		stranger := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		var stay []*zkserver.Fault
		for i := range 2 {
			ctx, giveUp := context.WithCancel(context.Background())
			waiter := lockAside(ctx, m, zklock.NewOwner("waiter"))
			time.Sleep(time.Second) // until it waits
			stay = append(stay, many(tb.throttle, of(conn.SessionID(), jute.OpDelete, tb.node(1+i)))...)
			giveUp()
			require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		}
		require.Len(tb, tb.srv.Children(top), 3)
		tried := aside(func() error {
			_, err := m.TryLock(context.Background(), zklock.NewOwner("hasty"))
			return err
		})
		time.Sleep(5 * time.Second) // both nodes stay that long
		require.Len(tb, tried, 1, "TryLock waits for another contender")
		require.ErrorIs(tb, <-tried, zklock.ErrHeld)
		releaseAll(stay)
		require.NoError(tb, stranger.Unlock(context.Background()))
		require.NoError(tb, m.Shutdown(context.Background()))
	})
}

// TestTryLockDoesNotWaitForAStrangerBetweenNodesThatGo: of two nodes of its Mutex
// that are about to go, one has gone, and its Mutex has had no event. A stranger, which
// was between them, holds the lock.
func TestTryLockDoesNotWaitForAStrangerBetweenNodesThatGo(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m, id := tb.mutex(conn), conn.SessionID()
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		stranger := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
		time.Sleep(time.Second) // until it waits
		gone := tb.node(0)
		lost := tb.srv.LoseReply(of(id, jute.OpDelete, gone))
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		<-lost.Hit()
		stay := many(tb.throttle, of(id, jute.OpDelete, gone))
		got := gets(tb, stranger)
		ctx, giveUp := context.WithCancel(context.Background())
		second := lockAside(ctx, m, zklock.NewOwner("second"))
		time.Sleep(2 * time.Second) // until the client is back, and it waits
		stay = append(stay, many(tb.throttle, of(id, jute.OpDelete, tb.node(1)))...)
		giveUp()
		require.ErrorIs(tb, (<-second).err, context.Canceled)
		require.Len(tb, tb.srv.Children(top), 2)
		tried := aside(func() error {
			_, err := m.TryLock(context.Background(), zklock.NewOwner("hasty"))
			return err
		})
		time.Sleep(5 * time.Second) // the node stays that long
		require.Len(tb, tried, 1, "TryLock waits for another contender")
		require.ErrorIs(tb, <-tried, zklock.ErrHeld)
		require.Empty(tb, unlocked)
		releaseAll(stay)
		require.NoError(tb, <-unlocked)
		require.NoError(tb, got.Unlock(context.Background()))
		require.NoError(tb, m.Shutdown(context.Background()))
	})
}

// TestAWaiterWhoseTurnHasComeLeavesAtOnce: it is the first, and its session is not
// proved to be safe. The contenders behind it do not wait for a proof that nobody needs.
func TestAWaiterWhoseTurnHasComeLeavesAtOnce(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connect()
		id := conn.SessionID()
		ctx, giveUp := context.WithCancel(context.Background())
		waiter := lockAside(ctx, tb.mutex(conn), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it waits
		var unproved []*zkserver.Fault
		for range 10 {
			unproved = append(unproved, many(tb.throttle, func(r zkserver.Request) bool {
				return r.Session == id && (r.Op == jute.OpSync || r.Op == jute.OpMulti)
			})...)
		}
		time.Sleep(sessionTimeout) // until its create proves nothing any more
		require.NoError(tb, holder.Unlock(context.Background()))
		time.Sleep(time.Second) // for it to get the lock by mistake
		require.Empty(tb, waiter)
		giveUp()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
		releaseAll(unproved)
	})
}

// throttle makes the server say that it has too much to do for a request.
func (tb *table) throttle(when condition) *zkserver.Fault { return tb.srv.Fail(throttled, when) }
