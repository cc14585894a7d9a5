package zklock

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/zkconn"
)

// A session makes requests of one client that get a definite answer, and knows
// until when the client's session is safe. It knows nothing of queues. How it
// asks again when a connection breaks stands in connect.go.
//
// Only the leader ends sessions. A follower that is cut off from it goes on
// answering reads, and a leader that is cut off from a quorum goes on
// answering syncs. So it takes three answered requests together:
//
//   - i, any request. The follower has heard the session.
//   - j, a sync or a write, sent more than half a tick after i was answered. In
//     that time the leader has sent the follower a ping: it pauses for half a
//     tick between two, and is late by what its own work takes. The follower
//     replied to it with what it had heard, i among it, before it passed on
//     j's answer, because it keeps the order of what the leader sends.
//   - k, a write, sent after j was answered. It is behind that reply on its way
//     to the leader, so the leader knew of i when it handled k; and a quorum
//     still followed this leader. A later leader gives each session a full
//     timeout from its own start.
//
// So the session cannot end before the session timeout has passed since i was
// sent. If the client has changed servers in between, the leader has heard the
// session even later than i. Half a tick is at most a quarter of the session
// timeout, because a server agrees to no less than two ticks by default; j
// comes after 7/24 of it, so that a ping may be late by 1/24. The k of one proof
// is the i of the next.
//
// Before the first proof a session is only presumed to live, because the leader
// has carried out a write of it. What the leader knew of the session then was
// not older than the client's own pings, sent every third of the session
// timeout, and the follower's reports, sent every 7/24 of it at least. So 3/8
// of it are left.
type session struct {
	conn    *zk.Conn
	told    time.Duration // the session timeout by WithSessionTimeout, or 0
	closed  chan struct{} // closed once the client is found to be closed
	closing sync.Once     // closes it

	mu        sync.Mutex
	tasks     tasks         // the proofs
	users     int           // places that need the session to be safe
	underway  atomic.Int64  // requests
	distance  time.Duration // a round trip to the server takes no longer, by what was measured last
	timer     *time.Timer   // when the next proof is due
	proving   bool
	round     chan struct{} // closed when a proof is complete
	unproved  error         // why the last one is not, or is of little use
	trouble   error         // the last request without an answer
	troubleAt time.Time

	session  int64         // what follows is of this session
	counts   time.Duration // and of this session timeout: the next server may agree to another one
	heard    exchange      // i
	led      exchange      // when i was sent, and j answered
	proved   time.Time     // until when the session is safe, by a proof
	presumed time.Time     // the same by a write, before there was a proof
}

type exchange struct {
	sent, answered time.Time
	first          bool // no other request was under way when it was sent
}

// betweenPings is how long the leader takes at most from one ping to the next.
func (s *session) betweenPings() time.Duration { return s.timeout() * 7 / 24 }

// sessions has the session of each client and session timeout, by weak pointer
// on both sides: it keeps neither the client nor the session alive.
var sessions sync.Map // client → weak.Pointer[session]

type client struct {
	conn    weak.Pointer[zk.Conn]
	timeout time.Duration
}

// sessionOf returns the session of a client, the same one to all its Mutexes
// that are told the same session timeout. 0 is what Connect's client has agreed
// on last, or 4 s.
func sessionOf(conn *zk.Conn, timeout time.Duration) *session {
	s := &session{conn: conn, told: timeout, closed: make(chan struct{}), round: make(chan struct{})}
	s.timer = time.AfterFunc(time.Hour, s.prove)
	s.timer.Stop()
	key, own := client{weak.Make(conn), timeout}, weak.Make(s)
	for {
		v, loaded := sessions.LoadOrStore(key, own)
		if !loaded {
			runtime.AddCleanup(s, func(key client) { sessions.CompareAndDelete(key, own) }, key)
			return s
		}
		if present := v.(weak.Pointer[session]).Value(); present != nil {
			return present
		}
		sessions.CompareAndDelete(key, v) // it is garbage
	}
}

// close notes that the client is closed.
func (s *session) close() { s.closing.Do(func() { close(s.closed) }) }

func (s *session) timeout() time.Duration {
	if s.told != 0 {
		return s.told
	}
	agreed, _ := zkconn.SessionTimeout(s.conn)
	return agreed
}

// An answerer is the server from which an answer comes.
type answerer int

const (
	anyServer answerer = iota // of a read
	theLeader                 // of a sync
	aQuorum                   // of a write, even of one that fails
)

// call makes one request, notes what its answer proves, and sorts the error.
// The client's calls cannot be cancelled: only a goroutine that nobody waits
// for without a ctx may call it.
func (s *session) call(by answerer, request func() error) error {
	session, e := s.conn.SessionID(), exchange{sent: time.Now(), first: s.underway.Add(1) == 1}
	err := request()
	s.underway.Add(-1)
	switch {
	case !isOneOf(err, answers) && transient(err):
		return &noAnswer{s.conn.Server(), err}
	case isOneOf(err, answers):
		e.answered = time.Now()
		if isOneOf(err, eager) {
			by = anyServer
		}
		s.note(session, by, e)
	}
	return err
}

