// Tests of Connect: what it returns and how soon, when its client leaves a server, and when it finds one again.
package zkconn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/internal/conns"
	"example.com/zklock/zkserver"
)

var ordinary = flag.Bool("connect.ordinary", false, "test zk.Connect in place of Connect: the tests of its faults must fail")

const sessionTimeout = 10 * time.Second
const always, saysNothing = math.MaxInt, "" // for muteThenDial

var (
	servers = bubble.Three // addresses: the dialer of a test decides what answers there
	quiet   = log.New(io.Discard, "", 0)
)

// open connects with Connect, or with zk.Connect if -connect.ordinary is set. The client is closed after the test.
func open(t *testing.T, servers []string, options ...func(*zk.Conn)) *zk.Conn {
	t.Helper()
	return openFor(t, sessionTimeout, servers, options...)
}

func openFor(t *testing.T, asked time.Duration, servers []string, options ...func(*zk.Conn)) *zk.Conn {
	t.Helper()
	options = append([]func(*zk.Conn){zk.WithLogger(quiet), zk.WithMaxConnBufferSize(1 << 12), zk.WithMaxBufferSize(1 << 20)}, options...)
	if *ordinary {
		conn, events, err := zk.Connect(servers, asked, func(c *zk.Conn) {
			for _, option := range options {
				option(c)
			}
		})
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		for e := range events {
			if e.State == zk.StateHasSession {
				return conn
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // the client goes on without it
	conn := testenv.Must(Connect(ctx, servers, asked, WithZK(options...)))(t)
	t.Cleanup(conn.Close)
	return conn
}

// A closed client is garbage although its dialer, which a global table has, leads to it: else all clients would stay.
func TestAClosedClientIsGarbageThoughItsDialerLeadsToIt(t *testing.T) {
	srv, program := zkserver.Run(t), new(struct{ conn *zk.Conn })
	conn := testenv.Must(Connect(t.Context(), servers, sessionTimeout, WithDialer(
		func(network, address string, timeout time.Duration) (net.Conn, error) {
			runtime.KeepAlive(program)
			return srv.Dial(network, address, timeout)
		})))(t)
	program.conn = conn
	var forgotten atomic.Bool
	runtime.AddCleanup(conn, func(f *atomic.Bool) { f.Store(true) }, &forgotten)
	conn.Close()
	require.Eventually(t, func() bool {
		runtime.GC()
		return forgotten.Load()
	}, 10*time.Minute, time.Millisecond)
}

// SessionTimeout returns what the server has agreed to: between 2 and 20 of its ticks.
func TestFaultTheNegotiatedTimeoutIsPrivate(t *testing.T) {
	for tick, want := range map[time.Duration]time.Duration{
		2 * time.Second: sessionTimeout, 6 * time.Second: 12 * time.Second, 100 * time.Millisecond: 2 * time.Second,
	} {
		bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
			got, ok := SessionTimeout(open(t, servers, zk.WithDialer(srv.Dial)))
			require.True(t, ok)
			require.Equal(t, want, got)
		}, zkserver.WithTick(tick))
	}
}

func TestConnectThatFailsSaysWhatItTried(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 7*time.Second, errors.New("tired"))
		defer cancel()
		began := time.Now()
		mute, web := muteThenDial(always, nil, saysNothing), muteThenDial(always, nil, "HTTP/1.1 400 Bad Request\r\n")
		_, err := Connect(ctx, servers, sessionTimeout, WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			switch address {
			case servers[0]:
				time.Sleep(3 * time.Second) // so that the other two have been tried when ctx ends
				return nil, errors.New("connection refused")
			case servers[1]:
				return mute(network, address, timeout)
			}
			return web(network, address, timeout)
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), 9*time.Second, "it does not end soon after its ctx")
		for _, want := range []string{
			"zkconn: connect to 127.0.0.1:2181,127.0.0.2:2181,127.0.0.3:2181: no session after 7",
			"tired",
			"127.0.0.1:2181: connection refused",
			"127.0.0.2:2181: accepts the connection but has not answered within 1",
			`127.0.0.3:2181: this is not ZooKeeper's protocol: the answer to the handshake begins with "HTTP"`,
		} {
			require.ErrorContains(t, err, want)
		}
		require.NotContains(t, err.Error(), "\n")
		time.Sleep(3 * time.Second)
	}) // and the bubble ends: no goroutine is left
}

