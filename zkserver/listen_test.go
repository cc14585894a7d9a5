// Tests of addresses, of Stop and Start, and of what clients notice of them. tg is the server, and c a client: wire_test.go.
package zkserver_test

import (
	"bufio"
	"errors"
	"net"
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
