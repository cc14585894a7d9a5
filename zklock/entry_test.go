package zklock_test

import (
	"context"
	"net"
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
	"example.com/zklock/zkserver"
)

// TestARevokeOutlastsARepair: a client writes over the record, and while the
// holder writes it again, another one asks for the lock.
func TestARevokeOutlastsARepair(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until its node is watched
		repair := tb.srv.Hold(of(conn.SessionID(), jute.OpSetData, tb.node(0)))
		tb.set(admin, tb.node(0), "mine")
		<-repair.Hit()
		tb.set(admin, tb.node(0), "__REVOKE__") // as Curator's Revoker does
		repair.Release()
		synctest.Wait()
		require.True(tb, isClosed(holder.RevokeRequested()), "the repair has written over the request")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestALeaseOutlastsTheRightToRead its node, and to list the queue, which a node that may stay is guarded by: what
// makes up for a lost event may fail. The session is proved without it.
func TestALeaseOutlastsTheRightToRead(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		ours := tb.mutex(conn, always...)
		tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpGetChildren2, top))
		require.NoError(tb, tb.mustLock(ours, nil).Unlock(context.Background()))
		tb.isNotCached(ours) // others would wait for it
		tb.cached(ours)
		l := tb.mustLock(ours, nil)
		time.Sleep(2 * time.Second) // until its node is watched
		tb.allow(admin, tb.node(0), zk.PermAll&^zk.PermRead)
		refused := tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpGetChildren2, top)).Every()
		lasts(tb, l)
		require.NotEmpty(tb, refused.Hit())
	})
}

// TestANodeThatHasGoneIsNotAskedFor: an event or a read has shown that it has gone,
// and neither a read nor a delete of it is sent after that.
func TestANodeThatHasGoneIsNotAskedFor(t *testing.T) {
	for what, goes := range map[string]func(tb *table, conn, admin *zk.Conn, node string){
		"with its session": func(tb *table, conn, _ *zk.Conn, _ string) { tb.srv.Expire(conn.SessionID()) },
		"by hand":          func(tb *table, _, admin *zk.Conn, node string) { require.NoError(tb, admin.Delete(node, -1)) },
	} {
		onTables(t, what, func(tb *table) {
			conn, admin := tb.connect(), tb.connect()
			m := tb.mutex(conn)
			holder := tb.mustLock(m, zklock.NewOwner("holder"))
			time.Sleep(2 * time.Second) // until its node is watched
			node := tb.node(0)
			asked := tb.srv.Hold(func(r zkserver.Request) bool { return r.Path == node && r.Session != admin.SessionID() })
			defer asked.Release()
			goes(tb, conn, admin, node)
			time.Sleep(10 * time.Second) // until the client has another session
			require.Empty(tb, asked.Hit())
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// TestASearchThatIsRefusedEndsWithItsSession: the node has gone with it.
func TestASearchThatIsRefusedEndsWithItsSession(t *testing.T) {
	onOrdinary(t, func(tb *table, conn *zk.Conn) {
		tb.allow(tb.makeTop(), top, zk.PermAll&^zk.PermRead)
		m := tb.mutex(conn)
		lost := tb.srv.LoseReply(creates(conn.SessionID()))
		_, err := m.Lock(context.Background(), zklock.NewOwner("owner"))
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		require.ErrorIs(tb, m.Shutdown(limited(tb, time.Minute)), context.DeadlineExceeded, "it is looked for until it is found")
		tb.srv.Expire(conn.SessionID())
		require.NoError(tb, m.Shutdown(limited(tb, time.Minute)))
	})
}

// farEpoch makes zxids in answers larger than a token has room for: the czxid and the pzxid of a Stat at the end.
func farEpoch(nc net.Conn) net.Conn {
	return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		const header, stat = 4 + 4 + 8 + 4, 68
		if n := len(packet); n >= header+stat {
			packet[n-stat], packet[n-8] = 0x40, 0x40
		}
		return packet
	}})
}

// TestAZxidThatATokenHasNoRoomForIsAnError, whether a list tells it or a read: a token
// would be lower than an earlier one.
func TestAZxidThatATokenHasNoRoomForIsAnError(t *testing.T) {
	onTable(t, func(tb *table) {
		far := func() *zklock.Mutex { return tb.mutex(tb.connectAs(ordinary{wrap: farEpoch})) }
		require.ErrorContains(tb, testenv.Err(far().Lock(context.Background(), nil)), "a token has room for 53 bits")
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		waiter := queues(far())
		require.NoError(tb, holder.Unlock(context.Background()))
		require.ErrorContains(tb, (<-waiter).err, "a token has room for 53 bits")
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
	})
}

func TestAnErrorThatTheClientKnowsByItsNumberIsNamed(t *testing.T) {
	onTable(t, func(tb *table) {
		for code, means := range map[jute.Code]string{-124: "enforce.auth.enabled", -125: "quota"} {
			conn := tb.connect()
			tb.srv.Fail(code, creates(conn.SessionID()))
			require.ErrorContains(tb, testenv.Err(tb.mutex(conn).Lock(context.Background(), nil)), means)
		}
	})
}

// TestUnlockReturnsErrLostThoughItsDeleteWasDropped: the client has not sent it when the session ends with its node.
func TestUnlockReturnsErrLostThoughItsDeleteWasDropped(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), nil)
		away := tb.srv.LoseRequest(of(id, jute.OpConnect, "")).Every() // every server closes the connection
		tb.srv.Cut(id)
		<-away.Hit()
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		time.Sleep(1500 * time.Millisecond) // until the client has dropped the delete
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		away.Release()
		require.ErrorIs(tb, <-unlocked, zklock.ErrLost)
	})
}

