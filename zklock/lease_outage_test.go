// Tests of which outages of servers a lease outlasts, and of when else Lost closes. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"fmt"
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

// leastLeft is how much of a lease is left at an age, as the doc of ValidUntil says.
func leastLeft(age, roundTrip time.Duration) time.Duration {
	if age > sessionTimeout/3+4*roundTrip {
		return sessionTimeout/2 - 5*roundTrip
	}
	return sessionTimeout/5 - 3*roundTrip
}

// Lost closes at the instant that ValidUntil returned last before the servers fell silent. As long as the servers
// answer, ValidUntil moves on, and as much time is left as its doc says, even if they are far away. The lease is by a
// new node, by a cached one or by one that has waited, which are proved less often until then.
func TestLostClosesAtValidUntil(t *testing.T) {
	// The time before is for how long the node was cached, or has waited, before the lease begins.
	grants := map[string]func(tb *serverTest, m *zklock.Mutex, before time.Duration) *zklock.Lease{
		"alone": func(tb *serverTest, m *zklock.Mutex, _ time.Duration) *zklock.Lease { return tb.mustLock(m) },
		"cached": func(tb *serverTest, m *zklock.Mutex, before time.Duration) *zklock.Lease {
			tb.lockAndLeaveCached(m)
			time.Sleep(before)
			return tb.mustLock(m)
		},
		"waited": func(tb *serverTest, m *zklock.Mutex, before time.Duration) *zklock.Lease {
			holder := tb.mustLock(tb.mutex(tb.connect()))
			waiter := startWaiter(m)
			time.Sleep(before)
			tb.mustUnlock(holder)
			return tb.receiveLease(waiter)
		},
	}
	// ageAtSilence is the age of the lease when the servers fall silent.
	play := func(grant string, roundTrip, before, ageAtSilence time.Duration) {
		name := fmt.Sprintf("%s, %v away, after %v, silence at the age of %v", grant, roundTrip, before, ageAtSilence)
		onServerCase(t, name, func(tb *serverTest) {
			conn := tb.connectOrdinaryWith(ordinary{wrap: distant(roundTrip)})
			holder := grants[grant](tb, tb.mutex(conn, cacheAlways...), before)
			began, last := time.Now(), holder.ValidUntil()
			for ; time.Since(began) < ageAtSilence; time.Sleep(sessionTimeout / 100) {
				until, age := holder.ValidUntil(), time.Since(began)
				require.GreaterOrEqual(tb, time.Until(until), leastLeft(age, roundTrip), "at the age of %v", age)
				require.False(tb, until.Before(last), "at the age of %v", age)
				last = until
			}

			goroutines, silence := runtime.NumGoroutine(), tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
			time.Sleep(roundTrip) // for an answer that is on its way
			until := holder.ValidUntil()
			<-holder.Lost()
			require.Equal(tb, until, time.Now())
			require.Zero(tb, holder.ValidUntil())
			time.Sleep(sessionTimeout) // until the session has ended
			require.Less(tb, runtime.NumGoroutine(), goroutines+10, "each proof without an answer leaves a goroutine")
			silence.Release()
		})
	}

	const (
		T, phases = sessionTimeout, 24
		near      = 0 // a round trip that takes no time
		atOnce    = 0 // the lease begins with the node
	)
	for _, age := range []time.Duration{0, T / 10, T / 5, T * 2 / 5, T} {
		play("alone", near, atOnce, age)
	}
	for _, roundTrip := range []time.Duration{near, T / 200, T / 50, T / 30, T / 20} {
		play("alone", roundTrip, atOnce, T)
		for phase := range time.Duration(phases) {
			play("cached", roundTrip, T+T*phase/phases, T)
			play("waited", roundTrip, T+T*phase/phases, T)
		}
	}
}

