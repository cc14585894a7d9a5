package zklock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

// TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp: both wait at
// one place of the queue, and that is left when nobody waits any more.
func TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp(t *testing.T) {
	onTable(t, func(tb *table) {
		m, shared := tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
		holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
		ctx, cancel := context.WithCancel(context.Background())
		first := lockAside(ctx, m, shared)
		synctest.Wait()
		second := lockAside(context.Background(), m, shared)
		synctest.Wait()
		rival := lockAside(context.Background(), tb.mutexWith(tb.connect()), zklock.NewOwner("rival"))
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
		require.NoError(tb, (<-rival).lease.Unlock(context.Background()))
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAPlaceIsLeftWhenTheLastOfItsGoroutinesGivesUp, whichever came first.
func TestAPlaceIsLeftWhenTheLastOfItsGoroutinesGivesUp(t *testing.T) {
	for what, order := range map[string][]int{"the first first": {0, 1, 2}, "the last first": {2, 1, 0}, "one between": {1, 0, 2}} {
		t.Run(what, func(t *testing.T) {
			onTable(t, func(tb *table) {
				m, shared := tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
				holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
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
		})
	}
}

// TestTheFirstGivesUpAndOneUnlockOfTheSecondIsEnough: one Unlock is enough.
func TestTheFirstGivesUpAndOneUnlockOfTheSecondIsEnough(t *testing.T) {
	onTable(t, func(tb *table) {
		m, shared := tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("shared")
		holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
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

// TestAWaiterThatGivesUpHandsOverNothing: one of the same Mutex is directly
// behind it, and a holder of another process is before both.
func TestAWaiterThatGivesUpHandsOverNothing(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
		m := tb.mutexWith(tb.connect())
		ctx, giveUp := context.WithCancel(context.Background())
		first := lockAside(ctx, m, zklock.NewOwner("first"))
		time.Sleep(time.Second) // until it waits
		second := lockAside(context.Background(), m, zklock.NewOwner("second"))
		time.Sleep(time.Second) // until it waits behind the first
		giveUp()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		time.Sleep(time.Second) // for the second to get in by mistake
		require.Empty(tb, second, "two holders: the first was not the first of all")
		require.NoError(tb, holder.Unlock(context.Background()))
		got := <-second
		require.NoError(tb, got.err)
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

// TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn: the holder's node goes when the
// Mutex has no waiter, and the next one in the parent that was made anew has
// its name.
func TestWhatAWaiterThatGaveUpWatchedLetsNobodyIn(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutexWith(tb.connectAs(ordinary{}))
		holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
		ctx, giveUp := context.WithCancel(context.Background())
		first := lockAside(ctx, m, zklock.NewOwner("first"))
		synctest.Wait()
		giveUp()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		synctest.Wait()
		require.NoError(tb, holder.Unlock(context.Background()))
		tb.remakeTop(tb.connect())
		next := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("next"))
		second := lockAside(context.Background(), m, zklock.NewOwner("second"))
		time.Sleep(time.Second) // for the second to get in by mistake
		require.Empty(tb, second, "two holders: the second was let in by a node that has gone")
		require.NoError(tb, next.Unlock(context.Background()))
		got := <-second
		require.NoError(tb, got.err)
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

// TestAWaiterBehindTwoIsNotLetInWhenTheNearerLeaves: the farther one still holds
// the lock.
func TestAWaiterBehindTwoIsNotLetInWhenTheNearerLeaves(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("holder"))
		ctx, giveUp := context.WithCancel(context.Background())
		nearer := lockAside(ctx, tb.mutexWith(tb.connect()), zklock.NewOwner("nearer"))
		time.Sleep(time.Second) // until it waits
		waiter := lockAside(context.Background(), tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it watches both
		giveUp()
		require.ErrorIs(tb, (<-nearer).err, context.Canceled)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders")
		require.NoError(tb, holder.Unlock(context.Background()))
		require.NoError(tb, (<-waiter).lease.Unlock(context.Background()))
	})
}

// TestAHolderOvertakesNoStranger: of two nodes of a Mutex, a contender of another
// process may be between.
func TestAHolderOvertakesNoStranger(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, id := tb.mutexWith(conn, zklock.WithHandOver(1, 0)), conn.SessionID()
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		stranger := lockAside(context.Background(), tb.mutexWith(tb.connect()), zklock.NewOwner("stranger"))
		synctest.Wait()
		last := lockAside(context.Background(), m, zklock.NewOwner("last"))
		synctest.Wait()
		require.Len(tb, tb.srv.Children(top), 3)
		unlocks := tb.srv.HoldReply(of(id, jute.OpDelete, holder.Node()))
		unlocked := make(chan error, 1)
		go func() { unlocked <- holder.Unlock(context.Background()) }()
		<-unlocks.Hit()
		unlocks.Release()
		require.NoError(tb, <-unlocked)
		synctest.Wait()
		require.Empty(tb, last, "two holders: the stranger is before the last one")
		require.NoError(tb, (<-stranger).lease.Unlock(context.Background()))
		require.NoError(tb, (<-last).lease.Unlock(context.Background()))
	})
}
