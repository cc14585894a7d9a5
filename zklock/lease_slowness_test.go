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

// keepBusy has a client send requests all the time, from many goroutines that begin one after the other, until rest is
// called.
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

// TestLockSaysThatTheServerIsTooFarAway: a lease that is proved by an answer as old as that would be lost at once, so
// Lock grants none. With others at each proof a request of the client is under way, so that an answer may have waited
// for another one. Connect's client leaves a server that is silent during a proof: one that is far away is not silent.
func TestLockSaysThatTheServerIsTooFarAway(t *testing.T) {
	for _, c := range []struct {
		roundTrip, session, told int // in ms
		connect                  bool
		others                   int // that send requests all the time
	}{
		{7000, 10_000, 10_000, false, 0}, {9500, 10_000, 10_000, false, 0}, {11_000, 40_000, 10_000, false, 0}, {5000, 40_000, 6000, false, 0},
		{2000, 40_000, 10_000, false, 1}, {2000, 40_000, 10_000, false, 2}, {2000, 40_000, 10_000, false, 50},
		{840, 10_000, 10_000, true, 0}, {1200, 10_000, 10_000, true, 0}, {1300, 10_000, 10_000, true, 0},
		{2000, 10_000, 10_000, true, 0}, {3000, 10_000, 10_000, true, 0}, {5000, 10_000, 10_000, true, 0},
	} {
		onTables(t, fmt.Sprintf("%+v", c), func(tb *table) {
			ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
			tb.makeTop()
			far := distant(ms(c.roundTrip))
			line := &bubble.Line{Server: tb.srv, Wrap: far}
			var m *zklock.Mutex
			if c.connect {
				_, m = tb.connectFor(ms(c.session), three, line.Dial)
			} else {
				m = tb.mutex(tb.connectAs(ordinary{sessionTimeout: ms(c.session), wrap: far}), zklock.WithSessionTimeout(ms(c.told)))
			}
			rest := keepBusy(m, c.others, 100*time.Millisecond) // they ask at different times
			defer rest()
			require.ErrorIs(tb, testenv.Err(m.Lock(limited(tb, 10*time.Minute), nil)), zklock.ErrTooSlow)
			testenv.Must(m.Participants(limited(tb, 10*time.Minute)))(tb, "requests are kept back without end")
			rest()
			require.LessOrEqual(tb, len(line.Dialed()), 1, "the client has left it")
			time.Sleep(time.Minute) // until each node is deleted, or its session has ended
			require.Empty(tb, tb.srv.Children(top))
			require.Empty(tb, tb.srv.Watches())
		})
	}
}

// TestAContenderThatIsFirstReturnsWhenItsClientIsClosed, though it is not proved, and nothing watches its node.
func TestAContenderThatIsFirstReturnsWhenItsClientIsClosed(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop()
		conn := tb.connectAs(ordinary{wrap: distant(time.Second)})
		waiter := queues(tb.mutex(conn))
		time.Sleep(3 * time.Second) // its node is there
		conn.Close()
		require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing)
	})
}

// TestRequestsInFrontOfAProofAreNotAFarServer: the create alone is answered late. After that every answer comes late,
// but because requests of the same Mutex are in front of it; with 200, for longer than the session timeout.
func TestRequestsInFrontOfAProofAreNotAFarServer(t *testing.T) {
	for _, others := range []int{25, 200} {
		onTables(t, fmt.Sprint(others), func(tb *table) {
			tb.makeTop()
			conn := tb.connectAs(ordinary{
				sessionTimeout: 40 * time.Second, // patient
				wrap:           narrow(128, 40*time.Millisecond),
			})
			m := tb.mutex(conn)
			late := tb.srv.HoldReply(creates(conn.SessionID()))
			waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
			<-late.Hit()
			rest := keepBusy(m, others, 0)
			defer rest()
			time.Sleep(1500 * time.Millisecond) // more than a twelfth of the session timeout
			late.Release()
			began := time.Now()
			tb.participants(m)
			const answers = 3
			require.Greater(tb, time.Since(began), answers*10*time.Second/12, "they come too soon to show anything")
			if others == 200 {
				time.Sleep(time.Minute) // for all that may go wrong
				rest()
			}
			gets(tb, waiter, "the session is never proved").Unlock(context.Background()) // it may have been lost meanwhile
		})
	}
}

