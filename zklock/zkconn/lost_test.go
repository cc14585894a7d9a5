package zkconn

import (
	"encoding/binary"
	"errors"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// A client of Connect is usable again one and a half session timeouts and 2 s after its server has come back without
// its data, which closes each connection of a client that has seen more; an ordinary one tries for all time:
// https://github.com/go-zookeeper/zk/issues/117. Ours tries each second, and begins a new session a second late.
func TestFaultAServerThatHasLostItsDataIsOfNoUseForAllTime(t *testing.T) {
	for _, session := range []time.Duration{4 * time.Second, sessionTimeout} {
		for _, away := range []time.Duration{0, 700 * time.Millisecond, 3100 * time.Millisecond, 2 * session} {
			bubble.Test(t, func(t *testing.T) { loseData(t, session, away) })
		}
	}
}

// loseData replaces the server by an empty one after some time away.
func loseData(t *testing.T, session, away time.Duration) {
	var srv atomic.Pointer[zkserver.Server]
	srv.Store(zkserver.Run(t))
	var expired atomic.Int32
	conn := openFor(t, session, servers[:1],
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if srv := srv.Load(); srv != nil {
				return srv.Dial(network, address, timeout)
			}
			return nil, errors.New("no server")
		}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateExpired {
				expired.Add(1)
			}
		}))
	before := conn.SessionID()
	for _, node := range []string{"/a", "/b", "/c"} {
		testenv.Must(conn.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	}
	_, _, changed := testenv.Must3(conn.GetW("/a"))(t)
	srv.Swap(nil).Close()
	time.Sleep(away)
	srv.Store(zkserver.Run(t))
	began := time.Now()
	select {
	case e := <-changed:
		require.ErrorIs(t, e.Err, zk.ErrSessionExpired)
	case <-time.After(2 * session):
		t.Fatal("the client does not find that its session is over")
	}
	require.GreaterOrEqual(t, time.Since(began), session*3/2, "the session may live")
	for {
		exists, _, err := conn.Exists("/a")
		if err == nil {
			require.False(t, exists)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, time.Since(began), session*3/2+2*time.Second+10*time.Millisecond, "%v, away for %v", session, away)
	require.NotEqual(t, before, conn.SessionID())
	require.EqualValues(t, 1, expired.Load())
	require.Empty(t, srv.Load().Watches(), "a watch of the session that is over has been set again")
}

// A session that lives is kept, for however long each server of the list closes the connection: without a quorum, it
// closes that of everybody; one that lags closes that of a client which is ahead of it.
func TestASessionThatLivesIsNotGivenUp(t *testing.T) {
	const noQuorum, lags, silent = "no quorum", "lags", "is silent"
	for _, trouble := range []string{noQuorum, lags, silent} {
		bubble.ServeCase(t, trouble, func(t *testing.T, srv *zkserver.Server) {
			var refuses atomic.Bool
			var questions atomic.Int32 // handshakes with zxid 0, which ask whether the session lives
			conn := open(t, servers, withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
				if refuses.Load() {
					zxid := b[8:16]
					if binary.BigEndian.Uint64(zxid) == 0 {
						if questions.Add(1); trouble == silent {
							return len(b), nil
						}
					} else {
						binary.BigEndian.PutUint64(zxid, 1<<60) // more than the server has
					}
					if trouble == noQuorum {
						nc.Close()
					}
				}
				return nc.Write(b)
			}))
			testenv.Must(conn.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
			session := srv.Sessions()[0]
			refuses.Store(true)
			srv.Cut(session.ID)
			for range 20 { // something keeps the session: a new leader does, too
				time.Sleep(sessionTimeout / 2)
				keepSession(t, srv, conn, session.ID) // or a question at this very moment has taken the session over
			}
			require.NotEqual(t, zk.StateHasSession, conn.State())
			if trouble != noQuorum {
				require.LessOrEqual(t, questions.Load(), int32(1+10/3), "each question may keep the session")
			}
			require.Positive(t, questions.Load())
			refuses.Store(false)
			time.Sleep(3 * time.Second)
			exists, _ := testenv.Must2(conn.Exists("/a"))(t)
			require.True(t, exists)
			require.Equal(t, session.ID, conn.SessionID())
			asks := questions.Load()
			refuses.Store(true)
			srv.Cut(session.ID)
			time.Sleep(sessionTimeout)
			require.Equal(t, asks, questions.Load(), "the time of the refusals before this connection counts")
		})
	}
}

// The questions do not keep a session for good on a server that was restored from an old snapshot, and so still has it.
func TestTheQuestionsDoNotKeepASession(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var refuses atomic.Bool
		conn := open(t, servers, withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
			if zxid := b[8:16]; refuses.Load() && opOf(b) == 0 && binary.BigEndian.Uint64(zxid) != 0 {
				binary.BigEndian.PutUint64(zxid, 1<<60)
			}
			return nc.Write(b)
		}))
		testenv.Must(conn.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
		session := srv.Sessions()[0]
		refuses.Store(true)
		srv.Cut(session.ID)
		time.Sleep(sessionTimeout - time.Second)
		require.NoError(t, keepSession(t, srv, conn, session.ID)) // the server starts, and gives the session its timeout
		time.Sleep(5 * sessionTimeout)
		exists, _ := testenv.Must2(conn.Exists("/a"))(t)
		require.False(t, exists)
		require.NotEqual(t, session.ID, conn.SessionID())
	})
}

// keepSession asks for a client's session on another connection, which keeps it for another timeout.
func keepSession(t *testing.T, srv *zkserver.Server, conn *zk.Conn, id int64) error {
	nc := testenv.Must(srv.Dial("", "", 0))(t)
	defer nc.Close()
	timeout := int32(sessionTimeout / time.Millisecond)
	send(t, nc, &jute.ConnectRequest{TimeoutMs: timeout, SessionID: id, Password: password(conn)})
	return testenv.Err(jute.ReadFrame(nc, nil, jute.MaxFrame))
}

// password returns the password of a client's session, which the client does not export.
func password(conn *zk.Conn) []byte {
	return reflect.ValueOf(conn).Elem().FieldByName("passwd").Bytes()
}
