// Tests of when a lease begins and is lost; lease_outage_test.go is about outages. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// A Mutex uses the timeout that the next session has, shorter here: its servers are replaced by others.
func TestTheNextSessionMayBeShorter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // until the clients are closed
		long, short := zkserver.New(), zkserver.Run(t, zkserver.WithTick(200*time.Millisecond))
		var current atomic.Pointer[zkserver.Server]
		current.Store(long)
		conn := testenv.Must(zkconn.Connect(t.Context(), threeServers, sessionTimeout,
			zkconn.WithDialer(func(network, address string, d time.Duration) (net.Conn, error) {
				return current.Load().Dial(network, address, d)
			})))(t)
		t.Cleanup(conn.Close)
		mutex := testenv.Must(zklock.New(conn, lockPath))(t)
		lease := testenv.Must(mutex.Lock(t.Context(), zklock.NewOwner("in a long session")))(t)

		other := testenv.Must(zkconn.Connect(t.Context(), threeServers, 4*time.Second, zkconn.WithDialer(short.Dial)))(t)
		t.Cleanup(other.Close)
		for range 100 { // so that short has more changes than long: it would refuse a client that has seen later ones
			testenv.Must(other.Create("/x", nil, zk.FlagSequence, everybody))(t)
		}
		current.Store(short)
		long.Close()
		<-lease.Lost()
		holder := testenv.Must(mutex.Lock(t.Context(), zklock.NewOwner("in a short session")))(t)
		require.Equal(t, 4*time.Second, short.Sessions()[1].Timeout)
		next := startLock(t.Context(), testenv.Must(zklock.New(other, lockPath))(t))
		time.Sleep(20 * time.Second) // in which all is well with the connection
		require.False(t, isClosed(holder.Lost()), "the lease is lost")

		// The servers are silent. Lost must close before the next contender has the lock.
		t.Cleanup(short.Hold(anyRequestOf(conn.SessionID())).Every().Release)
		select {
		case <-holder.Lost():
			require.Empty(t, next)
		case <-next:
			t.Fatal("two hold the lock at once")
		}
		require.NoError(t, (<-next).err)
	})
}

// A client comes back to its session although the program's callback takes two seconds. The client calls it between the
// dial and the handshake, whose time begins after that.
func TestACallbackMayTakeAWhileBeforeTheHandshake(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		var slow atomic.Bool
		conn := testenv.Must(zkconn.Connect(context.Background(), threeServers, sessionTimeout,
			zkconn.WithDialer(tb.srv.Dial), zkconn.WithZK(zk.WithEventCallback(func(ev zk.Event) {
				if ev.State == zk.StateConnected && slow.Load() {
					time.Sleep(2 * time.Second) // a handshake has a third of the session timeout for all three servers
				}
			}))))(tb)
		tb.Cleanup(conn.Close)
		slow.Store(true)
		session := conn.SessionID()
		tb.srv.Cut(session)
		time.Sleep(5 * time.Second) // until the client is back
		require.Equal(tb, zk.StateHasSession, conn.State(), "it does not come back")
		require.Equal(tb, session, conn.SessionID())
	})
}

// The first Lock of a client waits for nothing but its requests, although zk.Connect returns before there is a session.
func TestTheFirstLockOfAClientTakesNoLonger(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn := bubble.Connect(tb, tb.srv.Dial, sessionTimeout, bubble.One)
		began := time.Now()
		l := testenv.Must(tb.mutex(conn).Lock(context.Background(), zklock.NewOwner("first")))(tb)
		require.Zero(tb, time.Since(began), "the lock is free, and every request is answered at once")
		tb.mustUnlock(l)
	})
}

// narrow wraps a connection so that the server's bytes come in pieces of a size, and each piece takes a time.
func narrow(size int, each time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
			pieces := (len(packet) + size - 1) / size
			time.Sleep(each * time.Duration(pieces)) // of virtual time, on the way
			return packet
		}})}
	}
}