func TestConnectThatIsGivenUpIsPrompt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		_, err := Connect(ctx, servers[:1], 40*time.Second, WithDialer(muteThenDial(always, nil, saysNothing)))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "accepts the connection and has not answered yet")
		require.LessOrEqual(t, time.Since(began), 1200*time.Millisecond)
		began = time.Now()
		require.ErrorIs(t, testenv.Err(Connect(ctx, servers[:1], sessionTimeout)), context.Canceled)
		require.Zero(t, time.Since(began))
	})
}

func TestConnectRefusesWhatCannotWork(t *testing.T) {
	for _, d := range []time.Duration{0, -1, time.Microsecond, 1000 * time.Hour} {
		require.ErrorContains(t, testenv.Err(Connect(t.Context(), servers, d)), "is not between 1 ms and 24 days")
	}
	require.ErrorContains(t, testenv.Err(Connect(t.Context(), nil, sessionTimeout)), "server list must not be empty")
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/servers.txt"))(t))) {
		server, want, isCase := strings.Cut(strings.TrimSpace(line), " | ")
		if isCase {
			server = strings.Trim(server, "'")
			require.ErrorContains(t, testenv.Err(Connect(t.Context(), []string{server}, sessionTimeout)), want)
		}
	}
}

// The caller's options work beside those of Connect. Its channel of events holds fewer than this client's cuts.
func TestConnectKeepsTheCallersOptions(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		const cuts = 20
		var dialed, asked, sessions atomic.Int32
		conn := open(t, []string{"203.0.113.1:1"},
			zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				dialed.Add(1)
				require.Equal(t, "my own server", address)
				return srv.Dial(network, address, timeout)
			}),
			zk.WithHostProvider(&oneServer{asked: &asked}),
			zk.WithEventCallback(func(e zk.Event) {
				if e.State == zk.StateHasSession {
					sessions.Add(1)
				}
			}))
		for range cuts {
			srv.Cut(conn.SessionID())
			time.Sleep(3 * time.Second)
		}
		require.EqualValues(t, 1+cuts, dialed.Load())
		require.EqualValues(t, 1+cuts, asked.Load())
		require.EqualValues(t, 1+cuts, sessions.Load())
	})
}

// oneServer is a host provider with one server. It counts how often it is asked.
type oneServer struct{ asked *atomic.Int32 }

func (o *oneServer) Init([]string) error  { return nil }
func (o *oneServer) Len() int             { return 1 }
func (o *oneServer) Next() (string, bool) { o.asked.Add(1); return "my own server", false }
func (o *oneServer) Connected()           {}

