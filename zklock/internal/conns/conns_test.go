// Tests of what is known of a client: whether it is closed, and what was registered with it.
package conns_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/zklock/internal/conns"
	"example.com/zklock/zkserver"
)

// A client is closed after Close, and not before, even while it has no connection.
func TestAClientIsClosedAfterClose(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := bubble.Connect(t, srv.Dial, 10*time.Second, bubble.One, zk.WithEventCallback(func(ev zk.Event) {
			if ev.State == zk.StateDisconnected {
				time.Sleep(time.Minute) // of virtual time, in which the client does not connect again
			}
		}))
		synctest.Wait()
		require.False(t, conns.Closed(conn))
		srv.Cut(conn.SessionID())
		synctest.Wait()
		require.Equal(t, zk.StateDisconnected, conn.State())
		require.False(t, conns.Closed(conn), "a live client is taken for closed: its locks would be given up")
		conn.Close()
		require.True(t, conns.Closed(conn))
		time.Sleep(time.Hour) // the callback's minute must end before the bubble does
	})
}

// A known counts how often a client is made to leave its server.
type known struct {
	conns.Client // nil: its other methods are not called
	leaves       int
}

func (*known) SessionTimeout() time.Duration { return time.Minute }
func (k *known) Reconnect()                  { k.leaves++ }

// A conn that was registered has the session timeout of its client, and can be made to leave its server; others have 4 s.
func TestAClientIsKnownByItsConn(t *testing.T) {
	conn, k := new(zk.Conn), new(known)
	timeout, ok := conns.SessionTimeout(conn)
	require.False(t, ok)
	require.Equal(t, 4*time.Second, timeout)
	conns.Reconnect(conn) // does nothing

	conns.Register(conn, k)
	timeout, ok = conns.SessionTimeout(conn)
	require.True(t, ok)
	require.Equal(t, time.Minute, timeout)
	conns.Reconnect(conn)
	require.Equal(t, 1, k.leaves)
}
