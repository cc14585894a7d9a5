package timeout_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
)

// TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp: both wait at
// one place of the queue, and that is left when nobody waits any more.
func TestASecondGoroutineOfAnOwnerKeepsItsTurnWhenTheFirstGivesUp(t *testing.T) {
	onTable(t, func(tb *table) {
		m, shared := tb.mutexWith(tb.connectAs(ordinary{})), timeout.NewOwner("shared")
		holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
		ctx, cancel := context.WithCancel(context.Background())
		first := lockAside(ctx, m, shared)
		synctest.Wait()
		second := lockAside(context.Background(), m, shared)
		synctest.Wait()
		rival := lockAside(context.Background(), tb.mutexWith(tb.connect()), timeout.NewOwner("rival"))
		time.Sleep(time.Second) // until it waits
		require.Len(tb, tb.srv.Children(top), 3)
		cancel()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		time.Sleep(time.Second) // for a node that goes by mistake
		require.Equal(tb, []string{"lock-0000000000", "lock-0000000001", "lock-0000000002"}, tb.srv.Children(top),
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
				m, shared := tb.mutexWith(tb.connectAs(ordinary{})), timeout.NewOwner("shared")
				holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
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
		m, shared := tb.mutexWith(tb.connectAs(ordinary{})), timeout.NewOwner("shared")
		holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
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
		holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
		m := tb.mutexWith(tb.connect())
		ctx, giveUp := context.WithCancel(context.Background())
		first := lockAside(ctx, m, timeout.NewOwner("first"))
		time.Sleep(time.Second) // until it waits
		second := lockAside(context.Background(), m, timeout.NewOwner("second"))
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
