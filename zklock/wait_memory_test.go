package zklock_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
)

// TestAttemptsThatGiveUpShareTheirWatches: go-zookeeper keeps a channel for
// each GetW until the node goes. The tap counts how many it wakes then. One waiter stays.
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
			stays := queues(m) // and the last node has gone
			require.Empty(tb, stays, "two holders")
			require.Len(tb, tb.srv.Children(top), behind+1)
			before := tap.Counts()
			for _, other := range others {
				passes(tb, other)
				synctest.Wait()
			}
			freed := time.Now()
			passes(tb, stays)
			require.Zero(tb, time.Since(freed), "it uses a watch that those have left, and gets its event")
			synctest.Wait()
			require.Empty(tb, tb.srv.Watches())
			require.LessOrEqual(tb, tap.Counts().Since(before).WakeUps, int64(2*behind+1),
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

// TestDeletesThatAreRefusedBackOff counts what a server that refuses is sent in an hour: by the holder's Unlock, and by a
// waiter that gave up. It says that it may not, or that it has too much to do. The nodes go soon after it has stopped refusing.
func TestDeletesThatAreRefusedBackOff(t *testing.T) {
	for code, end := range map[jute.Code]error{jute.ErrNoAuth: zk.ErrNoAuth, throttled: context.DeadlineExceeded} {
		onTables(t, fmt.Sprint(code), func(tb *table) {
			tap := wiretap.New()
			conn := tb.connectAs(ordinary{wrap: tapped(tap)})
			m := tb.mutex(conn)
			holder := tb.mustLock(m, nil)
			for range 2 {
				tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpDelete, ""))
			}
			require.NoError(tb, holder.Unlock(context.Background()), "the reason may pass")
			holder = tb.mustLock(m, nil)
			_, giveUp := tb.mayGiveUp(tb.mutex(conn), nil)
			refused := tb.srv.Fail(code, of(conn.SessionID(), jute.OpDelete, "")).Every()
			giveUp()
			require.ErrorIs(tb, holder.Unlock(limited(tb, time.Second)), end)
			before := tap.Counts()
			time.Sleep(time.Hour)         // in which nothing changes
			const each = 3600 / (10. / 3) // a pause of a third of the session timeout
			require.InDelta(tb, 2*each, tap.Counts().Since(before).Requests[jute.OpDelete], each/5)
			refused.Release()
			time.Sleep(5 * time.Minute) // until the next try
			require.Empty(tb, tb.srv.Children(top))
		})
	}
}
