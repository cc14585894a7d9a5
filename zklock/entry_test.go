package zklock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// TestAnUnlockThatIsTriedTwiceTouchesNobodyElsesNode: the second try finds no
// server, and the third must take the first into account.
func TestAnUnlockThatIsTriedTwiceTouchesNobodyElsesNode(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connectAs(ordinary{wrap: watchesFirst}), tb.connect()
		id := conn.SessionID()
		back, unlocked := tb.unlockUnanswered(id, tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder")))
		tb.remakeTop(admin)
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		synctest.Wait() // until the client is back, and the second try is due
		back = tb.srv.Hold(handshakeOf(id))
		tb.srv.Cut(id)
		<-back.Hit()
		time.Sleep(time.Second) // until the second try has failed
		back.Release()
		require.NoError(tb, <-unlocked)
		require.Len(tb, tb.srv.Children(top), 1, "the Unlock has deleted the node of the next holder: two holders")
		require.NoError(tb, next.Unlock(context.Background()))
	})
}

// TestANodeThatIsGoneBeforeItIsFoundIsMadeAgain: the create was carried out in
// the client's next session, and somebody deletes the node before the
// contender has looked in which session it is.
func TestANodeThatIsGoneBeforeItIsFoundIsMadeAgain(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		tb.makeTop(admin)
		id := conn.SessionID()
		back := tb.srv.Hold(handshakeOf(id))
		tb.srv.Cut(id)
		<-back.Hit()
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("owner"))
		synctest.Wait() // its create waits in the client
		tb.srv.Expire(id)
		looks := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpSync && r.Session != admin.SessionID() })
		back.Release()
		<-looks.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		looks.Release()
		got := gets(tb, waiter)
		require.Contains(tb, tokens(tb), got.Token())
		require.NoError(tb, got.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestASecondLostCreateIsFoundByASearchOfItsOwn: the result of the first search
// must not be used for it.
func TestASecondLostCreateIsFoundByASearchOfItsOwn(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := tb.connectAs(ordinary{})
		m := tb.mutex(conn)
		for i := range 3 {
			lost := tb.srv.LoseReply(creates(conn.SessionID()))
			l := tb.mustLock(m, zklock.NewOwner("owner"))
			require.Len(tb, lost.Hit(), 1)
			require.Len(tb, tb.srv.Children(top), 1)
			require.True(tb, strings.HasSuffix(tb.node(0), fmt.Sprintf("-lock-%010d", i)), tb.node(0))
			require.NoError(tb, l.Unlock(context.Background()))
			require.Empty(tb, tb.srv.Children(top))
		}
	})
}