// A client leaves a silent server early, as a lease needs it, only if another server can take its session over: none
// can while the leader is silent. So Reconnect asks the other servers, by the command srvr, what they are. The client
// itself leaves a silent server after two thirds of the session timeout.
func TestASilentServerIsLeftOnlyIfThatHelps(t *testing.T) {
	const follower, leader = "Zxid: 0x100000007\nMode: follower\n", "Zxid: 0x100000007\nMode: leader\n"
	const standalone, silent = "Zxid: 0x7\nMode: standalone\n", ""
	const noQuorum = "This ZooKeeper instance is not currently serving requests\n"
	const doesNotSay = "srvr is not executed because it is not in the whitelist.\n"
	const lease = sessionTimeout / 2 // a lock needs an answer in that time
	for _, c := range []struct {
		name   string
		others func() string // what the other two servers say they are, in turn; nil: there are none
		goesOn bool          // the client's server has only paused
		leaves bool          // the client must leave its server
	}{
		{name: "the leader answers", others: inTurn(follower, leader), leaves: true},
		{name: "one that stands alone answers", others: inTurn(silent, standalone), leaves: true},
		{name: "the leader is silent", others: inTurn(silent, follower)},
		{name: "followers see no change", others: inTurn(follower)},
		{name: "followers go on", others: counting("Zxid: %#x\nMode: follower\n"), leaves: true},
		{name: "observers go on", others: counting("Zxid: %#x\nMode: observer\n"), leaves: true},
		{name: "there is no quorum", others: inTurn(noQuorum)},
		{name: "they do not say", others: inTurn(silent, doesNotSay), leaves: true},
		{name: "nobody answers", others: inTurn(silent)},
		{name: "the server goes on, too", others: inTurn(leader), goesOn: true},
		{name: "there is one server, of a host provider of the caller's"},
	} {
		bubble.ServeCase(t, c.name, func(t *testing.T, srv *zkserver.Server) {
			var own atomic.Value // the address of the client's server, which is silent
			provider := zk.WithHostProvider(&oneServer{asked: new(atomic.Int32)})
			if c.others != nil {
				provider = func(*zk.Conn) {}
			}
			conn := open(t, servers, provider, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				nc, err := srv.Dial(network, address, timeout)
				if address == own.Load() {
					return &bubble.WordAnswers{Conn: nc, Answer: func() string { return "" }}, err
				}
				return &bubble.WordAnswers{Conn: nc, Answer: c.others}, err
			}))
			conns.Of(conn).Within(lease)
			conns.Of(conn).Within(sessionTimeout) // as another lock does: the shorter time counts
			session, server, began := conn.SessionID(), conn.Server(), time.Now()
			own.Store(server)
			hold := srv.Hold(zkserver.On(jute.OpGetData, ""))
			answer := bubble.Aside(func() error { _, _, err := conn.Get("/"); return err })
			<-hold.Hit()
			conns.Reconnect(conn)
			if c.goesOn {
				time.Sleep(lease / 20)
				hold.Release()
			}
			if c.leaves {
				require.ErrorIs(t, <-answer, zk.ErrConnectionClosed)
				require.GreaterOrEqual(t, time.Since(began), lease/8, "the server may go on in the same instant")
				require.LessOrEqual(t, time.Since(began), lease/4)
			}
			time.Sleep(sessionTimeout / 2)
			require.Equal(t, session, conn.SessionID())
			hold.Release()
			if c.leaves {
				require.NotEqual(t, server, conn.Server())
			} else {
				require.Equal(t, server, conn.Server())
				require.NoError(t, <-answer)
			}
		})
	}
}

// inTurn returns one of some texts after the other, and begins again behind the last.
func inTurn(texts ...string) func() string {
	var n atomic.Int32
	return func() string { return texts[int(n.Add(1)-1)%len(texts)] }
}

// counting returns a text that has another number each time.
func counting(format string) func() string {
	var n atomic.Int32
	return func() string { return fmt.Sprintf(format, n.Add(1)) }
}

// Reconnect lets a handshake end that is under way, and does nothing to a client that is closed or an ordinary one.
func TestReconnectDoesNotDisturbAClientThatReconnects(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var dialed atomic.Int32
		conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			dialed.Add(1)
			return dialLate(t, srv, 500*time.Millisecond), nil
		}))
		srv.Cut(conn.SessionID())
		time.Sleep(100 * time.Millisecond) // it is in the handshake
		conns.Reconnect(conn)
		time.Sleep(time.Second)
		require.Equal(t, zk.StateHasSession, conn.State())
		require.EqualValues(t, 2, dialed.Load(), "the handshake was given up")

		conn.Close()
		conns.Reconnect(conn) // which is closed
		ordinary, _ := testenv.Must2(zk.Connect(servers, sessionTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(quiet)))(t)
		defer ordinary.Close()
		synctest.Wait()
		session := ordinary.SessionID()
		conns.Reconnect(ordinary)
		testenv.Must2(ordinary.Get("/"))(t)
		require.Equal(t, session, ordinary.SessionID())
	})
}

// zkconn reaches into the client of this version. If this test fails, see which of the faults in docs/client.md the
// new version has (go test ./zklock/zkconn says so, too), drop what it no longer needs, and name the version here.
func TestTheClientIsTheVersionWhoseFieldsAreKnown(t *testing.T) {
	const module, version = "github.com/go-zookeeper/zk", "v1.0.4"
	file := testenv.Must(os.ReadFile("../../go.mod"))(t)
	require.Regexp(t, `(?m)^\s*`+module+" "+version+"$", string(file),
		"go.mod has another version of %s than %s: read what zkconn does with its private fields, "+
			"and docs/client.md, before you name the new one here", module, version)
	var conn zk.Conn
	require.NoError(t, errors.Join(
		replace(&conn, "dialer", func(d zk.Dialer) zk.Dialer { return d }),
		replace(&conn, "hostProvider", func(h zk.HostProvider) zk.HostProvider { return h }),
		hook(&conn, "setWatchCallback", func() {})))
	const sentence = "this version of go-zookeeper has no "
	same := func(d zk.Dialer) zk.Dialer { return d }
	require.ErrorContains(t, replace(&conn, "nothing", same), sentence+"field nothing of type zk.Dialer: use zk.Connect")
	require.ErrorContains(t, replace(&conn, "hostProvider", same), sentence+"field hostProvider of type zk.Dialer: use zk.Connect")
	require.ErrorContains(t, hook(&conn, "nothing", func() {}), sentence+"function nothing: use zk.Connect")
	require.ErrorContains(t, hook(&conn, "server", func() {}), sentence+"function server: use zk.Connect")
}

