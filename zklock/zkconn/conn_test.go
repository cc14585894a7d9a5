// Tests of what Connect's client does on one connection, and of each fault of the ordinary client that it has not.
package zkconn

import (
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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
	"example.com/zklock/zkserver"
)

// A test of a fault is patchable if it passes with an ordinary client of the library as docs/client.md patches it. The
// others are about a connection of Connect's own client, or a function that only zkconn has.
const patchable, ofOurs = true, false

// faults has the tests that fail with an ordinary client, which zk.Connect opens.
var faults = map[string]bool{
	"TestFaultCloseHangsTheClient":                               patchable,
	"TestFaultARepeatedCredentialHangsTheClient":                 patchable,
	"TestFaultASilentServerIsKeptForMinutes":                     patchable,
	"TestFaultAServerThatFallsSilentInItsAnswerIsKeptForAllTime": patchable,
	"TestFaultANewSessionSetsItsWatchesAgain":                    ofOurs,
	"TestFaultAReplyIsReadBeforeTheWatchesAreSet":                ofOurs,
	"TestFaultAReplyIsReadBeforeTheWatchesArePutDown":            patchable,
	"TestFaultTheNextSetWatchesLeavesAChangeOut":                 patchable,
	"TestFaultARequestIsSentInTheNextSession":                    patchable,
	"TestFaultTheNegotiatedTimeoutIsPrivate":                     ofOurs,
	"TestFaultAServerThatHasLostItsDataIsOfNoUseForAllTime":      ofOurs,
}

// The test of each fault fails with an ordinary client, in a process of its own.
func TestAnOrdinaryClientHasEachFault(t *testing.T) {
	if *ordinary {
		t.Skip("this process was started by the test itself")
	}
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A test that hangs in virtual time panics. One that hangs in a mutex stops virtual time, and is ended.
			var out []byte
			var err error
			for try := 0; err == nil && try < 5; try++ { // the order of two goroutines of the client can hide a fault
				out, err = exec.Command(os.Args[0], "-test.run", "^"+name+"$", "-test.timeout", "30s", "-connect.ordinary").CombinedOutput()
			}
			require.Error(t, err, "%s", out)
			require.Regexp(t, "FAIL: "+name+`|(?s)panic: test timed out.*`+name, string(out))
		})
	}
}

// withWrites is an option of a client: its connections call write, which may write to nc, in place of their own Write.
func withWrites(srv *zkserver.Server, write func(nc net.Conn, b []byte) (int, error)) func(*zk.Conn) {
	return zk.WithDialer((&bubble.Line{Server: srv, Wrap: func(nc net.Conn) net.Conn { return wrapped{nc, write} }}).Dial)
}

type wrapped struct {
	net.Conn
	write func(nc net.Conn, b []byte) (int, error)
}

func (w wrapped) Write(b []byte) (int, error) { return w.write(w.Conn, b) }

// opOf is the opcode of a request, 0 for a handshake.
func opOf(b []byte) jute.Op {
	var h jute.RequestHeader
	h.Decode(jute.NewDecoder(b[4:]))
	return h.Op
}

// A request that is queued while Close runs, and whose write fails, gets three answers on a channel that has room for
// two. https://github.com/go-zookeeper/zk/pull/163 is the same mistake with two answers on a channel of one. Whether a
// request is queued after Close has begun, and whether its caller takes one of the answers, is random: hence 64 tries.
func TestFaultCloseHangsTheClient(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		for range 64 {
			var closing atomic.Bool
			conn := open(t, servers[:1], withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
				switch {
				case closing.Load():
					return 0, errors.New("the cable is cut")
				case opOf(b) == jute.OpCloseSession:
					closing.Store(true)
					return len(b), nil // and it is lost
				}
				return nc.Write(b)
			}))
			_, _, watch := testenv.Must3(conn.ExistsW("/never"))(t)
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

