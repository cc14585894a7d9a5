// Tests of what a Mutex and a Lease return, of Shutdown, Stats and the log. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

func TestHoldsCountsTheLeasesOfAnOwner(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		owner, other := zklock.NewOwner("owner"), zklock.NewOwner("owner") // two owners, although they have one name
		require.Zero(tb, m.Holds(owner))
		first := tb.mustLock(m, owner)
		require.Equal(tb, 1, m.Holds(owner))
		second := tb.mustLock(m, owner)
		require.Equal(tb, 2, m.Holds(owner))
		require.Equal(tb, first.Token(), second.Token())
		waiter := startWaiter(m, other)
		require.Zero(tb, m.Holds(other), "it waits")

		require.NoError(tb, first.Unlock(context.Background()), "leases end in any order")
		require.ErrorIs(tb, first.Unlock(context.Background()), zklock.ErrUnlocked)
		require.True(tb, isClosed(first.Done()))
		require.Zero(tb, first.ValidUntil())
		require.Equal(tb, 1, m.Holds(owner))
		tb.mustUnlock(second)
		require.Zero(tb, m.Holds(owner))
		got := tb.receiveLease(waiter)
		require.Equal(tb, 1, m.Holds(other))

		tb.srv.Expire(conn.SessionID())
		<-got.Lost()
		require.Zero(tb, m.Holds(other), "the lock is lost")
		require.ErrorIs(tb, got.Unlock(context.Background()), zklock.ErrLost)
	})
}

type contextKey struct{}

// requireContextCostsNothing asserts that l.Context starts no goroutine, and that a ctx that has ended leaves no memory.
func (tb *serverTest) requireContextCostsNothing(l *zklock.Lease, parent context.Context) {
	before := runtime.NumGoroutine()
	require.NoError(tb, l.Context(parent).Err())
	// A cleanup of the garbage collector counts as a goroutine while it runs.
	require.True(tb, bubble.Until(synctest.Wait, func() bool { return runtime.NumGoroutine() <= before }))
	witness := new([64]byte) // stays in memory as long as the ctx that has it
	request, done := context.WithCancel(context.WithValue(parent, contextKey{}, witness))
	l.Context(request)
	done()
	left := weak.Make(witness)
	require.True(tb, bubble.Until(synctest.Wait, func() bool {
		runtime.GC()
		return left.Value() == nil
	}), "what has ended is in memory for as long as the lease")
}

