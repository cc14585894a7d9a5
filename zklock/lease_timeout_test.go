package zklock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

var three = []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}

// TestTheNextSessionMayBeShorter: the servers are replaced by others that agree
// to less. A Mutex that was made before uses the new session timeout.
func TestTheNextSessionMayBeShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // until the clients are closed
		long, short := zkserver.New(), zkserver.Run(t, zkserver.WithTick(200*time.Millisecond))
		var now atomic.Pointer[zkserver.Server]
		now.Store(long)
		conn, err := zkconn.Connect(t.Context(), three, 10*time.Second,
			zkconn.WithDialer(func(network, address string, d time.Duration) (net.Conn, error) {
				return now.Load().Dial(network, address, d)
			}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		mutex := newMutex(t, conn)
		lease, err := mutex.Lock(t.Context(), zklock.NewOwner("in a long session"))
		require.NoError(t, err)

		other, err := zkconn.Connect(t.Context(), three, 4*time.Second, zkconn.WithDialer(short.Dial))
		require.NoError(t, err)
		t.Cleanup(other.Close)
		for range 100 { // a server refuses a client that has seen later changes
			_, err := other.Create("/x", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		now.Store(short)
		long.Close()
		<-lease.Lost()
		holder, err := mutex.Lock(t.Context(), zklock.NewOwner("in a short session"))
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, short.Sessions()[1].Timeout)
		next := lockAside(t.Context(), newMutex(t, other), zklock.NewOwner("next"))
		select {
		case <-holder.Lost():
			t.Fatal("the lease is lost, and all is well with the connection")
		case <-time.After(20 * time.Second):
		}

		id := conn.SessionID()
		for range 400 { // more than the client sends until the server ends its session
			silence := short.Hold(func(r zkserver.Request) bool { return r.Session == id })
			t.Cleanup(silence.Release)
		}
		select {
		case <-holder.Lost():
			require.Empty(t, next)
		case <-next:
			t.Fatal("two hold the lock at once")
		}
		require.NoError(t, (<-next).err)
	})
}

func newMutex(t *testing.T, conn *zk.Conn) *zklock.Mutex {
	t.Helper()
	m, err := zklock.New(conn, top)
	require.NoError(t, err)
	return m
}

// TestASilentServerIsLeftInTimeThoughTheClientAskedForALongSession: the time depends
// on the session timeout that the servers have agreed to.
func TestASilentServerIsLeftInTimeThoughTheClientAskedForALongSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // until the client is closed
		srv := zkserver.Run(t)
		var silent atomic.Int32
		conn, err := zkconn.Connect(t.Context(), three, 10*time.Minute,
			zkconn.WithDialer(func(network, address string, d time.Duration) (net.Conn, error) {
				if silent.Add(-1) < 0 {
					return srv.Dial(network, address, d)
				}
				ours, theirs := net.Pipe()
				t.Cleanup(func() { theirs.Close() })
				go theirs.Read(make([]byte, 1000)) // the handshake
				return ours, nil
			}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		require.Equal(t, 40*time.Second, srv.Sessions()[0].Timeout)
		lease, err := newMutex(t, conn).Lock(t.Context(), zklock.NewOwner("owner"))
		require.NoError(t, err)
		silent.Store(2) // of three
		srv.Cut(conn.SessionID())
		time.Sleep(40 * time.Second) // the whole session timeout
		select {
		case <-lease.Lost():
			t.Fatal("the lease is lost, and one of three servers answers")
		default:
		}
		require.NoError(t, lease.Unlock(context.Background()))
	})
}

// TestACallbackMayTakeAWhileBeforeTheHandshake: the client calls it after the dial,
// and the time for the handshake begins after that.
func TestACallbackMayTakeAWhileBeforeTheHandshake(t *testing.T) {
	onTable(t, func(tb *table) {
		var slow atomic.Bool
		conn, err := zkconn.Connect(context.Background(), three, 10*time.Second,
			zkconn.WithDialer(tb.srv.Dial), zkconn.WithZK(zk.WithEventCallback(func(ev zk.Event) {
				if ev.State == zk.StateConnected && slow.Load() {
					time.Sleep(2 * time.Second) // 10 s, divided by three and by three servers, is less
				}
			})))
		require.NoError(tb, err)
		tb.Cleanup(conn.Close)
		slow.Store(true)
		session := conn.SessionID()
		tb.srv.Cut(session)
		time.Sleep(5 * time.Second) // until the client is back
		require.Equal(tb, zk.StateHasSession, conn.State(), "it does not come back")
		require.Equal(tb, session, conn.SessionID())
	})
}
