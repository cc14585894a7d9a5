// Tests of the options of Connect: TLS, credentials, a dialer, a logger; and of sessions that servers refuse.
package zkconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"reflect"
	"sync"
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

func TestConnectRefusesOptionsThatCannotWork(t *testing.T) {
	for want, option := range map[string]Option{
		"an option is nil":                     nil,
		"WithLogger: the logger is nil":        WithLogger(nil),
		"WithTLS: the configuration is nil":    WithTLS(nil),
		"WithDialer: the dialer is nil":        WithDialer(nil),
		"WithZK: an option is nil":             WithZK(nil, nil),
		"WithZK: the dialer is nil":            WithZK(zk.WithDialer(nil)),
		"WithZK: the hostProvider is nil":      WithZK(zk.WithHostProvider(nil)),
		"WithAuth: the scheme is empty":        WithAuth("", "user:password"),
		"the client does not speak SASL":       WithAuth("sasl", "user"),
		"a digest credential is user:password": WithAuth("digest", []byte("secret")),
	} {
		_, err := Connect(t.Context(), servers, sessionTimeout, option)
		require.ErrorContains(t, err, "zkconn: connect to 127.0.0.1:2181,127.0.0.2:2181,127.0.0.3:2181: ")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

// tlsConfigs returns the configuration of a server whose certificate is valid for *.example.com, and
// of a client that trusts it. It listens for a moment, so it is called outside of a bubble.
func tlsConfigs() (server, client *tls.Config) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	return web.TLS, &tls.Config{RootCAs: roots}
}

// overTLS returns a dialer that puts TLS before a server. asked is given the server name that the client sends.
func overTLS(srv *zkserver.Server, config *tls.Config, asked func(sni string)) zk.Dialer {
	config = config.Clone()
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) { asked(h.ServerName); return nil, nil }
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		inside, err := srv.Dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		ours, theirs := net.Pipe()
		outside := tls.Server(theirs, config)
		for _, ends := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
			go func() {
				defer ends[0].Close()
				io.Copy(ends[0], ends[1])
			}()
		}
		return ours, nil
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func logTo(l *testenv.Buffer) Option { return WithLogger(slog.New(slog.NewTextHandler(l, nil))) }

// Each server is verified by its name in the list, although the client dials an address, at a reconnect, too.
func TestEachServerIsVerifiedByItsNameInTheList(t *testing.T) {
	server, client := tlsConfigs()
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		addresses := map[string][]string{"zk1.example.com": {"192.0.2.1"}, "zk2.example.com": {"192.0.2.2"}, "zk3": {"192.0.2.3"}}
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) { return addresses[host], nil })
		var mu sync.Mutex
		sent := make(map[string]int)
		dial := overTLS(srv, server, func(sni string) {
			mu.Lock()
			defer mu.Unlock()
			sent[sni]++
		})
		var log testenv.Buffer
		var distrusted atomic.Value
		servers := []string{"zk1.example.com:2281", "zk2.example.com:2281", "zk3:2281"}
		conn := testenv.Must(Connect(within(t, time.Minute), servers, 10*time.Second,
			WithTLS(client), logTo(&log), WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				nc, err := dial(network, address, timeout)
				if address == "192.0.2.3:2281" {
					distrusted.Store(nc)
				}
				return nc, err
			})))(t)
		defer conn.Close()
		session := conn.SessionID()
		for range 5 {
			srv.Cut(session)
			time.Sleep(2 * time.Second)
			require.Equal(t, zk.StateHasSession, conn.State())
			require.NotEqual(t, "192.0.2.3:2281", conn.Server())
		}
		require.Equal(t, session, conn.SessionID())
		mu.Lock()
		defer mu.Unlock()
		for name := range addresses {
			require.Positive(t, sent[name], name)
		}
		require.Contains(t, log.String(), "TLS with zk3: tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not zk3")
		require.ErrorIs(t, testenv.Err(distrusted.Load().(net.Conn).Read(make([]byte, 1))), io.ErrClosedPipe, "each try leaves a connection")
		require.Regexp(t, `level=INFO msg="zkconn: connected" server=192.0.2.[12]:2281 session=0x[0-9a-f]+ timeout=10s`, log.String())
	})
}

// A server that is silent in the handshake of TLS is left soon. The configuration's server name counts for all servers.
func TestAServerThatIsSilentInTheHandshakeOfTLSIsLeft(t *testing.T) {
	server, client := tlsConfigs()
	client.ServerName = "zk.example.com"
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		began := time.Now()
		conn := testenv.Must(Connect(within(t, time.Minute), servers, sessionTimeout, WithTLS(client),
			WithDialer(muteThenDial(2, overTLS(srv, server, func(sni string) { require.Equal(t, client.ServerName, sni) }), saysNothing))))(t)
		defer conn.Close()
		const first = sessionTimeout / 3 / 3 // a third for three servers; the second gets one and a half times as long
		require.Equal(t, first+first*3/2, time.Since(began))
	})
}