// outlasts reports whether a lease outlasts an outage of all servers. Its age when the outage begins, and the length of
// the outage, are in parts of the session timeout. connect says whether the client is zkconn.Connect's.
func outlasts(t *testing.T, connect bool, age, outage float64) (kept bool) {
	part := func(f float64) time.Duration { return time.Duration(f * float64(sessionTimeout)) }
	onServer(t, func(tb *serverTest) {
		tb.makeParent()
		tb.ordinary = !connect
		conn := tb.connect()
		holder := tb.mustLock(tb.mutex(conn))
		time.Sleep(part(age))
		silence := tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
		time.Sleep(part(outage))
		silence.Release()
		time.Sleep(time.Minute) // for Lost to close
		kept = !isClosed(holder.Lost())
		holder.Unlock(context.Background())
	})
	return kept
}

// A lease outlasts an outage of the length that the table in docs/production.md says, and none that is T/12 longer.
func TestALeaseOutlastsAnOutage(t *testing.T) {
	const T = 24 // the session timeout: all numbers here are in 24ths of it
	// An outage begins when the lease has an age: in the first row of a line just after a proof, and in the second just
	// before the next proof. The lease is kept if the outage has the length kept, and lost if it has the length lost.
	for _, c := range []struct{ age, kept, lost float64 }{
		{age: 0, kept: 8, lost: 10}, {age: 1.9, kept: 5.6, lost: 8.1},
		{age: 2.1, kept: 7.9, lost: 9.9}, {age: 3.9, kept: 6.1, lost: 8.1},
		{age: 4.1, kept: 7.9, lost: 9.9}, {age: 6.9, kept: 5.1, lost: 7.1},
		{age: 7.2, kept: 14.8, lost: 17.8}, {age: 10.9, kept: 11.1, lost: 14.1},
		{age: 11.1, kept: 14.9, lost: 17.9}, {age: 14.4, kept: 11.6, lost: 14.6},
		{age: 14.6, kept: 14.4, lost: 17.4}, {age: 17.9, kept: 11.1, lost: 14.1},
		{age: 18.1, kept: 14.9, lost: 17.9}, {age: 21.4, kept: 11.6, lost: 14.6},
	} {
		for _, connect := range []bool{false, true} {
			kept := c.kept
			if connect {
				// The client has left the silent server. If all servers come back in the same instant, that server's late
				// handshake may take the session away once more. Then all servers have been tried: the client waits for 1 s.
				kept -= 2.4
			}
			t.Run(fmt.Sprintf("age %v of 24, Connect: %v", c.age, connect), func(t *testing.T) {
				require.True(t, outlasts(t, connect, c.age/T, kept/T))
				require.False(t, outlasts(t, connect, c.age/T, c.lost/T))
			})
		}
	}
}

// phases returns where the n parts of a time begin, as fractions of it: of all parts for a landing, else of each fifth.
func phases(n int) (all []float64) {
	stride := 5
	if testenv.AtLanding() {
		stride = 1
	}
	for i := 0; i < n; i += stride {
		all = append(all, float64(i)/float64(n))
	}
	return all
}

// A pausedServer can be stopped, as by SIGSTOP: it accepts connections and keeps what clients send, until it goes on.
type pausedServer struct {
	follower bool         // it follows a leader that is stopped: it says so, and carries nothing out
	goesOn   atomic.Value // a chan struct{}, closed at the end of the pause
}

func (p *pausedServer) pause()                   { p.goesOn.Store(make(chan struct{})) }
func (p *pausedServer) goOn()                    { close(p.pauseEnds()) }
func (p *pausedServer) pauseEnds() chan struct{} { return p.goesOn.Load().(chan struct{}) }

func (p *pausedServer) wrap(nc net.Conn) net.Conn {
	nc = bubble.Through(nc, bubble.Way{Packet: func(packet []byte) []byte {
		<-p.pauseEnds()
		return packet
	}}, bubble.Way{})
	if p.follower {
		nc = &bubble.WordAnswers{Conn: nc, Answer: func() string { return "Zxid: 0x7\nMode: follower\n" }}
	}
	return nc
}