// A client does not leave a server that answers slowly, and does not ask others whether they lead. The two answers of a
// proof take longer than a server may be silent, because it is far, or because a thousand others are in front of them.
func TestAServerThatAnswersIsNotLeft(t *testing.T) {
	far, narrowLine := distant(800*time.Millisecond), narrow(4<<10, time.Millisecond)       // < maxRoundTrip; 4 KiB/ms
	for requests, wrap := range map[int]func(net.Conn) net.Conn{0: far, 1000: narrowLine} { // requests in front of the proof
		onServerCase(t, fmt.Sprint(requests), func(tb *serverTest) {
			line := &bubble.Line{Server: tb.srv, Wrap: wrap}
			_, m := tb.connectFor(sessionTimeout, threeServers, line.Dial)
			holder := tb.mustLock(m)
			time.Sleep(time.Minute)
			for range requests {
				go m.Participants(context.Background())
			}
			time.Sleep(5 * time.Second)
			require.False(tb, isClosed(holder.Lost()))
			require.Len(tb, line.Dialed(), 1, "the client has left the server")
			tb.mustUnlock(holder)
		})
	}
}

// A contender that comes when the holder is about to unlock has the lock after three round trips: its create, the list,
// and the reads that set its watches. The holder unlocks while the reads are on their way.
func TestALateContenderHasTheLockAfterThreeRoundTrips(t *testing.T) {
	const roundTrip = 100 * time.Millisecond
	for name, before := range map[string]int{"behind one": 1, "behind two": 2} {
		onServerCase(t, name, func(tb *serverTest) {
			holders := tb.startQueuedClients(before)
			m := tb.mutex(tb.connectOrdinaryWith(ordinary{wrap: distant(roundTrip)}))
			began := time.Now()
			late := startLock(context.Background(), m)
			time.Sleep(roundTrip * 3 / 2) // the server has answered the list, and gets the reads when the client has it
			for _, holder := range holders {
				tb.receiveAndUnlock(holder)
			}
			got := tb.receiveLease(late)
			require.Equal(tb, 3*roundTrip, time.Since(began))
			tb.mustUnlock(got)
		})
	}
}

// A lease is lost if its node is made again by hand: the client is away, and gets the event that the data has changed.
func TestANodeThatWasMadeAgainByHandIsNotTheHolders(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		lease := tb.mustLock(tb.mutex(conn))
		time.Sleep(5 * time.Second) // the holder watches its node
		away := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpConnect, "")).Every()
		tb.srv.Cut(conn.SessionID())
		tb.delete(admin, lease.Node())
		tb.create(admin, lease.Node(), "", zk.FlagPersistent)
		away.Release()
		time.Sleep(2 * time.Second)
		require.True(tb, isClosed(lease.Lost()))
	})
}

// A waiter whose Mutex has lost the lock is not proved as often as a holder: it sends no more than another waiter.
func TestAMutexThatHasLostTheLockAsksNoMoreThanAnotherWaiter(t *testing.T) {
	withClient(t, func(tb *serverTest, admin *zk.Conn) {
		sentBy := func(loses bool) int64 { // how many requests a waiter sends in a minute
			tap := new(wiretap.Tap)
			conn := tb.connectWith(ensemble.Options{Buffer: smallBuffer, Tap: tap})
			m := tb.mutex(conn)
			if loses {
				tb.delete(admin, tb.mustLock(m).Node())
			}
			holder := tb.mustLock(tb.mutex(admin))
			waiter := startWaiter(m)
			time.Sleep(time.Minute)
			before := tap.Counts()
			time.Sleep(time.Minute)
			sent := sum(tap.Counts().Since(before).Requests)
			tb.handOverAndUnlock(holder, waiter)
			return sent
		}
		require.Equal(tb, sentBy(false), sentBy(true))
	})
}

// TryLock returns ErrHeld and the error of its delete, which is refused, complete and without a data race.
func TestARefusedDeleteIsReportedWhole(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()))
		conn := tb.connect()
		for range 3 { // the delete is tried again twice
			tb.srv.Fail(jute.ErrNoAuth, requestOf(conn.SessionID(), jute.OpDelete, ""))
		}
		m := tb.mutex(conn)
		_, err := m.TryLock(context.Background(), zklock.NewOwner("other"))
		require.ErrorIs(tb, err, zklock.ErrHeld)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		require.EqualValues(tb, 1, m.Stats().Refused)
		time.Sleep(time.Second) // until the next try to delete is due
		tb.mustUnlock(holder)
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

