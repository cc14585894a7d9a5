package timeout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A link makes requests of one client that get a definite answer, and knows
// until when the client's session is safe. It knows nothing of queues.
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
// comes after 7/24 of it, so that a ping may be late by 1/24.
//
// While a link is in use for longer than that, it sends a sync and a write once
// in a third of the session timeout: j and k for the write before them.
type link struct {
	conn    *zk.Conn
	timeout time.Duration   // of the session
	probe   string          // the path of the requests that only prove
	closed  <-chan struct{} // closed once the client is found to be closed
	close   func()

	mu        sync.Mutex
	running   count       // goroutines that make requests
	users     count       // places that need the session to be safe
	timer     *time.Timer // when the next proof is due
	proving   bool
	round     chan struct{} // closed when a proof is complete
	slow      bool          // a request of the last one took a twelfth of the session timeout
	trouble   error         // the last request without an answer
	troubleAt time.Time

	session int64     // what follows is of this session
	heard   exchange  // i
	led     exchange  // when i was sent, and j answered
	proved  time.Time // when the latest i was sent of which there is a k
	written time.Time // when the latest write was sent before there was a proof
}

type exchange struct{ sent, answered time.Time }

// betweenPings is how long the leader takes at most from one ping to the next.
func (l *link) betweenPings() time.Duration { return l.timeout * 7 / 24 }

// A count is of something that may end.
type count struct {
	n    int
	none chan struct{} // closed when there are none
}

func (c *count) up() {
	if c.n++; c.n == 1 {
		c.none = make(chan struct{})
	}
}

func (c *count) down() {
	if c.n--; c.n == 0 {
		close(c.none)
	}
}

func newLink(conn *zk.Conn, probe string) *link {
	closed, close := context.WithCancel(context.Background())
	l := &link{conn: conn, timeout: leastTimeout, probe: probe, closed: closed.Done(), close: close,
		running: count{none: closedChan}, round: make(chan struct{})}
	if agreed, ok := negotiated(conn); ok {
		l.timeout = agreed
	}
	l.timer = time.AfterFunc(time.Hour, l.prove)
	l.timer.Stop()
	return l
}

// leastTimeout is the least session timeout that a server with the default
// configuration agrees to: two ticks of two seconds.
const leastTimeout = 4 * time.Second

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
	session, sent := l.conn.SessionID(), time.Now()
	err := request()
	switch {
	case !isOneOf(err, answers) && transient(err):
		return &noAnswer{l.conn.Server(), err}
	case isOneOf(err, answers) && session != 0 && l.conn.SessionID() == session:
		l.note(session, by, exchange{sent, time.Now()})
	}
	return err
}

func (l *link) note(session int64, by answerer, e exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session {
		l.session, l.heard, l.led, l.proved, l.written = session, e, exchange{}, time.Time{}, time.Time{}
		defer l.armLocked()
	}
	if by == aQuorum && (l.users.n == 0 || l.proved.IsZero() || l.presumedLocked()) && e.sent.After(l.written) {
		l.written = e.sent
	}
	switch {
	case l.users.n == 0: // no proof is under way
		l.heard, l.led = e, exchange{}
	case by == aQuorum && l.led.sent.After(l.proved) && !e.sent.Before(l.led.answered):
		l.proved = l.led.sent
		l.heard = e
	case by >= theLeader && l.heard.sent.After(l.led.sent) && e.sent.Sub(l.heard.answered) >= l.betweenPings():
		l.led = exchange{l.heard.sent, e.answered}
	}
}

// safeUntil returns when a session may end. Before the first proof it is only
// presumed to live, because the leader has carried out a write of it. What the
// leader knew of the session then was not older than the client's own pings,
// sent every third of the session timeout, and the follower's reports, sent
// every 7/24 of it at least. So 3/8 of it are left.
func (l *link) safeUntil(session int64) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safeUntilLocked(session)
}

func (l *link) safeUntilLocked(session int64) time.Time {
	if l.session != session {
		return time.Time{}
	}
	if l.presumedLocked() {
		return l.written.Add(l.presumption())
	}
	return l.proved.Add(l.timeout)
}