func TestConnectFailsIfTheServerRefusesTheCredential(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, err := Connect(within(t, time.Minute), servers, sessionTimeout, WithAuth("kerberos", "user"), WithDialer(zkserver.Run(t).Dial))
		require.ErrorIs(t, err, zk.ErrAuthFailed)
		require.ErrorContains(t, err, `the server has not accepted the credential of scheme "kerberos"`)
	})
}

// The credentials are there before Connect returns, and on each connection, although the first reply is lost.
func TestTheCredentialsAreThereBeforeConnectReturns(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		lost := srv.LoseReply(zkserver.On(jute.OpAuth, ""))
		conn := testenv.Must(Connect(within(t, time.Minute), servers, sessionTimeout, WithDialer(srv.Dial),
			WithAuth("digest", "a:secret"), WithAuth("digest", []byte("b:secret"))))(t)
		defer conn.Close()
		require.Len(t, lost.Hit(), 1)
		for _, user := range []string{"a", "b"} {
			testenv.Must(conn.Create("/"+user, nil, 0, zk.DigestACL(zk.PermAll, user, "secret")))(t)
		}
		srv.Cut(conn.SessionID())
		for _, user := range []string{"/a", "/b"} {
			err := zk.ErrConnectionClosed
			for err == zk.ErrConnectionClosed {
				_, _, err = conn.Get(user)
			}
			require.NoError(t, err)
		}
	})
}

func TestConnectEndsWithCtxThoughTheCredentialIsNotAnswered(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		held := srv.Hold(zkserver.On(jute.OpAuth, ""))
		defer held.Release()
		_, err := Connect(within(t, time.Second), servers, sessionTimeout, WithDialer(srv.Dial), WithAuth("digest", "a:b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A session that lives is kept, for however long each server of the list closes the connection: without a quorum, it
// closes that of everybody; one that lags closes that of a client which is ahead of it.
func TestASessionThatLivesIsNotGivenUp(t *testing.T) {
	const noQuorum, lags, silent = "no quorum", "lags", "is silent" // why servers close the connection, or do not answer
	for _, trouble := range []string{noQuorum, lags, silent} {
		bubble.ServeCase(t, trouble, func(t *testing.T, srv *zkserver.Server) {
			var refuses atomic.Bool
			var questions atomic.Int32 // whether the session lives
			conn := open(t, servers, withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
				if !refuses.Load() {
					return nc.Write(b)
				}
				isQuestion := !putAhead(b)
				if isQuestion {
					questions.Add(1)
				}
				switch {
				case trouble == noQuorum:
					nc.Close()
				case trouble == silent && isQuestion:
					return len(b), nil // no answer will come
				}
				return nc.Write(b)
			}))
			testenv.Must(conn.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
			session := srv.Sessions()[0]

			refuses.Store(true)
			srv.Cut(session.ID)
			for range 20 { // something keeps the session: a new leader does, too
				time.Sleep(sessionTimeout / 2)
				keepSession(t, srv, conn, session.ID) // its error is ignored: the client may just have asked
			}
			require.NotEqual(t, zk.StateHasSession, conn.State())
			if trouble != noQuorum {
				const timeouts, putOff = 10, 3 // session timeouts: the 20 halves above, and the time until the next question
				require.LessOrEqual(t, questions.Load(), int32(1+timeouts/putOff), "each question may keep the session")
			}
			require.Positive(t, questions.Load())

			refuses.Store(false)
			time.Sleep(3 * time.Second)
			exists, _ := testenv.Must2(conn.Exists("/a"))(t)
			require.True(t, exists)
			require.Equal(t, session.ID, conn.SessionID())
			before := questions.Load()
			refuses.Store(true)
			srv.Cut(session.ID)
			time.Sleep(sessionTimeout)
			require.Equal(t, before, questions.Load(), "the time of the refusals before this connection counts")
		})
	}
}

// putAhead makes a handshake name a zxid that the server has not reached. It returns false for one without a zxid, by
// which the client asks whether its session lives.
func putAhead(handshake []byte) bool {
	zxid := handshake[8:16] // after length and version
	hasZxid := binary.BigEndian.Uint64(zxid) != 0
	if hasZxid {
		binary.BigEndian.PutUint64(zxid, 1<<60)
	}
	return hasZxid
}

// The questions do not keep a session for good on a server that was restored from an old snapshot, and so still has it.
func TestTheQuestionsDoNotKeepASession(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var refuses atomic.Bool
		conn := open(t, servers, withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
			if isHandshake := opOf(b) == 0; refuses.Load() && isHandshake {
				putAhead(b)
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
	password := reflect.ValueOf(conn).Elem().FieldByName("passwd").Bytes() // which the client does not export
	send(t, nc, &jute.ConnectRequest{TimeoutMs: timeout, SessionID: id, Password: password})
	return testenv.Err(jute.ReadFrame(nc, nil, jute.MaxFrame))
}
