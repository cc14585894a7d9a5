package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// stuckClose opens a client that gets no further than StateDisconnected after
// its Close, until the test ends. From outside that is what happens to
// go-zookeeper's client when flushRequests has a third answer for a request
// whose channel has room for two: no watch is called off, the event channel
// stays open, each request fails with ErrConnectionClosed at once, and the
// server, which the write has not reached, keeps the session until its timeout.
func (tb *table) stuckClose() (conn *zk.Conn, closeIt func()) {
	tb.Helper()
	closing, end := make(chan struct{}), make(chan struct{})
	conn = tb.connectAs(ordinary{
		wrap: func(nc net.Conn) net.Conn { return failingWriter{nc, closing} },
		onEvent: func(ev zk.Event) {
			if ev.State == zk.StateDisconnected && isClosed(closing) {
				<-end
			}
		},
	})
	tb.Cleanup(func() { close(end) })
	return conn, func() {
		close(closing)
		conn.Close()
	}
}

// A failingWriter is a connection that breaks when it is written to after begun
// has been closed.
type failingWriter struct {
	net.Conn
	begun <-chan struct{}
}

func (c failingWriter) Write(b []byte) (int, error) {
	if isClosed(c.begun) {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestLockReturnsAfterAnOrdinaryClientHasBeenClosed(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn, closeIt := tb.stuckClose()
		m := tb.mutex(conn)
		first := lockAside(context.Background(), m, zklock.NewOwner("first waiter"))
		synctest.Wait()
		second := lockAside(context.Background(), m, zklock.NewOwner("second waiter"))
		synctest.Wait()
		require.Len(tb, tb.srv.Children(top), 2)
		closeIt()
		for i, waiter := range []<-chan locked{first, second} {
			select {
			case got := <-waiter:
				require.ErrorIs(tb, got.err, zk.ErrClosing, "waiter %d", i)
			case <-time.After(time.Minute):
				require.Fail(tb, "Lock hangs, and the client has been closed", "waiter %d", i)
			}
		}
		_, err := m.Lock(context.Background(), zklock.NewOwner("late"))
		require.ErrorIs(tb, err, zk.ErrClosing, "a Lock that begins after Close")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

func TestLostClosesAndUnlockReturnsAfterAnOrdinaryClientHasBeenClosed(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, closeIt := tb.stuckClose()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		next := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("next"))
		time.Sleep(time.Second) // until it waits
		closed := time.Now()
		closeIt()
		<-holder.Lost()
		require.LessOrEqual(tb, time.Since(closed), 10*time.Second, "Lost closes later than the session timeout")
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		select {
		case err := <-unlocked:
			require.ErrorIs(tb, err, zklock.ErrLost)
		case <-time.After(time.Minute):
			require.Fail(tb, "Unlock hangs, and the client has been closed")
		}
		passes(tb, next)
	})
}

// TestLockReturnsThoughTheClientHangsInClose plays what stuckClose stands for.
// A request that is made after Close goes to the sender half of the time, with
// one answer in its channel. The sender, whose connection takes nothing more,
// gives it a second one when the write fails. Half of the time nobody has taken
// the first; then the client's loop hangs with the third. That goroutine can
// never end, so the schedule is played in a process of its own.
func TestLockReturnsThoughTheClientHangsInClose(t *testing.T) {
	const variable = "ZKLOCK_HANGS_IN_CLOSE"
	if os.Getenv(variable) != "" {
		onTable(t, hangsInClose)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), variable+"=1")
	said, err := child.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "the client hangs, and Lock has returned")
}

func hangsInClose(tb *table) {
	fail := func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
		os.Exit(1)
	}
	tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
	for range 100 {
		conn, events, err := zk.Connect([]string{"127.0.0.1:1"}, 10*time.Second, zk.WithDialer(tb.srv.Dial),
			zk.WithLogger(silentLogger{}), zk.WithLogInfo(false))
		require.NoError(tb, err)
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it waits
		tb.srv.Hold(of(conn.SessionID(), jute.OpCloseSession, ""))
		conn.Close()
		for range 10 {
			conn.Exists("/")
		}
		time.Sleep(time.Minute) // until the write has failed, and the lock has noticed
		for len(events) > 0 {
			<-events
		}
		hangs := true // its last act is to close the channel
		select {
		case <-events:
			hangs = false
		default:
		}
		select {
		case got := <-waiter:
			if !errors.Is(got.err, zk.ErrClosing) {
				fail("Lock returns %v", got.err)
			}
		default:
			fail("Lock has not returned; the client hangs: %t", hangs)
		}
		if hangs {
			fmt.Println("the client hangs, and Lock has returned")
			os.Exit(0)
		}
	}
	fail("no client hangs in Close")
}

