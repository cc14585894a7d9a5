// Tests of sessions, of addresses, of Stop and Start, of the server's end, and of input that no client sends. tg is the
// server, and c a client (wire_test.go): connect opens a session, dial a connection alone, and handshake asks for a
// session on it.
package zkserver_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
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

// onEmbedded runs a test in virtual time, with an embedded server as its target (wire_test.go).
func onEmbedded(t *testing.T, f func(tg *target)) {
	needsEmbedded(t)
	bubble.Test(t, func(t *testing.T) { f(newTarget(t)) })
}

func requestOf(c *wire, op jute.Op) zkserver.Condition {
	return zkserver.On(op, "").From(c.session.SessionID)
}

// reconnect has the client ask for its session again, on a new connection.
func (c *wire) reconnect(tg *target) (jute.ConnectResponse, error) {
	old := c.session
	*c = *tg.dial()
	return c.handshake(reopen(old, longest))
}

func (tg *target) hasSession(c *wire) bool {
	return slices.ContainsFunc(tg.srv.Sessions(), func(s zkserver.Session) bool { return s.ID == c.session.SessionID })
}

func TestASessionExpiresWithinATickAfterItsTimeout(t *testing.T) {
	const timeout, tick = 5 * time.Second, 2 * time.Second              // a tick of a server without options
	for offset := time.Duration(0); offset < tick; offset += tick / 6 { // how long after a tick the session begins
		onEmbedded(t, func(tg *target) {
			time.Sleep(offset)
			c := tg.dial()
			testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: int32(timeout.Milliseconds())}))(tg)
			require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
			last := time.Now()
			for tg.hasSession(c) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			took := time.Since(last)
			require.Greater(tg, took, timeout)
			require.LessOrEqual(tg, took, timeout+tick+time.Millisecond) // the loop above looks once a millisecond
			_, there := tg.srv.Node(tg.root + "/e")
			require.False(tg, there)
			c.requireClosed()
		})
	}
}

func TestAnyPacketKeepsASessionAlive(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		const silence = longest*time.Millisecond - time.Second // the session's timeout is the longest one
		for range 20 {
			time.Sleep(silence)
			c.eventsNow() // a ping
			time.Sleep(silence)
			c.stat("/") // a request
			time.Sleep(silence)
			require.NotZero(tg, testenv.Must(c.reconnect(tg))(tg).SessionID)
		}
	})
}

func TestACutConnectionKeepsItsSessionAndEphemerals(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
		require.Equal(tg, jute.OK, c.watch(jute.OpGetData, tg.root))
		id := c.session.SessionID
		require.Equal(tg, jute.OK, c.addWatch(tg.root+"/one", jute.ModePersistent))
		require.Equal(tg, jute.OK, c.addWatch(tg.root+"/two", jute.ModePersistentRecursive))
		require.Equal(tg, []zkserver.Watch{
			{Path: tg.root, Session: id},
			{Path: tg.root + "/one", Session: id, Persistent: true},
			{Path: tg.root + "/one", Session: id, Persistent: true, Children: true},
			{Path: tg.root + "/two", Session: id, Persistent: true, Recursive: true},
			{Path: tg.root + "/two", Session: id, Persistent: true, Recursive: true, Children: true},
		}, tg.srv.Watches())

		require.True(tg, tg.srv.Cut(c.session.SessionID))
		c.requireClosed()
		require.False(tg, tg.srv.Cut(c.session.SessionID), "there is no connection left")
		require.Empty(tg, tg.srv.Watches(), "watches die with their connection")
		sessions := tg.srv.Sessions()
		last := sessions[len(sessions)-1]
		require.Equal(tg, zkserver.Session{ID: c.session.SessionID, Timeout: longest * time.Millisecond, Ephemerals: []string{tg.root + "/e"}}, last)
		time.Sleep(longest*time.Millisecond + 2*time.Second) // and a tick
		synctest.Wait()
		require.False(tg, tg.hasSession(c))
		require.Empty(tg, tg.srv.Children(tg.root))
	})
}

// The nodes of the session go in one transaction, in the order of their paths, whatever the order of their creation.
func TestExpireEndsASessionAtOnce(t *testing.T) {
	const nodes = 9
	for range 5 {
		onEmbedded(t, func(tg *target) {
			c, watcher := tg.connect(), tg.connect()
			for _, name := range rand.Perm(nodes) {
				require.Equal(tg, jute.OK, c.create(fmt.Sprintf("%s/%d", tg.root, name), jute.FlagEphemeral))
			}
			require.Equal(tg, jute.OK, watcher.addWatch(tg.root, jute.ModePersistentRecursive))
			before := watcher.seen
			require.True(tg, tg.srv.Expire(c.session.SessionID))
			require.False(tg, tg.srv.Expire(c.session.SessionID))
			var want []event
			for name := range nodes {
				want = append(want, event{jute.EventDeleted, fmt.Sprintf("%s/%d", tg.root, name)})
			}
			require.Equal(tg, want, watcher.eventsNow())
			require.Zero(tg, watcher.stat(tg.root).NumChildren)
			require.Equal(tg, before+1, watcher.seen, "all went in one transaction")
			c.requireClosed()
		})
	}
}

