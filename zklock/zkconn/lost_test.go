package zkconn

import (
	"encoding/binary"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// A server that has lost its data closes each connection of a client that has seen
// more than it has: https://github.com/go-zookeeper/zk/issues/117.
func TestFaultAServerThatHasLostItsDataIsOfNoUseForAllTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var srv atomic.Pointer[zkserver.Server]
		srv.Store(zkserver.Run(t))
		var expired atomic.Int32
		conn := open(t, servers[:1],
			zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				return srv.Load().Dial(network, address, timeout)
			}),
			zk.WithEventCallback(func(e zk.Event) {
				if e.State == zk.StateExpired {
					expired.Add(1)
				}
			}))
		session := conn.SessionID()
		for _, node := range []string{"/a", "/b", "/c"} {
			_, err := conn.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		_, _, changed, err := conn.GetW("/a")
		require.NoError(t, err)
		old := srv.Load()
		srv.Store(zkserver.Run(t))
		old.Close()
		began := time.Now()
		select {
		case e := <-changed:
			require.ErrorIs(t, e.Err, zk.ErrSessionExpired)
		case <-time.After(2 * asked):
			t.Fatal("the client does not find that its session is over")
		}
		require.Greater(t, time.Since(began), asked, "the session may live")
		time.Sleep(2 * time.Second)
		exists, _, err := conn.Exists("/a")
		require.NoError(t, err)
		require.False(t, exists)
		require.NotEqual(t, session, conn.SessionID())
		require.EqualValues(t, 1, expired.Load())
		require.Empty(t, srv.Load().Watches(), "a watch of the session that is over has been set again")
	})
}

// A session that lives is kept, for however long each server of the list closes the
// connection: without a quorum, it closes that of everybody; one that lags
// closes that of a client which is ahead of it.
func TestASessionThatLivesIsNotGivenUp(t *testing.T) {
	for _, trouble := range []string{"no quorum", "lags"} {
		t.Run(trouble, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := zkserver.Run(t)
				var refuses atomic.Bool
				var questions atomic.Int32
				conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
					nc, err := srv.Dial(network, address, timeout)
					return wrapped{nc, func(b []byte) (int, error) {
						if refuses.Load() {
							zxid := b[8:16]
							if binary.BigEndian.Uint64(zxid) == 0 {
								questions.Add(1)
							} else {
								binary.BigEndian.PutUint64(zxid, 1<<60)
							}
							if trouble == "no quorum" {
								nc.Close()
							}
						}
						return nc.Write(b)
					}}, err
				}))
				_, err := conn.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
				session := srv.Sessions()[0]
				refuses.Store(true)
				srv.Cut(session.ID)
				for range 20 { // something keeps the session: a new leader does, too
					time.Sleep(asked / 2)
					nc, err := srv.Dial("", "", 0)
					require.NoError(t, err)
					send(t, nc, &jute.ConnectRequest{TimeoutMs: int32(asked / time.Millisecond), SessionID: session.ID, Password: password(conn)})
					jute.ReadFrame(nc, nil, jute.MaxFrame) // or a question at this very moment has taken the session over
					nc.Close()
				}
				require.NotEqual(t, zk.StateHasSession, conn.State())
				if trouble == "lags" {
					require.LessOrEqual(t, questions.Load(), int32(1+10/3), "each question keeps the session")
				}
				require.Positive(t, questions.Load())
				refuses.Store(false)
				time.Sleep(3 * time.Second)
				exists, _, err := conn.Exists("/a")
				require.NoError(t, err)
				require.True(t, exists)
				require.Equal(t, session.ID, conn.SessionID())

				asks := questions.Load()
				refuses.Store(true)
				srv.Cut(session.ID)
				time.Sleep(asked)
				require.Equal(t, asks, questions.Load(), "the time of the refusals before this connection counts")
			})
		})
	}
}

// The questions themselves do not keep a session for good: a server that has been
// restored from an old snapshot still has it.
func TestTheQuestionsDoNotKeepASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		var refuses atomic.Bool
		conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			nc, err := srv.Dial(network, address, timeout)
			return wrapped{nc, func(b []byte) (int, error) {
				if zxid := b[8:16]; refuses.Load() && opOf(b) == 0 && binary.BigEndian.Uint64(zxid) != 0 {
					binary.BigEndian.PutUint64(zxid, 1<<60)
				}
				return nc.Write(b)
			}}, err
		}))
		_, err := conn.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		session := srv.Sessions()[0]
		refuses.Store(true)
		srv.Cut(session.ID)
		time.Sleep(asked - time.Second)
		nc, err := srv.Dial("", "", 0) // the server starts, and gives the session its timeout
		require.NoError(t, err)
		send(t, nc, &jute.ConnectRequest{TimeoutMs: int32(asked / time.Millisecond), SessionID: session.ID, Password: password(conn)})
		_, err = jute.ReadFrame(nc, nil, jute.MaxFrame)
		require.NoError(t, err)
		nc.Close()
		time.Sleep(5 * asked)
		exists, _, err := conn.Exists("/a")
		require.NoError(t, err)
		require.False(t, exists)
		require.NotEqual(t, session.ID, conn.SessionID())
	})
}

// password is the client's, which it does not export.
func password(conn *zk.Conn) []byte {
	return reflect.ValueOf(conn).Elem().FieldByName("passwd").Bytes()
}