// However a lease ends, its methods, its ctx, the error of Unlock, the counts and the log say so, and say why.
func TestALeaseEndsForWhateverReason(t *testing.T) {
	expire := func(tb *serverTest, conn *zk.Conn, _ *zklock.Lease) { tb.srv.Expire(conn.SessionID()) }
	beSilent := func(tb *serverTest, conn *zk.Conn, l *zklock.Lease) {
		silence := tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
		<-l.Lost()
		time.Sleep(sessionTimeout) // until the session has ended
		silence.Release()
	}
	for _, c := range []struct {
		what        string
		cause       error // nil: the lease is not lost
		fromConnect bool  // the client is zkconn.Connect's, which knows each server that was tried
		atOnce      bool  // the lease ends before its node is watched
		end         func(tb *serverTest, conn *zk.Conn, l *zklock.Lease)
	}{
		{what: "Unlock", end: func(tb *serverTest, _ *zk.Conn, l *zklock.Lease) { tb.mustUnlock(l) }},
		{what: "its session has expired", cause: zklock.ErrSessionExpired, end: expire},
		{what: "its session has expired before its node is watched", cause: zklock.ErrSessionExpired, atOnce: true, end: expire},
		{what: "its node was deleted", cause: zklock.ErrNodeDeleted, end: func(tb *serverTest, _ *zk.Conn, l *zklock.Lease) {
			tb.delete(tb.connect(), l.Node())
		}},
		{what: "its server is silent", cause: zklock.ErrNotProved, end: beSilent},
		{what: "its servers are silent", cause: zklock.ErrNotProved, fromConnect: true, end: beSilent},
		{what: "its servers have lost their data", cause: zklock.ErrSessionRefused, fromConnect: true,
			end: func(tb *serverTest, _ *zk.Conn, _ *zklock.Lease) { tb.srv.StartEmpty() }},
		{what: "its client was closed", cause: zk.ErrClosing, end: func(_ *serverTest, conn *zk.Conn, _ *zklock.Lease) { conn.Close() }},
	} {
		onServerCase(t, c.what, func(tb *serverTest) {
			tb.ordinary = !c.fromConnect
			conn := tb.connect()
			logged := new(slowLog)
			m, owner := tb.mutex(conn, zklock.WithLogger(slog.New(slog.NewTextHandler(logged, nil)))), zklock.NewOwner("owner")
			l, inner := tb.mustLock(m, owner), tb.mustLock(m, owner) // two leases of one hold
			tb.mustUnlock(inner)
			if !c.atOnce {
				time.Sleep(time.Minute) // in which nothing happens
			}

			require.False(tb, isClosed(l.Done()))
			require.True(tb, time.Now().Before(l.ValidUntil()))
			parent := context.WithValue(tb.within(time.Hour), contextKey{}, "value")
			ctx := l.Context(parent)
			deadline, _ := ctx.Deadline()
			require.Equal(tb, time.Hour, time.Until(deadline))
			require.Equal(tb, "value", ctx.Value(contextKey{}))
			tb.requireContextCostsNothing(l, parent)

			c.end(tb, conn, l)
			<-l.Done()
			synctest.Wait()
			isLost, over := c.cause != nil, zklock.ErrUnlocked // over is the error of calls from now on
			if isLost {
				over = zklock.ErrLost
			}
			require.Zero(tb, l.ValidUntil())
			require.Equal(tb, isLost, isClosed(l.Lost()), "Lost is closed")
			require.Equal(tb, isLost, isClosed(inner.Lost()), "all leases of a hold have the same Lost")
			require.ErrorIs(tb, ctx.Err(), context.Canceled)
			require.ErrorIs(tb, context.Cause(ctx), over)
			for range 100 { // a ctx that ends a moment later would be seen in one of them
				require.ErrorIs(tb, context.Cause(l.Context(parent)), over)
			}

			err, stats := l.Unlock(context.Background()), m.Stats()
			require.ErrorIs(tb, err, over)
			counts := map[error]int64{
				zklock.ErrSessionExpired: stats.LostExpired, zklock.ErrNodeDeleted: stats.LostDeleted,
				zklock.ErrNotProved: stats.LostNotProved, zklock.ErrSessionRefused: stats.LostRefused, zk.ErrClosing: stats.LostClosed,
			}
			for cause, count := range counts {
				require.Equal(tb, c.cause == cause, errors.Is(err, cause), "%v", err)
				require.Equal(tb, c.cause == cause, count == 1, "%+v", stats)
			}
			require.Equal(tb, isLost, stats.Lost == 1)
			namesServers := strings.Contains(err.Error(), threeServers[0]+": ")
			require.Equal(tb, c.fromConnect, namesServers, "%v", err)

			require.NoError(tb, m.Shutdown(context.Background()), "which waits for the logger")
			if !isLost {
				require.Empty(tb, zklockLines(logged))
				return
			}
			require.ErrorIs(tb, context.Cause(ctx), c.cause)
			lines := zklockLines(logged)
			require.Len(tb, lines, 1)
			require.Contains(tb, lines[0], "path=/lock owner=owner token="+fmt.Sprint(l.Token()))
			require.Contains(tb, lines[0], c.cause.Error())
		})
	}
}

