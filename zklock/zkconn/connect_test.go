package zkconn

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/zkserver"
)

var ordinary = flag.Bool("connect.ordinary", false, "test zk.Connect in place of Connect: the tests of its faults must fail")

// The tests of this name fail with an ordinary client.
var faults = []string{
	"TestFaultCloseHangsTheClient",
	"TestFaultASilentServerIsKeptForMinutes",
	"TestFaultAServerThatFallsSilentInItsAnswerIsKeptForAllTime",
	"TestFaultANewSessionSetsItsWatchesAgain",
	"TestFaultAReplyIsReadBeforeTheWatchesAreSet",
	"TestFaultAReplyIsReadBeforeTheWatchesArePutDown",
	"TestFaultARequestIsSentInTheNextSession",
	"TestFaultTheNegotiatedTimeoutIsPrivate",
}

func TestAnOrdinaryClientHasEachFault(t *testing.T) {
	if *ordinary {
		t.Skip("this process was started by the test itself")
	}
	for _, name := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A test that hangs in virtual time panics. One that hangs in a
			// mutex of the client, which stops virtual time, is ended.
			out, err := exec.Command(os.Args[0], "-test.run", "^"+name+"$", "-test.timeout", "30s", "-connect.ordinary").CombinedOutput()
			require.Error(t, err, "%s", out)
			require.Regexp(t, "FAIL: "+name+`|(?s)panic: test timed out.*`+name, string(out))
		})
	}
}

// servers are addresses; what answers there is up to the dialer.
var servers = []string{"127.0.0.1:2181", "127.0.0.2:2181", "127.0.0.3:2181"}

const asked = 10 * time.Second

// open connects with Connect, or the ordinary way.
func open(t *testing.T, servers []string, options ...func(*zk.Conn)) *zk.Conn {
	t.Helper()
	options = append([]func(*zk.Conn){zk.WithLogger(quiet{}), zk.WithMaxConnBufferSize(1 << 12), zk.WithMaxBufferSize(1 << 20)}, options...)
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
	conn, err := Connect(t.Context(), servers, asked, options...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// A wrapped connection lets a test change what is written.
type wrapped struct {
	net.Conn
	write func(b []byte) (int, error) // nil: as it is
}

func (w wrapped) Write(b []byte) (int, error) {
	if w.write == nil {
		return w.Conn.Write(b)
	}
	return w.write(b)
}

// opOf is the opcode of a request, 0 for a handshake.
func opOf(b []byte) jute.Op {
	var h jute.RequestHeader
	h.Decode(jute.NewDecoder(b[4:]))
	return h.Op
}

// A request that is queued while Close runs, and whose write fails, gets three
// answers on a channel of two. https://github.com/go-zookeeper/zk/pull/163 is
// the same mistake with two answers on a channel of one.
//
// Two coin tosses of the client decide: whether a request is queued after Close
// has begun, and whether its caller takes one of the answers.
func TestFaultCloseHangsTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		for range 64 {
			var closing atomic.Bool
			conn := open(t, servers[:1], zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				nc, err := srv.Dial(network, address, timeout)
				return wrapped{nc, func(b []byte) (int, error) {
					switch {
					case closing.Load():
						return 0, errors.New("the cable is cut")
					case opOf(b) == jute.OpCloseSession:
						closing.Store(true)
						return len(b), nil // and it is lost
					}
					return nc.Write(b)
				}}, err
			}))
			_, _, watch, err := conn.ExistsW("/never")
			require.NoError(t, err)
			go conn.Close()
			synctest.Wait() // it waits for an answer
			for range 64 {
				_, _, err := conn.Get("/")
				require.Error(t, err)
			}
			select {
			case event := <-watch:
				require.ErrorIs(t, event.Err, zk.ErrClosing)
			case <-time.After(time.Minute):
				t.Fatal("the watch is not called off: the client hangs")
			}
		}
	})
}

// muteFor returns a dialer that reaches a silent server n times.
func muteFor(t *testing.T, n int, dial zk.Dialer, says string) zk.Dialer {
	var dialed atomic.Int32
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		if int(dialed.Add(1)) > n {
			return dial(network, address, timeout)
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			server.Read(make([]byte, 1024))
			io.WriteString(server, says)
			defer time.AfterFunc(time.Hour, func() { server.Close() }).Stop()
			io.Copy(io.Discard, server)
		}()
		return client, nil
	}
}