func (l *link) presumption() time.Duration { return l.timeout*2/3 - l.betweenPings() }

// presumedLocked says whether no proof tells more than the latest write does.
func (l *link) presumedLocked() bool {
	return l.written.Add(l.presumption()).After(l.proved.Add(l.timeout))
}

// lasts says whether a session is safe until what comes next proves more, if
// that is answered as fast as the last request.
func (l *link) lasts(session int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.safeUntilLocked(session)
	next := l.heard.answered.Add(l.betweenPings())
	if l.presumedLocked() {
		next = l.written.Add(l.timeout / 8)
	}
	if now := time.Now(); now.After(next) {
		next = now
	}
	roundTrip := l.heard.answered.Sub(l.heard.sent)
	return roundTrip < l.timeout/12 && next.Add(2*roundTrip).Before(until) && !isOver(until.Add(-l.timeout/4))
}

// isOver says whether a time has come, by the clock that stands still while
// the machine is suspended, or by the one on the wall.
func isOver(t time.Time) bool {
	now := time.Now()
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// use begins to keep the session's safety proved, until the matching release.
func (l *link) use() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users.up(); l.users.n == 1 {
		l.armLocked()
	}
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users.down()
}

// nextProof begins the next proof as soon as possible. Done is closed when it is
// complete; slow tells of the last one.
func (l *link) nextProof() (done <-chan struct{}, slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armLocked()
	return l.round, l.slow
}

// armLocked sets the timer to when j may be sent, or ought to be.
func (l *link) armLocked() {
	if l.users.n == 0 || l.proving || isClosed(l.closed) {
		return
	}
	due := l.heard.answered.Add(l.timeout / 3)
	if isOver(l.safeUntilLocked(l.session).Add(-l.timeout / 2)) {
		due = l.heard.answered.Add(l.betweenPings())
	}
	if renewal := l.written.Add(l.timeout / 8); l.presumedLocked() && renewal.Add(l.timeout/12).Before(due) {
		due = renewal // which is answered before a proof can begin
	}
	l.timer.Reset(max(time.Until(due), l.timeout/30))
}

// prove sends a sync and, when that is answered, a write that fails and changes
// nothing, for no node has that version. Before a first proof can begin, prove
// sends the write alone: that renews the presumption, so that a lease outlasts
// two connections that break just then, and answers that come late.
func (l *link) prove() {
	l.mu.Lock()
	if l.users.n == 0 || l.proving {
		l.mu.Unlock()
		return
	}
	proof := l.heard.answered.Add(l.betweenPings())
	alone := time.Now().Before(proof)
	if alone && !(l.presumedLocked() && isOver(l.written.Add(l.timeout/8)) && !isOver(proof.Add(-l.timeout/12))) {
		l.armLocked()
		l.mu.Unlock()
		return
	}
	l.proving = true
	l.running.up()
	unused := l.users.none
	l.mu.Unlock()
	defer l.exit()

	var err error
	if !alone {
		err = l.insist(unused, theLeader, func() error { _, err := l.conn.Sync(l.probe); return err })
	}
	var sent time.Time
	if err == nil {
		err = l.insist(unused, aQuorum, func() error { sent = time.Now(); return l.conn.Delete(l.probe, math.MinInt32) })
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = isOneOf(err, answers) && time.Since(sent) >= l.timeout/12
	l.proving = false
	close(l.round)
	l.round = make(chan struct{})
	l.armLocked()
}

// spawn runs f in a goroutine that idle knows of.
func (l *link) spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running.up()
	go func() {
		defer l.exit()
		f()
	}()
}

func (l *link) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running.down()
}

// idle returns a channel that is closed when no goroutine makes requests.
func (l *link) idle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running.none
}

// answers are the errors with which a server carries out a request.
var answers = []error{
	nil, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals,
}