// A leasePause is a lease, and a pause of its client's server, or of the leader.
type leasePause struct {
	ordinary    bool // the client is not zkconn.Connect's
	leader      bool // the leader is paused, so that all servers are of no use
	addresses   int  // of servers that the client has
	rotates     bool // its one address leads each new connection to the next server
	timeout     time.Duration
	age, length float64 // of the lease when the pause begins, and of the pause: in parts of the session timeout
}

var pausedTimeouts = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 10 * time.Second, 30 * time.Second}

// A client of zkconn.Connect with one address loses no lease by a pause of half a session timeout, which an ordinary
// client's lease outlasts, too. With three addresses, the pause of the client's server costs none, whatever it lasts;
// nor with one address that leads each new connection to another server. Before its first proof, which comes in the
// first quarter of the session timeout, a lease outlasts a pause of a quarter.
func TestAPauseOfAServerCostsNoLease(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of leases, and other outages are played with it")
	for _, timeout := range pausedTimeouts {
		for c, lengths := range map[leasePause][]float64{
			{addresses: 1}: {0.15, 0.25, 0.3, 0.5}, {addresses: 3}: {0.3, 0.5, 2}, {addresses: 1, rotates: true}: {2},
		} {
			t.Run(fmt.Sprintf("%v, %d addresses, rotates: %v", timeout, c.addresses, c.rotates), func(t *testing.T) {
				c.timeout = timeout
				for _, c.length = range lengths {
					for _, phase := range phases(6) {
						c.age, c.ordinary = 1+phase/3, false
						require.True(t, c.costsNoLease(t), "%+v", c)
						if c.ordinary = c.addresses == 1 && !c.rotates; c.ordinary {
							require.True(t, c.costsNoLease(t), "%+v", c)
						}
					}
				}

				c.ordinary, c.length = false, 0.25
				for _, phase := range phases(7) {
					c.age = phase * 7 / 24 // the last one is a quarter
					require.True(t, c.costsNoLease(t), "%+v", c)
				}
				c.age, c.length = 0.25, 0.3
				require.False(t, c.costsNoLease(t), "a lease without a proof")
			})
		}
	}
}

// A pause of the leader for up to half a session timeout costs no lease, although followers answer nothing that needs
// the leader. Our client is not worse than an ordinary one.
func TestAPauseOfTheLeaderCostsNoLease(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of leases, and other outages are played with it")
	for _, timeout := range pausedTimeouts {
		for _, length := range []float64{0.25, 0.5} {
			for _, phase := range phases(24) {
				for _, ordinary := range []bool{false, true} {
					c := leasePause{ordinary: ordinary, leader: true, addresses: 3, timeout: timeout, length: length}
					c.age = 1 + phase/3
					require.True(t, c.costsNoLease(t), "%+v", c)
				}
			}
		}
	}
}

// costsNoLease plays the lease and the pause, and reports whether the lease outlasts it.
func (c leasePause) costsNoLease(t *testing.T) (kept bool) {
	part := func(f float64) time.Duration { return time.Duration(f * float64(c.timeout)) }
	onServer(t, func(tb *serverTest) {
		servers := make(map[string]*pausedServer) // by address
		for _, address := range threeServers {
			servers[address] = &pausedServer{follower: c.leader && address != threeServers[0]}
			servers[address].pause()
			servers[address].goOn()
		}
		var connections atomic.Int32 // how many there were so far
		serverOf := func(address string, connection int32) *pausedServer {
			if c.rotates {
				address = threeServers[connection%3]
			}
			return servers[address]
		}
		dial := func(network, address string, patience time.Duration) (net.Conn, error) {
			nc, err := tb.srv.Dial(network, address, patience)
			if err != nil {
				return nil, err
			}
			return serverOf(address, connections.Add(1)).wrap(nc), nil
		}

		tb.ordinary = c.ordinary
		conn, m := tb.connectFor(c.timeout, threeServers[:c.addresses], dial)
		lease := tb.mustLock(m)
		time.Sleep(part(c.age))

		paused := []*pausedServer{serverOf(conn.Server(), connections.Load())}
		if c.leader {
			paused = slices.Collect(maps.Values(servers))
		}
		for _, server := range paused {
			server.pause()
		}
		time.Sleep(part(c.length))
		for _, server := range paused {
			server.goOn()
		}
		time.Sleep(2 * c.timeout) // for Lost to close
		kept = !isClosed(lease.Lost())
		lease.Unlock(context.Background())
	})
	return kept
}

