package client

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/conns"
)

// A proof shows until when the client's session is safe. All locks of the client
// that have the same session timeout share it, so that a hundred of them cost as
// many proofs as one.
//
// # The proof
//
// Only the leader ends a session: when it has had no sign of it for the session
// timeout, T. A follower reports to the leader the sessions from which it has had a
// request. A follower that is cut off from the leader goes on answering reads, and a
// leader that is cut off from a quorum goes on answering syncs. So no single answer
// shows what has been reported to the leader. Three answered requests together do:
//
//   - i, any request. The follower has received it.
//   - j, a sync or a write, sent at least 7/24 T after i was answered. The leader
//     pings each follower every half tick, so in that time it has sent at least
//     one ping, and the follower has replied with its sessions, that of i among
//     them. The leader's messages to a follower keep their order, so the follower
//     replied to that ping before it passed on the answer to j.
//   - k, a write, sent after j was answered. The follower's messages to the leader
//     keep their order, too, so k came after the reply: the leader had the report
//     of i when it handled k. The answer to k came through a quorum, so this leader
//     had not been replaced. A later leader gives each session T from its own start.
//
// So the session lives until T after i was sent. If the client has changed
// servers in between, the new server has asked the leader for the session, which
// is a sign of it, later than i. Half a tick is at most T/4, because a
// server by default agrees to no less than two ticks; the other 1/24 T is
// for a ping that is late.
//
// While a lock is held, there is a round of a j and a k each 7/48 T, and the j is the i of
// the round after the next. So the i of the last proof is at most 7/16 T old. No other
// order of as many requests does better: a write is needed for each proof, because only
// for a write does the leader look whether it has begun to end the session. While locks
// are only waited for, there is a round each third of T.
//
// An observer behind an observer master reports a whole tick late. There the
// proof needs T to be at least four ticks.
//
// The k of a proof is a multi with one check (see probe). A write that is refused
// proves nothing if one server may refuse it alone (see eager).
//
// # Before the first proof
//
// A session is then only presumed to live, for 3/8 T after a write was sent. The
// leader has carried out the write, so the session lived. The leader's last sign of
// it was no older than the pause between two pings of the client, T/3, and the one
// between two reports of the follower, at most 7/24 T, together. A write at T/12,
// and one at T/6, extend this.
//
// # Outages
//
// A lease outlasts an outage if the servers answer the client again before the
// session is no longer known to be safe, and two round trips before that. The age
// is that of the lease when the outage begins; the first proof is complete at 7/24 T.
//
//	age of the lease      the servers must answer again within    T = 4 s   10 s
//	0 to 1/12 T           3/8 T of the Lock                       1.5 s     3.7 s
//	1/12 to 1/6 T         11/24 T of the Lock                     1.8 s     4.5 s
//	1/6 to 7/24 T         13/24 T of the Lock                     2.1 s     5.4 s
//	7/24 to 11/24 T       T of the Lock                           4 s       10 s
//	later                 13/24 T (the worst) to 17/24 T          2.1 s     5.4 s
//
// A client of Connect leaves a server that is silent for T/8 during a proof, if a
// leader answers on another connection, or a follower that goes on: otherwise
// no server could prove anything. The next server answers well before the session
// ends. So a server that hangs costs no lease that has been proved if another server
// works. An ordinary client notices silence after 2/3 T only: one server that hangs may
// cost the lease. If the connection breaks, both kinds come back at once. If all servers have been
// tried, as one address always has, an ordinary client comes back after 1 s, and Connect's after
// 100 ms.
type proof struct {
	users     map[*Tasks]int // entries that need the session to be safe, of each Mutex
	held      int            // locks
	roundTrip time.Duration  // to the server takes at most this, by the last measurement
	timer     *time.Timer    // runs until the next request is due
	fires     time.Time      // when timer does
	proving   bool
	listening bool          // a proof waits for an answer
	silence   *time.Timer   // runs meanwhile
	connected bool          // when silence was started
	complete  chan struct{} // closed when a proof is complete
	unproved  error         // why the last proof is not complete, or is of little use

	session  int64         // the fields below are of this session
	timeout  time.Duration // and of this session timeout: the next server may agree to another one
	signs    []sign        // in the order in which they were sent, without those of complete proofs
	round    exchange      // the first request of the last round, or the one that counts as such
	before   exchange      // the same of the round before
	proved   time.Time     // until when the session is safe, by a proof
	presumed time.Time     // the same by a write, before there was a valid proof
}

type exchange struct {
	sent, answered time.Time
	first          bool // no other request was under way when it was sent
}

// A sign is a request i.
type sign struct {
	exchange
	reported time.Time // when j was answered; zero: it was not
}

// betweenPings is how long the leader takes at most from one ping to the next.
func (c *Client) betweenPings() time.Duration { return c.Timeout() * 7 / 24 }