// On each connection the client repeats its credentials. If the write fails, that
// request gets two answers on a channel of one: https://github.com/go-zookeeper/zk/pull/163
func TestFaultARepeatedCredentialHangsTheClient(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		line := &bubble.Line{Server: srv}
		line.Wrap = func(nc net.Conn) net.Conn {
			n := len(line.Dialed())
			return wrapped{nc, func(nc net.Conn, b []byte) (int, error) {
				if n == 2 && opOf(b) == jute.OpAuth {
					return 0, errors.New("the cable is cut")
				}
				return nc.Write(b)
			}}
		}
		conn := open(t, servers[:1], zk.WithDialer(line.Dial))
		require.NoError(t, conn.AddAuth("digest", []byte("user:password")))
		srv.Cut(conn.SessionID())
		time.Sleep(5 * time.Second)
		require.Len(t, line.Dialed(), 3)
		require.Equal(t, zk.StateHasSession, conn.State())
	})
}

// muteThenDial returns a dialer that n times reaches a server that says a text and then nothing, and then calls dial.
func muteThenDial(n int, dial zk.Dialer, says string) zk.Dialer {
	var dialed atomic.Int32
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		if int(dialed.Add(1)) > n {
			return dial(network, address, timeout)
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			server.Read(make([]byte, 1024)) // the handshake
			io.WriteString(server, says)
			defer time.AfterFunc(time.Hour, func() { server.Close() }).Stop()
			io.Copy(io.Discard, server) // until the client leaves, or an hour has passed
		}()
		return client, nil
	}
}

// requireSilentServersAreLeft opens a client when two of three servers say a text and then nothing.
func requireSilentServersAreLeft(t *testing.T, says string) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		began := time.Now()
		open(t, servers, zk.WithDialer(muteThenDial(2, srv.Dial, says)))
		require.Less(t, time.Since(began), sessionTimeout/3, "a session may have ended by now")
	})
}

// A server that accepts a connection and says nothing, such as a frozen one, is given ten times the read deadline,
// since https://github.com/samuel/go-zookeeper/pull/48.
func TestFaultASilentServerIsKeptForMinutes(t *testing.T) { requireSilentServersAreLeft(t, "") }

func TestFaultAServerThatFallsSilentInItsAnswerIsKeptForAllTime(t *testing.T) {
	requireSilentServersAreLeft(t, "\x00\x00\x00\x24\x00") // the length of the answer, and its first byte
}

// dialHandshake returns a connection after the handshake, as the client sees it.
func dialHandshake(t *testing.T, srv *zkserver.Server, h jute.ConnectRequest) (net.Conn, jute.ConnectResponse) {
	nc := testenv.Must(srv.Dial("", "", 0))(t)
	if !*ordinary {
		nc = newCarefulConn(nc, newClient(sessionTimeout), "")
	}
	t.Cleanup(func() { nc.Close() })
	h.TimeoutMs = int32(sessionTimeout / time.Millisecond)
	send(t, nc, &h)
	var r jute.ConnectResponse
	require.NoError(t, jute.ReadRecord(nc, &r))
	return nc, r
}

func send(t *testing.T, nc net.Conn, records ...interface{ Encode(*jute.Encoder) }) {
	var e jute.Encoder
	e.Frame(records...)
	testenv.Must(nc.Write(e.Bytes()))(t)
}

// requireReply reads the reply with an xid; an event before it fails the test.
func requireReply(t *testing.T, nc net.Conn, xid int32) {
	var h jute.ReplyHeader
	require.NoError(t, jute.ReadRecord(nc, &h))
	require.Equal(t, xid, h.Xid, "-1 is an event: a change that did not happen is reported")
	require.Zero(t, h.Err)
}