// Do returns what its function returned, although no server answers the Unlock that Do calls: with an error, the caller
// would do the work again. Do waits for Unlock for a session timeout, and after the end of its ctx for maxRoundTrip.
func TestDoReturnsNilIfOnlyItsUnlockIsNotAnswered(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		var silence *zkserver.Fault // the server does not answer the delete of the node
		began := time.Now()
		for _, want := range []error{nil, errors.New("oops")} {
			err := m.Do(context.Background(), nil, func(context.Context, *zklock.Lease) error {
				silence = tb.srv.Hold(requestOf(conn.SessionID(), jute.OpDelete, "")).Every()
				return want
			})
			require.Equal(tb, want == nil, err == nil, "%v", err)
			require.NotErrorIs(tb, err, context.DeadlineExceeded)
			require.GreaterOrEqual(tb, time.Since(began), sessionTimeout)
			silence.Release()
		}

		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(tb, m.Do(ctx, nil, func(context.Context, *zklock.Lease) error {
			silence = tb.srv.Hold(requestOf(conn.SessionID(), jute.OpDelete, "")).Every()
			cancel()
			began = time.Now()
			return nil
		}))
		require.Equal(tb, maxRoundTrip, time.Since(began))
		silence.Release()
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// Of two calls of Unlock at once, which wait for the same delete, one returns nil and the other ErrUnlocked.
func TestOneOfTwoCallsOfUnlockReportsTheEnd(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		l := tb.mustLock(tb.mutex(conn))
		slow := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpDelete, ""))
		unlock := func() error { return l.Unlock(context.Background()) }
		first, second := inBackground(unlock), inBackground(unlock)
		synctest.Wait()
		slow.Release()
		one, other := <-first, <-second
		require.ErrorIs(tb, errors.Join(one, other), zklock.ErrUnlocked)
		require.True(tb, one == nil || other == nil, "%v, %v", one, other)
	})
}

// Shutdown waits until the node of a contender that gave up has gone: then the client may be closed.
func TestShutdownReturnsWhenTheNodeOfAContenderThatGaveUpHasGone(t *testing.T) {
	for what, op := range map[string]jute.Op{
		"the first create is slow": jute.OpCreate, "a later create is slow": jute.OpMulti, "a delete is slow": jute.OpDelete,
	} {
		onServerCase(t, what, func(tb *serverTest) {
			tb.makeParent()
			conn := tb.connectOrdinary()
			m := tb.mutex(conn)
			if op == jute.OpMulti {
				tb.lockAndUnlock(m) // and its next create is a multi
			}
			holder := tb.mustLock(tb.mutex(tb.connect()))
			slow := tb.srv.Hold(requestOf(conn.SessionID(), op, ""))
			tb.waitAndGiveUp(m)
			<-slow.Hit()

			began := time.Now()
			require.ErrorIs(tb, m.Shutdown(tb.within(time.Second)), context.DeadlineExceeded)
			require.Equal(tb, time.Second, time.Since(began))
			done := inBackground(func() error { return m.Shutdown(context.Background()) })
			synctest.Wait()
			require.Empty(tb, done, "the node of the contender is in the queue")
			slow.Release()
			require.NoError(tb, <-done)
			require.Len(tb, tb.srv.Children(lockPath), 1, "the holder's node")
			for _, watch := range tb.srv.Watches() {
				_, there := tb.srv.Node(watch.Path)
				require.True(tb, there, "it watches the node that it has given up: %v", watch.Path)
			}
			tb.mustUnlock(holder)
		})
	}
}

// Shutdown does not wait for a server if a contender gave up before its create was sent: there is no node to look for.
func TestShutdownReturnsForAContenderWhoseCreateWasNotSent(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		tb.srv.LoseRequest(zkserver.On(zkserver.OpConnect, "")).Every() // the client finds no server any more
		tb.srv.Cut(conn.SessionID())
		synctest.Wait()
		require.ErrorIs(tb, testenv.Err(m.Lock(tb.within(sessionTimeout/2), nil)), context.DeadlineExceeded)
		require.NoError(tb, m.Shutdown(tb.within(sessionTimeout)), "it waits for a server")
	})
}

