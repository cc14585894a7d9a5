// Tests of requests that are tried again, of the guard, and of the rounds in which a client proves that its session
// lives, on an embedded server in virtual time. A round is a sync and a write, or a write alone. Rounds are sent while
// somebody needs the session, as Use says.
package client

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// The tables clients and serials have no entry of a conn that is garbage.
func TestNothingIsLeftOfAConnThatIsGarbage(t *testing.T) {
	entries := func(of *sync.Map) (n int) {
		of.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	for range 100 {
		Of(new(zk.Conn), time.Second)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return entries(&clients) == 0 && entries(&serials) == 0
	}, 10*time.Minute, time.Millisecond)
}

// A caller of Idle also waits for a task that begins while another one runs.
func TestIdleIsOfAllTasks(t *testing.T) {
	var tasks Tasks
	require.True(t, IsClosed(tasks.Idle()), "before the first")
	for range 2 {
		tasks.Begin()
		idle := tasks.Idle()
		tasks.Begin()
		tasks.End()
		require.False(t, IsClosed(idle), "the second runs")
		tasks.End()
		require.True(t, IsClosed(idle))
		require.True(t, IsClosed(tasks.Idle()))
	}
}

func withPrefix(id string) (prefix string, data []byte) { return id + "-", nil }

func neverRefused(int, error) {}

// openOneServer opens an ordinary client of one server, to be dialed unless down. dialed is the time of the last dial.
func openOneServer(t *testing.T, srv *zkserver.Server) (conn *zk.Conn, down *atomic.Bool, dialed *time.Time) {
	dialed = new(time.Time)
	line := &bubble.Line{Server: srv, Wrap: func(nc net.Conn) net.Conn { *dialed = time.Now(); return nc }}
	return bubble.Connect(t, line.Dial, sessionTimeout, bubble.One), &line.Down, dialed
}

// A request that found no server is sent as soon as there is one, and not a pause later, which may cost a lease.
func TestARequestThatFoundNoServerIsSentAsSoonAsThereIsOne(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn, down, dialed := openOneServer(t, srv)
		c := Of(conn, sessionTimeout)
		testenv.Must2(c.Get(nil, "/"))(t)
		for outage := sessionTimeout / 4; outage < sessionTimeout/2; outage += sessionTimeout / 20 {
			down.Store(true)
			srv.Cut(conn.SessionID())
			synctest.Wait() // the client looks for a server
			time.AfterFunc(outage, func() { down.Store(false) })
			testenv.Must2(c.Get(nil, "/"))(t)
			require.Zero(t, time.Since(*dialed), "after an outage of %v", outage)
		}
	})
}

// A delete that was carried out counts although its reply is lost and the next try finds no server: the lock was not
// lost. It was lost if the delete did not reach a server and the session ends.
func TestADeleteCountsAlthoughTheNextFindsNoServer(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn, down, _ := openOneServer(t, srv)
		testenv.Must(conn.Create("/queue", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
		parent := Of(conn, sessionTimeout).Parent("/queue", zk.WorldACL(zk.PermAll))
		node := testenv.Must(parent.Create(nil, withPrefix, neverRefused))(t)
		lost := srv.LoseReply(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		down.Store(true) // when the connection breaks
		time.AfterFunc(sessionTimeout/2, func() { down.Store(false) })
		_ = testenv.Must(node.Delete(neverRefused))(t)
		require.Len(t, lost.Hit(), 1)
		require.Empty(t, srv.Children("/queue"))
		node = testenv.Must(parent.Create(nil, withPrefix, neverRefused))(t)
		lost = srv.LoseRequest(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		deleted := bubble.Aside(func() error { return testenv.Err(node.Delete(neverRefused)) })
		<-lost.Hit()
		srv.Expire(node.Session)
		require.Error(t, <-deleted)
	})
}

// A guard node has one child, the mark of the last hold that was allowed to write: a write checks that its own mark is
// there. A holder from before the servers lost their data is fenced although the next one has the same token, whichever
// of them comes first. The mark of an earlier version of this package is the token alone.
func TestAHoldOfBeforeALossOfTheDataIsFenced(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c, everybody := Of(conn, 0), zk.WorldACL(zk.PermAll)
		over := func() error { return nil } // never
		guard := func(m Mark) error { return c.Guard(nil, over, "/guard", m, everybody) }
		write := func(m Mark) error {
			operation := &zk.CreateRequest{Path: "/data-", Acl: everybody, Flags: zk.FlagSequence}
			return testenv.Err(c.Guarded(context.Background(), new(Tasks), over, "/guard", m.In("/guard"), []any{operation}))
		}
		for _, before := range []Mark{{Token: 4096, ID: "first"}, {Token: 8192}} {
			next := Mark{before.Token, "next"}
			require.NoError(t, guard(before))
			require.NoError(t, write(before))
			require.ErrorIs(t, guard(next), ErrFenced)
			srv.StartEmpty()
			require.NoError(t, guard(next))
			require.NoError(t, guard(next), "which was made before")
			require.ErrorIs(t, write(before), ErrFenced)
			require.ErrorIs(t, guard(before), ErrFenced)
			require.NoError(t, write(next))
		}
		lower, later := Mark{Token: 9000}, Mark{9001, "later"}
		require.NoError(t, guard(lower), "as an earlier version does")
		require.NoError(t, guard(later))
		require.Equal(t, []string{fmt.Sprint(later)}, srv.Children("/guard"))
	})
}