// mostSigns is more than there can be in a session timeout.
const mostSigns = 48

func (c *Client) note(session int64, by answerer, e exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening {
		c.listenLocked()
	}
	if c.conn.SessionID() != session { // looked up here: no later session has been noted
		return
	}
	if timeout := c.Timeout(); c.session != session || c.timeout != timeout {
		c.session, c.timeout, c.signs, c.proved, c.presumed = session, timeout, nil, time.Time{}, time.Time{}
		defer c.armLocked(c.Timeout() / 30)
	}
	if took := e.answered.Sub(e.sent); e.first || took < c.roundTrip {
		c.roundTrip = took // any other may have waited for those in front of it
	}
	until := e.sent.Add(c.Timeout() * 3 / 8)
	if by == aQuorum && (len(c.users) == 0 || !c.proved.After(c.presumed)) && until.After(c.presumed) {
		c.presumed = until
	}
	if len(c.users) == 0 { // no proof is under way
		c.signs = nil
	}
	for n := len(c.signs) - 1; n >= 0 && by == aQuorum; n-- {
		if i := c.signs[n]; !i.reported.IsZero() && !e.sent.Before(i.reported) { // e is k
			c.proved = i.sent.Add(c.Timeout())
			c.signs = slices.Delete(c.signs, 0, n+1)
			break
		}
	}
	for n := range c.signs {
		if i := &c.signs[n]; by >= theLeader && i.reported.IsZero() && e.sent.Sub(i.answered) >= c.betweenPings() { // e is j
			i.reported = e.answered
		}
	}
	if n := len(c.signs); n == 0 || e.sent.Sub(c.signs[n-1].sent) >= c.Timeout()/mostSigns {
		c.signs = append(c.signs[n/mostSigns:], sign{exchange: e})
	}
}

// SafeUntil returns when a session may end.
func (c *Client) SafeUntil(session int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.safeUntilLocked(session)
}

func (c *Client) safeUntilLocked(session int64) time.Time {
	switch {
	case c.session != session || c.conn.SessionID() != session || c.timeout != c.Timeout():
		return time.Time{}
	case c.presumed.After(c.proved):
		return c.presumed
	}
	return c.proved
}

// Lasts reports whether a session stays safe until the next proof, if each of its
// requests takes one round trip. If a thousand others are in front of them, the
// lease may be lost early, but ends no later than the session.
func (c *Client) Lasts(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.safeUntilLocked(session)
	next, alone := c.nextLocked()
	if alone && c.proved.After(c.presumed) && c.signs[0].reported.IsZero() {
		next = later(next, c.signs[0].answered.Add(c.betweenPings()))
	}
	return c.roundTrip < c.Timeout()/12 && next.Add(2*c.roundTrip).Before(until) && !IsOver(until.Add(-c.Timeout()/4))
}

