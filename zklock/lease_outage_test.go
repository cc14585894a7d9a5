package zklock_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// TestLostClosesAtValidUntil: the last ValidUntil before the servers fall silent is the
// instant at which Lost closes. As long as the servers answer, it moves on, and as much is left as its doc
// says, though they may be far away. A node that was cached, or has waited, is proved less often until then.
func TestLostClosesAtValidUntil(t *testing.T) {
	const session = 10 * time.Second
	grants := map[string]func(tb *table, m *zklock.Mutex, after time.Duration) *zklock.Lease{
		"alone": func(tb *table, m *zklock.Mutex, _ time.Duration) *zklock.Lease { return tb.mustLock(m, nil) },
		"cached": func(tb *table, m *zklock.Mutex, after time.Duration) *zklock.Lease {
			tb.cached(m)
			time.Sleep(after)
			return tb.mustLock(m, nil)
		},
		"waited": func(tb *table, m *zklock.Mutex, after time.Duration) *zklock.Lease {
			holder := tb.mustLock(tb.mutex(tb.connect()), nil)
			waiter := waits(m)
			time.Sleep(after)
			require.NoError(tb, holder.Unlock(context.Background()))
			return gets(tb, waiter)
		},
	}
	play := func(name string, roundTrip, after, age time.Duration) {
		onTables(t, fmt.Sprintf("%s, %v away, after %v, silence at the age of %v", name, roundTrip, after, age), func(tb *table) {
			conn := tb.connectAs(ordinary{wrap: distant(roundTrip)})
			holder := grants[name](tb, tb.mutex(conn, always...), after)
			locked, before := time.Now(), holder.ValidUntil()
			for ; time.Since(locked) < age; time.Sleep(session / 100) {
				until, least := holder.ValidUntil(), session/5-3*roundTrip
				if time.Since(locked) > session/3+4*roundTrip {
					least = session/2 - 5*roundTrip
				}
				require.GreaterOrEqual(tb, time.Until(until), least, "at the age of %v", time.Since(locked))
				require.False(tb, until.Before(before), "at the age of %v", time.Since(locked))
				before = until
			}
			goroutines, silence := runtime.NumGoroutine(), tb.srv.Hold(from(conn.SessionID())).Every()
			time.Sleep(roundTrip) // for an answer that is on its way
			until := holder.ValidUntil()
			<-holder.Lost()
			require.Equal(tb, until, time.Now())
			require.Zero(tb, holder.ValidUntil())
			time.Sleep(session) // until the session has ended
			require.Less(tb, runtime.NumGoroutine(), goroutines+10, "silence gathers them: a proof waits in one")
			silence.Release()
		})
	}
	for _, age := range []time.Duration{0, session / 10, session / 5, session * 2 / 5, session} {
		play("alone", 0, 0, age)
	}
	for _, roundTrip := range []time.Duration{0, session / 200, session / 50, session / 30, session / 20} {
		play("alone", roundTrip, 0, session)
		for phase := range time.Duration(24) {
			play("cached", roundTrip, session+session*phase/24, session)
			play("waited", roundTrip, session+session*phase/24, session)
		}
	}
}

// outlasts reports whether a lease of a certain age outlasts an outage of all
// servers. Both times are in parts of the session timeout.
func outlasts(t *testing.T, connect bool, age, outage float64) (kept bool) {
	const session = 10 * time.Second
	part := func(f float64) time.Duration { return time.Duration(f * float64(session)) }
	onTable(t, func(tb *table) {
		tb.makeTop()
		var conn *zk.Conn
		if connect {
			conn = tb.connect()
		} else {
			conn = tb.connectAs(ordinary{wrap: watchesFirst})
		}
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(part(age))
		silence := tb.srv.Hold(from(conn.SessionID())).Every()
		time.Sleep(part(outage))
		silence.Release()
		time.Sleep(time.Minute) // for Lost to close
		kept = !isClosed(holder.Lost())
		holder.Unlock(context.Background())
	})
	return kept
}

// TestALeaseOutlastsAnOutage as the table in docs/production.md says, and no longer one, to a 12th of the session
// timeout. Connect's client has left the silent server. If all servers come back in the same instant, the handshake
// that it left may be carried out last and take the session from the connection that it has by then: all servers have
// been tried, and the client waits for a second.
func TestALeaseOutlastsAnOutage(t *testing.T) {
	for _, c := range []struct{ age, longest, late float64 }{ // in 24ths; of longest-late it must, of longest+1 not
		{0, 9, 1}, {1.9, 9 - 1.9, 1.5},
		{2.1, 11 - 2.1, 1}, {3.9, 11 - 3.9, 1},
		{4.1, 13 - 4.1, 1}, {6.9, 13 - 6.9, 1},
		{7.2, 24 - 7.2, 2}, {10.9, 24 - 10.9, 2},
		{11.1, 28 - 11.1, 2}, {14.4, 28 - 14.4, 2}, // the worst: 13/24
		{14.6, 31 - 14.6, 2}, {17.9, 31 - 17.9, 2},
		{18.1, 35 - 18.1, 2}, {21.4, 35 - 21.4, 2},
	} {
		for _, connect := range []bool{false, true} {
			late := c.late
			if connect {
				late += 2.4
			}
			t.Run(fmt.Sprintf("age %v of 24, Connect: %v", c.age, connect), func(t *testing.T) {
				require.True(t, outlasts(t, connect, c.age/24, (c.longest-late)/24))
				require.False(t, outlasts(t, connect, c.age/24, (c.longest+1)/24))
			})
		}
	}
}