// A client that sets its watches again in a new session, as it does on every connection, gets no event of a change that
// did not happen, although a reply has set the watch before, and the client does not know its zxid.
func TestFaultANewSessionSetsItsWatchesAgain(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		admin := testenv.Must(Connect(t.Context(), servers, sessionTimeout, WithDialer(srv.Dial)))(t)
		defer admin.Close()
		_ = testenv.Must(admin.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))(t)

		nc, _ := dialHandshake(t, srv, jute.ConnectRequest{})
		send(t, nc, &jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: "/a", Watch: true})
		requireReply(t, nc, 1)
		send(t, nc, &jute.RequestHeader{Xid: 2, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/a"}})
		requireReply(t, nc, 2)
		require.Len(t, srv.Watches(), 1)
	})
}

// The client reads the zxid up to which it has seen what it watches while it reads replies, which move it on:
// https://github.com/samuel/go-zookeeper/issues/260, https://github.com/go-zookeeper/zk/pull/35.
func TestFaultAReplyIsReadBeforeTheWatchesAreSet(t *testing.T) {
	const ofThis, ofBefore, none = "of this connection", "of the connection before", ""
	for _, watches := range []string{ofThis, ofBefore, none} {
		bubble.ServeCase(t, watches, func(t *testing.T, srv *zkserver.Server) {
			first, session := dialHandshake(t, srv, jute.ConnectRequest{})
			first.Close()
			nc, _ := dialHandshake(t, srv, jute.ConnectRequest{SessionID: session.SessionID, Password: session.Password})
			send(t, nc, &jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: "/"})
			began := time.Now()
			read := make(chan struct{})
			go func() { defer close(read); requireReply(t, nc, 1) }()
			synctest.Wait()
			require.False(t, bubble.IsClosed(read), "a reply is read, and moves the zxid on, before the watches have been set")
			if watches == ofThis {
				nc.(*carefulConn).watchesAreSet()
			}
			if watches != none {
				send(t, nc, &jute.RequestHeader{Xid: 2, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/"}})
			}
			<-read
			if watches == ofThis {
				require.Zero(t, time.Since(began))
			} else {
				require.Equal(t, againWatches, time.Since(began))
			}
			if watches != none {
				requireReply(t, nc, 2)
			}
		})
	}
}

// The client writes its watches down with the zxid, and only then queues the request for them, which waits for those
// that are queued already. A reply may be read in between, and not before.
func TestFaultAReplyIsReadBeforeTheWatchesArePutDown(t *testing.T) {
	// After the handshake of the resumed session the watches are put down at 50 ms, which lets the reply to the sync be
	// read. The request that is queued before theirs is written at 100 ms.
	const down, written = 50 * time.Millisecond, 100 * time.Millisecond
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var resumed time.Time
		conn := open(t, servers[:1], withWrites(srv, func(nc net.Conn, b []byte) (int, error) {
			switch opOf(b) {
			case 0: // a handshake
				resumed = time.Now()
			case jute.OpGetData:
				time.Sleep(written) // of virtual time
			}
			return nc.Write(b)
		}))
		testenv.Must3(conn.ExistsW("/never"))(t)
		delayCallsOf(t, conn, "setWatchCallback", down)

		session := conn.SessionID()
		srv.Cut(session)
		synctest.Wait() // it waits for a second before it dials again
		synced := make(chan time.Time, 1)
		go func() { conn.Sync("/"); synced <- time.Now() }()
		synctest.Wait() // the one is queued before the other
		got := bubble.Aside(func() error { _, _, err := conn.Get("/"); return err })
		syncedAt := <-synced
		require.Equal(t, down, syncedAt.Sub(resumed))
		require.NoError(t, <-got)
		synctest.Wait()
		require.Equal(t, session, conn.SessionID())
		require.Len(t, srv.Watches(), 1, "they are set again")
	})
}

