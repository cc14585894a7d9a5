package timeout_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// A distant server is so far away that each packet from it takes a while.
// As on a real line, many packets are on the way at a time.
type distant struct {
	net.Conn
	arrived chan packet
	rest    []byte
}

type packet struct {
	bytes []byte
	at    time.Time // when the client may read it
	err   error
}

func newDistant(nc net.Conn, away time.Duration) net.Conn {
	c := &distant{Conn: nc, arrived: make(chan packet, 10000)}
	go func() {
		for {
			b := make([]byte, 4<<10)
			n, err := nc.Read(b)
			c.arrived <- packet{b[:n], time.Now().Add(away), err}
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *distant) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		p := <-c.arrived
		time.Sleep(time.Until(p.at)) // it is on the way
		if p.err != nil {
			c.arrived <- p // for the next call, too
			return 0, p.err
		}
		c.rest = p.bytes
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// SetReadDeadline does nothing: what keeps a client with so distant a server
// from giving up is not the lock's affair.
func (c *distant) SetReadDeadline(time.Time) error { return nil }

// TestLockSaysThatTheServerIsTooFarAway: a lease that is proved by an answer as
// old as that would be as good as lost, so that there is none.
func TestLockSaysThatTheServerIsTooFarAway(t *testing.T) {
	for _, c := range []struct{ roundTrip, session, told time.Duration }{
		{7 * time.Second, 10 * time.Second, 10 * time.Second},
		{9500 * time.Millisecond, 10 * time.Second, 10 * time.Second},
		{11 * time.Second, 40 * time.Second, 10 * time.Second},
		{5 * time.Second, 40 * time.Second, 6 * time.Second},
	} {
		t.Run(c.roundTrip.String()+" of "+c.told.String(), func(t *testing.T) {
			onTable(t, func(tb *table) {
				tb.makeTop(tb.connect())
				conn := tb.connectAs(ordinary{
					sessionTimeout: c.session,
					wrap:           func(nc net.Conn) net.Conn { return newDistant(nc, c.roundTrip) },
				})
				m := tb.mutexWith(conn, timeout.WithSessionTimeout(c.told))
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
				defer cancel()
				_, err := m.Lock(ctx, timeout.NewOwner("owner"))
				require.Error(tb, err)
				require.NotErrorIs(tb, err, context.DeadlineExceeded, "it is tried without end")
				require.ErrorContains(tb, err, "session timeout")
				time.Sleep(time.Minute) // until the node has gone
				require.Empty(tb, tb.srv.Children(top))
				require.Empty(tb, tb.srv.Watches())
			})
		})
	}
}

// TestALeaseOutlastsSlowAnswers: round trips of up to a twelfth of the session
// timeout cost no lease, though the first proof is complete later then than
// the presumption that begins with the create would end.
func TestALeaseOutlastsSlowAnswers(t *testing.T) {
	for _, ms := range []time.Duration{0, 300, 500, 600, 700, 800, 833} {
		roundTrip := ms * time.Millisecond
		t.Run(roundTrip.String(), func(t *testing.T) {
			onTable(t, func(tb *table) {
				tb.makeTop(tb.connect())
				conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return newDistant(nc, roundTrip) }})
				holder := tb.mustLock(tb.mutexWith(conn), timeout.NewOwner("holder"))
				time.Sleep(time.Minute) // long enough for the lease to be lost
				require.False(tb, tb.isLost(holder))
				require.NoError(tb, holder.Unlock(context.Background()))
			})
		})
	}
}

// TestALeaseOutlastsACreateThatIsAnsweredLate: the same, with one slow
// answer.
func TestALeaseOutlastsACreateThatIsAnsweredLate(t *testing.T) {
	for _, late := range []time.Duration{time.Second, 1400 * time.Millisecond, 2 * time.Second, 3 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			onTable(t, func(tb *table) {
				tb.makeTop(tb.connect())
				conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return newDistant(nc, 100*time.Millisecond) }})
				reply := tb.srv.HoldReply(of(conn.SessionID(), jute.OpCreate, ""))
				time.AfterFunc(late, reply.Release)
				holder := tb.mustLock(tb.mutexWith(conn), timeout.NewOwner("holder"))
				require.Len(tb, reply.Hit(), 1)
				time.Sleep(time.Minute) // long enough for the lease to be lost
				require.False(tb, tb.isLost(holder))
				require.NoError(tb, holder.Unlock(context.Background()))
			})
		})
	}
}