// A server that accepts a connection and says nothing, such as a frozen one,
// is given ten times the read deadline, since
// https://github.com/samuel/go-zookeeper/pull/48.
func TestFaultASilentServerIsKeptForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		began := time.Now()
		open(t, servers, zk.WithDialer(muteFor(t, 2, srv.Dial, "")))
		require.Less(t, time.Since(began), asked/3, "two of three are silent, and a session may have ended by now")
	})
}

func TestFaultAServerThatFallsSilentInItsAnswerIsKeptForAllTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		began := time.Now()
		open(t, servers, zk.WithDialer(muteFor(t, 2, srv.Dial, "\x00\x00\x00\x24\x00")))
		require.Less(t, time.Since(began), asked/3)
	})
}

// wire is a connection as the client sees it, after the handshake.
func wire(t *testing.T, srv *zkserver.Server, h jute.ConnectRequest) (net.Conn, jute.ConnectResponse) {
	nc, err := srv.Dial("", "", 0)
	require.NoError(t, err)
	if !*ordinary {
		nc = newCarefulConn(nc, &client{servers: 1, tried: make(map[string]error)}, "")
	}
	t.Cleanup(func() { nc.Close() })
	h.TimeoutMs = int32(asked / time.Millisecond)
	send(t, nc, &h)
	answer, err := jute.ReadFrame(nc, nil, jute.MaxFrame)
	require.NoError(t, err)
	var r jute.ConnectResponse
	r.Decode(jute.NewDecoder(answer))
	return nc, r
}

func send(t *testing.T, nc net.Conn, records ...interface{ Encode(*jute.Encoder) }) {
	var e jute.Encoder
	mark := e.BeginFrame()
	for _, r := range records {
		r.Encode(&e)
	}
	e.EndFrame(mark)
	_, err := nc.Write(e.Bytes())
	require.NoError(t, err)
}

// reply reads until the reply with an xid; an event before it fails the test.
func reply(t *testing.T, nc net.Conn, xid int32) {
	frame, err := jute.ReadFrame(nc, nil, jute.MaxFrame)
	require.NoError(t, err)
	var h jute.ReplyHeader
	h.Decode(jute.NewDecoder(frame))
	require.Equal(t, xid, h.Xid, "-1 is an event: a change that did not happen is reported")
	require.Zero(t, h.Err)
}

// The client sets its watches again on every connection, the first one of a
// session included: should a reply have come before, with the watch that it
// has set and without the zxid up to which it is up to date.
func TestFaultANewSessionSetsItsWatchesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		admin, err := Connect(t.Context(), servers, asked, zk.WithDialer(srv.Dial), zk.WithLogger(quiet{}))
		require.NoError(t, err)
		defer admin.Close()
		_, err = admin.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)

		nc, _ := wire(t, srv, jute.ConnectRequest{})
		send(t, nc, &jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: "/a", Watch: true})
		reply(t, nc, 1)
		send(t, nc, &jute.RequestHeader{Xid: 2, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/a"}})
		reply(t, nc, 2)
		require.Len(t, srv.Watches(), 1)
	})
}

// The client reads the zxid up to which it has seen what it watches while it
// reads replies, which move it on: https://github.com/samuel/go-zookeeper/issues/260,
// https://github.com/go-zookeeper/zk/pull/35.
func TestFaultAReplyIsReadBeforeTheWatchesAreSet(t *testing.T) {
	for name, watches := range map[string]bool{"with watches": true, "without watches": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := zkserver.Run(t)
				first, session := wire(t, srv, jute.ConnectRequest{})
				first.Close()
				nc, _ := wire(t, srv, jute.ConnectRequest{SessionID: session.SessionID, Password: session.Password})
				send(t, nc, &jute.RequestHeader{Xid: 1, Op: jute.OpSync}, syncPath("/"))
				began := time.Now()
				read := make(chan struct{})
				go func() {
					defer close(read)
					reply(t, nc, 1)
				}()
				synctest.Wait()
				select {
				case <-read:
					t.Fatal("a reply is read, and moves the zxid on, before the watches have been set")
				default:
				}
				if watches {
					send(t, nc, &jute.RequestHeader{Xid: 2, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/"}})
					<-read
					require.Zero(t, time.Since(began))
					reply(t, nc, 2)
				} else {
					<-read
					require.Equal(t, againWatches, time.Since(began))
				}
			})
		})
	}
}

