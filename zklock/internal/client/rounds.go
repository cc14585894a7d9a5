// The rounds. While a lock is held or waited for, its client proves again and again that its session lives: it sends a
// round of requests, a sync and a write or a write alone. The prover of proof.go learns from the answers until when the
// session is safe, and says when the next round is due. NextProof is for a caller that needs a new proof.

package client

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/conns"
)

// rounds is the state of the rounds. Client.mu guards it.
type rounds struct {
	users    map[*Tasks]int // the waiters and holders of each Mutex, which is known by its Tasks
	timer    *time.Timer    // runs until the next round is due
	fires    time.Time      // when timer does
	underWay bool           // a round is
	over     chan struct{}  // closed at the end of a round, unless it is sent again because nobody has answered
	unproved error          // why the last round has completed no proof, or a proof of little use

	listening bool        // a round waits for an answer
	silence   *time.Timer // runs meanwhile: leaves a server that is silent
	connected bool        // the client was, when silence was started
}

// A subject is what an answer proves something about.
type subject struct {
	session int64
	timeout time.Duration // the next server may agree to another one
}

// proverLocked returns the prover, which counts by the present session timeout.
func (c *Client) proverLocked() *prover {
	c.prover.timeout = c.Timeout()
	return &c.prover
}

// noteAnswer notes an answer, to whatever request, which was sent in a session.
func (c *Client) noteAnswer(session int64, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rounds.listening {
		c.listenLocked()
	}
	if c.conn.SessionID() != session { // looked up here: no later session has been noted
		return
	}
	p := c.proverLocked()
	of := subject{session, p.timeout}
	if of == c.proofOf {
		p.note(a)
		return
	}
	c.proofOf = of
	p.forget()
	p.note(a)
	c.armLocked(c.leastPause()) // the next round was due by what was known of the session before
}

// SafeUntil returns until when a session is safe: it does not end before. The zero Time means that nothing is known.
func (c *Client) SafeUntil(session int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.safeUntilLocked(session)
}

func (c *Client) safeUntilLocked(session int64) time.Time {
	if c.proofOf != (subject{session, c.Timeout()}) || c.conn.SessionID() != session {
		return time.Time{}
	}
	return c.prover.safeUntil()
}

// Lasts reports whether a session stays safe until the next proof, and long enough for a lease.
func (c *Client) Lasts(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proverLocked().lasts(Clock(), c.safeUntilLocked(session))
}

var Clock = time.Now // except in a test that suspends the machine

// IsOver reports whether a time has come, by either clock of this machine.
func IsOver(t time.Time) bool { return isOver(t, Clock()) }

// Use adds to the number of a Mutex's waiters and holders, which need the session to be safe. While there are any, the
// client sends rounds, each as a task of every Mutex that has some.
func (c *Client) Use(by *Tasks, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds.users[by] += more
	if c.rounds.users[by] == 0 {
		delete(c.rounds.users, by)
	}
	if c.proverLocked().need(len(c.rounds.users) > 0) {
		c.armLocked(0) // without a pause
	}
}

// AddHolders adds to the number of locks that are held: while there are any, the rounds are more frequent.
func (c *Client) AddHolders(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prover.held += n
	if c.prover.held == n { // these are the first
		c.armLocked(0) // without a pause
	}
}

// NextProof begins the next proof as soon as possible. done is closed when it is complete, or has failed; unproved is
// what was wrong with the last one, or nil.
func (c *Client) NextProof() (done <-chan struct{}, unproved error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armLocked(max(0, min(c.leastPause(), time.Until(c.rounds.fires)))) // no later than the timer fires already
	return c.rounds.over, c.rounds.unproved
}

// leastPause is how long a client waits at least from one round to the next, if it has not just begun to need them.
func (c *Client) leastPause() time.Duration { return c.Timeout() / 30 }

// armLocked sets the timer to when the next round is due, but not before a pause.
func (c *Client) armLocked(pause time.Duration) {
	if !c.prover.needed || c.rounds.underWay || IsClosed(c.closed) {
		return
	}
	due, _ := c.proverLocked().next(time.Now())
	c.setTimerLocked(max(time.Until(due), pause))
}

