package zkserver_test

import (
	"fmt"
	"math/rand"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// inBubble runs a test with an embedded server in virtual time.
func inBubble(t *testing.T, f func(tg *target)) {
	embedded(t)
	bubble.Test(t, func(t *testing.T) { f(newTarget(t)) })
}

// on is the condition that a request of a session is of a kind.
func on(c *wire, op jute.Op) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool { return r.Session == c.session.SessionID && r.Op == op }
}

// again takes the client back into its session, on a new connection.
func (c *wire) again(tg *target) (jute.ConnectResponse, error) {
	old := c.session
	*c = *tg.dial()
	return c.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.SessionID, Password: old.Password})
}

func (tg *target) lives(c *wire) bool {
	return slices.ContainsFunc(tg.srv.Sessions(), func(s zkserver.Session) bool { return s.ID == c.session.SessionID })
}

func TestASessionExpiresWithinATickAfterItsTimeout(t *testing.T) {
	for offset := time.Duration(0); offset < 2*time.Second; offset += 333 * time.Millisecond {
		inBubble(t, func(tg *target) {
			time.Sleep(offset)
			c := tg.dial()
			_, err := c.handshake(jute.ConnectRequest{TimeoutMs: 5000})
			require.NoError(tg, err)
			require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
			last := time.Now()
			for tg.lives(c) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			took := time.Since(last)
			require.Greater(tg, took, 5*time.Second)
			require.LessOrEqual(tg, took, 7*time.Second+time.Millisecond)
			_, there := tg.srv.Node(tg.root + "/e")
			require.False(tg, there)
			c.closes()
		})
	}
}

func TestAnyPacketKeepsASessionAlive(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for range 20 {
			time.Sleep(39 * time.Second)
			c.eventsNow() // pings
			time.Sleep(39 * time.Second)
			c.stat("/")
			time.Sleep(39 * time.Second)
			resp, err := c.again(tg)
			require.NoError(tg, err)
			require.NotZero(tg, resp.SessionID)
		}
	})
}

func TestACutConnectionKeepsItsSessionAndEphemerals(t *testing.T) {
	inBubble(t, func(tg *target) {
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
		c.closes()
		require.False(tg, tg.srv.Cut(c.session.SessionID), "there is no connection left")
		require.Empty(tg, tg.srv.Watches(), "watches die with their connection")
		sessions := tg.srv.Sessions()
		last := sessions[len(sessions)-1]
		require.Equal(tg, zkserver.Session{ID: c.session.SessionID, Timeout: longest * time.Millisecond, Ephemerals: []string{tg.root + "/e"}}, last)
		time.Sleep(longest*time.Millisecond + 2*time.Second) // and a tick
		synctest.Wait()
		require.False(tg, tg.lives(c))
		require.Empty(tg, tg.srv.Children(tg.root))
	})
}

// TestExpireEndsASessionAtOnce: its nodes go in one transaction, by path.
func TestExpireEndsASessionAtOnce(t *testing.T) {
	for range 5 {
		inBubble(t, func(tg *target) {
			c, watcher := tg.connect(), tg.connect()
			for _, name := range rand.Perm(9) {
				require.Equal(tg, jute.OK, c.create(fmt.Sprintf("%s/%d", tg.root, name), jute.FlagEphemeral))
			}
			require.Equal(tg, jute.OK, watcher.addWatch(tg.root, jute.ModePersistentRecursive))
			before := watcher.seen
			require.True(tg, tg.srv.Expire(c.session.SessionID))
			require.False(tg, tg.srv.Expire(c.session.SessionID))
			var want []event
			for name := range 9 {
				want = append(want, event{jute.EventDeleted, fmt.Sprintf("%s/%d", tg.root, name)})
			}
			require.Equal(tg, want, watcher.eventsNow())
			require.Zero(tg, watcher.stat(tg.root).NumChildren)
			require.Equal(tg, before+1, watcher.seen, "all went in one transaction")
			c.closes()
		})
	}
}

