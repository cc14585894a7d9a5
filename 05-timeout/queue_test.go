package timeout_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/zkserver"
)

// handshakeOf is true of a client that comes back to its session.
func handshakeOf(session int64) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == session }
}

// TestAHolderInTheOldParentLetsNobodyInInTheNewOne: the holder's delete is
// carried out and not answered, the parent is made anew, and a contender of
// the same Mutex gets the number after the holder's in it before the holder
// knows that its node has gone.
func TestAHolderInTheOldParentLetsNobodyInInTheNewOne(t *testing.T) {
	for after := range 10 {
		onTable(t, func(tb *table) {
			conn, admin := tb.connectAs(ordinary{wrap: watchesFirst}), tb.connect()
			id := conn.SessionID()
			m := tb.mutexWith(conn)
			holder := tb.mustLock(m, timeout.NewOwner("holder"))
			back, unlocked := tb.unlockUnanswered(id, holder)
			require.NoError(tb, admin.Delete(top, -1))
			next := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("next"))
			second := lockAside(context.Background(), m, timeout.NewOwner("second"))
			time.Sleep(time.Second + time.Duration(after)*10*time.Millisecond) // until the client's next try is as far away
			back.Release()
			require.NoError(tb, <-unlocked)
			time.Sleep(time.Second) // for the second one to get in by mistake
			require.Empty(tb, second, "two holders: the second was let in by the holder in the old parent")
			require.Equal(tb, []string{"lock-0000000000", "lock-0000000001"}, tb.srv.Children(top))
			require.NoError(tb, next.Unlock(context.Background()))
			got := <-second
			require.NoError(tb, got.err)
			require.NoError(tb, got.lease.Unlock(context.Background()))
		})
	}
}

// deafTo is a connection on which no event of one node arrives, as happens to a
// client that is just coming back.
type deafTo struct {
	net.Conn
	in   *bytes.Buffer // what has arrived of packets that are whole
	path string
}

func (c deafTo) Read(b []byte) (int, error) {
	for c.in.Len() == 0 {
		var length [4]byte
		if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
			return 0, err
		}
		packet := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c.Conn, packet); err != nil {
			return 0, err
		}
		if int32(binary.BigEndian.Uint32(packet)) != -1 || !bytes.Contains(packet, []byte(c.path)) {
			c.in.Write(append(length[:], packet...))
		}
	}
	return c.in.Read(b)
}

// TestAWaiterWhoseNodeHasGoneWithTheHoldersIsNotLetIn: an operator removes the
// parent with all its nodes, and the waiter misses the event of its own.
func TestAWaiterWhoseNodeHasGoneWithTheHoldersIsNotLetIn(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		_, err := admin.Create("/other", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			return deafTo{nc, new(bytes.Buffer), top + "/lock-0000000001"}
		}})
		m := tb.mutexWith(conn)
		holder := tb.mustLock(m, timeout.NewOwner("holder"))
		waiter := lockAside(context.Background(), m, timeout.NewOwner("waiter"))
		synctest.Wait()
		late := tb.srv.HoldReply(of(conn.SessionID(), jute.OpExists, "/other")) // and all that follows
		go conn.Exists("/other")
		<-late.Hit()
		for _, node := range []string{top + "/lock-0000000001", top + "/lock-0000000000", top} {
			require.NoError(tb, admin.Delete(node, -1))
		}
		next := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("next"))
		late.Release()
		<-holder.Lost()
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in by a holder whose node had gone")
		require.NoError(tb, next.Unlock(context.Background()))
		got := <-waiter
		require.NoError(tb, got.err)
		require.Contains(tb, tokens(tb), got.lease.Token(), "it holds the lock without a node in the queue")
		require.ErrorIs(tb, holder.Unlock(context.Background()), timeout.ErrLost)
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

// tokens are what the contenders that are in the queue hold the lock with.
func tokens(tb *table) (all []int64) {
	for _, name := range tb.srv.Children(top) {
		node, _ := tb.srv.Node(top + "/" + name)
		all = append(all, node.Stat.Czxid)
	}
	return all
}

