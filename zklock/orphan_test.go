package zklock_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

const throttled = jute.Code(-127) // what a server under load says; it passes

// TestASearchThatIsThrottledLeavesNoOrphan: the reply to create is lost, and
// the server refuses once to answer one of the requests with which the
// contender looks for its node.
func TestASearchThatIsThrottledLeavesNoOrphan(t *testing.T) {
	for what, op := range map[string]jute.Op{"Sync": jute.OpSync, "Children": jute.OpGetChildren2, "Get": jute.OpGetData} {
		t.Run(what, func(t *testing.T) {
			onTable(t, func(tb *table) {
				tb.makeTop(tb.connect())
				conn := tb.connectAs(ordinary{})
				id := conn.SessionID()
				lost := tb.srv.LoseReply(creates(id))
				refused := tb.srv.Fail(throttled, of(id, op, ""))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				l, err := tb.mutexWith(conn).Lock(ctx, zklock.NewOwner("owner"))
				require.Len(tb, lost.Hit(), 1)
				require.Len(tb, refused.Hit(), 1)
				require.NoError(tb, err, "Lock returns while its node is in the queue")
				require.Len(tb, tb.srv.Children(top), 1)
				require.NoError(tb, l.Unlock(context.Background()))
				synctest.Wait()
				require.Empty(tb, tb.srv.Children(top))
			})
		})
	}
}

// TestAContenderThatGivesUpDuringAThrottledSearchLeavesNoOrphan is the same
// for a contender that nobody waits for when the search is refused.
func TestAContenderThatGivesUpDuringAThrottledSearchLeavesNoOrphan(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := tb.connectAs(ordinary{})
		id := conn.SessionID()
		tb.srv.LoseReply(creates(id))
		asks := tb.srv.Hold(of(id, jute.OpSync, ""))
		tb.srv.Fail(throttled, of(id, jute.OpGetChildren2, ""))
		ctx, cancel := context.WithCancel(context.Background())
		waiter := lockAside(ctx, tb.mutexWith(conn), zklock.NewOwner("owner"))
		<-asks.Hit()
		cancel()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		asks.Release()
		time.Sleep(5 * time.Second) // much less than the session timeout
		require.Empty(tb, tb.srv.Children(top), "a contender that has given up leaves its node")
	})
}

// TestALostCreateIsFoundUnderTheNameOfANodeThatHasGone: the parent was made
// anew, and the contender's node has the name that another place of the same
// Mutex has, which has not been told yet that its own node has gone.
func TestALostCreateIsFoundUnderTheNameOfANodeThatHasGone(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		conn := tb.connectWith(ensemble.Options{Wrap: func(nc net.Conn) net.Conn {
			return eventless{nc, new(bytes.Buffer)}
		}})
		id := conn.SessionID()
		m := tb.mutexWith(conn)
		former := tb.mustLock(m, zklock.NewOwner("former"))
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)

		lost := tb.srv.LoseReply(creates(id))
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		l, err := m.Lock(ctx, zklock.NewOwner("next"))
		require.Len(tb, lost.Hit(), 1)
		require.NoError(tb, err, "it waits for its own node: %v", tb.srv.Children(top))
		require.Len(tb, tb.srv.Children(top), 1)
		<-former.Lost()
		require.ErrorIs(tb, former.Unlock(context.Background()), zklock.ErrLost)
		time.Sleep(5 * time.Second) // for a node that goes by mistake
		require.Len(tb, tb.srv.Children(top), 1)
		require.False(tb, tb.isLost(l))
		require.NoError(tb, l.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALostCreateIsFoundInTheNextSession: the create waits in the client until
// that has another session. The node is of this one.
func TestALostCreateIsFoundInTheNextSession(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		tb.makeTop(tb.connect())
		id := conn.SessionID()
		back := tb.srv.Hold(handshakeOf(id))
		tb.srv.Cut(id)
		<-back.Hit()
		waiter := lockAside(context.Background(), tb.mutexWith(conn), zklock.NewOwner("owner"))
		synctest.Wait() // its create waits in the client
		tb.srv.Expire(id)
		back.Release()
		select {
		case got := <-waiter:
			require.NoError(tb, got.err)
			require.Len(tb, tb.srv.Children(top), 1)
			require.NoError(tb, got.lease.Unlock(context.Background()))
		case <-time.After(time.Minute):
			require.Fail(tb, "it waits for its own node", "%v", tb.srv.Children(top))
		}
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestWhatCuratorWritesDoesNotHideTheOwner: Curator's Revoker puts its word in
// the place of the record.
func TestWhatCuratorWritesDoesNotHideTheOwner(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutexWith(tb.connectAs(ordinary{}), zklock.WithData([]byte("the host")))
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		_, err := tb.connect().Set(tb.node(0), []byte("__REVOKE__"), -1)
		require.NoError(tb, err)
		time.Sleep(2 * time.Second) // until the holder has read it
		require.True(tb, isClosed(holder.RevokeRequested()))
		queue, err := m.Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, 1)
		require.Equal(tb, "holder", queue[0].Owner)
		require.Equal(tb, "the host", string(queue[0].Data))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