func TestContainersGoOnceUsedAndEmpty(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for _, name := range []string{"/used", "/unused", "/busy"} {
			code, _ := c.do(jute.OpCreateContainer, &jute.CreateRequest{Path: tg.root + name, Data: []byte{}, ACL: jute.WorldACL(), Flags: jute.FlagContainer})
			require.Equal(tg, jute.OK, code)
			n, _ := tg.srv.Node(tg.root + name)
			require.True(tg, n.Container)
		}
		require.Equal(tg, jute.OK, c.create(tg.root+"/used/x", jute.FlagPersistent))
		require.Equal(tg, jute.OK, c.create(tg.root+"/busy/x", jute.FlagPersistent))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/used/x"))
		watcher := tg.connect()
		require.Equal(tg, jute.OK, watcher.watch(jute.OpExists, tg.root+"/used"))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/busy/x"))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/busy")) // by hand, before it is looked for
		var events []event
		for range 20 {
			time.Sleep(7 * time.Second)
			events = append(events, watcher.eventsNow()...)
		}
		require.Equal(tg, []string{"unused"}, tg.srv.Children(tg.root))
		require.Equal(tg, []event{{jute.EventDeleted, tg.root + "/used"}}, events)
	})
}

func TestNodesGoWhenTheirTimeToLiveIsOver(t *testing.T) {
	embedded(t)
	bubble.Test(t, func(t *testing.T) {
		tg := &target{T: t, srv: zkserver.Run(t, zkserver.WithTTL())}
		c := tg.connect()
		create := func(path string, ttl int64) {
			r := jute.CreateRequest{Path: path, ACL: jute.WorldACL(), Flags: jute.FlagTTL}
			code, _ := c.do(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: r, TTL: ttl})
			require.Equal(t, jute.OK, code)
		}
		create("/idle", 10_000)
		create("/set", 10_000)
		create("/parent", 10_000)
		require.Equal(t, jute.OK, c.create("/parent/child", jute.FlagPersistent))
		n, _ := tg.srv.Node("/idle")
		require.Equal(t, 10*time.Second, n.TTL)
		time.Sleep(10 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", -1))
		tg.srv.ReapContainers()
		require.Equal(t, "/idle ttl 10s\n/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree(), "its time is not over yet")
		time.Sleep(time.Millisecond)
		tg.srv.ReapContainers()
		require.Equal(t, "/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree())
		require.Equal(t, jute.OK, c.delete("/parent/child"))
		watcher := tg.connect()
		require.Equal(t, jute.OK, watcher.watch(jute.OpExists, "/parent"))
		time.Sleep(38 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", -1))
		require.Empty(t, watcher.eventsNow())
		time.Sleep(25 * time.Second) // it looks once a minute
		require.Equal(t, []event{{jute.EventDeleted, "/parent"}}, watcher.eventsNow())
		require.Empty(t, tg.srv.Tree())
	})
}

// What a real 3.8.0 does when it starts from a snapshot with such a number:
// its tree only ever raises it. Negative numbers exist all the same, on
// servers that let it wrap.
func TestSequenceNumbersEndAtTheLargest(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		next := func() (jute.Code, string) {
			code, d := c.do(jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/n", ACL: jute.WorldACL(), Flags: jute.FlagSequential})
			if code != jute.OK {
				return code, ""
			}
			return code, d.String()[len(tg.root):]
		}
		require.True(tg, tg.srv.SetSequence(tg.root, 1<<31-2))
		require.False(tg, tg.srv.SetSequence(tg.root+"/no", 0))
		for _, want := range []string{"/n2147483646", "/n2147483647"} {
			code, name := next()
			require.Equal(tg, jute.OK, code)
			require.Equal(tg, want, name)
		}
		code, _ := next()
		require.Equal(tg, jute.ErrNodeExists, code)
		require.Equal(tg, jute.OK, c.delete(tg.root+"/n2147483647"))
		_, name := next()
		require.Equal(tg, "/n2147483647", name, "the same number again")
		tg.srv.SetSequence(tg.root, -1<<31)
		_, name = next()
		require.Equal(tg, "/n-2147483648", name)
	})
}

// No other test makes nodes here, so that the whole tree can be counted.
func TestGetAllChildrenNumberOfTheRootAndOfTheEmptyPath(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for path, want := range map[string]int32{"/": 4, "": 5} {
			code, d := c.do(jute.OpGetAllChildrenNumber, pathBody(path))
			require.Equal(tg, jute.OK, code)
			require.Equal(tg, want, d.Int32(), "%q", path)
		}
	})
}