func TestAClientThatNeverReadsIsReadNoFurther(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		const requests, size = 1000, 1 << 19 // their replies have 500 MB in all
		large := &jute.CreateRequest{Path: tg.root + "/x", Data: make([]byte, size), ACL: jute.WorldACL()}
		require.Equal(tg, jute.OK, c.code(jute.OpCreate, large))
		sent := make(chan int)
		go func() {
			n := 0
			for ; n < requests; n++ {
				if _, err := c.Conn.Write(frame(&jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: tg.root + "/x"})); err != nil {
					break
				}
			}
			sent <- n
		}()
		require.Less(tg, <-sent, requests/50, "the server keeps replies without a limit")
		synctest.Wait()
		require.False(tg, tg.hasSession(c), "its session expires like any that sends no packet")
	})
}

func TestCloseEndsEverything(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.New()
	addr := srv.Addr()
	silent := testenv.Must(net.Dial("tcp", addr))(t)
	defer silent.Close()
	srv.Close()
	srv.Close()
	silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	require.Error(t, testenv.Err(silent.Read(make([]byte, 1))))
	require.ErrorIs(t, testenv.Err(srv.Dial("", "", 0)), zkserver.ErrClosed)
	require.ErrorIs(t, testenv.Err(srv.Listen("127.0.0.1:0")), zkserver.ErrClosed)
	require.Equal(t, addr, srv.Addr())
	srv.Stop()
	require.True(t, srv.Start(), "no client is there that could have missed the break")
}

func TestASilentConnectionIsClosed(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		start := time.Now()
		tg.dial().requireClosed()
		require.Equal(tg, 10*time.Second, time.Since(start))
	})
}

// noExpiry is for tests in real time: no session expires, although the machine may be busy.
var noExpiry = zkserver.WithTick(5 * time.Minute)

// FuzzConn sends any bytes, after a handshake or in its place. The server must not panic, and must still serve others.
func FuzzConn(f *testing.F) {
	for op := range jute.Op(25) {
		f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: op}, &jute.CreateRequest{Path: "/a", Data: []byte("d"), ACL: jute.WorldACL(), Flags: 1}))
		f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: op}, &jute.PathWatch{Path: "/a", Watch: true}))
	}
	f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: jute.OpMulti}, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: "/a", ACL: jute.WorldACL(), Flags: 3}},
		{jute.OpSetData, &jute.SetDataRequest{Path: "/a", Version: -1}},
		{jute.OpDelete, &jute.PathVersion{Path: "/a", Version: 9}},
	}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -8, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/a"}, Exist: []string{"/b"}, Child: []string{"/"}}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -8, Op: jute.OpSetWatches2}, &jute.SetWatches2{Persistent: []string{"/a"}, Recursive: []string{"/", "x", ""}}))
	f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: jute.OpAddWatch}, &jute.AddWatch{Path: "/", Mode: 1}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -4, Op: jute.OpAuth}, &jute.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}))
	f.Add(false, frame(&jute.ConnectRequest{TimeoutMs: 1, SessionID: 77}))
	f.Add(false, []byte("srvr"))
	f.Add(false, []byte{0x7f, 0xff, 0xff, 0xff, 0})

	srv := zkserver.New()
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, greeted bool, b []byte) {
		tg := &target{T: t, srv: srv}
		bystander := tg.connect()
		c := tg.dial()
		if greeted {
			testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: 10_000}))(t)
		}
		done := make(chan struct{})
		go func() { // reads all that the server says, until the connection is closed
			defer close(done)
			io.Copy(io.Discard, c.r)
		}()
		c.Conn.Write(b) // fails if the server closes first, which is its right
		require.Equal(t, jute.OK, bystander.create("/bystander", jute.FlagEphemeral))
		require.Equal(t, jute.OK, bystander.delete("/bystander"))
		c.Close()
		<-done
		require.Equal(t, jute.OK, bystander.code(jute.OpCloseSession, raw{}))
		if c.session.SessionID != 0 {
			srv.Expire(c.session.SessionID)
		}
	})
}

