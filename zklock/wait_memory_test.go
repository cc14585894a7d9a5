package zklock_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// TestAttemptsThatGiveUpShareTheirWatches: go-zookeeper keeps a channel for
// each GetW until the node goes. The tap counts how many it wakes then.
func TestAttemptsThatGiveUpShareTheirWatches(t *testing.T) {
	testenv.RacedAtLength(t, "it plays a thousand attempts, and a hundred are played with it")
	for what, behind := range map[string]int{"of the holder": 1, "of the two before it": 2} {
		onTables(t, what, func(tb *table) {
			tap := wiretap.New()
			m := tb.mutex(tb.connectAs(ordinary{wrap: tapped(tap)}))
			var others []<-chan locked
			for range behind {
				others = append(others, queues(tb.mutex(tb.connect())))
			}
			for range 1000 {
				tb.givesUp(m)
			}
			time.Sleep(time.Second) // until the last node has gone
			require.Len(tb, tb.srv.Children(top), behind)
			before := tap.Counts()
			for _, other := range others {
				passes(tb, other)
				synctest.Wait()
			}
			require.LessOrEqual(tb, tap.Counts().Since(before).WakeUps, int64(2*behind),
				"channels that 1000 attempts have left in the client")
		})
	}
}

// TestAttemptsBehindOthersThatComeAndGoLeaveNothing: each gives up before the two
// contenders before it go.
func TestAttemptsBehindOthersThatComeAndGoLeaveNothing(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.makeTop()
		m := tb.mutex(tb.connectAs(ordinary{}))
		for range 100 {
			var nodes []string
			for range 2 {
				nodes = append(nodes, tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential))
			}
			tb.givesUp(m)
			require.Len(tb, tb.srv.Children(top), 2)
			for _, node := range nodes {
				require.NoError(tb, admin.Delete(node, -1))
			}
			synctest.Wait()
		}
		left := reflect.ValueOf(m).Elem().FieldByName("watches").Len()
		require.LessOrEqual(tb, left, 4, "nodes that have gone, and that the Mutex still remembers")
	})
}

// TestOneWaiterAfterManyThatGaveUpIsLetInAtOnce: it uses a watch that those have
// left, and gets its event.
func TestOneWaiterAfterManyThatGaveUpIsLetInAtOnce(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutex(tb.connectAs(ordinary{}))
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		for range 10 {
			tb.givesUp(m)
		}
		stays := waits(m)
		require.Empty(tb, stays, "two holders")
		freed := time.Now()
		require.NoError(tb, holder.Unlock(context.Background()))
		got := gets(tb, stays)
		require.Zero(tb, time.Since(freed))
		require.NoError(tb, got.Unlock(context.Background()))
		synctest.Wait()
		require.Empty(tb, tb.srv.Watches())
	})
}

// TestRefusedDeletesBackOff counts what a server that refuses is sent in an
// hour, and that the node goes soon after it has stopped refusing.
func TestRefusedDeletesBackOff(t *testing.T) {
	onTable(t, func(tb *table) {
		const places, mostPerPlace = 3, 1200 // a pause of a third of the session timeout
		admin := tb.makeTop()
		tap := wiretap.New()
		conn := tb.connectAs(ordinary{wrap: tapped(tap)})
		var waiters []<-chan locked
		ctx, cancel := context.WithCancel(context.Background())
		for range places {
			waiters = append(waiters, lockAside(ctx, tb.mutex(conn), zklock.NewOwner("owner")))
			synctest.Wait()
		}
		require.Len(tb, tb.srv.Children(top), places)
		first := gets(tb, waiters[0])
		tb.allow(admin, top, zk.PermAll&^zk.PermDelete)
		cancel()
		for _, w := range waiters[1:] {
			require.ErrorIs(tb, (<-w).err, context.Canceled)
		}
		require.ErrorIs(tb, first.Unlock(context.Background()), zk.ErrNoAuth)
		before := tap.Counts()
		time.Sleep(time.Hour) // in which nothing changes
		deletes := tap.Counts().Since(before).Requests[jute.OpDelete]
		require.LessOrEqual(tb, deletes, int64(places*mostPerPlace), "deletes in an hour that the server has refused")
		require.Positive(tb, deletes, "nobody tries again")
		tb.allow(admin, top, zk.PermAll)
		time.Sleep(5 * time.Minute) // until the next try
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestThrottledDeletesBackOff: a server that has too much to do says that it has
// not carried out a request.
func TestThrottledDeletesBackOff(t *testing.T) {
	onOrdinary(t, func(tb *table, conn *zk.Conn) {
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("owner"))
		var refused []*zkserver.Fault
		for range 1200 {
			refused = append(refused, tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpDelete, tb.node(0))))
		}
		require.ErrorIs(tb, holder.Unlock(limited(tb, time.Second)), context.DeadlineExceeded)
		time.Sleep(time.Hour) // in which nothing changes
		sent := 0
		for _, f := range refused {
			sent += len(f.Hit())
		}
		require.LessOrEqual(tb, sent, 1100, "deletes in an hour that the server has throttled")
		require.Greater(tb, sent, 1000, "it tries every third of the session timeout")
		releaseAll(refused)
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestUnlockOutlastsTwoRefusals: the reason may pass.
func TestUnlockOutlastsTwoRefusals(t *testing.T) {
	onOrdinary(t, func(tb *table, conn *zk.Conn) {
		l := tb.mustLock(tb.mutex(conn), zklock.NewOwner("owner"))
		for range 2 {
			tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpDelete, ""))
		}
		require.NoError(tb, l.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}