func TestAClientThatNeverReadsIsReadNoFurther(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		code, _ := c.do(jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/x", Data: make([]byte, 1<<19), ACL: jute.WorldACL()})
		require.Equal(tg, jute.OK, code)
		sent := make(chan int)
		go func() {
			n := 0
			for ; n < 1000; n++ {
				if _, err := c.Conn.Write(frame(&jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: tg.root + "/x"})); err != nil {
					break
				}
			}
			sent <- n
		}()
		require.Less(tg, <-sent, 20, "500 MB of replies are waiting in the server")
		synctest.Wait()
		require.False(tg, tg.lives(c), "its session expires like any that sends no packet")
	})
}

func TestCloseEndsEverything(t *testing.T) {
	embedded(t)
	srv := zkserver.New()
	addr := srv.Addr()
	silent, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer silent.Close()
	srv.Close()
	srv.Close()
	silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = srv.Dial("", "", 0)
	require.ErrorIs(t, err, zkserver.ErrClosed)
	_, err = srv.Listen("127.0.0.1:0")
	require.ErrorIs(t, err, zkserver.ErrClosed)
	require.Equal(t, addr, srv.Addr())
	srv.Stop()
	require.True(t, srv.Start(), "nobody is there to see it")
}

func TestASilentConnectionIsClosed(t *testing.T) {
	inBubble(t, func(tg *target) {
		start := time.Now()
		tg.dial().closesWithin(20 * time.Second)
		require.Equal(tg, 10*time.Second, time.Since(start))
	})
}

// quietLogger keeps go-zookeeper from writing to standard error.
type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

// lasting is for tests in real time: a busy machine does not end a session.
var lasting = zkserver.WithTick(5 * time.Minute)

func clientOf(t testing.TB, srv *zkserver.Server) *zk.Conn {
	addr := srv.Addr()
	conn, events, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithLogger(quietLogger{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(64<<10), zk.WithMaxConnBufferSize(64<<10))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return conn
		}
	}
	t.Fatal("no session")
	return nil
}

func TestAThousandSessionsInAGigabyte(t *testing.T) {
	embedded(t)
	srv := zkserver.Run(t, lasting)
	conns := make([]*zk.Conn, 1000)
	for i := range conns {
		conns[i] = clientOf(t, srv)
	}
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i)
			_, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			if err == nil {
				_, _, err = conn.Children("/")
			}
			if err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	require.Len(t, srv.Sessions(), 1000)
	require.Len(t, srv.Children("/"), 1001)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Less(t, m.Sys-m.HeapReleased, uint64(1<<30), "memory of the process, the thousand clients included")
	debug.FreeOSMemory()
}

// FuzzConn sends any bytes after a good handshake, and as a handshake. The
// server must not panic, and must go on serving others.
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
			_, err := c.handshake(jute.ConnectRequest{TimeoutMs: 10_000})
			require.NoError(t, err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := c.readFrame(); err != nil {
					return
				}
			}
		}()
		c.Conn.Write(b) // fails if the server closes first, which is its right
		require.Equal(t, jute.OK, bystander.create("/bystander", jute.FlagEphemeral))
		require.Equal(t, jute.OK, bystander.delete("/bystander"))
		c.Close()
		<-done
		code, _ := bystander.do(jute.OpCloseSession, emptyBody{})
		require.Equal(t, jute.OK, code)
		if c.session.SessionID != 0 {
			srv.Expire(c.session.SessionID)
		}
	})
}