// An owner that locks again before it unlocks a lost lease still holds the lock after that Unlock.
func TestALateUnlockOfALostLeaseTakesNothingFromTheNextOne(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		lost := tb.mustLock(m, owner)
		tb.srv.Expire(conn.SessionID())
		<-lost.Lost()
		again := tb.mustLock(m, owner)
		require.ErrorIs(tb, lost.Unlock(tb.within(time.Minute)), zklock.ErrLost)
		require.Equal(tb, 1, m.Holds(owner))
		inner := testenv.Must(m.TryLock(tb.within(time.Minute), owner))(tb, "the owner is kept out by itself")
		require.Equal(tb, again.Token(), inner.Token())
		require.NoError(tb, inner.Unlock(tb.within(time.Minute)))
		require.NoError(tb, again.Unlock(tb.within(time.Minute)))
	})
}

// After Shutdown, new owners are refused, and those that wait or hold go on. Its error names what is under way.
func TestShutdownRefusesNewLocksAndNamesWhatIsUnderWay(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m, holder := tb.mutex(conn), zklock.NewOwner("the holder")
		stranger := tb.mustLock(tb.mutex(tb.connect()))
		next := startWaiter(m, holder)
		waiter := startWaiter(m)
		waitsFor := func(all string) { // asserts that Shutdown waits for all that the text names
			err := m.Shutdown(tb.within(time.Second))
			require.ErrorIs(tb, err, context.DeadlineExceeded)
			require.True(tb, strings.HasSuffix(err.Error(), ": "+all), err)
		}

		waitsFor("owners that wait for the lock: 2")
		tb.mustUnlock(stranger)
		first := tb.receiveLease(next)
		waitsFor(first.Node() + ` is held by "the holder"; owners that wait for the lock: 1`)

		for _, lock := range []func(context.Context, *zklock.Owner) (*zklock.Lease, error){m.Lock, m.TryLock} {
			_, err := lock(tb.within(time.Minute), nil)
			require.ErrorIs(tb, err, zklock.ErrShutdown)
			require.NotErrorIs(tb, err, zklock.ErrHeld)
			require.ErrorContains(tb, err, lockPath)
		}
		require.ErrorIs(tb, m.Do(tb.within(time.Minute), nil, nil), zklock.ErrShutdown, "it does not call the nil function")
		tb.mustUnlock(tb.mustLock(m, holder)) // the owner that holds the lock may lock it again
		tb.mustUnlock(first)
		second := tb.receiveLease(waiter)

		stays := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpDelete, ""))
		require.ErrorIs(tb, second.Unlock(tb.within(time.Second)), context.DeadlineExceeded)
		waitsFor(second.Node() + " is being deleted")
		stays.Release()
		require.NoError(tb, m.Shutdown(context.Background()))
		require.NoError(tb, m.Shutdown(tb.within(0)), "again: nothing is under way")
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// Shutdown does not wait for the proof that another Mutex of the same client needs, and that no server answers.
func TestShutdownWaitsForNoOtherMutex(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		tb.lockAndUnlock(m)
		holder := tb.mustLock(mutexAt(conn, "/other"))                     // of the same client
		proof := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpSync, "")) // a proof begins with a sync
		<-proof.Hit()
		require.NoError(tb, m.Shutdown(tb.within(time.Second)))
		proof.Release()
		tb.mustUnlock(holder)
	})
}

// Shutdown waits for the proof of the session that was under way when the lock was released: a sync, and then a multi.
// The server carries out the requests of a session in the order in which they come:
//  1. The sync is held back, and Unlock's delete queues behind it.
//  2. The sync goes on, and Unlock returns. The multi is sent after the answer to the sync; its reply is held back.
//  3. Shutdown waits for the reply.
func TestShutdownReturnsWhenTheProofIsOver(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		id, m := conn.SessionID(), tb.mutex(conn)
		holder := tb.mustLock(m)
		proof := tb.srv.Hold(requestOf(id, jute.OpSync, ""))
		<-proof.Hit()
		last := tb.srv.HoldReply(requestOf(id, jute.OpMulti, ""))
		unlocked := inBackground(func() error { return holder.Unlock(context.Background()) })
		synctest.Wait() // until the delete is sent
		proof.Release()
		require.NoError(tb, <-unlocked)
		<-last.Hit()
		waited := inBackground(func() error { return m.Shutdown(context.Background()) })
		synctest.Wait()
		require.Empty(tb, waited, "Shutdown has returned, and a request is under way")
		last.Release()
		require.NoError(tb, <-waited)
	})
}