func TestAContenderThatDoesNotFitIntoAPacketGetsAnError(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		const most = 32 << 10 // bytes of the largest packet that the client sends
		m := tb.mutex(tb.connectWith(ensemble.Options{Buffer: most}))
		for _, size := range []int{most - 1<<10, most, 2 * most} { // of the owner's name, which is in the packet
			began := time.Now()
			l, err := m.Lock(tb.within(time.Minute), zklock.NewOwner(strings.Repeat("x", size)))
			if size < most {
				require.NoError(tb, err)
				tb.mustUnlock(l)
				continue
			}
			require.Error(tb, err)
			require.NotErrorIs(tb, err, context.DeadlineExceeded, "it is tried again and again")
			require.ErrorContains(tb, err, "zk.WithMaxConnBufferSize")
			require.Less(tb, time.Since(began), time.Second)
		}
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// A waiter does not get the lock from a holder of the same session when the session ends: all its nodes go in one
// transaction, and their events come in no particular order, on a narrow line at different moments.
func TestNobodyHoldsALockInASessionThatHasEnded(t *testing.T) {
	for range 20 { // the events come in another order each time
		withEachClient(t, func(tb *serverTest) {
			conn := tb.connectWith(ensemble.Options{Wrap: narrow(16, time.Millisecond)})
			tb.mustLock(tb.mutex(conn))
			waiter := startQueuedWaiter(tb.mutex(conn))
			conn.Close()
			require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing, "a waiter whose session has ended got the lock")
		})
	}
}

// A quietCtx is a ctx whose end wakes nobody.
type quietCtx struct{ context.Context }

func (quietCtx) Done() <-chan struct{} { return nil }

// A Lock returns the error of its ctx if that has ended before the lock is granted, though the end has not woken Lock.
func TestOnceCtxHasEndedLockReturnsNoLease(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()))
		ctx, cancel := context.WithCancel(context.Background())
		waiter := startLock(quietCtx{ctx}, tb.mutex(tb.connect()))
		time.Sleep(time.Second) // until it waits
		cancel()
		tb.mustUnlock(holder)
		require.ErrorIs(tb, (<-waiter).err, context.Canceled, "it got the lock when ctx had ended")
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(lockPath), "it has given up and left its node")
	})
}

// A lease is lost without an event, which a client may miss while it reconnects: the holder reads its node, too.
func TestALeaseIsLostWithoutAnEvent(t *testing.T) {
	for _, nameIsTaken := range []bool{false, true} { // by then another contender has a node of the same name
		withEachClient(t, func(tb *serverTest) {
			admin := tb.connect()
			conn := tb.connectWith(ensemble.Options{Wrap: withoutEvents("")}) // of any node
			holder := tb.mustLock(tb.mutex(conn))
			time.Sleep(untilNodeIsWatched)
			tb.delete(admin, tb.nodeAt(0))
			tb.delete(admin, lockPath)
			if nameIsTaken {
				tb.mustLock(tb.mutex(admin))
			}
			nodes := tb.srv.Children(lockPath)
			time.Sleep(sessionTimeout * 2 / 5) // a holder reads its node each third of the session timeout
			require.True(tb, isClosed(holder.Lost()), "Lost is open; another contender has a node of the name: %v", nameIsTaken)
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.Equal(tb, nodes, tb.srv.Children(lockPath), "it has deleted the node of another")
		})
	}
}

// keepBusy starts goroutines, with a pause between, that send requests of a Mutex's client until rest is called.
func keepBusy(m *zklock.Mutex, goroutines int, pause time.Duration) (rest func()) {
	ctx, rest := context.WithCancel(context.Background())
	for range goroutines {
		go func() {
			for ctx.Err() == nil {
				m.Participants(ctx)
			}
		}()
		time.Sleep(pause)
	}
	return rest
}