// TestAContenderThatHearsAtOnceOfItsTurnAndOfItsEndDoesNotTakeTheLock: both
// have reached the client when its goroutine is woken. One processor lets the
// client read all before anybody else does anything.
func TestAContenderThatHearsAtOnceOfItsTurnAndOfItsEndDoesNotTakeTheLock(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 40 {
		onTable(t, func(tb *table) {
			admin := tb.connect()
			_, err := admin.Create("/other", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(tb, err)
			conn := tb.connectAs(ordinary{wrap: watchesFirst})
			m := tb.mutexWith(conn)
			holder := tb.mustLock(m, timeout.NewOwner("holder"))
			waiter := lockAside(context.Background(), m, timeout.NewOwner("waiter"))
			synctest.Wait()
			late := tb.srv.HoldReply(of(conn.SessionID(), jute.OpExists, "/other"))
			go conn.Exists("/other")
			<-late.Hit()
			require.NoError(tb, admin.Delete(top+"/lock-0000000001", -1))
			unlocked := make(chan error, 1)
			go func() { unlocked <- holder.Unlock(context.Background()) }()
			synctest.Wait()
			require.Empty(tb, tb.srv.Children(top))
			require.NoError(tb, admin.Delete(top, -1))
			next := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("next"))
			late.Release() // its node has gone, and the holder's: in one packet
			require.NoError(tb, <-unlocked)
			time.Sleep(time.Second) // for the waiter to get in by mistake
			require.Empty(tb, waiter, "two holders: the waiter had no node any more")
			require.NoError(tb, next.Unlock(context.Background()))
			require.NoError(tb, (<-waiter).lease.Unlock(context.Background()))
		})
	}
}

// TestOneSlowAnswerOnlyDelaysTheLock: after it the session is proved afresh.
func TestOneSlowAnswerOnlyDelaysTheLock(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{sessionTimeout: 40 * time.Second})
		m := tb.mutexWith(conn)
		holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
		waiter := lockAside(context.Background(), m, timeout.NewOwner("waiter"))
		time.Sleep(time.Second) // until it waits, and its session is not proved yet
		slow := tb.srv.HoldReply(func(r zkserver.Request) bool { return r.Session == conn.SessionID() && r.Op != jute.OpPing })
		time.Sleep(5 * time.Second) // more than what a create is good for
		require.NoError(tb, holder.Unlock(context.Background()))
		time.Sleep(2 * time.Second) // more than two thirds of 10 s in all
		slow.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		time.Sleep(time.Minute) // long enough for the lease to be lost by mistake
		require.False(tb, tb.isLost(got.lease))
		require.NoError(tb, got.lease.Unlock(context.Background()))
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
		waiter := lockAside(context.Background(), tb.mutexWith(conn), timeout.NewOwner("owner"))
		synctest.Wait() // its create waits in the client
		tb.srv.Expire(id)
		looks := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpSync && r.Session != admin.SessionID() })
		back.Release()
		<-looks.Hit()
		require.Equal(tb, []string{"lock-0000000000"}, tb.srv.Children(top))
		require.NoError(tb, admin.Delete(top+"/lock-0000000000", -1))
		looks.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		require.Contains(tb, tokens(tb), got.lease.Token())
		require.NoError(tb, got.lease.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestTryLockWhoseNodeIsTakenAwayTriesAgain: what is left of the first try is
// no contender that keeps the second one out.
func TestTryLockWhoseNodeIsTakenAwayTriesAgain(t *testing.T) {
	for range 50 {
		onTable(t, func(tb *table) {
			admin, conn := tb.connect(), tb.connectAs(ordinary{})
			tb.makeTop(admin)
			asks := tb.srv.HoldReply(of(conn.SessionID(), jute.OpCreate, ""))
			got := make(chan locked, 1)
			go func() {
				l, err := tb.mutexWith(conn).TryLock(context.Background(), timeout.NewOwner("owner"))
				got <- locked{l, err}
			}()
			<-asks.Hit()
			require.NoError(tb, admin.Delete(top+"/lock-0000000000", -1))
			asks.Release()
			tried := <-got
			require.NoError(tb, tried.err, "nobody holds the lock")
			require.NoError(tb, tried.lease.Unlock(context.Background()))
		})
	}
}
