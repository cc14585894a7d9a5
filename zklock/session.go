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

// A session makes the requests of one client, and proves until when the
// client's session is safe. All Mutexes of the client share it, so that a
// hundred of them cost as many proofs as one. It knows nothing of queues.
//
// # The proof
//
// Only the leader ends a session: when it has not heard of it for the session
// timeout, T. A follower reports to the leader which sessions it has heard. A
// follower that is cut off from the leader goes on answering reads, and a leader
// that is cut off from a quorum goes on answering syncs. So no single answer
// shows what the leader knows. Three answered requests together do:
//
//   - i, any request. The follower has heard the session.
//   - j, a sync or a write, sent at least 7/24 T after i was answered. The leader
//     pings each follower every half tick, so in that time it has sent at least
//     one ping, and the follower has replied with what it had heard, i among
//     it. The leader's messages to a follower keep their order, so the follower
//     replied to that ping before it passed on the answer to j.
//   - k, a write, sent after j was answered. The follower's messages to the leader
//     keep their order, too, so k came after the reply: the leader knew of i
//     when it handled k. The answer to k came through a quorum, so this leader had
//     not been replaced. A later leader gives each session T from its own start.
//
// So the session lives until T after i was sent. If the client has changed
// servers in between, the new server has asked the leader for the session, which
// counts as hearing it, later than i. Half a tick is at most T/4, because a
// server by default agrees to no less than two ticks; the other 1/24 T is
// for a ping that is late. The k of one proof is the i of the next.
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
// leader has carried out the write, so the session lived. What the leader
// knew of it was no older than the client's own pings, every T/3, and the follower's
// reports, at most 7/24 T apart. Until the first proof, a write every T/12 renews this.
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
//	7/24 to 5/8 T         T of the Lock                           4 s       10 s
//	later                 1/3 T (the worst) to 2/3 T (the best)   1.3 s     3.3 s
//
// A client of Connect leaves a server that is silent for T/8 during a proof, and
// the next server answers well before the session ends. So a server that hangs
// costs no lease that has been proved if another server works. An ordinary client
// notices silence after 2/3 T only: one server that hangs may cost the lease. If
// the connection breaks, both kinds come back at once, or after 1 s if all servers
// have been tried.
type session struct {
	conn    *zk.Conn
	told    time.Duration // the session timeout by WithSessionTimeout, or 0
	closed  chan struct{} // closed once the client is found to be closed
	closing sync.Once     // closes it

	mu        sync.Mutex
	tasks     tasks         // the proofs
	users     int           // entries that need the session to be safe
	underway  atomic.Int64  // requests
	distance  time.Duration // a round trip to the server takes no longer, by what was measured last
	timer     *time.Timer   // when the next proof is due
	proving   bool
	listening bool          // a proof waits for an answer
	silence   *time.Timer   // runs meanwhile
	connected bool          // when silence was started
	serial    *atomic.Int64 // of the client: counts the nodes
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

// serials counts the nodes of each client.
var serials sync.Map // weak.Pointer[zk.Conn] → *atomic.Int64

type client struct {
	conn    weak.Pointer[zk.Conn]
	timeout time.Duration
}

// sessionOf returns the session of a client, the same one to all its Mutexes
// that are told the same session timeout. 0 is what Connect's client has agreed
// on last, or 4 s.
func sessionOf(conn *zk.Conn, timeout time.Duration) *session {
	serial, _ := serials.LoadOrStore(weak.Make(conn), new(atomic.Int64))
	s := &session{conn: conn, told: timeout, serial: serial.(*atomic.Int64), closed: make(chan struct{}), round: make(chan struct{})}
	s.timer = time.AfterFunc(time.Hour, s.prove)
	s.timer.Stop()
	s.silence = time.AfterFunc(time.Hour, s.leave)
	s.silence.Stop()
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
	if s.listening {
		s.listenLocked()
	}
	if s.conn.SessionID() != session { // looked up here: no later session has been noted
		return
	}
	if timeout := s.timeout(); s.session != session || s.counts != timeout {
		s.session, s.counts, s.heard, s.led, s.proved, s.presumed = session, timeout, e, exchange{}, time.Time{}, time.Time{}
		defer s.armLocked(s.timeout() / 30)
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
	case s.session != session || s.conn.SessionID() != session || s.counts != s.timeout():
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

// nextLocked returns when the next request is due. It is a write alone, which
// renews what is presumed, while there is nothing more and j may not be sent for
// another T/12.
func (s *session) nextLocked() (at time.Time, alone bool) {
	at = s.heard.answered.Add(s.betweenPings())
	renewal := s.presumed.Add(-s.betweenPings())
	if now := time.Now(); renewal.Before(now) {
		renewal = now
	}
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

// use counts the entries that need the session to be safe. While there are any,
// a sync and a write are sent per third of the session timeout.
func (s *session) use(entries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users += entries; entries > 0 && s.users == entries {
		s.armLocked(0)
	}
}

// nextProof begins the next proof as soon as possible. Done is closed when it is
// complete; unproved tells of the last one.
func (s *session) nextProof() (done <-chan struct{}, unproved error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armLocked(s.timeout() / 30)
	return s.round, s.unproved
}

// armLocked sets the timer to when the next request may be sent, or ought to be,
// but not before a pause.
func (s *session) armLocked(pause time.Duration) {
	if s.users == 0 || s.proving || isClosed(s.closed) {
		return
	}
	due, alone := s.nextLocked()
	if !alone && !isOver(s.safeUntilLocked(s.session).Add(-s.timeout()/2)) {
		due = s.heard.answered.Add(s.timeout() / 3)
	}
	s.timer.Reset(max(time.Until(due), pause, 1)) // 0 can crash the race detector in virtual time (Go 1.26)
}

// prove begins what is due.
func (s *session) prove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	due, alone := s.nextLocked()
	if s.users == 0 || s.proving || time.Now().Before(due) {
		s.armLocked(s.timeout() / 30)
		return
	}
	s.proving, s.listening = true, true
	s.listenLocked()
	s.tasks.spawn(func() {
		first, err := s.underway.Load() == 0, error(nil) // if not first, answers wait for others
		if !alone {
			err = s.call(theLeader, s.sync)
		}
		if err == nil {
			err = s.call(aQuorum, s.probe)
		}
		s.mu.Lock()
		s.listening = false
		s.silence.Stop()
		s.mu.Unlock()
		reason := s.final(err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.proving = false
		if err != nil && reason == nil {
			s.timer.Reset(shortPause) // for the session may end soon
			return
		}
		defer s.armLocked(s.timeout() / 30)
		if err = reason; err == nil && first && s.distance >= s.timeout()/12 {
			err = ErrTooSlow
		}
		s.unproved = err
		close(s.round)
		s.round = make(chan struct{})
	})
}

// listenLocked gives the server an eighth of the session timeout for the next
// answer, to whatever request.
func (s *session) listenLocked() {
	s.connected = s.conn.State() == zk.StateHasSession
	s.silence.Reset(s.timeout() / 8)
}

// leave breaks the connection to a server that has been silent. While the client
// connects, that is the client's affair.
func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listening {
		return
	}
	if s.connected && s.conn.State() == zk.StateHasSession {
		zkconn.Reconnect(s.conn)
	}
	s.listenLocked()
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
