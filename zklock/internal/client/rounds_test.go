package client

import (
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

const asked = 10 * time.Second

func open(t *testing.T, srv *zkserver.Server) *zk.Conn {
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{"127.0.0.1:2181"}, asked, zkconn.WithDialer(srv.Dial)))(t)
	t.Cleanup(conn.Close)
	return conn
}

// needed opens a client whose session is needed until over is called.
func needed(t *testing.T, srv *zkserver.Server) (c *Client, over func()) {
	c, user := Of(open(t, srv), 0), new(Tasks)
	require.NoError(t, c.call(aQuorum, c.probe))
	c.Use(user, 1)
	return c, func() {
		c.Use(user, -1)
		<-user.Idle()
	}
}

// nextSession ends a client's session, and returns when it has another one.
func nextSession(srv *zkserver.Server, conn *zk.Conn) {
	old := conn.SessionID()
	srv.Expire(old)
	bubble.Until(nil, func() bool { return conn.SessionID() != old && conn.State() == zk.StateHasSession })
}

// TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing: a goroutine that had an
// answer in the old session is resumed after the new one has been noted.
func TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		l := Of(conn, 0)
		require.NoError(t, l.call(aQuorum, l.probe))
		old := conn.SessionID()
		late := answer{aQuorum, exchange{sent: time.Now(), answered: time.Now()}}
		nextSession(srv, conn)
		require.Zero(t, l.SafeUntil(conn.SessionID()), "nothing was answered in the new session")
		require.Zero(t, l.SafeUntil(old), "the client has left it")
		require.NoError(t, l.call(aQuorum, l.probe))
		until := l.SafeUntil(conn.SessionID())
		require.True(t, until.After(time.Now()))
		require.False(t, l.SafeUntil(old).After(time.Now()), "the old session has expired, and is taken for the new one")
		l.note(old, late)
		require.Equal(t, until, l.SafeUntil(conn.SessionID()))
	})
}

// TestAnAnswerCountsForTheSessionInWhichItsRequestBegan, and not for the next one:
// the answer may be of either.
func TestAnAnswerCountsForTheSessionInWhichItsRequestBegan(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		l, old := Of(conn, 0), conn.SessionID()
		require.NoError(t, l.call(aQuorum, func() error {
			nextSession(srv, conn)
			return nil
		}))
		require.Zero(t, l.SafeUntil(conn.SessionID()))
		require.Zero(t, l.SafeUntil(old))
	})
}

// TestANewSessionIsProvedFromItsFirstAnswerOn, and not when the next round in the old session would have been due:
// until then a lease would have too little time left.
func TestANewSessionIsProvedFromItsFirstAnswerOn(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := needed(t, srv)
		time.Sleep(asked) // it is proved
		done, _ := c.NextProof()
		<-done
		nextSession(srv, c.conn)
		require.NoError(t, c.call(aQuorum, c.probe), "as a create does")
		time.Sleep(asked / 4) // of virtual time: the next round of the old session is due a third after its last
		require.True(t, c.Lasts(c.SessionID()))
		over()
	})
}

// TestAProofIsOfOneSessionTimeout: in the next handshake the session may get
// another one, for which an earlier proof is not valid.
func TestAProofIsOfOneSessionTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := Of(open(t, zkserver.Run(t)), 0)
		require.NoError(t, l.call(aQuorum, l.probe))
		require.Positive(t, left(l))
		l.given = asked / 2
		require.Negative(t, left(l))
		require.NoError(t, l.call(aQuorum, l.probe))
		require.Equal(t, asked/2*3/8, left(l), "presumed")
	})
}

// left is how long the client's session is safe.
func left(l *Client) time.Duration { return time.Until(l.SafeUntil(l.conn.SessionID())) }

// TestARefusalOfOneServerProvesNothing: with the eager ACL check a server refuses
// without leader or quorum.
func TestARefusalOfOneServerProvesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := Of(open(t, zkserver.Run(t)), 0)
		for _, err := range []error{zk.ErrNoAuth, zk.ErrNoNode, zk.ErrInvalidACL} {
			require.ErrorIs(t, l.call(aQuorum, func() error { return err }), err)
			require.Negative(t, left(l), err)
		}
		require.ErrorIs(t, l.call(aQuorum, func() error { return zk.ErrBadVersion }), zk.ErrBadVersion)
		require.Positive(t, left(l))
	})
}

// TestARefusedProofIsTriedAgainAfterAPause, and a later proof is complete.
func TestARefusedProofIsTriedAgainAfterAPause(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var refused []*zkserver.Fault
		for range 100 {
			refused = append(refused, srv.Fail(-6, func(r zkserver.Request) bool { return r.Op == jute.OpSync }))
		}
		s, over := needed(t, srv)
		time.Sleep(2 * asked)
		sent := 0
		for _, f := range refused {
			sent += len(f.Hit())
			f.Release()
		}
		require.Positive(t, sent)
		require.LessOrEqual(t, sent, 60, "a pause of a 30th of the session timeout")
		done, err := s.NextProof()
		require.Error(t, err)
		<-done
		done, _ = s.NextProof()
		<-done
		testenv.Must(s.NextProof())(t)
		over()
	})
}