// opNames are all that a client can send to a 3.8.0 (ZooDefs.OpCode in the Apache source).
var opNames = map[jute.Op]string{
	1: "create", 2: "delete", 3: "exists", 4: "getData", 5: "setData", 6: "getACL", 7: "setACL", 8: "getChildren", 9: "sync",
	11: "ping", 12: "getChildren2", 13: "check", 14: "multi", 15: "create2", 16: "reconfig", 17: "checkWatches",
	18: "removeWatches", 19: "createContainer", 20: "deleteContainer", 21: "createTTL", 22: "multiRead",
	100: "auth", 101: "setWatches", 102: "sasl", 103: "getEphemerals", 104: "getAllChildrenNumber", 105: "setWatches2",
	106: "addWatch", 107: "whoAmI", -10: "createSession", -11: "closeSession",
}

// The package's doc lists the requests and the four-letter words that the server does not serve, as its answers show.
func TestWhatIsNotServedIsDocumented(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		text := testenv.Must(os.ReadFile("doc.go"))(tg)
		listed := func(after string) []string {
			_, list, ok := strings.Cut(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\n//", " ")), " "), after)
			require.True(tg, ok, after)
			list, _, _ = strings.Cut(list, ".")
			return strings.Split(list, ", ")
		}
		var not []string
		for op, name := range opNames {
			c := tg.connect()
			c.write(frame(&jute.RequestHeader{Xid: 1, Op: op}))
			if h, _, err := c.read(); err == nil && h.Err == jute.ErrUnimplemented {
				c.requireClosed()
				not = append(not, name)
			}
		}
		slices.Sort(not)
		require.Equal(tg, not, listed("Not served, and answered with -6 and a closed connection: "))

		srv := zkserver.Run(tg, zkserver.WithWords("*"))
		words := strings.Fields("conf cons crst dirs dump envi gtmk hash isro lead mntr ruok srst srvr stat stmk wchc wchp wchs")
		refused := slices.DeleteFunc(words, func(word string) bool {
			return !strings.Contains((&target{T: tg.T, srv: srv}).askWord(word), "not in the whitelist")
		})
		require.Equal(tg, refused, listed("Never on the whitelist: "))
	})
}

func TestTheServerListensOnLoopbackAlone(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.Run(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1.example.com:0", "localhost", ""} {
		addr, err := srv.Listen(address)
		require.Error(t, err, address)
		require.Empty(t, addr)
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.8.9.10:0"} {
		addr := testenv.Must(srv.Listen(address))(t, address)
		host, _ := testenv.Must2(net.SplitHostPort(addr))(t)
		require.True(t, net.ParseIP(host).IsLoopback(), "listens on %s", host)
		testenv.Must(net.Dial("tcp", addr))(t).Close()
	}
	first, _, _ := net.SplitHostPort(srv.Addr())
	require.Equal(t, "127.0.0.1", first)
	require.NotEqual(t, srv.Addr(), srv.ListenAlso())
	require.ErrorIs(t, testenv.Err(srv.Listen(srv.Addr())), syscall.EADDRINUSE)
}

// waitForSession waits until a server answers the client in its session.
func waitForSession(t *testing.T, conn *zk.Conn) {
	end := time.Now().Add(5 * time.Minute)
	for {
		_, _, err := conn.Exists("/")
		if err == nil {
			return
		}
		// The client may see the break only now, or has just found no server that runs.
		goesOn := errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrConnectionClosed)
		require.True(t, goesOn && time.Now().Before(end), "%v", err)
		time.Sleep(time.Millisecond)
	}
}

func TestAServerComesBackWithItsData(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.Run(t, noExpiry)
	addr := srv.Addr()
	conn := bubble.Connect(t, net.DialTimeout, 20*time.Second, []string{addr})
	testenv.Must(conn.Create("/e", []byte("x"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	session := conn.SessionID()
	// A client of a busy machine may not see the break in time, as Start says. Then the server is stopped again.
	end := time.Now().Add(5 * time.Minute)
	for seen := false; !seen; {
		require.True(t, time.Now().Before(end), "the client never sees the break in time")
		srv.Stop()
		require.ErrorIs(t, testenv.Err(net.Dial("tcp", addr)), syscall.ECONNREFUSED)
		require.ErrorIs(t, testenv.Err(srv.Dial("tcp", addr, 0)), syscall.ECONNREFUSED)
		seen = srv.Start()
		waitForSession(t, conn)
	}
	require.Equal(t, session, conn.SessionID())
	require.Equal(t, addr, srv.Addr())
	require.Equal(t, "/e ephemeral \"x\"\n", srv.Tree())
	require.True(t, srv.Start(), "the server runs already")
}

// Start returns false, after a second, if a client has not seen the break: it does not read its connection.
func TestStartSaysThatAClientHasNotSeenTheBreak(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		tg.connect()
		tg.srv.Stop()
		began := time.Now()
		require.False(tg, tg.srv.Start())
		require.Equal(tg, time.Second, time.Since(began))
	})
}

// A long reply is sent before the next request is carried out: until the client reads it, the delete behind it waits.
func TestALongReplyIsSentBeforeTheNextRequest(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.set(tg.root, strings.Repeat("x", 64<<10), anyVersion))
		c.write(append(frame(&jute.RequestHeader{Op: jute.OpGetData}, &jute.PathWatch{Path: tg.root}),
			frame(&jute.RequestHeader{Op: jute.OpDelete}, &jute.PathVersion{Path: tg.root, Version: -1})...))
		synctest.Wait()
		require.NotEmpty(tg, tg.srv.Tree(), "the client has read nothing yet")
	})
}

