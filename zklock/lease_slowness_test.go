package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// keepBusy has goroutines, which begin one after the other, send requests of a client until rest is called.
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

// Lock returns ErrTooSlow if the server is so far away that a lease, proved by an answer as old as that, would be lost
// at once. With others at each proof a request of the client is under way, so that an answer may have waited for
// another one. Connect's client leaves a server that is silent during a proof: one that is far away is not silent.
func TestLockSaysThatTheServerIsTooFarAway(t *testing.T) {
	for _, c := range []struct {
		roundTrip, session, given int // in ms: given is WithSessionTimeout's; 0: the client is Connect's, which knows it
		others                    int // goroutines that send requests all the time
	}{
		{roundTrip: 7000, session: 10_000, given: 10_000}, {roundTrip: 9500, session: 10_000, given: 10_000},
		{roundTrip: 11_000, session: 40_000, given: 10_000}, {roundTrip: 5000, session: 40_000, given: 6000},
		{roundTrip: 2000, session: 40_000, given: 10_000, others: 1}, {roundTrip: 2000, session: 40_000, given: 10_000, others: 2},
		{roundTrip: 2000, session: 40_000, given: 10_000, others: 50},
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
				m = tb.mutex(tb.connectAs(ordinary{sessionTimeout: ms(c.session), wrap: far}), zklock.WithSessionTimeout(ms(c.given)))
			}
			rest := keepBusy(m, c.others, 100*time.Millisecond) // they ask at different times
			defer rest()
			require.ErrorIs(tb, testenv.Err(m.Lock(within(tb, 10*time.Minute), nil)), zklock.ErrTooSlow)
			testenv.Must(m.Participants(within(tb, 10*time.Minute)))(tb, "requests are kept back without end")
			rest()
			require.LessOrEqual(tb, len(line.Dialed()), 1, "the client has left it")
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
		conn := tb.connectAs(ordinary{wrap: distant(time.Second)})
		waiter := enqueue(tb.mutex(conn))
		time.Sleep(3 * time.Second) // its node is there
		conn.Close()
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
	})
}

// Lock does not take a server for far away because requests of the same Mutex are in front of a proof. The create alone
// is answered late; then every answer waits for the requests before it, with 200 for longer than the session timeout.
func TestRequestsInFrontOfAProofAreNotAFarServer(t *testing.T) {
	for _, others := range []int{25, 200} {
		onServerCase(t, fmt.Sprint(others), func(tb *serverTest) {
			tb.makeParent()
			conn := tb.connectAs(ordinary{
				sessionTimeout: 40 * time.Second, // the client must not give up
				wrap:           narrow(128, 40*time.Millisecond),
			})
			m := tb.mutex(conn)
			late := tb.srv.HoldReply(createOf(conn.SessionID()))
			waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
			<-late.Hit()
			rest := keepBusy(m, others, 0)
			defer rest()
			time.Sleep(1500 * time.Millisecond) // more than a twelfth of the session timeout
			late.Release()
			began := time.Now()
			tb.participants(m)
			const answers = 3 // for which participants waits
			require.Greater(tb, time.Since(began), answers*10*time.Second/12, "they come too soon to show anything")
			if others == 200 {
				time.Sleep(time.Minute) // for all that may go wrong
				rest()
			}
			leaseOf(tb, waiter, "the session is never proved").Unlock(context.Background()) // it may have been lost meanwhile
		})
	}
}

// Round trips of up to a twelfth of the session timeout cost no lease, although the first proof is then complete later
// than the presumption that begins with the create would end. Nor does a create that alone is answered late.
func TestALeaseOutlastsSlowAnswers(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ roundTrip, late time.Duration }{
		{roundTrip: 0}, {roundTrip: 300 * ms}, {roundTrip: 500 * ms}, {roundTrip: 600 * ms}, {roundTrip: 700 * ms},
		{roundTrip: 800 * ms}, {roundTrip: 833 * ms}, {roundTrip: 100 * ms, late: 1000 * ms},
		{roundTrip: 100 * ms, late: 1400 * ms}, {roundTrip: 100 * ms, late: 2000 * ms}, {roundTrip: 100 * ms, late: 3000 * ms},
	} {
		onServerCase(t, fmt.Sprintf("%v, a create %v", c.roundTrip, c.late), func(tb *serverTest) {
			tb.makeParent()
			conn := tb.connectAs(ordinary{wrap: distant(c.roundTrip)})
			if c.late > 0 {
				reply := tb.srv.HoldReply(createOf(conn.SessionID()))
				time.AfterFunc(c.late, reply.Release)
				defer func() { require.Len(tb, reply.Hit(), 1) }()
			}
			requireLasts(tb, tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder")))
		})
	}
}