// TestAProofNeedsNoRightToReadTheRoot: it is the leader that refuses.
func TestAProofNeedsNoRightToReadTheRoot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		conn := open(t, zkserver.Run(t))
		testenv.Must(conn.SetACL("/", zk.WorldACL(zk.PermAll&^zk.PermRead), -1))(t)
		require.NoError(t, Of(conn, 0).call(aQuorum, Of(conn, 0).probe))
		require.ErrorIs(t, testenv.Err(conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})), zk.ErrNoAuth)
	})
}

// TestRequestsAreNotKeptBackForLongerThanTheSessionTimeout by a proof that measures
// the round trip: the requests that it waits for may hang in a client that is closed.
func TestRequestsAreNotKeptBackForLongerThanTheSessionTimeout(t *testing.T) {
	hang := func() error { time.Sleep(10 * asked); return nil } // of virtual time, far longer than a session
	for what, hangs := range map[string]func(srv *zkserver.Server, c *Client){
		"a request": func(_ *zkserver.Server, c *Client) { go c.call(anyServer, hang) },
		"the proof": func(srv *zkserver.Server, c *Client) {
			late := srv.HoldReply(func(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti })
			time.AfterFunc(10*asked, late.Release)
		},
	} {
		bubble.ServeCase(t, what, func(t *testing.T, srv *zkserver.Server) {
			conn := bubble.Connect(t, srv.Dial, 4*asked, bubble.One)
			c := Of(conn, asked)
			require.NoError(t, c.call(aQuorum, c.probe))
			hangs(srv, c)
			synctest.Wait()
			c.mu.Lock()
			c.prover.roundTrip = asked // too far
			c.mu.Unlock()
			var user Tasks
			c.Use(&user, 1)
			time.Sleep(asked / 2) // of virtual time: a proof has begun
			began := time.Now()
			require.NoError(t, c.call(anyServer, func() error { return nil }))
			require.Greater(t, time.Since(began), time.Duration(0), "it was not kept back")
			require.LessOrEqual(t, time.Since(began), asked)
			synctest.Wait()
			require.Equal(t, what == "a request", left(c) > 0, "then the proof is sent, too")
			c.Use(&user, -1)
			time.Sleep(20 * asked) // of virtual time: what hangs has ended
			<-user.Idle()
		})
	}
}

// TestTheTimeToAnswerBeginsWithTheConnection: a proof begins while the client has no connection, and the client gets
// one a moment before the time would be over. That server has just begun to answer.
func TestTheTimeToAnswerBeginsWithTheConnection(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := needed(t, srv)
		back := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect })
		late := srv.HoldReply(func(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti })
		srv.Cut(c.SessionID())
		listens := func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.rounds.listening
		}
		for !listens() {
			time.Sleep(time.Millisecond) // of virtual time, until the proof has begun
		}
		require.NotEqual(t, zk.StateHasSession, c.conn.State())
		time.Sleep(asked/8 - 50*time.Millisecond)
		<-back.Hit()
		back.Release()
		<-late.Hit()
		time.Sleep(asked / 20) // less than an eighth
		require.Equal(t, zk.StateHasSession, c.conn.State(), "the client has left a server that it has just found")
		late.Release()
		over()
		c.leave() // its timer has fired a moment before the answer
		require.False(t, c.rounds.silence.Stop(), "no proof waits for an answer any more")
	})
}

// TestAProofWithoutAnAnswerIsTriedAgainSoon: the session is proved to be safe for
// only a short time when a proof is due, and a short session for a shorter one.
func TestAProofWithoutAnAnswerIsTriedAgainSoon(t *testing.T) {
	for _, timeout := range []time.Duration{0, 400 * time.Millisecond} {
		bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
			c := Of(open(t, srv), timeout)
			require.NoError(t, c.call(aQuorum, c.probe))
			ofProof := func(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti }
			var user Tasks
			for range 2 { // the first proof, and a later one
				refused := srv.Fail(-127, ofProof) // throttled
				c.Use(&user, 1-len(c.rounds.users))
				<-refused.Hit()
				began := time.Now()
				again := srv.Hold(ofProof)
				<-again.Hit()
				require.LessOrEqual(t, time.Since(began), min(shortPause, c.Timeout()/16))
				again.Release()
				time.Sleep(asked) // until it is proved
			}
			c.Use(&user, -1)
			<-user.Idle()
		})
	}
}

// TestTheLimitOfAProofEndsWithIt: later, while another proof measures how far away the server is, it would let
// through the requests that are kept back, and the answers to the proof would wait for them.
func TestTheLimitOfAProofEndsWithIt(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c, over := needed(t, srv)
		for done, _ := c.NextProof(); !IsClosed(done); c.NextProof() { // which does not put it off
			time.Sleep(asked / 60) // of virtual time
		}
		began := time.Now()
		time.Sleep(asked / 2) // the next but one proof is due at two thirds
		c.mu.Lock()
		c.prover.roundTrip = asked // too far
		c.mu.Unlock()
		go c.call(anyServer, func() error { time.Sleep(asked * 7 / 10); return nil })
		time.Sleep(asked * 4 / 10) // that proof waits for the request
		require.NoError(t, c.call(anyServer, func() error { return nil }))
		require.GreaterOrEqual(t, time.Since(began), asked*12/10, "it was let through by a proof that is over")
		over()
	})
}