// TestOneThrottledReadDoesNotCostTheLease: a server under load refuses to
// answer, and says so.
func TestOneThrottledReadDoesNotCostTheLease(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		holder := tb.mustLock(tb.mutexWith(conn), timeout.NewOwner("holder"))
		refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpGetData, top+"/lock-0000000000"))
		_, err := tb.connect().Set(top+"/lock-0000000000", nil, -1) // so that it is read again
		require.NoError(tb, err)
		synctest.Wait()
		require.Len(tb, refused.Hit(), 1)
		time.Sleep(time.Minute) // long enough for the lease to be lost by mistake
		require.False(tb, tb.isLost(holder))
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestARevokeIsHeardThoughItsReadIsThrottledOnce: the read after a change
// must be repeated, and not only survived.
func TestARevokeIsHeardThoughItsReadIsThrottledOnce(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		holder := tb.mustLock(tb.mutexWith(conn), timeout.NewOwner("holder"))
		refused := tb.srv.Fail(throttled, of(conn.SessionID(), jute.OpGetData, top+"/lock-0000000000"))
		m := tb.mutexWith(tb.connect())
		require.NoError(tb, m.Revoke(context.Background(), timeout.Participant{Node: top + "/lock-0000000000"}))
		time.Sleep(2 * time.Second) // less than until the lease is confirmed
		require.Len(tb, refused.Hit(), 1)
		require.True(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestParticipantsStopsWhenItsCtxEnds: what was asked is answered late, and
// nothing more is asked.
func TestParticipantsStopsWhenItsCtxEnds(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutexWith(tb.connect())
		queue, giveUp := context.WithCancel(context.Background())
		for range 10 {
			lockAside(queue, m, timeout.NewOwner("contender"))
		}
		time.Sleep(time.Second) // until all are in the queue
		require.Len(tb, tb.srv.Children(top), 10)
		tap := wiretap.New()
		conn := tb.connectAs(ordinary{wrap: tapped(tap)})
		late := tb.srv.Hold(func(r zkserver.Request) bool {
			return r.Session == conn.SessionID() && r.Path == top+"/lock-0000000003"
		})
		ctx, cancel := context.WithCancel(context.Background())
		asked := make(chan error, 1)
		go func() {
			_, err := tb.mutexWith(conn).Participants(ctx)
			asked <- err
		}()
		<-late.Hit()
		cancel()
		require.ErrorIs(tb, <-asked, context.Canceled)
		before := tap.Counts()
		late.Release()
		time.Sleep(time.Minute) // long enough for all that would be asked
		require.Zero(tb, tap.Counts().Since(before).Total(), "requests after ctx has ended")
		giveUp()
		time.Sleep(time.Minute) // until all have left
	})
}

// TestRevokeStopsWhenItsCtxEnds is the same for Revoke, which must not write
// what nobody waits for any more.
func TestRevokeStopsWhenItsCtxEnds(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutexWith(tb.connect()), timeout.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		late := tb.srv.Hold(of(conn.SessionID(), jute.OpGetData, ""))
		ctx, cancel := context.WithCancel(context.Background())
		asked := make(chan error, 1)
		go func() {
			asked <- tb.mutexWith(conn).Revoke(ctx, timeout.Participant{Node: top + "/lock-0000000000"})
		}()
		<-late.Hit()
		cancel()
		require.ErrorIs(tb, <-asked, context.Canceled)
		late.Release()
		time.Sleep(time.Minute) // long enough for the write, and for the holder to read it
		require.False(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