// Lock returns ErrTooSlow if the server is so far away that a lease, which an answer proves from the time of its request
// on, would be lost at once. zkconn.Connect's client leaves a server that is silent during a proof, but not a far one.
func TestLockSaysThatTheServerIsTooFarAway(t *testing.T) {
	for _, c := range []struct {
		roundTrip int // in ms, as the next two
		session   int // the session timeout
		given     int // the argument of WithSessionTimeout; 0: the client is zkconn.Connect's, which knows the timeout
		others    int // goroutines that send requests all the time
	}{
		{roundTrip: 7000, session: 10_000, given: 10_000}, {roundTrip: 9500, session: 10_000, given: 10_000},
		{roundTrip: 11_000, session: 40_000, given: 10_000}, {roundTrip: 5000, session: 40_000, given: 6000},
		// The answer to a proof may also have waited for the answers to other goroutines.
		{roundTrip: 2000, session: 40_000, given: 10_000, others: 1}, {roundTrip: 2000, session: 40_000, given: 10_000, others: 2},
		{roundTrip: 2000, session: 40_000, given: 10_000, others: 50},
		// A lease needs a round trip of less than a twelfth of the session timeout, which is 833 ms here.
		{roundTrip: 840, session: 10_000}, {roundTrip: 1200, session: 10_000}, {roundTrip: 1300, session: 10_000},
		{roundTrip: 2000, session: 10_000}, {roundTrip: 3000, session: 10_000}, {roundTrip: 5000, session: 10_000},
	} {
		onServerCase(t, fmt.Sprintf("%+v", c), func(tb *serverTest) {
			ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
			tb.makeParent()
			far := distant(ms(c.roundTrip))
			line := &bubble.Line{Server: tb.srv, Wrap: far}
			var m *zklock.Mutex
			if c.given == 0 {
				_, m = tb.connectFor(ms(c.session), threeServers, line.Dial)
			} else {
				conn := tb.connectOrdinaryWith(ordinary{sessionTimeout: ms(c.session), wrap: far})
				m = tb.mutex(conn, zklock.WithSessionTimeout(ms(c.given)))
			}

			rest := keepBusy(m, c.others, 100*time.Millisecond) // they ask at different times
			defer rest()
			require.ErrorIs(tb, testenv.Err(m.Lock(tb.within(10*time.Minute), nil)), zklock.ErrTooSlow)
			testenv.Must(m.Participants(tb.within(10*time.Minute)))(tb, "requests are kept back without end")
			rest()

			require.LessOrEqual(tb, len(line.Dialed()), 1, "the client has left the server")
			time.Sleep(time.Minute) // until each node is deleted, or its session has ended
			require.Empty(tb, tb.srv.Children(lockPath))
			require.Empty(tb, tb.srv.Watches())
		})
	}
}

// A contender that is the first, but not proved, returns when its client is closed: nothing watches its node.
func TestAContenderThatIsFirstReturnsWhenItsClientIsClosed(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tb.makeParent()
		conn := tb.connectOrdinaryWith(ordinary{wrap: distant(time.Second)})
		waiter := startQueuedWaiter(tb.mutex(conn))
		time.Sleep(3 * time.Second) // its node is there
		conn.Close()
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
	})
}

// Lock does not return ErrTooSlow because requests of the same client are in front of a proof. First the create alone
// is answered late. Then each answer waits for those to other goroutines; 200 take longer than the session timeout.
func TestRequestsInFrontOfAProofAreNotAFarServer(t *testing.T) {
	for _, others := range []int{25, 200} {
		onServerCase(t, fmt.Sprint(others), func(tb *serverTest) {
			tb.makeParent()
			conn := tb.connectOrdinaryWith(ordinary{
				sessionTimeout: 40 * time.Second, // the client must not give up
				wrap:           narrow(128, 40*time.Millisecond),
			})
			m := tb.mutex(conn)
			late := tb.srv.HoldReply(createRequestOf(conn.SessionID()))
			waiter := startLock(context.Background(), m)
			<-late.Hit()
			rest := keepBusy(m, others, 0)
			defer rest()
			time.Sleep(2 * maxRoundTrip)
			late.Release()

			began := time.Now()
			tb.participants(m)
			const roundTrips = 3 // of a call of Participants
			require.Greater(tb, time.Since(began), roundTrips*maxRoundTrip, "the answers come too soon to show anything")
			if others == 200 {
				time.Sleep(time.Minute) // for all that may go wrong
				rest()
			}
			tb.receiveLease(waiter, "the session is never proved").Unlock(context.Background()) // it may have been lost meanwhile
		})
	}
}

// A lease is not lost by round trips of up to a twelfth of the session timeout, although the first proof is complete only
// after the time for which the create alone makes the session safe. Nor is it lost by a create that is answered late.
func TestALeaseOutlastsSlowAnswers(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ roundTrip, late time.Duration }{
		{roundTrip: 0}, {roundTrip: 300 * ms}, {roundTrip: 500 * ms}, {roundTrip: 600 * ms}, {roundTrip: 700 * ms},
		{roundTrip: 800 * ms}, {roundTrip: 833 * ms}, {roundTrip: 100 * ms, late: 1000 * ms},
		{roundTrip: 100 * ms, late: 1400 * ms}, {roundTrip: 100 * ms, late: 2000 * ms}, {roundTrip: 100 * ms, late: 3000 * ms},
	} {
		onServerCase(t, fmt.Sprintf("%v, a create %v", c.roundTrip, c.late), func(tb *serverTest) {
			tb.makeParent()
			conn := tb.connectOrdinaryWith(ordinary{wrap: distant(c.roundTrip)})
			if c.late > 0 {
				reply := tb.srv.HoldReply(createRequestOf(conn.SessionID()))
				time.AfterFunc(c.late, reply.Release)
				defer func() { require.Len(tb, reply.Hit(), 1) }()
			}
			holder := tb.mustLock(tb.mutex(conn))
			time.Sleep(time.Minute) // long enough for the lease to be lost by mistake
			tb.mustUnlock(holder)
		})
	}
}