const sessionTimeout = 10 * time.Second

func open(t *testing.T, srv *zkserver.Server) *zk.Conn {
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{"127.0.0.1:2181"}, sessionTimeout, zkconn.WithDialer(srv.Dial)))(t)
	t.Cleanup(conn.Close)
	return conn
}

// openNeeded opens a client whose session is needed, and so proved by rounds, until over is called.
func openNeeded(t *testing.T, srv *zkserver.Server) (c *Client, over func()) {
	c, user := Of(open(t, srv), 0), new(Tasks)
	require.NoError(t, c.call(aQuorum, c.probe))
	c.Use(user, 1)
	return c, func() {
		c.Use(user, -1)
		<-user.Idle()
	}
}

// isOfProof is true of the requests of a proof.
func isOfProof(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti }

// nextSession ends a client's session, and returns when it has another one.
func nextSession(srv *zkserver.Server, conn *zk.Conn) {
	old := conn.SessionID()
	srv.Expire(old)
	bubble.Until(nil, func() bool { return conn.SessionID() != old && conn.State() == zk.StateHasSession })
}

// An answer of the old session that is noted after the first one of the new session costs the new session nothing.
func TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c := Of(conn, 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		old := conn.SessionID()
		late := answer{aQuorum, exchange{sent: time.Now(), answered: time.Now()}}
		nextSession(srv, conn)
		require.Zero(t, c.SafeUntil(conn.SessionID()), "nothing was answered in the new session")
		require.Zero(t, c.SafeUntil(old), "the client has left it")
		require.NoError(t, c.call(aQuorum, c.probe))
		until := c.SafeUntil(conn.SessionID())
		require.True(t, until.After(time.Now()))
		require.False(t, c.SafeUntil(old).After(time.Now()), "the old session has expired, and is taken for the new one")
		c.noteAnswer(old, late)
		require.Equal(t, until, c.SafeUntil(conn.SessionID()))
	})
}

// An answer to a request during which a session has ended counts for neither session: it may be of either.
func TestAnAnswerCountsForTheSessionInWhichItsRequestBegan(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c, old := Of(conn, 0), conn.SessionID()
		require.NoError(t, c.call(aQuorum, func() error {
			nextSession(srv, conn)
			return nil
		}))
		require.Zero(t, c.SafeUntil(conn.SessionID()))
		require.Zero(t, c.SafeUntil(old))
	})
}

// A new session is proved from its first answer on, and not when the next round of the old session would have been due:
// until then a lease would have too little time left.
func TestANewSessionIsProvedFromItsFirstAnswerOn(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := openNeeded(t, srv)
		time.Sleep(sessionTimeout) // of virtual time, in which it is proved
		done, _ := c.NextProof()
		<-done
		nextSession(srv, c.conn)
		require.NoError(t, c.call(aQuorum, c.probe), "as a create does")
		time.Sleep(sessionTimeout / 4) // of virtual time: the next round of the old session is due a third after its last
		require.True(t, c.Lasts(c.SessionID()))
		over()
	})
}