// refusals are other errors that the next try would meet, too.
var refusals = []error{
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrBadArguments, zk.ErrAuthFailed, zk.ErrAPIError, zk.ErrReconfigDisabled,
}

// passing are codes for which the client has no name: the server is in trouble,
// or has too much to do. The next try may have another answer.
var passing = []string{"-1", "-2", "-3", "-4", "-5", "-7", "-127"}

func isOneOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// transient says that the next try may have another answer. If a write fails,
// the client returns the net package's error, whatever that is. So every error
// that is not known is transient.
func transient(err error) bool {
	code, unnamed := strings.CutPrefix(err.Error(), "unknown error: ")
	return !isOneOf(err, refusals) && (!unnamed || slices.Contains(passing, code))
}

// noAnswer is the error of a request that no server has answered: it may have
// been carried out, or not.
type noAnswer struct {
	server string
	err    error
}

func (e *noAnswer) Error() string { return fmt.Sprintf("no answer from %s: %v", e.server, e.err) }
func (e *noAnswer) Unwrap() error { return e.err }

// maybe says that a request with this error may have been carried out: it was
// sent, not answered, and its session lives on.
func maybe(err error) bool {
	var lost *noAnswer
	return errors.As(err, &lost) && !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrShortBuffer) &&
		!errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, zk.ErrSessionMoved)
}

var (
	// errClosed: the session ends with the client, and all its nodes go.
	errClosed = fmt.Errorf("the client has been closed: %w", zk.ErrClosing)
	// errStopped: nobody wants the answer any more.
	errStopped = errors.New("timeout: nobody wants the answer any more")
)

const (
	shortPause = 100 * time.Millisecond
	longPause  = 30 * time.Second
)

// insist repeats one request until it is answered, or stop is closed.
func (l *link) insist(stop <-chan struct{}, by answerer, request func() error) error {
	for !isClosed(stop) {
		err := l.call(by, request)
		if err == nil {
			return nil
		}
		if err = l.again(err, stop); err != nil {
			return err
		}
	}
	return errStopped
}

// again waits until the next try. It returns err if that is no reason to try
// again, errStopped once stop is closed, and errClosed if the client has been
// closed.
func (l *link) again(err error, stop <-chan struct{}) error {
	var lost *noAnswer
	if !errors.As(err, &lost) {
		return err
	}
	if errors.Is(err, zk.ErrShortBuffer) { // and it will not grow
		return fmt.Errorf("the client sends no packet that large, see zk.WithMaxConnBufferSize: %w", lost.err)
	}
	l.mu.Lock()
	l.trouble, l.troubleAt = lost, time.Now()
	l.mu.Unlock()
	maybeClosed := errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
	if errors.Is(err, zk.ErrClosing) || maybeClosed && l.hasClosed() {
		l.close()
	}
	return l.pause(shortPause, stop)
}

// afterRefusals waits before the next try of a request that must not be given
// up though a server refuses it, because the reason may pass. The pauses grow.
func (l *link) afterRefusals(n int) error {
	return l.pause(min(shortPause<<min(n, 10), longPause), nil)
}

func (l *link) pause(d time.Duration, stop <-chan struct{}) error {
	if isClosed(l.closed) {
		return errClosed
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.closed:
		return errClosed
	case <-stop:
		return errStopped
	}
}

// hasClosed asks the client whether Close has been called. It has no other way
// to tell. A check of nothing cannot be encoded, so it never leaves the client,
// and an open client returns another error for it once it is connected.
func (l *link) hasClosed() bool {
	_, err := l.conn.Multi((*zk.CheckVersionRequest)(nil))
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing)
}

// ended is the error of a call whose ctx has ended. It wraps ctx.Err() and
// says what the trouble with the server was, if there was any.
func (l *link) ended(ctx context.Context, what string, began time.Time) error {
	err := whyEnded(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble != nil && l.troubleAt.After(began) {
		err = fmt.Errorf("%w (%w)", err, l.trouble)
	}
	return fmt.Errorf("timeout: %s, after %v: %w", what, time.Since(began).Round(time.Millisecond), err)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