// TestALeaseOutlastsSlowAnswers: round trips of up to a twelfth of the session timeout
// cost no lease, though the first proof is complete later then than the presumption that
// begins with the create would end. Nor does a create that alone is answered late.
func TestALeaseOutlastsSlowAnswers(t *testing.T) {
	for _, c := range []struct{ roundTrip, late time.Duration }{
		{0, 0}, {300, 0}, {500, 0}, {600, 0}, {700, 0}, {800, 0}, {833, 0}, {100, 1000}, {100, 1400}, {100, 2000}, {100, 3000},
	} {
		onTables(t, fmt.Sprintf("%d ms, a create %d ms", c.roundTrip, c.late), func(tb *table) {
			tb.makeTop()
			far := distant(c.roundTrip * time.Millisecond)
			conn := tb.connectAs(ordinary{wrap: far})
			if c.late > 0 {
				reply := tb.srv.HoldReply(creates(conn.SessionID()))
				time.AfterFunc(c.late*time.Millisecond, reply.Release)
				defer func() { require.Len(tb, reply.Hit(), 1) }()
			}
			lasts(tb, tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder")))
		})
	}
}

// TestLockOutlastsProofsThatAreRefusedNowAndThen: three in a row end it, and not three in all.
func TestLockOutlastsProofsThatAreRefusedNowAndThen(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		waiter := waits(tb.mutex(conn))
		id := conn.SessionID()
		refused := tb.srv.Fail(zkserver.CodeUnimplemented, ofProof(id)).Every()
		time.Sleep(sessionTimeout) // until its create proves nothing any more
		refused.Release()
		first := tb.srv.Fail(zkserver.CodeUnimplemented, ofProof(id))
		require.NoError(tb, holder.Unlock(context.Background()))
		late := tb.srv.HoldReply(of(id, jute.OpMulti, ""))
		select {
		case <-late.Hit():
		case got := <-waiter:
			require.NoError(tb, got.err, "after two that were refused")
		}
		time.Sleep(sessionTimeout / 6) // this proof is good, and of little use
		second := tb.srv.Fail(zkserver.CodeUnimplemented, ofProof(id))
		late.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		require.Len(tb, first.Hit(), 1)
		require.Len(tb, second.Hit(), 1)
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

// TestAWaiterIsLetInThoughItsWatchesAreThrottledOnce: the connection breaks, and the server refuses to set the
// watches in the next one. The client only logs that, and no event of these nodes arrives any more. A contender of
// the same Mutex that comes later relies on the same watch, and looks for itself, though its own node has events.
func TestAWaiterIsLetInThoughItsWatchesAreThrottledOnce(t *testing.T) {
	onTable(t, func(tb *table) {
		for what, conn := range map[string]*zk.Conn{"an ordinary client": tb.connectAs(ordinary{}), "Connect's": tb.connect()} {
			first := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("first"))
			second := queues(tb.mutex(tb.connect()))
			ours := tb.mutex(conn)
			_, giveUp := tb.mayGiveUp(ours, nil)
			time.Sleep(time.Second) // until it waits
			refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpSetWatches, ""))
			tb.srv.Cut(conn.SessionID())
			time.Sleep(5 * time.Second) // until the client is back
			require.Len(tb, refused.Hit(), 1, what)
			giveUp()
			waiter := queues(ours)
			handsOver(tb, first, second)
			for range 4 { // in two session timeouts
				time.Sleep(5 * time.Second)
				tb.set(tb.connect(), tb.node(0), what)
			}
			require.Len(tb, waiter, 1, what)
			passes(tb, waiter)
		}
	})
}

// TestAWaiterWithoutANodeIsNotLetInThoughItsWatchesAreThrottled: the waiter gets no event when its own node is
// deleted by hand, and finds that the node before it has gone. A stranger holds the lock by then.
func TestAWaiterWithoutANodeIsNotLetInThoughItsWatchesAreThrottled(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		first := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("first"))
		waiter := queues(tb.mutex(conn))
		stranger := queues(tb.mutex(tb.connect()))
		refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpSetWatches, ""))
		tb.srv.Cut(conn.SessionID())
		time.Sleep(5 * time.Second) // until the client is back
		require.Len(tb, refused.Hit(), 1)
		require.NoError(tb, admin.Delete(tb.node(1), -1))
		require.NoError(tb, first.Unlock(context.Background()))
		holder := gets(tb, stranger)
		time.Sleep(20 * time.Second) // two session timeouts
		require.Empty(tb, waiter, "two holders: the waiter has no node")
		handsOver(tb, holder, waiter)
	})
}

// TestRevokeStopsWhenItsCtxEnds: it must not write after its caller has gone.
func TestRevokeStopsWhenItsCtxEnds(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		late := tb.srv.Hold(of(conn.SessionID(), jute.OpGetData, ""))
		ctx, cancel := context.WithCancel(context.Background())
		asked := aside(func() error { return tb.mutex(conn).Revoke(ctx, zklock.Participant{Node: tb.node(0)}) })
		<-late.Hit()
		cancel()
		require.ErrorIs(tb, <-asked, context.Canceled)
		late.Release()
		time.Sleep(time.Minute) // long enough for the write, and for the holder to read it
		require.False(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
