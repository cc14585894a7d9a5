package zklock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

const throttled = jute.Code(-127) // what a server under load says; it passes

// TestASearchThatIsThrottledLeavesNoOrphan: the reply to create is lost, and
// the server refuses once to answer one of the requests with which the
// contender looks for its node. If the contender gives up meanwhile, the node goes.
func TestASearchThatIsThrottledLeavesNoOrphan(t *testing.T) {
	for what, op := range map[string]jute.Op{"Sync": jute.OpSync, "Children": jute.OpGetChildren2, "Get": jute.OpGetData, "it gives up": jute.OpGetChildren2} {
		onTables(t, what, func(tb *table) {
			tb.makeTop()
			conn := tb.connectAs(ordinary{})
			id := conn.SessionID()
			lost := tb.srv.LoseReply(creates(id))
			refused := tb.srv.Fail(throttled, of(id, op, ""))
			if what == "it gives up" {
				asks := tb.srv.Hold(of(id, jute.OpSync, ""))
				_, giveUp := tb.mayGiveUp(tb.mutex(conn), nil)
				<-asks.Hit()
				giveUp()
				asks.Release()
				time.Sleep(5 * time.Second) // much less than the session timeout
				require.Empty(tb, tb.srv.Children(top), "a contender that has given up leaves its node")
				return
			}
			l, err := tb.mutex(conn).Lock(limited(tb, time.Minute), nil)
			require.Len(tb, lost.Hit(), 1)
			require.Len(tb, refused.Hit(), 1)
			require.NoError(tb, err, "Lock returns while its node is in the queue")
			require.Len(tb, tb.srv.Children(top), 1)
			require.NoError(tb, l.Unlock(context.Background()))
			synctest.Wait()
			require.Empty(tb, tb.srv.Children(top))
		})
	}
}

// TestARecordOfAnotherDoesNotCostTheLease: somebody writes another contender's record
// into a holder's node, with a request that was for that one.
func TestARecordOfAnotherDoesNotCostTheLease(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		old := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("old"))
		record, ok := tb.srv.Node(old.Node())
		require.True(tb, ok)
		require.NoError(tb, old.Unlock(context.Background()))
		holder := tb.mustLock(tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("new"))
		tb.set(admin, holder.Node(), asked(record.Data))
		time.Sleep(time.Minute) // until the node has been read many times
		require.False(tb, isClosed(holder.Lost()))
		require.False(tb, isClosed(holder.RevokeRequested()), "another was asked")
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// asked is a record with a request for the lock in it, as Revoke writes it.
func asked(record []byte) string { return strings.TrimSuffix(string(record), "}") + `,"revoke":true}` }

// TestARecordOfAnotherBeforeTheFirstReadOrphansNobody is the same for a waiter
// that finds the other's record when it reads its node for the first time.
func TestARecordOfAnotherBeforeTheFirstReadOrphansNobody(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		record, ok := tb.srv.Node(holder.Node())
		require.True(tb, ok)
		reads := tb.srv.Hold(ofNode(conn.SessionID(), jute.OpGetData))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter"))
		<-reads.Hit()
		tb.set(admin, tb.node(1), asked(record.Data))
		reads.Release()
		synctest.Wait()
		require.NoError(tb, holder.Unlock(context.Background()))
		got := gets(tb, waiter, "it waits for its own node")
		require.False(tb, isClosed(got.RevokeRequested()), "another was asked")
		require.NoError(tb, got.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestARequestOfCuratorDoesNotHideTheOwner: Curator's Revoker writes its request
// over the record.
func TestARequestOfCuratorDoesNotHideTheOwner(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutex(tb.connectAs(ordinary{}), zklock.WithData([]byte("the host")))
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		tb.set(tb.connect(), tb.node(0), "__REVOKE__")
		time.Sleep(2 * time.Second) // until the holder has read it
		require.True(tb, isClosed(holder.RevokeRequested()))
		queue := tb.participants(m)
		require.Len(tb, queue, 1)
		require.Equal(tb, "holder", queue[0].Owner)
		require.Equal(tb, "the host", string(queue[0].Data))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