// The client puts its watches down with the zxid, and only then queues the
// request for them, which waits for those that are queued already. A reply may
// be read in between, and not before.
func TestFaultAReplyIsReadBeforeTheWatchesArePutDown(t *testing.T) {
	const (
		down    = 50 * time.Millisecond  // for so long the watches are being put down
		written = 100 * time.Millisecond // and so long it takes to write the request that is queued before theirs
	)
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		var resumed time.Time
		conn := open(t, servers[:1], zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			nc, err := srv.Dial(network, address, timeout)
			resumed = time.Now()
			return wrapped{nc, func(b []byte) (int, error) {
				if opOf(b) == jute.OpGetData {
					time.Sleep(written) // of virtual time
				}
				return nc.Write(b)
			}}, err
		}))
		_, _, _, err := conn.ExistsW("/never")
		require.NoError(t, err)
		slowly(t, conn, "setWatchCallback", down)

		session := conn.SessionID()
		srv.Cut(session)
		synctest.Wait() // it waits for a second before it dials again
		synced := make(chan time.Time, 1)
		go func() {
			conn.Sync("/")
			synced <- time.Now()
		}()
		synctest.Wait() // the one is queued before the other
		got := make(chan error, 1)
		go func() {
			_, _, err := conn.Get("/")
			got <- err
		}()
		at := <-synced
		require.Equal(t, down, at.Sub(resumed))
		require.NoError(t, <-got)
		synctest.Wait()
		require.Equal(t, session, conn.SessionID())
		require.Len(t, srv.Watches(), 1, "they are set again")
	})
}

// slowly makes a client take some time before it calls the function in one of
// its unexported fields, which may be nil.
func slowly(t *testing.T, conn *zk.Conn, field string, d time.Duration) {
	t.Helper()
	v := reflect.ValueOf(conn).Elem().FieldByName(field)
	require.True(t, v.IsValid())
	v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	usual := reflect.ValueOf(v.Interface())
	v.Set(reflect.MakeFunc(v.Type(), func(args []reflect.Value) []reflect.Value {
		time.Sleep(d) // of virtual time: the caller runs in a bubble
		if !usual.IsNil() {
			usual.Call(args)
		}
		return nil
	}))
}

type syncPath string

func (p syncPath) Encode(e *jute.Encoder) { e.String(string(p)) }

// A request that waits in the client for a connection is sent on the next one,
// even if that begins another session: an ephemeral node belongs to a session
// that the caller knows nothing of.
func TestFaultARequestIsSentInTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		var down atomic.Bool
		conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if down.Load() {
				time.Sleep(timeout) // no answer, and no reason to flush what waits
			}
			return srv.Dial(network, address, timeout)
		}))
		session := conn.SessionID()
		down.Store(true)
		srv.Cut(session)
		synctest.Wait()
		created := make(chan error, 1)
		go func() {
			_, err := conn.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			created <- err
		}()
		synctest.Wait() // it is in the queue
		srv.Expire(session)
		down.Store(false)
		require.ErrorIs(t, <-created, zk.ErrNoServer)
		synctest.Wait()            // the client answers all that is in its queue, and a request that comes meanwhile
		_, _, err := conn.Get("/") // in the next session
		require.NoError(t, err)
		require.NotEqual(t, session, conn.SessionID())
		_, there := srv.Node("/mine")
		require.False(t, there)
	})
}

func TestFaultTheNegotiatedTimeoutIsPrivate(t *testing.T) {
	for tick, want := range map[time.Duration]time.Duration{2 * time.Second: asked, 6 * time.Second: 12 * time.Second, 100 * time.Millisecond: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			srv := zkserver.Run(t, zkserver.WithTick(tick))
			got, ok := SessionTimeout(open(t, servers, zk.WithDialer(srv.Dial)))
			require.True(t, ok)
			require.Equal(t, want, got)
		})
	}
}

func TestConnectThatFailsSaysWhatItTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 7*time.Second, errors.New("tired"))
		defer cancel()
		began := time.Now()
		mute := muteFor(t, 1000, nil, "")
		web := muteFor(t, 1000, nil, "HTTP/1.1 400 Bad Request\r\n")
		_, err := Connect(ctx, servers, asked, zk.WithLogger(quiet{}), zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			switch address {
			case servers[0]:
				return nil, errors.New("connection refused")
			case servers[1]:
				return mute(network, address, timeout)
			}
			return web(network, address, timeout)
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), 9*time.Second)
		for _, want := range []string{
			"zklock: connect to 127.0.0.1:2181,127.0.0.2:2181,127.0.0.3:2181: no session after 7",
			"tired",
			"127.0.0.1:2181: connection refused",
			"127.0.0.2:2181: accepts the connection",
			`127.0.0.3:2181: this is not ZooKeeper's protocol: the answer to the handshake begins with "HTTP"`,
		} {
			require.ErrorContains(t, err, want)
		}
		require.NotContains(t, err.Error(), "\n")
	}) // and the bubble ends: no goroutine is left
}

func TestConnectThatIsGivenUpIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		_, err := Connect(ctx, servers[:1], 40*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(muteFor(t, 1000, nil, "")))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "accepts the connection and has not answered yet")
		require.LessOrEqual(t, time.Since(began), 1200*time.Millisecond)
		began = time.Now()
		_, err = Connect(ctx, servers[:1], asked)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, time.Since(began))
	})
}

func TestConnectRefusesWhatCannotWork(t *testing.T) {
	for _, d := range []time.Duration{0, -1, time.Microsecond, 1000 * time.Hour} {
		_, err := Connect(t.Context(), servers, d)
		require.ErrorContains(t, err, "is not between 1 ms and 24 days")
	}
	_, err := Connect(t.Context(), nil, asked)
	require.ErrorContains(t, err, "server list must not be empty")
}

// The caller's own options work beside those that Connect needs itself.
func TestConnectKeepsTheCallersOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		var dialed, asked atomic.Int32
		var mu sync.Mutex
		var states []zk.State
		conn := open(t, []string{"203.0.113.1:1"},
			zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				dialed.Add(1)
				require.Equal(t, "my own server", address)
				return srv.Dial(network, address, timeout)
			}),
			zk.WithHostProvider(&one{asked: &asked}),
			zk.WithEventCallback(func(e zk.Event) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, e.State)
			}))
		for range 20 { // more than the client's channel of events holds
			srv.Cut(conn.SessionID())
			time.Sleep(3 * time.Second)
		}
		require.EqualValues(t, 21, dialed.Load())
		require.EqualValues(t, 21, asked.Load())
		mu.Lock()
		defer mu.Unlock()
		sessions := 0
		for _, state := range states {
			if state == zk.StateHasSession {
				sessions++
			}
		}
		require.Equal(t, 21, sessions)
	})
}

type one struct{ asked *atomic.Int32 }

func (o *one) Init([]string) error  { return nil }
func (o *one) Len() int             { return 1 }
func (o *one) Next() (string, bool) { o.asked.Add(1); return "my own server", false }
func (o *one) Connected()           {}

func TestClientsThatAreClosedAreForgotten(t *testing.T) {
	srv := zkserver.Run(t)
	addr, err := srv.Listen()
	require.NoError(t, err)
	keys := make(map[weak.Pointer[zk.Conn]]bool)
	for range 20 {
		conn, err := Connect(t.Context(), []string{addr}, asked, zk.WithLogger(quiet{}), zk.WithMaxConnBufferSize(1<<12), zk.WithMaxBufferSize(1<<12))
		require.NoError(t, err)
		keys[weak.Make(conn)] = true
		conn.Close()
	}
	known := func() (n int) {
		clients.Range(func(key, _ any) bool {
			if keys[key.(weak.Pointer[zk.Conn])] {
				n++
			}
			return true
		})
		return n
	}
	deadline := time.Now().Add(time.Minute)
	for known() > 0 && time.Now().Before(deadline) {
		runtime.GC()
		time.Sleep(time.Millisecond) // for the clean-ups, which run aside
	}
	require.Zero(t, known())
}

func TestAnOrdinaryClientIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		conn, _, err := zk.Connect(servers, asked, zk.WithDialer(srv.Dial), zk.WithLogger(quiet{}))
		require.NoError(t, err)
		defer conn.Close()
		_, ok := SessionTimeout(conn)
		require.False(t, ok)
	})
}