// Servers that were tried are forgotten when there is a session: over the years, they have more and more addresses.
func TestServersThatWereTriedAreForgottenWhenThereIsASession(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var dialed atomic.Int32
		conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if dialed.Add(1) < 3 {
				return nil, errors.New("connection refused")
			}
			return srv.Dial(network, address, timeout)
		}))
		require.EqualValues(t, 3, dialed.Load())
		c := conns.Of(conn).(*client)
		c.mu.Lock()
		defer c.mu.Unlock()
		require.Empty(t, c.tried)
	})
}

// A client whose session has expired once comes back at once when its next connection breaks: only the requests of the
// session that has expired fail, and only for them does the client make a pause.
func TestAClientComesBackAtOnceAfterItsSessionHasExpiredOnce(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, servers, zk.WithDialer(srv.Dial))
		first := conn.SessionID()
		srv.Expire(first)
		time.Sleep(5 * time.Second) // until it has another session
		second := conn.SessionID()
		require.NotEqual(t, first, second)
		began := time.Now()
		srv.Cut(second)
		synctest.Wait()
		testenv.Must2(conn.Get("/"))(t)
		require.Equal(t, second, conn.SessionID())
		require.Less(t, time.Since(began), time.Second)
	})
}

// A connection that a dial returns after Connect has failed is closed, and no session is asked for.
func TestAConnectionThatComesAfterConnectHasFailedIsClosed(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		dialed := make(chan net.Conn, 1)
		handshake := srv.Hold(zkserver.On(jute.OpConnect, ""))
		defer handshake.Release()
		_, err := Connect(within(t, time.Second), servers, sessionTimeout, WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			time.Sleep(3 * time.Second) // whatever the timeout is
			nc, err := srv.Dial(network, address, timeout)
			dialed <- nc
			return nc, err
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, testenv.Err((<-dialed).Read(make([]byte, 1))), io.ErrClosedPipe, "this end is closed, and not the server's")
		require.Empty(t, handshake.Hit())
	})
}

// When all servers have been tried, they are tried again each 100 ms for a second; then a request fails. The next time
// that the connection breaks, the client comes back at once.
func TestServersThatHaveAllBeenTriedAreTriedAgainSoon(t *testing.T) {
	const again, poll = 100 * time.Millisecond, time.Millisecond
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		line := &bubble.Line{Server: srv}
		conn := testenv.Must(Connect(t.Context(), servers, sessionTimeout, WithDialer(line.Dial)))(t)
		defer conn.Close()
		timeUntilBack := func() time.Duration {
			began := time.Now()
			for conn.State() != zk.StateHasSession {
				time.Sleep(poll)
			}
			return time.Since(began)
		}
		outage := func(d time.Duration) {
			line.Down.Store(true)
			srv.CutAll()
			synctest.Wait()
			time.Sleep(d)
			line.Down.Store(false)
		}
		outage(again * 5 / 2) // two tries have failed, and the next comes half a pause later
		require.InDelta(t, again/2, timeUntilBack(), float64(2*poll))
		time.Sleep(time.Second)
		outage(0)
		require.LessOrEqual(t, timeUntilBack(), again+poll)
		time.Sleep(time.Second)
		srv.CutAll()
		synctest.Wait()
		require.LessOrEqual(t, timeUntilBack(), 2*poll, "a server is there that was not tried")

		time.Sleep(time.Second)
		line.Down.Store(true)
		srv.CutAll()
		synctest.Wait()
		began := time.Now()
		_, _, err := conn.Get("/")
		require.ErrorIs(t, err, zk.ErrNoServer)
		require.InDelta(t, time.Second, time.Since(began), float64(2*poll))
		line.Down.Store(false)
		require.LessOrEqual(t, timeUntilBack(), time.Second+again)
	})
}
