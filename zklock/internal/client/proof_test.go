package client

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

const asked = 10 * time.Second

func open(t *testing.T, srv *zkserver.Server) *zk.Conn {
	conn, err := zkconn.Connect(t.Context(), []string{"127.0.0.1:2181"}, asked, zkconn.WithDialer(srv.Dial))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
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
		late := exchange{sent: time.Now(), answered: time.Now()}
		nextSession(srv, conn)
		require.Zero(t, l.SafeUntil(conn.SessionID()), "nothing was answered in the new session")
		require.Zero(t, l.SafeUntil(old), "the client has left it")
		require.NoError(t, l.call(aQuorum, l.probe))
		until := l.SafeUntil(conn.SessionID())
		require.True(t, until.After(time.Now()))
		require.False(t, l.SafeUntil(old).After(time.Now()), "the old session has expired, and is taken for the new one")
		l.note(old, aQuorum, late)
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

var user Tasks // of tests in which no proof is sent

// newNoter returns a client, and functions that note an answer and return until when
// the session is safe, in parts of the session timeout.
func newNoter(t *testing.T) (l *Client, note func(by answerer, sent float64), until func() float64) {
	conn := open(t, zkserver.Run(t))
	l = Of(conn, 0)
	l.proving = true // no proof of its own
	l.Use(&user, 1)
	began := time.Now()
	return l, func(by answerer, sent float64) {
			at := began.Add(time.Duration(sent * float64(asked)))
			l.note(conn.SessionID(), by, exchange{sent: at, answered: at.Add(time.Millisecond), first: true})
		}, func() float64 {
			return float64(l.SafeUntil(conn.SessionID()).Sub(began)) / float64(asked)
		}
}

// TestAProofIsOfOneSessionTimeout: in the next handshake the session may get
// another one, for which an earlier proof is not valid.
func TestAProofIsOfOneSessionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, note, until := newNoter(t)
		note(aQuorum, 0)
		note(theLeader, 0.3)
		note(aQuorum, 0.31)
		l.given = asked / 2
		require.Negative(t, until())
		note(aQuorum, 0.4)
		require.InDelta(t, 0.4+3./16, until(), 1e-6, "presumed")
	})
}

// noteAll notes answers, whose times are parts of the session timeout.
func noteAll(l *Client, began time.Time, answers []answered) {
	at := func(part float64) time.Time { return began.Add(time.Duration(part * float64(asked))) }
	for _, a := range answers {
		l.note(l.conn.SessionID(), a.by, exchange{sent: at(a.sent), answered: at(a.at), first: a.by != behindOthers})
	}
}

type answered struct {
	by       answerer
	sent, at float64
}

// behindOthers is the answer to a read that was sent while others were under way.
const behindOthers = anyServer - 1

func TestTheOrderOfAProof(t *testing.T) {
	for _, c := range []struct {
		name  string
		notes []answered
		until float64
	}{
		{"i, j and k", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}}, 1},
		{"j may be a write", []answered{{aQuorum, 0, 0}, {aQuorum, .3, .3}, {aQuorum, .3, .3}}, 1},
		{"j is not a read, which a follower that is cut off from the leader answers", []answered{{aQuorum, 0, 0}, {anyServer, .3, .3}, {aQuorum, .31, .31}}, .31 + 3./8},
		{"k is not a sync", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {theLeader, .3, .3}}, 3. / 8},
		{"k is sent after the answer to j", []answered{{aQuorum, 0, 0}, {theLeader, .3, .35}, {aQuorum, .34, .36}}, .34 + 3./8},
		{"j is sent half a tick after i was answered, and not only sent", []answered{{aQuorum, 0, .1}, {theLeader, .3, .3}, {aQuorum, .3, .3}}, .3 + 3./8},
		{"half a tick and a 24th", []answered{{aQuorum, 0, 0}, {theLeader, .28, .28}, {aQuorum, .28, .28}}, .28 + 3./8},
		{"the safe time begins when i was sent", []answered{{aQuorum, 0, .1}, {theLeader, .4, .4}, {aQuorum, .4, .4}}, 1},
		{"the first j after i counts", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {theLeader, .32, .4}, {aQuorum, .35, .41}}, 1},
		{"k is the next i", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}, {theLeader, .6, .6}, {aQuorum, .6, .6}}, 1.3},
		{"later writes do not put off the next j", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}, {aQuorum, .5, .5}, {theLeader, .6, .6}, {aQuorum, .6, .6}}, 1.3},
		{"an answer that is noted late takes nothing away", []answered{{aQuorum, .05, .05}, {aQuorum, 0, .06}}, .05 + 3./8},
		{"a write alone adds nothing to a proof: the process may have been suspended between two pings", []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}, {aQuorum, .9, .9}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _, until := newNoter(t)
				noteAll(l, time.Now(), c.notes)
				require.InDelta(t, c.until, until(), 1e-6)
			})
		})
	}
}

func TestASessionLastsIfTheNextProofIsInTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		notes []answered
		now   float64
		lasts bool
	}{
		{"a write", []answered{{aQuorum, 0, 0}}, 0, true},
		{"a quarter is not left", []answered{{aQuorum, 0, 0}}, .13, false},
		{"the next j is answered in time", []answered{{aQuorum, 0, 0}, {theLeader, .6, .6}, {aQuorum, .65, .66}}, .66, true},
		{"the next j is answered too late", []answered{{aQuorum, 0, 0}, {theLeader, .6, .6}, {aQuorum, .62, .69}}, .69, false},
		{"a distant server", []answered{{aQuorum, 0, .09}}, .09, false},
		{"a server that was fast", []answered{{aQuorum, 0, .001}, {aQuorum, .01, .1}}, .1, false},
		{"an answer that has waited for others", []answered{{aQuorum, 0, .001}, {behindOthers, .01, .1}}, .1, true},
		{"one that has, and came soon", []answered{{aQuorum, 0, .09}, {behindOthers, .09, .1}}, .1, true},
		{"a server that was slow", []answered{{aQuorum, 0, .09}, {aQuorum, .1, .1}}, .1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _, _ := newNoter(t)
				noteAll(l, time.Now(), c.notes)
				time.Sleep(time.Duration(c.now * float64(asked)))
				require.Equal(t, c.lasts, l.Lasts(l.conn.SessionID()))
			})
		})
	}
}

// TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime: nobody needed the session
// for a while, and a lease that begins then would be lost by one late answer.
func TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime(t *testing.T) {
	for _, c := range []struct {
		last float64
		kept bool
	}{{.6, true}, {.65, false}, {.7, false}} {
		synctest.Test(t, func(t *testing.T) {
			l, note, until := newNoter(t)
			began := time.Now()
			noteAll(l, began, []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}})
			l.Use(&user, -1)
			note(anyServer, c.last)
			time.Sleep(time.Duration(c.last * float64(asked))) // until the last answer, at an exact moment of virtual time
			l.Use(&user, 1)
			due, _ := l.nextLocked()
			require.Equal(t, c.kept, until() > .9)
			require.Equal(t, c.kept, time.Until(due) > 0, "a write is due at once")
			note(aQuorum, c.last+.08)
			require.InDelta(t, c.last, float64(l.signs[0].sent.Sub(began))/float64(asked), 1e-6, "the write puts off the next proof")
		})
	}
}

// TestARefusalOfOneServerProvesNothing: with the eager ACL check a server refuses
// without leader or quorum.
func TestARefusalOfOneServerProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, until := newNoter(t)
		for _, err := range []error{zk.ErrNoAuth, zk.ErrNoNode, zk.ErrInvalidACL} {
			require.ErrorIs(t, l.call(aQuorum, func() error { return err }), err)
			require.Negative(t, until(), err)
		}
		require.ErrorIs(t, l.call(aQuorum, func() error { return zk.ErrBadVersion }), zk.ErrBadVersion)
		require.Positive(t, until())
	})
}

// TestMutexesOfAClientShareTheirSession, if they have the same timeout.
func TestMutexesOfAClientShareTheirSession(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		a, b := open(t, srv), open(t, srv)
		s := Of(a, 0)
		require.Same(t, s, Of(a, 0))
		require.NotSame(t, s, Of(a, time.Second))
		require.NotSame(t, s, Of(b, 0))
	})
}

// TestARefusedProofIsTriedAgainAfterAPause, and a later proof is complete.
func TestARefusedProofIsTriedAgainAfterAPause(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		s := Of(conn, 0)
		require.NoError(t, s.call(aQuorum, s.probe))
		var refused []*zkserver.Fault
		for range 100 {
			refused = append(refused, srv.Fail(-6, func(r zkserver.Request) bool { return r.Op == jute.OpSync }))
		}
		var user Tasks
		s.Use(&user, 1)
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
		_, err = s.NextProof()
		require.NoError(t, err)
		s.Use(&user, -1)
		<-user.Idle()
	})
}

// TestAProofNeedsNoRightToReadTheRoot: it is the leader that refuses.
func TestAProofNeedsNoRightToReadTheRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := open(t, zkserver.Run(t))
		_, err := conn.SetACL("/", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(t, err)
		require.NoError(t, Of(conn, 0).call(aQuorum, Of(conn, 0).probe))
		_, err = conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		require.ErrorIs(t, err, zk.ErrNoAuth)
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
			conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 4*asked, zk.WithDialer(srv.Dial), zk.WithLogInfo(false))
			require.NoError(t, err)
			defer conn.Close()
			c := Of(conn, asked)
			require.NoError(t, c.call(aQuorum, c.probe))
			hangs(srv, c)
			synctest.Wait()
			c.mu.Lock()
			c.roundTrip = asked // too far
			c.mu.Unlock()
			var user Tasks
			c.Use(&user, 1)
			time.Sleep(asked / 2) // of virtual time: a proof has begun
			began := time.Now()
			require.NoError(t, c.call(anyServer, func() error { return nil }))
			require.Greater(t, time.Since(began), time.Duration(0), "it was not kept back")
			require.LessOrEqual(t, time.Since(began), asked)
			c.Use(&user, -1)
			time.Sleep(20 * asked) // of virtual time: what hangs has ended
			<-user.Idle()
		})
	}
}