// Start returns false if a client over TCP has not closed its side of a broken connection.
func TestAConnectionOverTCPThatIsNotClosedIsNotSeen(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.Run(t)
	nc := testenv.Must(net.Dial("tcp", srv.Addr()))(t)
	defer nc.Close()
	c := &wire{t: t, Conn: nc, r: bufio.NewReader(nc)}
	_ = testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: longest}))(t)
	srv.Stop()
	require.False(t, srv.Start())
	c.requireClosed()
}

func TestNoSessionExpiresWhileTheServerIsStopped(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
		tg.srv.Stop()
		c.requireClosed()
		c.Close()
		time.Sleep(time.Hour)
		tg.srv.Start()
		time.Sleep((longest - 1) * time.Millisecond)
		require.NotZero(tg, testenv.Must(c.reconnect(tg))(tg).SessionID, "it has its whole timeout from the start on")
		require.Equal(tg, []string{"e"}, tg.srv.Children(tg.root))
	})
}

func TestAServerThatHasLostItsDataRefusesItsOldClients(t *testing.T) {
	needsEmbedded(t)
	bubble.Test(t, func(t *testing.T) {
		refused := 0
		tg := &target{T: t, srv: zkserver.Run(t, zkserver.WithRefusal(func() { refused++ })), root: "/t"}
		c := tg.connect()
		require.Equal(t, jute.OK, c.create("/x", jute.FlagPersistent))
		go func() { // so that the server sees at once that the client has seen the break
			c.requireClosed()
			c.Close()
		}()

		require.True(t, tg.srv.StartEmpty())
		require.Empty(t, tg.srv.Tree())
		require.Empty(t, tg.srv.Sessions())
		old := c.session
		ahead := reopen(old, longest)
		ahead.LastZxidSeen = 1 << 40 // of the data that is lost
		require.Error(t, testenv.Err(tg.dial().handshake(ahead)))
		require.Equal(t, 1, refused)
		require.Zero(t, testenv.Must(tg.dial().handshake(reopen(old, longest)))(t).SessionID, "its session is gone")
		require.Equal(t, jute.OK, tg.connect().create("/x", jute.FlagPersistent))
	})
}

// One server at several addresses is an ensemble to its clients: they leave an address that is stopped for another one.
func TestAClientGoesToTheAddressThatServes(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.Run(t, noExpiry)
	addrs := []string{srv.Addr(), srv.ListenAlso()}
	conn := bubble.Connect(t, net.DialTimeout, 20*time.Second, addrs)
	waitForSession(t, conn)
	session := conn.SessionID()
	for _, addr := range append(addrs, addrs...) {
		srv.Stop(addr)
		waitForSession(t, conn)
		require.NotEqual(t, addr, conn.Server())
		require.Equal(t, session, conn.SessionID())
		srv.Start(addr)
	}
}

func TestAnAddressOverPipesIsStoppedByItsName(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		tg.srv.Stop("192.0.2.1:2181")
		require.ErrorIs(tg, testenv.Err(tg.srv.Dial("tcp", "192.0.2.1:2181", 0)), syscall.ECONNREFUSED)
		nc := testenv.Must(tg.srv.Dial("tcp", "192.0.2.2:2181", 0))(tg)
		tg.srv.Stop("192.0.2.2:2181")
		require.Error(tg, testenv.Err(nc.Read(make([]byte, 1))))
		nc.Close()
		require.True(tg, tg.srv.Start())
		for _, addr := range []string{"192.0.2.1:2181", "192.0.2.2:2181"} {
			testenv.Must(tg.srv.Dial("tcp", addr, 0))(tg).Close()
		}
	})
}

func TestCutAllCutsEveryConnectionAndNoSession(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		a, b := tg.connect(), tg.connect()
		tg.srv.CutAll()
		for _, c := range []*wire{a, b} {
			c.requireClosed()
			require.NotZero(tg, testenv.Must(c.reconnect(tg))(tg).SessionID)
		}
	})
}