// TestATokenIsReadIfAnotherHasQueuedBeforeTheList: the list does not show it then.
func TestATokenIsReadIfAnotherHasQueuedBeforeTheList(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop() // or the first makes it, and lists nothing
		conn := tb.connectAs(ordinary{})
		list := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
		first := lockAside(context.Background(), tb.mutex(conn), nil)
		<-list.Hit()
		second := queues(tb.mutex(tb.connect()))
		list.Release()
		got := gets(tb, first)
		node, ok := tb.srv.Node(got.Node())
		require.True(tb, ok)
		require.Equal(tb, node.Stat.Czxid<<10, got.Token())
		handsOver(tb, got, second)
	})
}

const throttled = jute.Code(-127) // what a server under load says; it passes

// TestAServerWithoutContainersGetsAnOrdinaryParent, however it says that it knows none, and though it only closes
// the connection, as those do that are not ZooKeeper's own.
func TestAServerWithoutContainersGetsAnOrdinaryParent(t *testing.T) {
	type refusal = func(srv *zkserver.Server, when func(zkserver.Request) bool) *zkserver.Fault
	says := func(code jute.Code) refusal {
		return func(srv *zkserver.Server, when func(zkserver.Request) bool) *zkserver.Fault {
			return srv.Fail(code, when)
		}
	}
	for how, refuse := range map[string]refusal{
		"-6": says(jute.ErrUnimplemented), "-8": says(jute.ErrBadArguments), "it closes the connection": (*zkserver.Server).LoseRequest,
	} {
		for name, connect := range map[string]func(*table, ensemble.Options) *zk.Conn{"zkconn.Connect": (*table).connectWith, "zk.Connect": ordinaryClient} {
			onTables(t, how+", "+name, func(tb *table) {
				refused := refuse(tb.srv, func(r zkserver.Request) bool { return r.Op == jute.OpCreateContainer }).Every()
				m := tb.mutexAt("/a/b/c", connect(tb, ensemble.Options{}))
				l := testenv.Must(m.Lock(limited(tb, 10*time.Second), nil))(tb)
				node, _ := tb.srv.Node("/a/b/c")
				require.False(tb, node.Container)
				require.NoError(tb, l.Unlock(context.Background()))
				require.LessOrEqual(tb, len(refused.Hit()), 5)
				refused.Release()
			})
		}
	}
	onTable(t, func(tb *table) { // two closed connections may be an outage
		admin, m := tb.connect(), tb.mutex(tb.connect())
		for range 2 {
			for range 2 {
				tb.srv.LoseRequest(func(r zkserver.Request) bool { return r.Op == jute.OpCreateContainer })
			}
			require.NoError(tb, tb.mustLock(m, nil).Unlock(context.Background()))
			node, _ := tb.srv.Node(top)
			require.True(tb, node.Container)
			require.NoError(tb, admin.Delete(top, -1))
		}
	})
}