// A client that is closed while no server answers ends the leases of all its locks, although only one of them has a
// watch, which gets the event. The session goes on without the client.
func TestTheEventOfOneLockEndsTheLeasesOfAll(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		watched := tb.mustLock(tb.mutex(conn))
		time.Sleep(3 * time.Second) // until its node is watched, and the session has just been proved
		unwatched := tb.mustLock(mutexAt(conn, "/other"))
		id := conn.SessionID()
		tb.srv.Hold(anyRequestOf(id)).Every()
		conn.Close()
		tb.srv.Cut(id)
		<-watched.Lost()
		synctest.Wait()
		require.True(tb, isClosed(unwatched.Lost()), "only the other lock of the client has got the event that it is closed")
	})
}

// A waiter's Lock returns although its client hangs in Close, as an ordinary one may: the requests of another lock fail.
func TestAWaiterReturnsThoughItsClientHangsInClose(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn := bubble.Connect(tb, tb.srv.Dial, sessionTimeout, threeServers, zk.WithEventCallback(func(ev zk.Event) {
			if ev.Type == zk.EventSession && ev.State == zk.StateDisconnected {
				time.Sleep(30 * time.Second) // of virtual time: it hangs
			}
		}))
		holder, waiter := tb.mustLock(tb.mutex(conn)), startWaiter(tb.mutex(conn))
		tb.srv.Cut(conn.SessionID())
		conn.Close()
		<-holder.Lost()
		synctest.Wait()
		require.Len(tb, waiter, 1)
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
	})
}

// zklockLines returns zklock's lines of a log.
func zklockLines(log fmt.Stringer) []string {
	isOther := func(line string) bool { return !strings.Contains(line, "zklock: ") }
	return slices.DeleteFunc(strings.Split(log.String(), "\n"), isOther)
}

// A slowLog is a log of which each write takes a second.
type slowLog struct{ testenv.Buffer }

func (l *slowLog) Write(b []byte) (int, error) {
	time.Sleep(time.Second) // of virtual time
	return l.Buffer.Write(b)
}

// New gets no WithSessionTimeout. An ordinary client does not know the session timeout: the log has one line for that,
// however many Mutexes it has, and none more if the client is closed while nothing is under way.
func TestTheLogHasOneLineForASessionTimeoutThatIsNotKnown(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		written, before := new(testenv.Buffer), zk.DefaultLogger
		zk.DefaultLogger = log.New(written, "", 0) // both clients log there
		tb.Cleanup(func() { zk.DefaultLogger = before })
		ordinaryConn := tb.connectOrdinary()
		conn := testenv.Must(zkconn.Connect(context.Background(), threeServers, sessionTimeout, zkconn.WithDialer(tb.srv.Dial),
			zkconn.WithLogger(slog.New(slog.NewTextHandler(written, nil)))))(tb)
		for range 2 {
			for _, c := range []*zk.Conn{ordinaryConn, conn} {
				tb.lockAndUnlock(testenv.Must(zklock.New(c, lockPath))(tb))
			}
		}
		tb.mutex(ordinaryConn, zklock.WithSessionTimeout(8*time.Second))
		ordinaryConn.Close()
		conn.Close()
		time.Sleep(time.Minute)
		require.Len(tb, zklockLines(written), 1)
		require.Contains(tb, zklockLines(written)[0], "4s is assumed")
	})
}