// delayCallsOf makes a client take some time before it calls the function in one of its unexported fields, which may be nil.
func delayCallsOf(t *testing.T, conn *zk.Conn, field string, d time.Duration) {
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

// A request that waits in the client is carried out before its SetWatches, and the reply moves the zxid on. If that
// connection breaks, the next SetWatches leaves out what was changed before. Ours has this fault: the locks look again.
func TestFaultTheNextSetWatchesLeavesAChangeOut(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, servers[:1], zk.WithDialer(srv.Dial))
		_, _, changed, err := conn.ChildrenW("/")
		require.NoError(t, err)
		lost := srv.LoseRequest(zkserver.On(jute.OpSetWatches, ""))
		srv.Cut(conn.SessionID())
		synctest.Wait() // it waits before it dials again
		untilDone(t, func() error { return testenv.Err(conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))) })
		time.Sleep(sessionTimeout)
		require.Len(t, lost.Hit(), 1)
		isReported, isPatched := len(changed) > 0, *ordinary // an ordinary client without the patch fails this test
		require.Equal(t, isPatched, isReported)
		require.Len(t, srv.Watches(), 1-len(changed), "or the watch waits for the next change")
	})
}

// untilDone repeats a request until it succeeds, for at most a minute, as a program does that reaches no server.
func untilDone(t *testing.T, request func() error) {
	began := time.Now()
	err := request()
	for ; err != nil && time.Since(began) < time.Minute; err = request() {
		time.Sleep(10 * time.Millisecond) // of virtual time
	}
	require.NoError(t, err)
}

// A request that waits in the client for a connection is sent on the next one, even if that begins another session:
// an ephemeral node belongs to a session that the caller knows nothing of.
func TestFaultARequestIsSentInTheNextSession(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
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
		created := bubble.Aside(func() error { return testenv.Err(conn.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))) })
		synctest.Wait() // it is in the queue
		srv.Expire(session)
		down.Store(false)
		require.ErrorIs(t, <-created, zk.ErrNoServer)
		synctest.Wait()                 // the client answers all that is in its queue, and a request that comes meanwhile
		testenv.Must2(conn.Get("/"))(t) // in the next session
		require.NotEqual(t, session, conn.SessionID())
		_, there := srv.Node("/mine")
		require.False(t, there)
	})
}

// dialLate connects to a server whose answer to the handshake takes d longer.
func dialLate(t *testing.T, srv *zkserver.Server, d time.Duration) net.Conn {
	server := testenv.Must(srv.Dial("", "", 0))(t)
	rest := d
	t.Cleanup(func() { time.Sleep(rest) }) // until what is on its way has arrived
	return bubble.Through(server, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		time.Sleep(d) // of virtual time
		d = 0
		return packet
	}})
}

// A client waits longer for each handshake, and each one that it gives up has begun a session on the server.
func TestTheClientWaitsForASlowHandshakeInTheEnd(t *testing.T) {
	for takes, abandoned := range map[time.Duration]int32{
		1500 * time.Millisecond: 1, // it waits for 1.1 s, a third of a third of the session timeout, and then for 1.7 s
		3500 * time.Millisecond: 3, // then for 2.5 s, and for 3.8 s
		9900 * time.Millisecond: 6, // then for 5.6 s, for 8.4 s, and for 10 s, which is the session timeout
	} {
		bubble.ServeCase(t, takes.String(), func(t *testing.T, srv *zkserver.Server) {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // until the client is closed
			var dialed atomic.Int32
			var now atomic.Int64
			now.Store(int64(takes))
			conn := open(t, servers, zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
				dialed.Add(1)
				return dialLate(t, srv, time.Duration(now.Load())), nil
			}))
			require.EqualValues(t, abandoned+1, dialed.Load())
			session := conn.SessionID()
			reconnected := func(after time.Duration) bool {
				srv.Cut(session)
				time.Sleep(after + time.Millisecond)
				return conn.State() == zk.StateHasSession && conn.SessionID() == session
			}
			if takes < 2*time.Second { // a third of the session timeout has gone when the client notices
				require.True(t, reconnected(takes), "the handshake gets no longer time than the first one needed")
			}
			now.Store(0)
			require.True(t, reconnected(time.Second))
			now.Store(int64(takes))
			require.False(t, reconnected(takes), "after a fast handshake the next one gets more than the least time")
		})
	}
}