// A proof is not valid after a handshake in which the session gets another timeout.
func TestAProofIsOfOneSessionTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := Of(open(t, zkserver.Run(t)), 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		require.Positive(t, timeLeft(c))
		c.given = sessionTimeout / 2
		require.Negative(t, timeLeft(c))
		require.NoError(t, c.call(aQuorum, c.probe))
		const afterAWrite = (sessionTimeout / 2) * 3 / 8
		require.Equal(t, afterAWrite, timeLeft(c))
	})
}

// timeLeft is how long the client's session is safe.
func timeLeft(c *Client) time.Duration { return time.Until(c.SafeUntil(c.conn.SessionID())) }

// An error that one server may answer alone proves nothing: with the eager ACL check it asks neither leader nor quorum.
func TestARefusalOfOneServerProvesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := Of(open(t, zkserver.Run(t)), 0)
		for _, err := range []error{zk.ErrNoAuth, zk.ErrNoNode, zk.ErrInvalidACL} {
			require.ErrorIs(t, c.call(aQuorum, func() error { return err }), err)
			require.Negative(t, timeLeft(c), err)
		}
		require.ErrorIs(t, c.call(aQuorum, func() error { return zk.ErrBadVersion }), zk.ErrBadVersion)
		require.Positive(t, timeLeft(c))
	})
}

// A proof that is refused is tried again after a pause of a 30th of the session timeout, and a later one is complete.
func TestARefusedProofIsTriedAgainAfterAPause(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var sent atomic.Int32
		isSync := func(r zkserver.Request) bool { return r.Op == jute.OpSync && sent.Add(1) > 0 } // and counts
		refused := srv.Fail(zkserver.CodeUnimplemented, isSync).Every()
		c, over := openNeeded(t, srv)
		const timeouts, triesEach = 2, 30
		time.Sleep(timeouts * sessionTimeout) // of virtual time
		refused.Release()
		require.Positive(t, sent.Load())
		require.LessOrEqual(t, sent.Load(), int32(timeouts*triesEach))

		awaitNext := func() (lastError error) { done, err := c.NextProof(); <-done; return err }
		require.Error(t, awaitNext(), "the last proof was refused")
		awaitNext() // the one before may have begun before the release
		require.NoError(t, awaitNext())
		over()
	})
}

// A proof succeeds without the right to read the root: the leader refuses its check, which proves as much as an answer.
func TestAProofNeedsNoRightToReadTheRoot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		conn := open(t, zkserver.Run(t))
		testenv.Must(conn.SetACL("/", zk.WorldACL(zk.PermAll&^zk.PermRead), -1))(t)
		require.NoError(t, Of(conn, 0).call(aQuorum, Of(conn, 0).probe))
		require.ErrorIs(t, testenv.Err(conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})), zk.ErrNoAuth)
	})
}

// A proof that measures the round trip keeps other requests back for no longer than the session timeout: the requests
// that it waits for, or the proof itself, may hang in a client that is closed.
func TestRequestsAreNotKeptBackForLongerThanTheSessionTimeout(t *testing.T) {
	hang := func() error { time.Sleep(10 * sessionTimeout); return nil } // of virtual time, far longer than a session
	for what, hangs := range map[string]func(srv *zkserver.Server, c *Client){
		"a request": func(_ *zkserver.Server, c *Client) { go c.call(anyServer, hang) },
		"the proof": func(srv *zkserver.Server, c *Client) {
			late := srv.HoldReply(isOfProof)
			time.AfterFunc(10*sessionTimeout, late.Release)
		},
	} {
		bubble.ServeCase(t, what, func(t *testing.T, srv *zkserver.Server) {
			conn := bubble.Connect(t, srv.Dial, 4*sessionTimeout, bubble.One)
			c := Of(conn, sessionTimeout)
			require.NoError(t, c.call(aQuorum, c.probe))
			hangs(srv, c)
			synctest.Wait()
			c.mu.Lock()
			c.prover.roundTrip = sessionTimeout // too far
			c.mu.Unlock()
			var user Tasks
			c.Use(&user, 1)
			time.Sleep(sessionTimeout / 2) // of virtual time: a proof has begun

			began := time.Now()
			require.NoError(t, c.call(anyServer, func() error { return nil }))
			require.Greater(t, time.Since(began), time.Duration(0), "it was not kept back")
			require.LessOrEqual(t, time.Since(began), sessionTimeout)
			synctest.Wait()
			require.Equal(t, what == "a request", timeLeft(c) > 0, "then the proof is sent, too")
			c.Use(&user, -1)
			time.Sleep(20 * sessionTimeout) // of virtual time: what hangs has ended
			<-user.Idle()
		})
	}
}