// Short interruptions cost no lease: three of 300 ms, with half a second between them; one that is a second shorter
// than half the session timeout, or than a quarter if the lease is young; and a connection that breaks. The session
// timeout that the Mutex is given may be shorter than the server's. One server is interrupted, or all three.
func TestShortInterruptionsCostNoLease(t *testing.T) {
	testenv.RacedAtLength(t, "it plays hundreds of leases, and other outages are played with it")
	const ms = time.Millisecond
	for _, c := range []struct {
		timeout, age, away time.Duration // age is that of the lease at the first interruption, without the phase
		times              int           // of interruptions, each for away
	}{
		{timeout: 3000 * ms, away: 300 * ms, times: 3},
		// One, a second shorter than half the session timeout.
		{timeout: 4000 * ms, age: 4000 * ms, away: 1000 * ms, times: 1},
		{timeout: 10000 * ms, age: 10000 * ms, away: 4000 * ms, times: 1},
		{timeout: 30000 * ms, age: 30000 * ms, away: 14000 * ms, times: 1},
		// The lease is young.
		{timeout: 10000 * ms, away: 1500 * ms, times: 1}, {timeout: 30000 * ms, away: 6500 * ms, times: 1},
		// The connection breaks, and the servers are not away.
		{timeout: 200 * ms, times: 1}, {timeout: 400 * ms, times: 1}, {timeout: 800 * ms, times: 1},
		{timeout: 1200 * ms, times: 1}, {timeout: 2000 * ms, times: 1}, {timeout: 10000 * ms, times: 1},
	} {
		for _, servers := range [][]string{threeServers[:1], threeServers} {
			if len(servers) == 1 && c.timeout < 1000*ms {
				continue // such a client makes a pause of 1 s before it dials again
			}
			for _, phase := range phases(24) {
				onServer(t, func(tb *serverTest) {
					line := &bubble.Line{Server: tb.srv}
					conn, m := tb.connectFor(c.timeout, servers, line.Dial)
					tb.mutex(conn, zklock.WithSessionTimeout(time.Minute)) // the shorter one counts
					holder := tb.mustLock(m)
					time.Sleep(c.age + time.Duration(2*phase*float64(c.timeout)))
					for range c.times {
						line.Down.Store(true)
						tb.srv.CutAll()
						time.Sleep(c.away)
						line.Down.Store(false)
						time.Sleep(500 * ms)
					}
					time.Sleep(2 * c.timeout)
					require.False(tb, isClosed(holder.Lost()), "%+v, %d servers, phase %v", c, len(servers), phase)
					tb.mustUnlock(holder)
				})
			}
		}
	}
}

// A client leaves a server that hangs although the proof began before, while the client connected: the first server
// does not answer the handshake, and the second answers it and nothing else.
func TestAServerThatHangsIsLeftThoughTheProofBeganBefore(t *testing.T) {
	for phase := range 12 { // of a third of the session timeout
		withClient(t, func(tb *serverTest, conn *zk.Conn) {
			id := conn.SessionID()
			holder := tb.mustLock(tb.mutex(conn))
			time.Sleep(2*sessionTimeout + time.Duration(phase)*sessionTimeout/36)
			first := tb.srv.Hold(requestOf(id, jute.OpConnect, ""))
			second := tb.srv.Hold(requestOf(id, jute.OpSync, ""))
			tb.srv.Cut(id)
			time.Sleep(2 * sessionTimeout)
			require.Len(tb, first.Hit(), 1)
			require.Len(tb, second.Hit(), 1)
			require.False(tb, isClosed(holder.Lost()), "phase %d", phase)
			first.Release()
			second.Release()
			tb.mustUnlock(holder)
		})
	}
}