// TestASearchAndADeleteThatAreBothRefusedAreSurvived: an operator has taken
// away both rights, and gives back one after the other.
func TestASearchAndADeleteThatAreBothRefusedAreSurvived(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		tb.makeTop(admin)
		may := func(perms int32) {
			_, err := admin.SetACL(top, zk.WorldACL(perms|zk.PermAdmin), -1)
			require.NoError(tb, err)
		}
		conn := tb.connectAs(ordinary{})
		may(zk.PermCreate)
		lost := tb.srv.LoseReply(creates(conn.SessionID()))
		_, err := tb.mutex(conn).Lock(context.Background(), zklock.NewOwner("owner"))
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		may(zk.PermRead | zk.PermCreate)
		time.Sleep(5 * time.Minute) // until it has been found, and its delete refused often
		require.Len(tb, tb.srv.Children(top), 1)
		may(zk.PermAll)
		time.Sleep(5 * time.Minute) // until the next try
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestARevokeOutlastsARepair: a client writes over the record, and while the
// holder writes it again, another one asks for the lock.
func TestARevokeOutlastsARepair(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until its node is watched
		repair := tb.srv.Hold(of(conn.SessionID(), jute.OpSetData, tb.node(0)))
		_, err := admin.Set(tb.node(0), []byte("mine"), -1)
		require.NoError(tb, err)
		<-repair.Hit()
		_, err = admin.Set(tb.node(0), []byte("__REVOKE__"), -1) // as Curator's Revoker does
		require.NoError(tb, err)
		repair.Release()
		synctest.Wait()
		require.True(tb, isClosed(holder.RevokeRequested()), "the repair has written over the request")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestALeaseOutlastsTheRightToReadItsNode: the read that makes up for a lost event
// may fail. The session is proved without it.
func TestALeaseOutlastsTheRightToReadItsNode(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until its node is watched
		_, err := admin.SetACL(tb.node(0), zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(tb, err)
		_, _, err = conn.Get(tb.node(0))
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		lasts(tb, holder)
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

// TestUnlockReturnsErrLostIfTheSessionEndsBeforeItsDelete: in the next session the
// node has gone, too, but not by Unlock.
func TestUnlockReturnsErrLostIfTheSessionEndsBeforeItsDelete(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		lost := tb.srv.LoseRequest(of(id, jute.OpDelete, ""))
		back := tb.srv.Hold(handshakeOf(id))
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		<-lost.Hit()
		<-back.Hit()
		tb.srv.Expire(id)
		back.Release()
		require.ErrorIs(tb, <-unlocked, zklock.ErrLost)
	})
}

// TestASearchThatIsRefusedEndsWithItsSession: the node has gone with it.
func TestASearchThatIsRefusedEndsWithItsSession(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		tb.makeTop(admin)
		_, err := admin.SetACL(top, zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(tb, err)
		m := tb.mutex(conn)
		lost := tb.srv.LoseReply(creates(conn.SessionID()))
		_, err = m.Lock(context.Background(), zklock.NewOwner("owner"))
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		ctx := limited(tb, time.Minute)
		require.ErrorIs(tb, m.Shutdown(ctx), context.DeadlineExceeded, "it is looked for until it is found")
		tb.srv.Expire(conn.SessionID())
		ctx = limited(tb, time.Minute)
		require.NoError(tb, m.Shutdown(ctx))
	})
}

// A farEpoch makes zxids in answers larger than a token has room for: the czxid and the
// pzxid of a Stat at the end.
type farEpoch struct {
	net.Conn
	in *bytes.Buffer // what has arrived of packets that are whole
}

func (c farEpoch) Read(b []byte) (int, error) {
	for c.in.Len() == 0 {
		var length [4]byte
		if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
			return 0, err
		}
		packet := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c.Conn, packet); err != nil {
			return 0, err
		}
		const header, stat = 4 + 8 + 4, 68
		if n := len(packet); n >= header+stat {
			packet[n-stat], packet[n-8] = 0x40, 0x40
		}
		c.in.Write(append(length[:], packet...))
	}
	return c.in.Read(b)
}

// TestAZxidThatATokenHasNoRoomForIsAnError, whether a list tells it or a read: a token
// would be lower than an earlier one.
func TestAZxidThatATokenHasNoRoomForIsAnError(t *testing.T) {
	onTable(t, func(tb *table) {
		far := func() *zklock.Mutex {
			return tb.mutex(tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return farEpoch{nc, new(bytes.Buffer)} }}))
		}
		_, err := far().Lock(context.Background(), nil)
		require.ErrorContains(tb, err, "a token has room for 53 bits")
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		waiter := lockAside(context.Background(), far(), nil)
		time.Sleep(time.Second) // until it waits
		require.NoError(tb, holder.Unlock(context.Background()))
		require.ErrorContains(tb, (<-waiter).err, "a token has room for 53 bits")
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAQuotaIsNamed: the client knows its error by a number only.
func TestAQuotaIsNamed(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		tb.srv.Fail(jute.Code(-125), creates(conn.SessionID()))
		_, err := tb.mutex(conn).Lock(context.Background(), nil)
		require.ErrorContains(tb, err, "quota")
	})
}

// TestUnlockReturnsErrLostThoughItsDeleteWasDropped: the client has not sent it when the
// session ends with its node.
func TestUnlockReturnsErrLostThoughItsDeleteWasDropped(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), nil)
		away := tb.srv.LoseRequest(handshakeOf(id)).Every() // every server closes the connection
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
		conn := tb.connectAs(ordinary{})
		list := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
		first := lockAside(context.Background(), tb.mutex(conn), nil)
		<-list.Hit()
		second := lockAside(context.Background(), tb.mutex(tb.connect()), nil)
		time.Sleep(time.Second) // until it is in the queue
		list.Release()
		got := gets(tb, first)
		node, ok := tb.srv.Node(got.Node())
		require.True(tb, ok)
		require.Equal(tb, node.Stat.Czxid<<10, got.Token())
		require.NoError(tb, got.Unlock(context.Background()))
		passes(tb, second)
	})
}