// The log has one line for a client that is closed before Shutdown. Its session ends: the next holder gets the lock
// before Lost closes.
func TestTheLogHasOneLineForAClientThatIsClosedBeforeShutdown(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		written := new(testenv.Buffer)
		conn := testenv.Must(zkconn.Connect(context.Background(), threeServers, sessionTimeout, zkconn.WithDialer(tb.srv.Dial),
			zkconn.WithLogger(slog.New(slog.NewTextHandler(written, nil)))))(tb)
		m := testenv.Must(zklock.New(conn, lockPath))(tb)
		holder, waiter := tb.mustLock(m), startWaiter(m)
		next := startWaiter(tb.mutex(tb.connect()))
		conn.Close()
		tb.receiveAndUnlock(next)
		require.False(tb, isClosed(holder.Lost()))
		<-holder.Lost()
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
		synctest.Wait()
		require.Len(tb, zklockLines(written), 1)
		require.Contains(tb, zklockLines(written)[0], "closed before Shutdown")
		require.NoError(tb, m.Shutdown(context.Background()))
	})
}

// Stats counts owners that get the lock, also in memory, lose it, are refused, or queue again.
func TestStatsCountWhatHappens(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tb.makeParent()
		conn := tb.connectOrdinary()
		m := tb.mutex(conn, zklock.WithHandOver(16, time.Hour))
		require.Zero(tb, m.Stats())
		shows := func(want zklock.Stats) { // asserts what Stats returns, and that it allocates nothing
			require.Equal(tb, want, m.Stats())
			require.Zero(tb, testing.AllocsPerRun(10, func() { m.Stats() }))
		}

		// One owner holds the lock, two wait, and a TryLock is refused.
		first := tb.mustLock(m)
		began := m.Stats()
		waiters := startWaiters(m, 2)
		time.Sleep(time.Second)
		tb.requireTryLockRefused(m)
		want := zklock.Stats{Waiting: 2, Held: 1, Acquired: 1, Refused: 1, WaitDuration: began.WaitDuration, HoldDuration: began.HoldDuration + time.Second}
		shows(want)

		// The lock is handed on twice.
		tb.mustUnlock(first)
		tb.receiveAndUnlock(waiters[0])
		held := tb.receiveLease(waiters[1])
		time.Sleep(3 * time.Second)
		want.Waiting, want.Acquired, want.HandedOn = 0, 3, 2
		want.WaitDuration += 2 * time.Second // of two owners
		want.HoldDuration += 3 * time.Second
		shows(want)

		tb.srv.Expire(conn.SessionID())
		<-held.Lost()
		want.Held, want.Lost, want.LostExpired = 0, 1, 1
		shows(want)
		time.Sleep(time.Minute)
		shows(want)
		require.ErrorIs(tb, held.Unlock(context.Background()), zklock.ErrLost)

		// TryLock is refused twice; a third one is cancelled, which does not count.
		stranger := tb.mustLock(tb.mutex(tb.connect()))
		for range 2 {
			tried, err := m.TryLock(context.Background(), nil)
			require.ErrorIs(tb, err, zklock.ErrHeld)
			require.Nil(tb, tried)
		}
		want.Refused += 2
		shows(want)
		list := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
		ctx, cancel := context.WithCancel(context.Background())
		tried := inBackground(func() error { return testenv.Err(m.TryLock(ctx, nil)) })
		<-list.Hit()
		cancel()
		list.Release()
		require.ErrorIs(tb, <-tried, context.Canceled)
		synctest.Wait() // until its node has gone
		shows(want)

		// A waiter queues again in the next session. One that waits in memory has no node to lose.
		waiter := startQueuedWaiter(m)
		tb.srv.Expire(conn.SessionID())
		time.Sleep(time.Minute) // until it has queued again
		want.Waiting, want.Retried = 1, 1
		shows(want)

		tb.mustUnlock(stranger)
		held = tb.receiveLease(waiter)
		waiter = startQueuedWaiter(m) // in memory
		tb.srv.Expire(conn.SessionID())
		tb.receiveAndUnlock(waiter)
		require.ErrorIs(tb, held.Unlock(context.Background()), zklock.ErrLost)
		stats := m.Stats()
		require.EqualValues(tb, 5, stats.Acquired)
		require.EqualValues(tb, 1, stats.Retried)
		require.GreaterOrEqual(tb, stats.WaitDuration, want.WaitDuration+time.Minute+time.Second, "of the last two owners, too")
	})
}