// TestAnotherLeaseTakesNothingFromTheProof: the proof is old when another lock of the
// client begins to need it, and an earlier lease still needs it.
func TestAnotherLeaseTakesNothingFromTheProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, until := newNoter(t)
		noteAll(l, time.Now(), []answered{{aQuorum, 0, 0}, {theLeader, .3, .3}, {aQuorum, .3, .3}, {theLeader, .9, .9}, {aQuorum, .95, .95}})
		require.InDelta(t, 1.3, until(), 1e-6)
		l.Use(&user, 1)
		require.InDelta(t, 1.3, until(), 1e-6, "the lease of the first is lost for the second")
	})
}

// TestTheTimeToAnswerBeginsWithTheConnection: a proof begins while the client has
// no connection, and the client gets one a moment before the time would be over. That
// server has just begun to answer.
func TestTheTimeToAnswerBeginsWithTheConnection(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c := Of(conn, 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		var user Tasks
		c.Use(&user, 1)
		back := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect })
		late := srv.HoldReply(func(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti })
		srv.Cut(conn.SessionID())
		listens := func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.listening
		}
		for !listens() {
			time.Sleep(time.Millisecond) // of virtual time, until the proof has begun
		}
		require.NotEqual(t, zk.StateHasSession, conn.State())
		time.Sleep(asked/8 - 50*time.Millisecond)
		<-back.Hit()
		back.Release()
		<-late.Hit()
		time.Sleep(asked / 20) // less than an eighth
		require.Equal(t, zk.StateHasSession, conn.State(), "the client has left a server that it has just found")
		late.Release()
		c.Use(&user, -1)
		<-user.Idle()
		c.leave() // its timer has fired a moment before the answer
		require.False(t, c.silence.Stop(), "no proof waits for an answer any more")
	})
}

// TestAProofWithoutAnAnswerIsTriedAgainSoon: the session is proved to be safe for
// only a short time when a proof is due.
func TestAProofWithoutAnAnswerIsTriedAgainSoon(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		c := Of(open(t, srv), 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		ofProof := func(r zkserver.Request) bool { return r.Op == jute.OpSync || r.Op == jute.OpMulti }
		refused := srv.Fail(-127, ofProof) // throttled
		var user Tasks
		c.Use(&user, 1)
		<-refused.Hit()
		began := time.Now()
		again := srv.Hold(ofProof)
		<-again.Hit()
		require.LessOrEqual(t, time.Since(began), shortPause)
		again.Release()
		c.Use(&user, -1)
		<-user.Idle()
	})
}

// TestTheLimitOfAProofEndsWithIt: later, while another proof measures how far away the
// server is, it would let through the requests that are kept back, and the answers to
// the proof would wait for them.
func TestTheLimitOfAProofEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Of(open(t, zkserver.Run(t)), 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		var user Tasks
		c.Use(&user, 1)
		done, _ := c.NextProof()
		<-done
		began := time.Now()
		time.Sleep(asked / 2) // the next but one proof is due at two thirds
		c.mu.Lock()
		c.roundTrip = asked // too far
		c.mu.Unlock()
		go c.call(anyServer, func() error { time.Sleep(asked * 7 / 10); return nil })
		time.Sleep(asked * 4 / 10) // that proof waits for the request
		require.NoError(t, c.call(anyServer, func() error { return nil }))
		require.GreaterOrEqual(t, time.Since(began), asked*12/10, "it was let through by a proof that is over")
		c.Use(&user, -1)
		<-user.Idle()
	})
}

// TestABusyClientNeedsNoRounds: its own requests prove the session. As soon as it is quiet,
// the rounds go on, and more often while a lock is held.
func TestABusyClientNeedsNoRounds(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c := Of(conn, 0)
		require.NoError(t, c.call(aQuorum, c.probe))
		var syncs atomic.Int32
		count := srv.Fail(-6, func(r zkserver.Request) bool {
			if r.Op == jute.OpSync {
				syncs.Add(1)
			}
			return false
		})
		defer count.Release()
		sent := func(f func()) int {
			before := syncs.Load()
			f()
			return int(syncs.Load() - before)
		}
		var user Tasks
		c.Use(&user, 1)
		c.Hold(1)
		busy := func() {
			for range 240 { // ten session timeouts
				time.Sleep(asked / 24)
				require.NoError(t, c.call(aQuorum, c.probe))
			}
		}
		quiet := func() { time.Sleep(10 * asked) }
		require.LessOrEqual(t, sent(busy), 1)
		require.InDelta(t, 10*48./7, sent(quiet), 2)
		c.Hold(-1)
		require.InDelta(t, 30, sent(quiet), 2)
		c.Use(&user, -1)
		<-user.Idle()
	})
}