func TestTheHandshakeTimeoutIsNoLongerThanTheSessionTimeout(t *testing.T) {
	c := newClient(sessionTimeout)
	c.handshakeTimeout = 2 * sessionTimeout
	require.Equal(t, sessionTimeout, c.nextHandshakeTimeout())
}

// The patches of docs/client.md fit the library, and cure an ordinary client of the faults that it has without them.
func TestThePatchesOfThePageCureAnOrdinaryClient(t *testing.T) {
	testenv.NotRaced(t, "it runs another program")
	patched := slices.Collect(maps.Keys(faults))
	patched = slices.DeleteFunc(patched, func(name string) bool { return !faults[name] })
	out := testenv.Must(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output())(t)
	library := strings.TrimSpace(string(out))
	page := testenv.Must(os.ReadFile("../../docs/client.md"))(t)

	diffs := regexp.MustCompile("(?ms)^```diff\n--- a/(.*?)\n\\+\\+\\+ b/(.*?)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, diffs, 8)
	files := make(map[string]string) // the patched texts, by name
	for _, diff := range diffs {
		name := diff[1]
		require.Equal(t, name, diff[2])
		if files[name] == "" {
			text := testenv.Must(os.ReadFile(filepath.Join(library, name)))(t)
			files[name] = string(text)
		}
		files[name] = applyDiff(t, files[name], diff[3])
	}

	dir := t.TempDir()
	copied := filepath.Join(dir, "zk") // the library with these texts
	require.NoError(t, os.CopyFS(copied, os.DirFS(library)))
	for name, text := range files {
		require.NoError(t, os.Remove(filepath.Join(copied, name))) // it cannot be written
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), []byte(text), 0o600))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text := testenv.Must(os.ReadFile("../../" + name))(t)
		if name == "go.mod" {
			text = append(text, "replace github.com/go-zookeeper/zk => "+strconv.Quote(copied)+"\n"...)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	testenv.Landing(t, "compiles the patched library, and what uses it")
	tests := "^(" + strings.Join(patched, "|") + ")$"
	run := exec.Command("go", "test", "-modfile", filepath.Join(dir, "go.mod"), "-timeout", "5m", "-v",
		"-run", tests, ".", "-connect.ordinary")
	out = testenv.Must(run.CombinedOutput())(t)
	require.Equal(t, len(patched), strings.Count(string(out), "--- PASS: "), "%s", out)
}

// applyDiff applies the hunks of a unified diff, each where its lines are.
func applyDiff(t *testing.T, text, diff string) string {
	for _, hunk := range regexp.MustCompile(`(?m)^@@.*\n`).Split(diff, -1)[1:] {
		var before, after strings.Builder
		for line := range strings.Lines(hunk) {
			switch rest := line[1:]; line[0] {
			case ' ':
				before.WriteString(rest)
				after.WriteString(rest)
			case '-':
				before.WriteString(rest)
			case '+':
				after.WriteString(rest)
			default:
				t.Fatalf("%q is not a line of a diff", line)
			}
		}
		require.Equal(t, 1, strings.Count(text, before.String()), "the page's patch does not fit the library:\n%s", hunk)
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text
}

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

// loseData replaces the server by an empty one after a time: shorter or longer than the client's pause, or the session.
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
	var exists bool
	untilDone(t, func() (err error) { exists, _, err = conn.Exists("/a"); return err })
	require.False(t, exists)
	require.LessOrEqual(t, time.Since(began), session*3/2+2*time.Second+10*time.Millisecond, "%v, away for %v", session, away)
	require.NotEqual(t, before, conn.SessionID())
	require.EqualValues(t, 1, expired.Load())
	require.Empty(t, srv.Load().Watches(), "a watch of the session that is over has been set again")
}