func (s *session) note(session int64, by answerer, e exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn.SessionID() != session { // looked up here: no later session has been noted
		return
	}
	if timeout := s.timeout(); s.session != session || s.counts != timeout {
		s.session, s.counts, s.heard, s.led, s.proved, s.presumed = session, timeout, e, exchange{}, time.Time{}, time.Time{}
		defer s.armLocked()
	}
	if took := e.answered.Sub(e.sent); e.first || took < s.distance {
		s.distance = took // any other may have waited for those in front of it
	}
	until := e.sent.Add(s.timeout() * 3 / 8)
	if by == aQuorum && (s.users == 0 || !s.proved.After(s.presumed)) && until.After(s.presumed) {
		s.presumed = until
	}
	until = s.led.sent.Add(s.timeout())
	switch {
	case s.users == 0: // no proof is under way
		s.heard, s.led = e, exchange{}
	case by == aQuorum && !s.led.sent.IsZero() && until.After(s.proved) && !e.sent.Before(s.led.answered):
		s.proved = until
		s.heard = e
	case by >= theLeader && s.heard.sent.After(s.led.sent) && e.sent.Sub(s.heard.answered) >= s.betweenPings():
		s.led = exchange{sent: s.heard.sent, answered: e.answered}
	}
}

// safeUntil returns when a session may end.
func (s *session) safeUntil(session int64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.safeUntilLocked(session)
}

func (s *session) safeUntilLocked(session int64) time.Time {
	switch {
	case s.session != session || s.counts != s.timeout():
		return time.Time{}
	case s.presumed.After(s.proved):
		return s.presumed
	}
	return s.proved
}

// lasts says whether a session is safe until what comes next proves more, if
// that is answered as fast as one request. If a thousand others are in front of
// it, the lease may be lost early, but ends no later than the session.
func (s *session) lasts(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.safeUntilLocked(session)
	next, _ := s.nextLocked()
	return s.distance < s.timeout()/12 && next.Add(2*s.distance).Before(until) && !isOver(until.Add(-s.timeout()/4))
}

// nextLocked returns when j may be sent. Before that a write alone renews what
// is presumed if there is time for it, so that a lease outlasts two connections
// that break just then, and answers that come late.
func (s *session) nextLocked() (at time.Time, alone bool) {
	at = s.heard.answered.Add(s.betweenPings())
	renewal := s.presumed.Add(-s.timeout() / 4)
	if s.presumed.After(s.proved) && renewal.Add(s.timeout()/12).Before(at) {
		return renewal, true
	}
	return at, false
}

var clock = time.Now // except in a test that suspends the machine

// isOver says whether a time has come, by the clock that stands still while
// the machine is suspended, or by the one on the wall.
func isOver(t time.Time) bool {
	now := clock()
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// use counts the places that need the session to be safe. While there are any, a
// sync and a write are sent per third of the session timeout.
func (s *session) use(places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users += places; places > 0 && s.users == places {
		s.armLocked()
	}
}

// nextProof begins the next proof as soon as possible. Done is closed when it is
// complete; unproved tells of the last one.
func (s *session) nextProof() (done <-chan struct{}, unproved error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armLocked()
	return s.round, s.unproved
}

// armLocked sets the timer to when the next request may be sent, or ought to be.
func (s *session) armLocked() {
	if s.users == 0 || s.proving || isClosed(s.closed) {
		return
	}
	due, alone := s.nextLocked()
	if !alone && !isOver(s.safeUntilLocked(s.session).Add(-s.timeout()/2)) {
		due = s.heard.answered.Add(s.timeout() / 3)
	}
	s.timer.Reset(max(time.Until(due), s.timeout()/30))
}

// prove begins what is due.
func (s *session) prove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	due, alone := s.nextLocked()
	if s.users == 0 || s.proving || time.Now().Before(due) {
		s.armLocked()
		return
	}
	s.proving = true
	s.tasks.spawn(func() {
		first, err := s.underway.Load() == 0, error(nil) // if not first, answers wait for others
		silent := time.AfterFunc(s.timeout()/8, func() { zkconn.Reconnect(s.conn) })
		defer silent.Stop()
		if !alone {
			err = s.call(theLeader, s.sync)
		}
		if err == nil {
			err = s.call(aQuorum, s.probe)
		}
		reason := s.again(err, nil, 0)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.proving = false
		if err != nil && reason == nil {
			s.timer.Reset(1) // to try again, for the session may end soon; 0 can crash the race detector in virtual time (Go 1.26)
			return
		}
		defer s.armLocked()
		if err = reason; err == nil && first && s.distance >= s.timeout()/12 {
			err = ErrTooSlow
		}
		s.unproved = err
		close(s.round)
		s.round = make(chan struct{})
	})
}

// sync is the request after which a server has heard of all that came before.
func (s *session) sync() error {
	_, err := s.conn.Sync("/")
	return err
}

// probe is a write that changes nothing: a check of the root, which always
// exists, as a transaction. The leader decides on it, even on the right to read
// the root, and it goes through a quorum whatever the result.
func (s *session) probe() error {
	_, err := s.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
	if errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	return err
}

// quiet returns a channel that is closed when no proof is under way. Another
// one begins only for an entry that needs it.
func (s *session) quiet() <-chan struct{} { return s.tasks.idle() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
