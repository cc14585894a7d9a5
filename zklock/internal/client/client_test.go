// Tests of requests that are tried again, and of the guard, on an embedded server in virtual time.
package client

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
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

// The tables clients and serials have no entry of a conn that is garbage.
func TestNothingIsLeftOfAConnThatIsGarbage(t *testing.T) {
	entries := func(of *sync.Map) (n int) {
		of.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	for range 100 {
		Of(new(zk.Conn), time.Second)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return entries(&clients) == 0 && entries(&serials) == 0
	}, 10*time.Minute, time.Millisecond)
}

// A caller of Idle also waits for a task that begins while another one runs.
func TestIdleIsOfAllTasks(t *testing.T) {
	var tasks Tasks
	require.True(t, IsClosed(tasks.Idle()), "before the first")
	for range 2 {
		tasks.Begin()
		idle := tasks.Idle()
		tasks.Begin()
		tasks.End()
		require.False(t, IsClosed(idle), "the second runs")
		tasks.End()
		require.True(t, IsClosed(idle))
		require.True(t, IsClosed(tasks.Idle()))
	}
}

func withPrefix(id string) (prefix string, data []byte) { return id + "-", nil }

func neverRefused(int, error) {}

// openOneServer opens an ordinary client of one server, to be dialed unless down. dialed is the time of the last dial.
func openOneServer(t *testing.T, srv *zkserver.Server) (conn *zk.Conn, down *atomic.Bool, dialed *time.Time) {
	dialed = new(time.Time)
	line := &bubble.Line{Server: srv, Wrap: func(nc net.Conn) net.Conn { *dialed = time.Now(); return nc }}
	return bubble.Connect(t, line.Dial, sessionTimeout, bubble.One), &line.Down, dialed
}

// A request that found no server is sent as soon as there is one, and not a pause later, which may cost a lease.
func TestARequestThatFoundNoServerIsSentAsSoonAsThereIsOne(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn, down, dialed := openOneServer(t, srv)
		c := Of(conn, sessionTimeout)
		testenv.Must2(c.Get(nil, "/"))(t)
		for outage := sessionTimeout / 4; outage < sessionTimeout/2; outage += sessionTimeout / 20 {
			down.Store(true)
			srv.Cut(conn.SessionID())
			synctest.Wait() // the client looks for a server
			time.AfterFunc(outage, func() { down.Store(false) })
			testenv.Must2(c.Get(nil, "/"))(t)
			require.Zero(t, time.Since(*dialed), "after an outage of %v", outage)
		}
	})
}

// A delete that was carried out counts although its reply is lost and the next try finds no server: the lock was not
// lost. It was lost if the delete did not reach a server and the session ends.
func TestADeleteCountsAlthoughTheNextFindsNoServer(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn, down, _ := openOneServer(t, srv)
		testenv.Must(conn.Create("/queue", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
		parent := Of(conn, sessionTimeout).Parent("/queue", zk.WorldACL(zk.PermAll))
		node := testenv.Must(parent.Create(nil, withPrefix, neverRefused))(t)
		lost := srv.LoseReply(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		down.Store(true) // when the connection breaks
		time.AfterFunc(sessionTimeout/2, func() { down.Store(false) })
		_ = testenv.Must(node.Delete(neverRefused))(t)
		require.Len(t, lost.Hit(), 1)
		require.Empty(t, srv.Children("/queue"))
		node = testenv.Must(parent.Create(nil, withPrefix, neverRefused))(t)
		lost = srv.LoseRequest(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		deleted := bubble.Aside(func() error { return testenv.Err(node.Delete(neverRefused)) })
		<-lost.Hit()
		srv.Expire(node.Session)
		require.Error(t, <-deleted)
	})
}

// A guard node has one child, the mark of the last hold that was allowed to write: a write checks that its own mark is
// there. A holder from before the servers lost their data is fenced although the next one has the same token, whichever
// of them comes first. The mark of an earlier version of this package is the token alone.
func TestAHoldOfBeforeALossOfTheDataIsFenced(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c, everybody := Of(conn, 0), zk.WorldACL(zk.PermAll)
		over := func() error { return nil } // never
		guard := func(m Mark) error { return c.Guard(nil, over, "/guard", m, everybody) }
		write := func(m Mark) error {
			operation := &zk.CreateRequest{Path: "/data-", Acl: everybody, Flags: zk.FlagSequence}
			return testenv.Err(c.Guarded(context.Background(), new(Tasks), over, "/guard", m.In("/guard"), []any{operation}))
		}
		for _, before := range []Mark{{Token: 4096, ID: "first"}, {Token: 8192}} {
			next := Mark{before.Token, "next"}
			require.NoError(t, guard(before))
			require.NoError(t, write(before))
			require.ErrorIs(t, guard(next), ErrFenced)
			srv.StartEmpty()
			require.NoError(t, guard(next))
			require.NoError(t, guard(next), "which was made before")
			require.ErrorIs(t, write(before), ErrFenced)
			require.ErrorIs(t, guard(before), ErrFenced)
			require.NoError(t, write(next))
		}
		lower, later := Mark{Token: 9000}, Mark{9001, "later"}
		require.NoError(t, guard(lower), "as an earlier version does")
		require.NoError(t, guard(later))
		require.Equal(t, []string{fmt.Sprint(later)}, srv.Children("/guard"))
	})
}
