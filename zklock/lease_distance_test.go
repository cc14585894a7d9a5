package zklock_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// TestALeaseLastsThoughTheServerIsFarAway: every request is answered after the
// same time. So a lease lasts, or Lock says why there is none.
func TestALeaseLastsThoughTheServerIsFarAway(t *testing.T) {
	const session = 10 * time.Second
	for roundTrip := session / 40; roundTrip <= session/5; roundTrip += session / 80 {
		for name, lock := range map[string]func(*zklock.Mutex, context.Context, *zklock.Owner) (*zklock.Lease, error){
			"Lock": (*zklock.Mutex).Lock, "TryLock": (*zklock.Mutex).TryLock,
		} {
			onTables(t, fmt.Sprintf("%s, %v", name, roundTrip), func(tb *table) {
				tb.makeTop(tb.connect())
				m := tb.mutex(tb.connectAs(ordinary{
					sessionTimeout: session,
					wrap:           func(nc net.Conn) net.Conn { return newDistant(nc, roundTrip) },
				}))
				ctx := limited(tb, 10*time.Minute)
				l, err := lock(m, ctx, zklock.NewOwner("owner"))
				if roundTrip < session/12 {
					require.NoError(tb, err)
				}
				if err != nil {
					require.ErrorContains(tb, err, "session timeout")
					return
				}
				got := time.Now()
				select {
				case <-l.Lost():
					require.Fail(tb, "the lease is lost, and every request was answered", "after %v", time.Since(got))
				case <-time.After(5 * time.Minute):
				}
				require.NoError(tb, l.Unlock(ctx))
			})
		}
	}
}

// TestTheFirstLockOfAClientTakesNoLonger: zk.Connect returns before there is a
// session.
func TestTheFirstLockOfAClientTakesNoLonger(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, _, err := zk.Connect([]string{"127.0.0.1:1"}, 10*time.Second, zk.WithDialer(tb.srv.Dial),
			zk.WithLogger(silentLogger{}), zk.WithLogInfo(false))
		require.NoError(tb, err)
		tb.Cleanup(conn.Close)
		began := time.Now()
		l, err := tb.mutex(conn).Lock(context.Background(), zklock.NewOwner("first"))
		require.NoError(tb, err)
		require.Zero(tb, time.Since(began), "the lock is free, and every request is answered at once")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestALockAfterAQuietTimeTakesNoLonger: the proof that was made while the lock was
// held before is too old, and the create is enough.
func TestALockAfterAQuietTimeTakesNoLonger(t *testing.T) {
	onTable(t, func(tb *table) {
		m := tb.mutex(tb.connectAs(ordinary{}))
		for range 2 {
			began := time.Now()
			l := tb.mustLock(m, zklock.NewOwner("owner"))
			require.Zero(tb, time.Since(began), "the lock is free, and every request is answered at once")
			time.Sleep(time.Minute) // the lease is proved many times
			require.NoError(tb, l.Unlock(context.Background()))
			time.Sleep(time.Minute) // six session timeouts
		}
	})
}

// TestTryLockReturnsThoughTheClientIsClosedWhileNoServerAnswers: the node of
// the contender that has found the lock held cannot be deleted.
func TestTryLockReturnsThoughTheClientIsClosedWhileNoServerAnswers(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connectAs(ordinary{})
		id := conn.SessionID()
		m := tb.mutex(conn)
		lost := tb.srv.LoseReply(of(id, jute.OpDelete, ""))
		down := many(tb.srv.LoseRequest, func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		tried := aside(func() error {
			_, err := m.TryLock(context.Background(), zklock.NewOwner("other"))
			return err
		})
		<-lost.Hit()
		time.Sleep(5 * time.Second) // until the client has tried every server
		conn.Close()
		synctest.Wait()
		releaseAll(down)
		select {
		case err := <-tried:
			require.ErrorIs(tb, err, zklock.ErrHeld)
		case <-time.After(time.Minute):
			require.Fail(tb, "TryLock hangs, and the client has been closed")
		}
		ctx := limited(tb, time.Minute)
		require.NoError(tb, m.Shutdown(ctx))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

func TestASessionTimeoutThatNoServerAgreesToIsRefused(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		for _, d := range []time.Duration{math.MaxInt32*time.Millisecond + 1, 1 << 61, math.MaxInt64} {
			_, err := zklock.New(conn, top, zklock.WithSessionTimeout(d))
			require.Error(tb, err, "%v", d)
		}
		_, err := zklock.New(conn, top, zklock.WithSessionTimeout(math.MaxInt32*time.Millisecond))
		require.NoError(tb, err)
	})
}

// TestTheFirstProofWaitsForAPingThatIsLate: the leader pauses for half a tick
// between two pings, and is late by the time that its own work takes. A session
// timeout of two ticks, the least, leaves no room for that in a quarter of it.
func TestTheFirstProofWaitsForAPingThatIsLate(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		probe := tb.srv.Hold(of(conn.SessionID(), jute.OpSync, ""))
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		began := time.Now()
		<-probe.Hit()
		const session, late = 10 * time.Second, 250 * time.Millisecond
		require.GreaterOrEqual(tb, time.Since(began), session/4+late)
		probe.Release()
		lasts(tb, holder)
	})
}

// A distantConn leads to a server that is so far away that each packet from it takes
// a while. As on a real line, many packets are on the way at a time.
type distantConn struct {
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
	c := &distantConn{Conn: nc, arrived: make(chan packet, 10000)}
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

func (c *distantConn) Read(b []byte) (int, error) {
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

// SetReadDeadline does nothing: these tests are not about a client that gives up
// because its server is so far away.
func (c *distantConn) SetReadDeadline(time.Time) error { return nil }

// TestAFarServerThatAnswersIsNotLeft: the two answers of a proof together take longer
// than a server may be silent.
func TestAFarServerThatAnswersIsNotLeft(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := kindsOfClients["zkconn.Connect"](tb, ensemble.Options{
			Wrap: func(nc net.Conn) net.Conn { return newDistant(nc, 800*time.Millisecond) },
		})
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		left := tb.srv.Hold(handshakeOf(id))
		defer left.Release()
		time.Sleep(time.Minute) // many proofs
		require.Empty(tb, left.Hit(), "the client breaks a connection that works")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestALateContenderHasTheLockAfterThreeRoundTrips: its create, the list, and the reads
// that set its watches. The holder unlocks while these are on the way.
func TestALateContenderHasTheLockAfterThreeRoundTrips(t *testing.T) {
	const roundTrip = 100 * time.Millisecond
	for name, before := range map[string]int{"behind one": 1, "behind two": 2} {
		onTables(t, name, func(tb *table) {
			var holders []<-chan locked
			for range before {
				holders = append(holders, lockAside(context.Background(), tb.mutex(tb.connect()), nil))
				time.Sleep(time.Second) // until it is in the queue
			}
			m := tb.mutex(tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return newDistant(nc, roundTrip) }}))
			began := time.Now()
			late := lockAside(context.Background(), m, nil)
			time.Sleep(roundTrip * 3 / 2) // the server has answered the list, and gets the reads when the client has it
			for _, holder := range holders {
				passes(tb, holder)
			}
			got := gets(tb, late)
			require.Equal(tb, 3*roundTrip, time.Since(began))
			require.NoError(tb, got.Unlock(context.Background()))
		})
	}
}