// stride is the distance of the phases in which an outage is played: at a landing, and otherwise.
var stride = map[bool]int{true: 1, false: 5}

// An outagePause stops a server, as SIGSTOP does: connections are accepted, what clients send is kept, and none of it
// is carried out. If it is the leader that stops, a follower still says what it is.
type outagePause struct {
	follower bool
	over     atomic.Value // a chan struct{}, closed at its end
}

func (p *outagePause) begin()                { p.over.Store(make(chan struct{})) }
func (p *outagePause) end()                  { close(p.isOver()) }
func (p *outagePause) isOver() chan struct{} { return p.over.Load().(chan struct{}) }

// wrap is a connection to the server.
func (p *outagePause) wrap(nc net.Conn) net.Conn {
	return &pausing{p: p, Conn: bubble.Through(nc, bubble.Way{Packet: func(packet []byte) []byte {
		<-p.isOver()
		return packet
	}}, bubble.Way{})}
}

type pausing struct {
	net.Conn
	p     *outagePause
	asked bool // what it is
}

func (c *pausing) Read(b []byte) (int, error) {
	if c.asked {
		return copy(b, "Zxid: 0x7\nMode: follower\n"), io.EOF
	}
	return c.Conn.Read(b)
}

func (c *pausing) Write(b []byte) (int, error) {
	if c.asked = c.p.follower && string(b) == "srvr"; c.asked {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// With one address, a client of Connect's loses no lease by a pause that an ordinary
// client's lease outlasts: one of half a session timeout. With three, the pause of the client's
// server costs none, whatever it lasts. Nor does it with one address that is that of a virtual server (0 here), which
// takes the client to another one when it connects again. Before the first proof a lease outlasts a quarter.
func TestAPauseOfAServerCostsNoLease(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of leases, and other outages are played with it")
	for _, timeout := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 10 * time.Second, 30 * time.Second} {
		for addresses, lengths := range map[int][]float64{0: {2}, 1: {0.15, 0.25, 0.3, 0.5}, 3: {0.3, 0.5, 2}} {
			t.Run(fmt.Sprintf("%v, %d addresses", timeout, addresses), func(t *testing.T) {
				for _, length := range lengths {
					for phase := 0; phase < 6; phase += stride[testenv.AtLanding()] {
						age := 1 + float64(phase)/18
						require.True(t, outlastsPause(t, true, false, addresses, timeout, age, length), "%v T at the age of %v T", length, age)
						if addresses == 1 {
							require.True(t, outlastsPause(t, false, false, addresses, timeout, age, length), "an ordinary client: %v T at the age of %v T", length, age)
						}
					}
				}
				for phase := 0; phase < 7; phase += stride[testenv.AtLanding()] {
					require.True(t, outlastsPause(t, true, false, addresses, timeout, float64(phase)/24, 0.25), "phase %d of the first proof", phase)
				}
				require.False(t, outlastsPause(t, true, false, addresses, timeout, 0.25, 0.3), "a lease without a proof")
			})
		}
	}
}

// TestAPauseOfTheLeaderCostsNoLease: it is half a session timeout long, and followers
// answer nothing that needs the leader. Our client is not worse than an ordinary one.
func TestAPauseOfTheLeaderCostsNoLease(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of leases, and other outages are played with it")
	for _, timeout := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 10 * time.Second, 30 * time.Second} {
		for _, length := range []float64{0.25, 0.5} {
			for phase := 0; phase < 24; phase += stride[testenv.AtLanding()] {
				for _, ours := range []bool{true, false} {
					age := 1 + float64(phase)/72
					require.True(t, outlastsPause(t, ours, true, 3, timeout, age, length), "ours: %v, T = %v: %v T at the age of %v T", ours, timeout, length, age)
				}
			}
		}
	}
}

