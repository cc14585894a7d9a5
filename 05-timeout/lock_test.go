package timeout_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// leased is a Lock as the suites for locks with leases use it.
type leased struct{ lock *timeout.Lock }

func (l leased) Lock(ctx context.Context) (locktest.Lease, error)    { return l.lock.Lock(ctx) }
func (l leased) TryLock(ctx context.Context) (locktest.Lease, error) { return l.lock.TryLock(ctx) }

var leases = locktest.LeaseSubject{
	Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
		l := timeout.New(conn, path, bubble.SessionTimeout)
		return func(string) locktest.LeaseLock { return leased{l} }
	},
	ErrHeld: timeout.ErrHeld,
	ErrLost: timeout.ErrLost,
	Level:   locktest.Basic,
}

func TestLeases(t *testing.T) { locktest.Run(t, leases) }

// contender makes a contender for the suites of locks without leases. Open ignores the name.
func contender(conn *zk.Conn, path string) locktest.ContextLock {
	return locktest.NewContender(leases, leases.Open(conn, path)("contender"))
}

func TestLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return locktest.Background(contender(conn, path)) },
		ErrNotLocked: locktest.ErrNotLocked,
		Queue:        true, Retries: true,
		Expired:  []error{zk.ErrSessionExpired, zk.ErrNoNode}, // ErrNoNode: its node went with the session
		WakeUps:  func(waiting int) int { return 1 },
		Requests: func(n int) int { return 6*n - 2 }, // six for each that waits, and four for the first
	})
}

func TestContexts(t *testing.T) {
	locktest.Run(t, locktest.ContextSubject{
		New:          contender,
		ErrNotLocked: locktest.ErrNotLocked,
	})
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) { exploretest.Test(t, steps.Timeout()) }

func TestFaults(t *testing.T) {
	testenv.RacedAtLength(t, "its schedules run the lines of the other suites, one at a time")
	exploretest.Faults(t, steps.Timeout())
}

// TestAFailedWriteIsTriedAgain: the error is the network's, and not one of the client's own.
func TestAFailedWriteIsTriedAgain(t *testing.T) {
	testenv.Embedded(t, "it brings its own server")
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		failed := false
		line := &bubble.Line{Server: srv, Wrap: func(c net.Conn) net.Conn { return failsOnce{c, &failed} }}
		conn := bubble.Connect(t, line.Dial, 10*time.Second, bubble.One)
		lease := testenv.Must(timeout.New(conn, "/lock", 10*time.Second).Lock(t.Context()))(t)
		require.True(t, failed)
		require.NoError(t, lease.Unlock(t.Context()))
	})
}

// failsOnce is a connection on which the first request for children cannot be written. A
// request begins with its length, its number and its operation, four bytes each.
type failsOnce struct {
	net.Conn
	failed *bool
}

func (c failsOnce) Write(b []byte) (int, error) {
	if !*c.failed && len(b) >= 12 && jute.Op(binary.BigEndian.Uint32(b[8:])) == jute.OpGetChildren2 {
		*c.failed = true
		c.Close()
		return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

// TestALeaseCountsFromItsFirstRead: from when it was sent, also if its answer comes late.
func TestALeaseCountsFromItsFirstRead(t *testing.T) {
	testenv.Embedded(t, "it brings its own server")
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // of virtual time: after conn is closed, run ends by itself
		conn := bubble.Connect(t, srv.Dial, 10*time.Second, bubble.One)
		late := srv.HoldReply(func(r zkserver.Request) bool { return r.Op == jute.OpGetData })
		var sent time.Time
		go func() {
			<-late.Hit()
			sent = time.Now()
			time.Sleep(4 * time.Second) // of virtual time
			late.Release()
		}()
		lease := testenv.Must(timeout.New(conn, "/lock", 10*time.Second).Lock(t.Context()))(t)
		silence := srv.Hold(func(r zkserver.Request) bool { return true })
		<-lease.Lost()
		require.Equal(t, 10*time.Second, time.Since(sent))
		silence.Release()
		require.ErrorIs(t, lease.Unlock(t.Context()), timeout.ErrLost)
	})
}

// descheduled is a ctx whose Done is slow for Lock, which calls it in contend, and not for the
// goroutine that makes the requests: that one has ended when Lock comes to its select.
type descheduled struct{ context.Context }

func (c descheduled) Done() <-chan struct{} {
	stack := make([]byte, 8<<10)
	if bytes.Contains(stack[:runtime.Stack(stack, false)], []byte(").contend(")) {
		time.Sleep(time.Minute) // of virtual time
	}
	return c.Context.Done()
}

func TestALockThatIsLateSaysThatItsCtxHasEnded(t *testing.T) {
	for range 20 { // both channels of Lock's select are ready, and it takes either
		bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
			conn := bubble.Connect(t, srv.Dial, 10*time.Second, bubble.One)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := timeout.New(conn, "/lock", 10*time.Second).Lock(descheduled{ctx})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Empty(t, srv.Children("/lock"))
		})
	}
}