func (c *Client) setTimerLocked(d time.Duration) {
	c.rounds.fires = time.Now().Add(d)
	c.rounds.timer.Reset(max(d, 1)) // 0 can crash the race detector in virtual time (Go 1.26)
}

// timerFired starts a round if one is due.
func (c *Client) timerFired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.proverLocked()
	due, alone := p.next(time.Now())
	if !p.needed || c.rounds.underWay || time.Now().Before(due) {
		c.armLocked(c.leastPause())
		return
	}
	c.rounds.underWay, c.rounds.listening = true, true
	c.listenLocked()

	far, users := p.isFar(), slices.Collect(maps.Keys(c.rounds.users))
	for _, t := range users {
		t.Begin()
	}
	go func() {
		c.playRound(alone, far)
		for _, t := range users {
			t.End()
		}
	}()
}

// playRound sends one round. If the server was far away, the round measures whether it still is.
func (c *Client) playRound(alone, far bool) {
	limit := time.AfterFunc(c.Timeout(), c.endKeepBack)
	defer limit.Stop()
	measured := far && c.keepOthersBack()
	first, err := c.sendRound(alone)
	c.endKeepBack()

	c.mu.Lock()
	c.rounds.listening = false
	c.rounds.silence.Stop()
	if err == nil {
		c.prover.roundBefore, c.prover.lastRound = c.prover.lastRound, first
	}
	c.mu.Unlock()
	c.endRound(err, measured)
}

// endRound has a round sent again soon if it was not answered. Otherwise it tells the callers of NextProof of its end.
func (c *Client) endRound(err error, measured bool) {
	final := c.final(err) // nil after a round that has succeeded, or is to be sent again
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds.underWay = false
	if err != nil && final == nil {
		c.setTimerLocked(min(shortPause, c.Timeout()/16)) // because the session may end soon
		return
	}
	if final == nil && measured && c.proverLocked().isFar() {
		final = ErrTooSlow
	}
	c.rounds.unproved = final
	close(c.rounds.over)
	c.rounds.over = make(chan struct{})
	c.armLocked(c.leastPause())
}

// sendRound sends the requests of a round, and returns when the first one was sent and answered.
func (c *Client) sendRound(alone bool) (first exchange, err error) {
	const inRound = true
	first.sent = time.Now()
	if !alone {
		err = c.send(theLeader, c.sync, inRound)
		first.answered = time.Now()
	}
	if err == nil {
		err = c.send(aQuorum, c.probe, inRound)
	}
	if alone {
		first.answered = time.Now()
	}
	return first, err
}

// keepOthersBack waits until no request is under way, and keeps others back until endKeepBack: the answers to the round
// then wait for no others, and measure the round trip. It returns false if the session timeout has passed before that:
// too many are under way, or one hangs in a client that is closed.
func (c *Client) keepOthersBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.othersWait = true; c.othersWait && c.underWay > 0; {
		c.goOn.Wait()
	}
	return c.othersWait
}

// endKeepBack lets the other requests go on: when the round is answered, or after the session timeout.
func (c *Client) endKeepBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.othersWait = false
	c.goOn.Broadcast()
}

// listenLocked gives the server an eighth of the session timeout for the next answer, to whatever request; or one and a
// half round trips, if that is longer: only an answer shows whether the server is too far away.
func (c *Client) listenLocked() {
	c.rounds.connected = c.conn.State() == zk.StateHasSession
	c.rounds.silence.Reset(max(c.Timeout()/8, c.prover.roundTrip*3/2))
}

// leaveServer breaks the connection to a server that has been silent. While the client connects, it does nothing.
func (c *Client) leaveServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.rounds.listening {
		return
	}
	if c.rounds.connected && c.conn.State() == zk.StateHasSession {
		conns.Reconnect(c.conn)
	}
	c.listenLocked()
}

func (c *Client) sync() error { _, err := c.conn.Sync("/"); return err }

// probe is a write that changes nothing: a check of the root, which always exists, as a transaction. The leader decides
// on it, and on the right to read the root, too; and it goes through a quorum whatever the result.
func (c *Client) probe() error {
	_, err := c.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
	if errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	return err
}