// nextLocked returns when the next round of a proof is due. Other requests of the
// client may have completed a proof meanwhile, which puts it off. The request is a write
// alone if there is no i for a j: it will be one, or it is the k that is missing. So it is
// while the session is only presumed to live, and j may not be sent until T/12
// later: the write extends the presumed time.
func (c *Client) nextLocked() (at time.Time, alone bool) {
	presumed := !c.proved.After(c.presumed)
	switch n := slices.IndexFunc(c.signs, func(i sign) bool { return i.reported.IsZero() }); {
	case presumed && n != 0 || len(c.signs) == 0:
		return time.Now(), true // k is missing, or i
	case presumed:
		at = c.signs[n].answered.Add(c.betweenPings())
		renewal := later(c.presumed.Add(-c.betweenPings()), time.Now())
		if renewal.Add(c.Timeout() / 12).Before(at) {
			return renewal, true
		}
		return at, false
	case c.held > 0:
		at = later(c.round.sent.Add(c.betweenPings()/2), c.before.answered.Add(c.betweenPings()))
		at = later(at, c.proved.Add(-c.Timeout()*9/16))
	default:
		at = later(c.round.answered.Add(c.Timeout()/3), c.proved.Add(-c.Timeout()/2))
	}
	if now := time.Now(); at.Before(now) {
		at = now
	}
	return at, !slices.ContainsFunc(c.signs, func(i sign) bool {
		return i.reported.IsZero() && !i.answered.Add(c.betweenPings()).After(at)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

var Clock = time.Now // except in a test that suspends the machine

// IsOver reports whether a time has come, by the clock that stops while the machine
// is suspended, or by the wall clock.
func IsOver(t time.Time) bool {
	now := Clock()
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// Use counts the entries that need the session to be safe. While there are any,
// a sync and a write are sent per third of the session timeout, and more often while
// there is a lock that is held, as a task of all Mutexes that have one. If an earlier proof may run out before the next one is
// complete, because an answer may be late, it no longer counts.
func (c *Client) Use(by *Tasks, entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.users) == 0
	if c.users[by] += entries; c.users[by] == 0 {
		delete(c.users, by)
	}
	if first {
		c.round, c.before = exchange{}, exchange{}
		if n := len(c.signs); n > 0 {
			c.round = c.signs[n-1].exchange
		}
		if next := c.round.answered.Add(c.betweenPings()); c.proved.Before(next.Add(c.Timeout() / 12)) {
			c.proved = time.Time{}
		}
		c.armLocked(0)
	}
}

// Hold counts the locks that are held.
func (c *Client) Hold(locks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held += locks; c.held == locks {
		c.armLocked(0)
	}
}

// NextProof begins the next proof as soon as possible. Done is closed when it is
// complete, or has failed; unproved is what was wrong with the last one, or nil.
func (c *Client) NextProof() (done <-chan struct{}, unproved error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armLocked(max(0, min(c.Timeout()/30, time.Until(c.fires)))) // no later than the timer fires already
	return c.complete, c.unproved
}

// armLocked sets the timer to when the next request may be sent, or ought to be,
// but not before a pause.
func (c *Client) armLocked(pause time.Duration) {
	if len(c.users) == 0 || c.proving || IsClosed(c.closed) {
		return
	}
	due, _ := c.nextLocked()
	c.setLocked(max(time.Until(due), pause))
}

func (c *Client) setLocked(d time.Duration) {
	c.fires = time.Now().Add(d)
	c.timer.Reset(max(d, 1)) // 0 can crash the race detector in virtual time (Go 1.26)
}

// prove sends the requests that are due.
func (c *Client) prove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, alone := c.nextLocked()
	if len(c.users) == 0 || c.proving || time.Now().Before(due) {
		c.armLocked(c.Timeout() / 30)
		return
	}
	c.proving, c.listening = true, true
	c.listenLocked()
	far := c.roundTrip >= c.Timeout()/12
	users := slices.Collect(maps.Keys(c.users))
	for _, t := range users {
		t.Begin()
	}
	go func() {
		defer func() {
			for _, t := range users {
				t.End()
			}
		}()
		limit := time.AfterFunc(c.Timeout(), c.endKeepBack)
		defer limit.Stop()
		measured, err := far && c.keepBack(), error(nil)
		round := exchange{sent: time.Now()}
		if !alone {
			err = c.send(theLeader, c.sync, true)
			round.answered = time.Now()
		}
		if err == nil {
			err = c.send(aQuorum, c.probe, true)
		}
		if alone {
			round.answered = time.Now()
		}
		c.endKeepBack()
		c.mu.Lock()
		c.listening = false
		c.silence.Stop()
		if err == nil {
			c.before, c.round = c.round, round
		}
		c.mu.Unlock()
		reason := c.final(err)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.proving = false
		if err != nil && reason == nil {
			c.setLocked(min(shortPause, c.Timeout()/16)) // because the session may end soon
			return
		}
		defer c.armLocked(c.Timeout() / 30)
		if err = reason; err == nil && measured && c.roundTrip >= c.Timeout()/12 {
			err = ErrTooSlow
		}
		c.unproved = err
		close(c.complete)
		c.complete = make(chan struct{})
	}()
}

// keepBack waits until no request is under way, and keeps others back until
// endKeepBack: the answers to the proof then wait for no others, and measure the
// round trip. It returns false if that takes longer than the session timeout: too
// many are under way, or one hangs in a client that is closed.
func (c *Client) keepBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.keptBack = true; c.keptBack && c.underway > 0; {
		c.fewer.Wait()
	}
	return c.keptBack
}

// endKeepBack ends keepBack when the proof is complete, or after the session timeout.
func (c *Client) endKeepBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keptBack = false
	c.fewer.Broadcast()
}

// listenLocked gives the server an eighth of the session timeout for the next
// answer, to whatever request; or one and a half round trips, if that is longer:
// only an answer shows whether the server is too far away.
func (c *Client) listenLocked() {
	c.connected = c.conn.State() == zk.StateHasSession
	c.silence.Reset(max(c.Timeout()/8, c.roundTrip*3/2))
}

// leave breaks the connection to a server that has been silent. It does nothing
// while the client connects, which has time limits of its own.
func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listening {
		return
	}
	if c.connected && c.conn.State() == zk.StateHasSession {
		conns.Reconnect(c.conn)
	}
	c.listenLocked()
}

// sync makes the client's server apply all changes that were made before.
func (c *Client) sync() error {
	_, err := c.conn.Sync("/")
	return err
}

// probe is a write that changes nothing: a check of the root, which always
// exists, as a transaction. The leader decides on it, and on the right to read
// the root, too; and it goes through a quorum whatever the result.
func (c *Client) probe() error {
	_, err := c.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
	if errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	return err
}