// A Lock does not fail for three refused proofs that have a good one between them: only three in a row end it.
func TestLockOutlastsProofsThatAreRefusedNowAndThen(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		waiter := startWaiter(tb.mutex(conn))
		id := conn.SessionID()
		refused := tb.srv.Fail(zkserver.CodeUnimplemented, proofOf(id)).Every()
		time.Sleep(sessionTimeout) // until its create proves nothing any more
		refused.Release()
		first := tb.srv.Fail(zkserver.CodeUnimplemented, proofOf(id))
		tb.mustUnlock(holder)
		late := tb.srv.HoldReply(requestOf(id, jute.OpMulti, ""))
		select {
		case <-late.Hit():
		case got := <-waiter:
			require.NoError(tb, got.err, "after two that were refused")
		}
		time.Sleep(sessionTimeout / 6) // this proof is good, and of little use
		second := tb.srv.Fail(zkserver.CodeUnimplemented, proofOf(id))
		late.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		require.Len(tb, first.Hit(), 1)
		require.Len(tb, second.Hit(), 1)
		tb.mustUnlock(got.lease)
	})
}

// A waiter gets the lock although the server has refused to set its watches again after the connection broke. The
// client only logs that, and no event of these nodes arrives any more. A contender of the same Mutex that comes later
// relies on the same watch, and looks for itself, although its own node has events.
func TestAWaiterIsLetInThoughItsWatchesAreThrottledOnce(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		for what, conn := range map[string]*zk.Conn{"an ordinary client": tb.connectAs(ordinary{}), "Connect's": tb.connect()} {
			first := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("first"))
			second := enqueue(tb.mutex(tb.connect()))
			ours := tb.mutex(conn)
			_, giveUp := tb.startGivingUp(ours, nil)
			time.Sleep(time.Second) // until it waits
			refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpSetWatches, ""))
			tb.srv.Cut(conn.SessionID())
			time.Sleep(5 * time.Second) // until the client is back
			require.Len(tb, refused.Hit(), 1, what)
			giveUp()
			waiter := enqueue(ours)
			handOver(tb, first, second)
			for range 4 { // in two session timeouts
				time.Sleep(5 * time.Second)
				tb.set(tb.connect(), tb.nodeAt(0), what)
			}
			require.Len(tb, waiter, 1, what)
			getAndUnlock(tb, waiter)
		}
	})
}

// A waiter whose node was deleted by hand does not get the lock when it finds that the node before its own has gone.
// Its watches are refused, so that it gets no event, and a stranger holds the lock by then.
func TestAWaiterWithoutANodeIsNotLetInThoughItsWatchesAreThrottled(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		first := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("first"))
		waiter := enqueue(tb.mutex(conn))
		stranger := enqueue(tb.mutex(tb.connect()))
		refused := tb.srv.Fail(codeThrottled, requestOf(conn.SessionID(), jute.OpSetWatches, ""))
		tb.srv.Cut(conn.SessionID())
		time.Sleep(5 * time.Second) // until the client is back
		require.Len(tb, refused.Hit(), 1)
		require.NoError(tb, admin.Delete(tb.nodeAt(1), -1))
		tb.mustUnlock(first)
		holder := leaseOf(tb, stranger)
		time.Sleep(20 * time.Second) // two session timeouts
		require.Empty(tb, waiter, "two holders: the waiter has no node")
		handOver(tb, holder, waiter)
	})
}

// Revoke writes nothing after its ctx has ended and it has returned.
func TestRevokeStopsWhenItsCtxEnds(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		late := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetData, ""))
		ctx, cancel := context.WithCancel(context.Background())
		asked := aside(func() error { return tb.mutex(conn).Revoke(ctx, zklock.Participant{Node: tb.nodeAt(0)}) })
		<-late.Hit()
		cancel()
		require.ErrorIs(tb, <-asked, context.Canceled)
		late.Release()
		time.Sleep(time.Minute) // long enough for the write, and for the holder to read it
		require.False(tb, isClosed(holder.RevokeRequested()))
		tb.mustUnlock(holder)
	})
}