// A Lock does not fail because of three refused proofs if a good one is between them: only three in a row end it.
func TestLockOutlastsProofsThatAreRefusedNowAndThen(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()))
		conn := tb.connectOrdinary()
		waiter := startWaiter(tb.mutex(conn))
		id := conn.SessionID()
		isProof := func(r zkserver.Request) bool { return r.Session == id && (r.Op == jute.OpSync || r.Op == jute.OpMulti) }

		// Proofs are refused while the contender waits, until its create proves nothing any more.
		refused := tb.srv.Fail(zkserver.CodeUnimplemented, isProof).Every()
		time.Sleep(sessionTimeout)
		refused.Release()

		// Its turn comes. One more proof is refused, and the next one is good, but answered too late for a lease.
		first := tb.srv.Fail(zkserver.CodeUnimplemented, isProof)
		tb.mustUnlock(holder)
		late := tb.srv.HoldReply(requestOf(id, jute.OpMulti, ""))
		select {
		case <-late.Hit():
		case got := <-waiter:
			require.NoError(tb, got.err, "after two that were refused")
		}
		time.Sleep(sessionTimeout / 6)

		// The next proof is refused again, and the one after it is in time.
		second := tb.srv.Fail(zkserver.CodeUnimplemented, isProof)
		late.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		require.Len(tb, first.Hit(), 1)
		require.Len(tb, second.Hit(), 1)
		tb.mustUnlock(got.lease)
	})
}

// A waiter gets the lock although the server has refused to set its watches again after the connection broke: it looks
// at the node itself. The client only logs the refusal, and no event of these nodes arrives any more.
func TestAWaiterIsLetInThoughItsWatchesAreThrottledOnce(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		for what, conn := range map[string]*zk.Conn{"an ordinary client": tb.connectOrdinary(), "Connect's": tb.connect()} {
			first := tb.mustLock(tb.mutex(tb.connect()))
			second := startQueuedWaiter(tb.mutex(tb.connect()))

			// A contender sets watches, which its client loses. Then it gives up, and its watches stay known to the Mutex.
			ours := tb.mutex(conn)
			_, giveUp := tb.startWaiterThatMayGiveUp(ours)
			time.Sleep(time.Second) // until it waits
			refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpSetWatches, ""))
			tb.srv.Cut(conn.SessionID())
			time.Sleep(5 * time.Second) // until the client is back
			require.Len(tb, refused.Hit(), 1, what)
			giveUp()

			// A later one relies on them. Its own node's events come, because somebody writes into that node.
			waiter := startQueuedWaiter(ours)
			tb.handOverAndUnlock(first, second)
			for range 4 {
				time.Sleep(sessionTimeout / 2)
				tb.set(tb.connect(), tb.nodeAt(0), what)
			}
			require.Len(tb, waiter, 1, what)
			tb.receiveAndUnlock(waiter)
		}
	})
}

// A waiter whose own node was deleted by hand finds that the node before it has gone. It must not get the lock, which a
// stranger holds by then. The server refuses the waiter's watches, so that it gets no event.
func TestAWaiterWithoutANodeIsNotLetInThoughItsWatchesAreThrottled(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		first := tb.mustLock(tb.mutex(tb.connect()))
		waiter := startQueuedWaiter(tb.mutex(conn))
		stranger := startQueuedWaiter(tb.mutex(tb.connect()))
		refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpSetWatches, ""))
		tb.srv.Cut(conn.SessionID())
		time.Sleep(5 * time.Second) // until the client is back
		require.Len(tb, refused.Hit(), 1)
		tb.delete(admin, tb.nodeAt(1))
		tb.mustUnlock(first)
		holder := tb.receiveLease(stranger)
		time.Sleep(2 * sessionTimeout)
		require.Empty(tb, waiter, "two holders: the waiter has no node")
		tb.handOverAndUnlock(holder, waiter)
	})
}