// The time in which a server must answer begins with its connection: a proof begins while the client has none, and the
// client gets one a moment before the time would be over.
func TestTheTimeToAnswerBeginsWithTheConnection(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := openNeeded(t, srv)
		back := srv.Hold(zkserver.On(jute.OpConnect, ""))
		late := srv.HoldReply(isOfProof)
		srv.Cut(c.SessionID())
		require.True(t, bubble.Until(nil, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.rounds.listening
		}), "no proof has begun")
		require.NotEqual(t, zk.StateHasSession, c.conn.State())
		const mayBeSilent = sessionTimeout / 8        // then the client leaves a server
		time.Sleep(mayBeSilent - 50*time.Millisecond) // of virtual time
		<-back.Hit()
		back.Release()
		<-late.Hit()
		time.Sleep(mayBeSilent / 2)
		require.Equal(t, zk.StateHasSession, c.conn.State(), "the client has left a server that it has just found")
		late.Release()
		over()
		c.leaveServer() // its timer has fired a moment before the answer
		require.False(t, c.rounds.silence.Stop(), "no proof waits for an answer any more")
	})
}

// A proof without a useful answer is tried again soon: little of the safe time is left, less in a short session.
func TestAProofWithoutAnAnswerIsTriedAgainSoon(t *testing.T) {
	for _, timeout := range []time.Duration{0, 400 * time.Millisecond} {
		bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
			c := Of(open(t, srv), timeout)
			require.NoError(t, c.call(aQuorum, c.probe))
			var user Tasks
			for n := range 2 { // the first proof, and a later one
				const throttled = -127
				refused := srv.Fail(throttled, isOfProof)
				if n == 0 {
					c.Use(&user, 1)
				}
				<-refused.Hit()
				began := time.Now()
				again := srv.Hold(isOfProof)
				<-again.Hit()
				require.LessOrEqual(t, time.Since(began), min(shortPause, c.Timeout()/16))
				again.Release()
				time.Sleep(sessionTimeout) // of virtual time, until it is proved
			}
			c.Use(&user, -1)
			<-user.Idle()
		})
	}
}

// The limit of how long a proof keeps requests back ends with it. Otherwise it would let requests through while another
// proof measures how far away the server is, and its answers would wait for them. In tenths of a session timeout:
//
//	0    a proof ends; its limit must end, too, and not pass at 10
//	5    the server counts as too far away, and a request begins that lasts until 12
//	6.7  the next proof but one is due: it waits for that request, and keeps others back
//	9    another request begins: it is kept back until 12
func TestTheLimitOfAProofEndsWithIt(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := openNeeded(t, srv)
		for done, _ := c.NextProof(); !IsClosed(done); c.NextProof() { // another call does not put the proof off
			time.Sleep(sessionTimeout / 60) // of virtual time
		}
		const tenth = sessionTimeout / 10
		began := time.Now()
		time.Sleep(5 * tenth) // of virtual time
		c.mu.Lock()
		c.prover.roundTrip = sessionTimeout // too far
		c.mu.Unlock()
		go c.call(anyServer, func() error { time.Sleep((12 - 5) * tenth); return nil })
		time.Sleep((9 - 5) * tenth)
		require.NoError(t, c.call(anyServer, func() error { return nil }))
		require.GreaterOrEqual(t, time.Since(began), 12*tenth, "it was let through by a proof that is over")
		over()
	})
}
