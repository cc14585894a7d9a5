package zklock_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
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
				lost := tb.srv.LoseReply(of(id, jute.OpCreate, ""))
				refused := tb.srv.Fail(throttled, of(id, op, ""))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				l, err := tb.mutexWith(conn).Lock(ctx, zklock.NewOwner("owner"))
				require.Len(tb, lost.Hit(), 1)
				require.Len(tb, refused.Hit(), 1)
				require.NoError(tb, err, "Lock returns while its node is in the queue")
				require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top))
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
		tb.srv.LoseReply(of(id, jute.OpCreate, ""))
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
		require.NoError(tb, admin.Delete(top+"/lock-0000000000", -1))
		tb.remakeTop(admin)

		lost := tb.srv.LoseReply(of(id, jute.OpCreate, ""))
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		l, err := m.Lock(ctx, zklock.NewOwner("next"))
		require.Len(tb, lost.Hit(), 1)
		require.NoError(tb, err, "it waits for its own node: %v", tb.srv.Children(top))
		require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top))
		<-former.Lost()
		require.ErrorIs(tb, former.Unlock(context.Background()), zklock.ErrLost)
		time.Sleep(5 * time.Second) // for a node that goes by mistake
		require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top))
		require.False(tb, tb.isLost(l))
		require.NoError(tb, l.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALateRevokeOrphansNobody: Revoke has read the node of a holder that goes
// then, with the parent. What it writes meets the first version of a node of
// the same name in the parent that was made anew.
func TestALateRevokeOrphansNobody(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, asker := tb.connect(), tb.connectAs(ordinary{})
		old := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("old"))
		late := tb.srv.Hold(of(asker.SessionID(), jute.OpSetData, ""))
		revoked := make(chan error, 1)
		go func() {
			m := tb.mutexWith(asker)
			revoked <- m.Revoke(context.Background(), zklock.Participant{Node: top + "/lock-0000000000"})
		}()
		<-late.Hit()
		require.NoError(tb, old.Unlock(context.Background()))
		require.NoError(tb, admin.Delete(top, -1))
		holder := tb.mustLock(tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("new"))
		next := lockAside(context.Background(), tb.mutexWith(tb.connect()), zklock.NewOwner("next"))
		time.Sleep(time.Second) // until it waits
		require.Equal(tb, []string{"lock-0000000000", "lock-0000000001"}, tb.srv.Children(top))
		late.Release()
		<-revoked
		time.Sleep(5 * time.Second) // until the holder has read its node again
		if !tb.isLost(holder) {
			require.NoError(tb, holder.Unlock(context.Background()))
		}
		select {
		case got := <-next:
			require.NoError(tb, got.err)
			require.NoError(tb, got.lease.Unlock(context.Background()))
		case <-time.After(time.Minute):
			require.Fail(tb, "the node of a holder whose record was overwritten blocks the queue")
		}
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALateRevokeDoesNotCostTheLease is TestALateRevokeOrphansNobody for the
// holder: what was written into its node is a request at most.
func TestALateRevokeDoesNotCostTheLease(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		old := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("old"))
		record, ok := tb.srv.Node(top + "/lock-0000000000")
		require.True(tb, ok)
		require.NoError(tb, old.Unlock(context.Background()))
		require.NoError(tb, admin.Delete(top, -1))
		holder := tb.mustLock(tb.mutexWith(tb.connectAs(ordinary{})), zklock.NewOwner("new"))
		_, err := admin.Set(top+"/lock-0000000000", record.Data, 0) // as Revoke writes it
		require.NoError(tb, err)
		time.Sleep(time.Minute) // until the node has been read many times
		require.False(tb, tb.isLost(holder))
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALateRevokeBeforeTheFirstReadOrphansNobody: the new holder finds the
// record of the old one when it reads its node for the first time.
func TestALateRevokeBeforeTheFirstReadOrphansNobody(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, asker, conn := tb.connect(), tb.connectAs(ordinary{}), tb.connectAs(ordinary{})
		old := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("old"))
		late := tb.srv.Hold(of(asker.SessionID(), jute.OpSetData, ""))
		revoked := make(chan error, 1)
		go func() {
			revoked <- tb.mutexWith(asker).Revoke(context.Background(), zklock.Participant{Node: top + "/lock-0000000000"})
		}()
		<-late.Hit()
		require.NoError(tb, old.Unlock(context.Background()))
		tb.remakeTop(admin)
		reads := tb.srv.Hold(of(conn.SessionID(), jute.OpGetData, top+"/lock-0000000000"))
		waiter := lockAside(context.Background(), tb.mutexWith(conn), zklock.NewOwner("new"))
		<-reads.Hit()
		late.Release()
		<-revoked
		reads.Release()
		select {
		case got := <-waiter:
			require.NoError(tb, got.err)
			require.False(tb, isClosed(got.lease.RevokeRequested()), "the old holder was asked, and not the new one")
			require.NoError(tb, got.lease.Unlock(context.Background()))
		case <-time.After(time.Minute):
			require.Fail(tb, "it waits for its own node", "%v", tb.srv.Children(top))
		}
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALateRepairBeforeTheFirstReadOrphansNobody: a holder puts its record back
// into its node, and that meets the next holder's.
func TestALateRepairBeforeTheFirstReadOrphansNobody(t *testing.T) {
	onTable(t, func(tb *table) {
		const node = top + "/lock-0000000000"
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		old := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("old"))
		_, err := admin.Set(node, []byte("scribble"), -1)
		require.NoError(tb, err)
		synctest.Wait()
		repaired, ok := tb.srv.Node(node)
		require.True(tb, ok)
		require.Contains(tb, string(repaired.Data), `"owner":"old"`)
		require.NoError(tb, old.Unlock(context.Background()))
		tb.remakeTop(admin)
		reads := tb.srv.Hold(of(conn.SessionID(), jute.OpGetData, node))
		got := lockAside(context.Background(), tb.mutexWith(conn), zklock.NewOwner("new"))
		<-reads.Hit()
		_, err = admin.Set(node, repaired.Data, 0) // as the repair would
		require.NoError(tb, err)
		reads.Release()
		select {
		case g := <-got:
			require.NoError(tb, g.err)
			require.NoError(tb, g.lease.Unlock(context.Background()))
		case <-time.After(time.Minute):
			require.Fail(tb, "it waits for its own node", "%v", tb.srv.Children(top))
		}
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestASearchDoesNotTakeAnothersNodeForOurs: the reply to create is lost, and
// before the contender looks for its node, that goes, with the parent. What a
// late Revoke writes puts its record into another's node; nobody wants the
// place any more, and the contender deletes what it finds.
func TestASearchDoesNotTakeAnothersNodeForOurs(t *testing.T) {
	onTable(t, func(tb *table) {
		const node = top + "/lock-0000000000"
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		tb.makeTop(admin)
		tb.srv.LoseReply(of(conn.SessionID(), jute.OpCreate, ""))
		looks := tb.srv.Hold(of(conn.SessionID(), jute.OpSync, ""))
		ctx, cancel := context.WithCancel(context.Background())
		waiter := lockAside(ctx, tb.mutexWith(conn), zklock.NewOwner("owner"))
		<-looks.Hit()
		record, ok := tb.srv.Node(node)
		require.True(tb, ok)
		require.NoError(tb, admin.Delete(node, -1))
		tb.remakeTop(admin)
		_, err := admin.Create(top+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		_, err = admin.Set(node, record.Data, 0) // as Revoke writes it
		require.NoError(tb, err)
		cancel()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		looks.Release()
		time.Sleep(5 * time.Second) // for a node that goes by mistake
		require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top), "it has deleted the node of another")
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
			require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top))
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
		_, err := tb.connect().Set(top+"/lock-0000000000", []byte("__REVOKE__"), -1)
		require.NoError(tb, err)
		time.Sleep(time.Second) // until the holder has read it
		require.True(tb, isClosed(holder.RevokeRequested()))
		queue, err := m.Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, 1)
		require.Equal(tb, "holder", queue[0].Owner)
		require.Equal(tb, "the host", string(queue[0].Data))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