// outlastsPause reports whether a lease outlasts a pause of its client's server, or of the leader. Age
// and length are in parts of the session timeout. With 0 addresses there is one in
// front of three servers, and each connection leads to the next of them.
func outlastsPause(t *testing.T, ours, leader bool, addresses int, timeout time.Duration, age, length float64) (kept bool) {
	part := func(f float64) time.Duration { return time.Duration(f * float64(timeout)) }
	onTable(t, func(tb *table) {
		pauses := make(map[string]*outagePause)
		for _, server := range three {
			pauses[server] = &outagePause{follower: leader && server != three[0]}
			pauses[server].begin()
			pauses[server].end()
		}
		var connections atomic.Int32
		dial := func(network, address string, patience time.Duration) (net.Conn, error) {
			nc, err := tb.srv.Dial(network, address, patience)
			if err != nil {
				return nil, err
			}
			if addresses == 0 {
				address = three[connections.Add(1)%3]
			}
			return pauses[address].wrap(nc), nil
		}
		list := three[:max(1, addresses)]
		var conn *zk.Conn
		var m *zklock.Mutex
		if ours {
			conn, m = tb.connectFor(timeout, list, dial)
		} else {
			conn = bubble.Connect(tb, dial, timeout, list)
			m = tb.mutex(conn, zklock.WithSessionTimeout(timeout))
		}
		lease := tb.mustLock(m, nil)
		time.Sleep(part(age))
		p := pauses[conn.Server()]
		if addresses == 0 {
			p = pauses[three[connections.Load()%3]]
		}
		paused := []*outagePause{p}
		if leader {
			paused = slices.Collect(maps.Values(pauses))
		}
		for _, p := range paused {
			p.begin()
		}
		time.Sleep(part(length))
		for _, p := range paused {
			p.end()
		}
		time.Sleep(2 * timeout)
		kept = !isClosed(lease.Lost())
		lease.Unlock(context.Background())
	})
	return kept
}

// TestShortInterruptionsCostNoLease: three of 300 ms, with half a second between them, in
// which the server works; one that is a second shorter than half the session timeout, or
// than a quarter if the lease is young; and a connection that breaks, of the shortest session timeouts, too, which are
// given, and shorter than what the server agrees to. One server is interrupted, or three together.
func TestShortInterruptionsCostNoLease(t *testing.T) {
	testenv.RacedAtLength(t, "it plays hundreds of leases, and other outages are played with it")
	const ms = time.Millisecond
	for _, c := range []struct{ timeout, age, away, times time.Duration }{
		{3000 * ms, 0, 300 * ms, 3},
		{4000 * ms, 4000 * ms, 1000 * ms, 1}, {10000 * ms, 10000 * ms, 4000 * ms, 1}, {30000 * ms, 30000 * ms, 14000 * ms, 1},
		{10000 * ms, 0, 1500 * ms, 1}, {30000 * ms, 0, 6500 * ms, 1},
		{200 * ms, 0, 0, 1}, {400 * ms, 0, 0, 1}, {800 * ms, 0, 0, 1}, {1200 * ms, 0, 0, 1}, {2000 * ms, 0, 0, 1}, {10000 * ms, 0, 0, 1},
	} {
		for phase := time.Duration(0); phase < 48; phase += time.Duration(stride[testenv.AtLanding()]) {
			if phase%2 == 0 && c.timeout < 1000*ms { // the client makes a pause of its own
				continue
			}
			onTable(t, func(tb *table) {
				line := &bubble.Line{Server: tb.srv}
				conn, m := tb.connectFor(c.timeout, three[:1+phase%2*2], line.Dial)
				tb.mutex(conn, zklock.WithSessionTimeout(time.Minute)) // the shorter one counts
				holder := tb.mustLock(m, nil)
				time.Sleep(c.age + c.timeout*(phase/2)/12)
				for range c.times {
					line.Down.Store(true)
					tb.srv.CutAll()
					time.Sleep(c.away)
					line.Down.Store(false)
					time.Sleep(500 * ms)
				}
				time.Sleep(2 * c.timeout)
				require.False(tb, isClosed(holder.Lost()), "T = %v: %d interruptions of %v, phase %d", c.timeout, c.times, c.away, phase)
				require.NoError(tb, holder.Unlock(context.Background()))
			})
		}
	}
}

// TestAServerThatHangsIsLeftThoughTheProofBeganBefore: it begins while the client connects,
// the first server does not answer the handshake, and the second nothing else.
func TestAServerThatHangsIsLeftThoughTheProofBeganBefore(t *testing.T) {
	const session = 10 * time.Second
	for phase := range 12 {
		onClient(t, func(tb *table, conn *zk.Conn) {
			id := conn.SessionID()
			holder := tb.mustLock(tb.mutex(conn), nil)
			time.Sleep(2*session + time.Duration(phase)*session/36)
			first := tb.srv.Hold(of(id, jute.OpConnect, ""))
			second := tb.srv.Hold(of(id, jute.OpSync, ""))
			tb.srv.Cut(id)
			time.Sleep(2 * session)
			require.Len(tb, first.Hit(), 1)
			require.Len(tb, second.Hit(), 1)
			require.False(tb, isClosed(holder.Lost()), "phase %d", phase)
			first.Release()
			second.Release()
			require.NoError(tb, holder.Unlock(context.Background()))
		})
	}
}