// connectSluggish opens a client whose event callback takes a while when the
// connection is lost. Until it returns the client does not connect again: it
// is open, and shows StateDisconnected.
func (tb *table) connectSluggish(takes time.Duration) *zk.Conn {
	tb.Helper()
	awake := make(chan struct{})
	conn := tb.connectAs(ordinary{wrap: watchesFirst, onEvent: func(ev zk.Event) {
		if ev.State == zk.StateDisconnected && !isClosed(awake) {
			time.Sleep(takes) // what the user's callback does
		}
	}})
	tb.Cleanup(func() { close(awake) })
	return conn
}

func TestALiveClientIsNotTakenForClosed(t *testing.T) {
	for _, takes := range []time.Duration{600 * time.Millisecond, 5 * time.Second} {
		onTables(t, takes.String(), func(tb *table) {
			conn := tb.connectSluggish(takes + 50*time.Millisecond) // between two polls
			holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
			next := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("next"))
			time.Sleep(time.Second) // until it waits
			tb.srv.Cut(conn.SessionID())
			synctest.Wait()
			require.Equal(tb, zk.StateDisconnected, conn.State())
			require.NoError(tb, holder.Unlock(context.Background()), "a live client is taken for closed")
			passes(tb, next, "the node of a holder that has unlocked blocks the queue")
		})
	}
}

func TestAnEntryThatIsGivenUpGoesThoughTheClientIsDisconnectedForLong(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectSluggish(650 * time.Millisecond)
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx, cancel := context.WithCancel(context.Background())
		waiter := lockAside(ctx, tb.mutex(conn), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it waits
		require.Len(tb, tb.srv.Children(top), 2)
		tb.srv.Cut(conn.SessionID())
		synctest.Wait()
		cancel()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
		time.Sleep(5 * time.Second) // the client has come back long ago
		require.Len(tb, tb.srv.Children(top), 1, "the waiter has given up, and its node stays")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestTheEventOfOneLockEndsTheLeasesOfAll: the client has been closed while no server
// answered, and the session goes on without it. Only one of its locks has a watch,
// and gets the event.
func TestTheEventOfOneLockEndsTheLeasesOfAll(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		watched := tb.mustLock(tb.mutex(conn), zklock.NewOwner("watched"))
		time.Sleep(3 * time.Second) // until its node is watched, and the session has just been proved
		other, err := zklock.New(conn, "/other", zklock.WithSessionTimeout(10*time.Second))
		require.NoError(tb, err)
		alone := tb.mustLock(other, zklock.NewOwner("alone"))
		id := conn.SessionID()
		many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == id })
		conn.Close()
		tb.srv.Cut(id)
		<-watched.Lost()
		synctest.Wait()
		require.True(tb, tb.isLost(alone), "another lock of the client has got the event that it is closed")
	})
}

// A record is a logger of package zk or a handler of package slog.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(line, "zklock: ") {
		r.lines = append(r.lines, line)
	}
}

func (r *record) Printf(format string, a ...any) { r.add(fmt.Sprintf(format, a...)) }
func (r *record) Write(b []byte) (int, error)    { r.add(string(b)); return len(b), nil }

// TestTheLogHasOneLineForWhatCannotBeAnError: a session timeout that is not known, and a
// client that is closed before Shutdown.
func TestTheLogHasOneLineForWhatCannotBeAnError(t *testing.T) {
	onTable(t, func(tb *table) {
		ofZK, ofConnect := new(record), new(record)
		before := zk.DefaultLogger
		zk.DefaultLogger = ofZK
		tb.Cleanup(func() { zk.DefaultLogger = before })
		ordinary := tb.connectAs(ordinary{})
		conn, err := zkconn.Connect(context.Background(), three, 10*time.Second, zkconn.WithDialer(tb.srv.Dial),
			zkconn.WithLogger(slog.New(slog.NewTextHandler(ofConnect, nil))))
		require.NoError(tb, err)
		for range 2 {
			for _, c := range []*zk.Conn{ordinary, conn} {
				m, err := zklock.New(c, top)
				require.NoError(tb, err)
				require.NoError(tb, tb.mustLock(m, nil).Unlock(context.Background()))
			}
		}
		synctest.Wait() // what is written is written
		require.Len(tb, ofZK.lines, 1)
		require.Contains(tb, ofZK.lines[0], "4s is assumed")
		tb.mutex(ordinary, zklock.WithSessionTimeout(8*time.Second))
		require.Len(tb, ofZK.lines, 1)
		require.Empty(tb, ofConnect.lines)

		m, err := zklock.New(conn, top)
		require.NoError(tb, err)
		holder := tb.mustLock(m, nil)
		waiter := lockAside(context.Background(), m, nil)
		conn.Close()
		<-holder.Lost()
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
		synctest.Wait()
		require.Len(tb, ofConnect.lines, 1)
		require.Contains(tb, ofConnect.lines[0], "closed before Shutdown")
		require.NoError(tb, m.Shutdown(context.Background()))
		ordinary.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(tb, ofZK.lines, 1, "nothing was under way")
	})
}
