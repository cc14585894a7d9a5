package timeout

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// A link makes requests of one client that get a definite answer, and knows
// until when the client's session is safe. It knows nothing of queues. How it
// asks again when a connection breaks stands in connect.go.
//
// Only the leader ends sessions. A follower that is cut off from it goes on
// answering reads, and a leader that is cut off from a quorum goes on
// answering syncs. So the link takes three answered requests together:
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
type link struct {
	conn   *zk.Conn
	agreed *atomic.Int64   // the session timeout
	probe  string          // the path of the requests that only prove
	closed <-chan struct{} // closed once the client is found to be closed
	close  func()

	mu        sync.Mutex
	running   int           // goroutines that make requests
	quiet     chan struct{} // closed while there are none
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
	first          bool // no other request of this link was under way when it was sent
}

func (l *link) timeout() time.Duration { return time.Duration(l.agreed.Load()) }

// betweenPings is how long the leader takes at most from one ping to the next.
func (l *link) betweenPings() time.Duration { return l.timeout() * 7 / 24 }

func newLink(conn *zk.Conn, probe string) *link {
	closed, noteClosed := context.WithCancel(context.Background())
	agreed, _ := negotiated(conn)
	l := &link{conn: conn, agreed: agreed, probe: probe, closed: closed.Done(), close: noteClosed,
		quiet: make(chan struct{}), round: make(chan struct{})}
	close(l.quiet)
	l.timer = time.AfterFunc(time.Hour, l.prove)
	l.timer.Stop()
	return l
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
func (l *link) call(by answerer, request func() error) error {
	session, e := l.conn.SessionID(), exchange{sent: time.Now(), first: l.underway.Add(1) == 1}
	err := request()
	l.underway.Add(-1)
	switch {
	case !isOneOf(err, answers) && transient(err):
		return &noAnswer{l.conn.Server(), err}
	case isOneOf(err, answers):
		e.answered = time.Now()
		l.note(session, by, e)
	}
	return err
}

func (l *link) note(session int64, by answerer, e exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn.SessionID() != session { // looked up here: no later session has been noted
		return
	}
	if timeout := l.timeout(); l.session != session || l.counts != timeout {
		l.session, l.counts, l.heard, l.led, l.proved, l.presumed = session, timeout, e, exchange{}, time.Time{}, time.Time{}
		defer l.armLocked()
	}
	if took := e.answered.Sub(e.sent); e.first || took < l.distance {
		l.distance = took // any other may have waited for those in front of it
	}
	until := e.sent.Add(l.timeout() * 3 / 8)
	if by == aQuorum && (l.users == 0 || !l.proved.After(l.presumed)) && until.After(l.presumed) {
		l.presumed = until
	}
	until = l.led.sent.Add(l.timeout())
	switch {
	case l.users == 0: // no proof is under way
		l.heard, l.led = e, exchange{}
	case by == aQuorum && !l.led.sent.IsZero() && until.After(l.proved) && !e.sent.Before(l.led.answered):
		l.proved = until
		l.heard = e
	case by >= theLeader && l.heard.sent.After(l.led.sent) && e.sent.Sub(l.heard.answered) >= l.betweenPings():
		l.led = exchange{sent: l.heard.sent, answered: e.answered}
	}
}

// safeUntil returns when a session may end.
func (l *link) safeUntil(session int64) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safeUntilLocked(session)
}

func (l *link) safeUntilLocked(session int64) time.Time {
	switch {
	case l.session != session || l.counts != l.timeout():
		return time.Time{}
	case l.presumed.After(l.proved):
		return l.presumed
	}
	return l.proved
}

// lasts says whether a session is safe until what comes next proves more, if
// that is answered as fast as one request. If a thousand others are in front of
// it, the lease may be lost early, but ends no later than the session.
func (l *link) lasts(session int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.safeUntilLocked(session)
	next, _ := l.nextLocked()
	return l.distance < l.timeout()/12 && next.Add(2*l.distance).Before(until) && !isOver(until.Add(-l.timeout()/4))
}

// nextLocked returns when j may be sent. Before that a write alone renews what
// is presumed if there is time for it, so that a lease outlasts two connections
// that break just then, and answers that come late.
func (l *link) nextLocked() (at time.Time, alone bool) {
	at = l.heard.answered.Add(l.betweenPings())
	renewal := l.presumed.Add(-l.timeout() / 4)
	if l.presumed.After(l.proved) && renewal.Add(l.timeout()/12).Before(at) {
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
func (l *link) use(places int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users += places; places > 0 && l.users == places {
		l.armLocked()
	}
}

// nextProof begins the next proof as soon as possible. Done is closed when it is
// complete; unproved tells of the last one.
func (l *link) nextProof() (done <-chan struct{}, unproved error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armLocked()
	return l.round, l.unproved
}

// armLocked sets the timer to when the next request may be sent, or ought to be.
func (l *link) armLocked() {
	if l.users == 0 || l.proving || isClosed(l.closed) {
		return
	}
	due, alone := l.nextLocked()
	if !alone && !isOver(l.safeUntilLocked(l.session).Add(-l.timeout()/2)) {
		due = l.heard.answered.Add(l.timeout() / 3)
	}
	l.timer.Reset(max(time.Until(due), l.timeout()/30))
}

// prove begins what is due.
func (l *link) prove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	due, alone := l.nextLocked()
	if l.users == 0 || l.proving || time.Now().Before(due) {
		l.armLocked()
		return
	}
	l.proving = true
	l.spawnLocked(func() {
		first, err := l.underway.Load() == 0, error(nil) // if not first, answers wait for others
		if !alone {
			err = l.call(theLeader, l.sync)
		}
		if err == nil {
			if err = l.call(aQuorum, l.write); isOneOf(err, answers) {
				err = nil
			}
		}
		reason := l.again(err, nil, 0)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.proving = false
		if err != nil && reason == nil {
			l.timer.Reset(1) // to try again, for the session may end soon; 0 can crash the race detector in virtual time (Go 1.26)
			return
		}
		defer l.armLocked()
		if err = reason; err == nil && first && l.distance >= l.timeout()/12 {
			err = errSlow
		}
		l.unproved = err
		close(l.round)
		l.round = make(chan struct{})
	})
}

// sync is the request after which a server has heard of all that came before.
func (l *link) sync() error {
	_, err := l.conn.Sync(l.probe)
	return err
}

// write fails and changes nothing, for no node has that version.
func (l *link) write() error { return l.conn.Delete(l.probe, math.MinInt32) }

// spawn runs f in a goroutine that idle knows of.
func (l *link) spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spawnLocked(f)
}

func (l *link) spawnLocked(f func()) {
	if l.running++; l.running == 1 {
		l.quiet = make(chan struct{})
	}
	go func() {
		f()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.running == 0 {
			close(l.quiet)
		}
	}()
}

// idle returns a channel that is closed when no goroutine makes requests.
func (l *link) idle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quiet
}

var errSlow = errors.New("the servers answer too slowly: before one answer proves that the session lives, " +
	"the session timeout is over; a round trip must take less than a twelfth of it")

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
