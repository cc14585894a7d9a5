package zkserver

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"example.com/zklock/internal/jute"
)

// A Request is a packet from a client, for a fault's condition.
type Request struct {
	Session int64 // in a handshake the session asked for, 0 for a new one
	Xid     int32
	Op      Op     // OpConnect for a handshake
	First   Op     // of a multi: the operation of its first part
	Path    string // as sent: that of a sequential create has no number yet, and that of a multi is its first part's; "": none
}

type faultKind int

const (
	holdRequest faultKind = iota
	holdReply
	loseRequest
	loseReply
	fail
)

// A Fault interferes with one request: the first that fulfils its condition and comes after the
// fault was made. With Every it interferes with each such request. If several faults wait for the
// same request, it meets the one that was made first; the others go on waiting.
//
// Conditions are called one at a time, in the order in which requests come in. A condition may look
// at the server. If it panics, the process ends with its stack. If it ends its goroutine, as the
// FailNow of a test does, the fault is called off and the connection of the request is closed.
type Fault struct {
	s        *Server
	when     func(Request) bool
	kind     faultKind
	code     Code          // of Fail
	from     string        // the caller's file and line
	hit      chan Request  // what Hit returns; it has room for one request
	released chan struct{} // closed by Release
	once     sync.Once     // closes it

	// Guarded by s.mu.
	every       bool
	isMet       bool
	hitCalled   bool
	undelivered []Request // have met the fault, and did not fit into hit, in order
	feeding     bool      // the goroutine feed sends undelivered to hit
}

// fault makes a fault for a caller of one of the methods below.
func (s *Server) fault(kind faultKind, code Code, when func(Request) bool) *Fault {
	if when == nil {
		panic("zkserver: a fault without a condition")
	}
	f := &Fault{s: s, when: when, kind: kind, code: code, hit: make(chan Request, 1), released: make(chan struct{})}
	if _, file, line, ok := runtime.Caller(2); ok { // of Hold, HoldReply, LoseRequest, LoseReply or Fail
		f.from = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	s.mu.Lock()
	s.faults = append(s.faults, f)
	s.mu.Unlock()
	return f
}

// Hold keeps a request, and all that its connection sends after it, from reaching the server until Release: a slow
// network. The session is not touched meanwhile. Like all faults it panics if the condition is nil.
func (s *Server) Hold(when func(Request) bool) *Fault { return s.fault(holdRequest, 0, when) }

// HoldReply lets a request be carried out and keeps its reply, and all that
// follows on the connection, from being sent until Release.
func (s *Server) HoldReply(when func(Request) bool) *Fault { return s.fault(holdReply, 0, when) }

// LoseRequest closes the connection in place of carrying the request out.
func (s *Server) LoseRequest(when func(Request) bool) *Fault { return s.fault(loseRequest, 0, when) }

// LoseReply carries the request out and then closes the connection in place
// of sending the reply. Events that come before the reply are sent. A request that
// fails has a reply, too: a create below a node that does not exist meets the fault.
func (s *Server) LoseReply(when func(Request) bool) *Fault { return s.fault(loseReply, 0, when) }

// Fail answers a request with an error in place of carrying it out. Whatever the error is, the
// answer to a handshake is that its session has expired: it can carry no other error.
func (s *Server) Fail(code Code, when func(Request) bool) *Fault { return s.fault(fail, code, when) }

// Every makes the fault meet every request that fulfils its condition, until
// Release, and returns it. To keep a client away for a while:
//
//	away := srv.LoseRequest(zkserver.On(zkserver.AnyOp, "").From(id)).Every()
func (f *Fault) Every() *Fault {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.every = true
	select {
	case <-f.released:
	default:
		if !slices.Contains(f.s.faults, f) { // a request has met it already
			f.s.faults = append(f.s.faults, f)
		}
	}
	return f
}

// Hit delivers the request that met the fault, once: for HoldReply and LoseReply after it has been carried out, else
// before. With Every it delivers each request that met the fault, in order, and also after Release.
//
// The channel is always the same one and is never closed. It has room for one request, so its length is 0 or 1. After
// Close of the server, each call of Hit puts one more of the requests that are left into the channel.
func (f *Fault) Hit() <-chan Request {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.hitCalled = true
	f.offerLocked()
	return f.hit
}

// Release lets the held request or reply go on, and cancels the fault if no request has met it yet,
// or if it is for Every. It may be called more than once.
func (f *Fault) Release() {
	f.once.Do(func() { close(f.released) })
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.faults = slices.DeleteFunc(f.s.faults, func(other *Fault) bool { return other == f })
	for c := range f.s.conns {
		n := len(c.gates)
		c.gates = slices.DeleteFunc(c.gates, func(g gate) bool { return g.fault == f })
		if len(c.gates) < n {
			signal(c.wake)
		}
	}
}

// reportUnmet reports the faults that were made in vain.
func (s *Server) reportUnmet() {
	s.mu.Lock()
	var unmet []string
	for _, f := range s.faults {
		if !f.isMet {
			unmet = append(unmet, f.from)
		}
	}
	s.mu.Unlock()
	for _, from := range unmet {
		s.report("zkserver: no request has met the fault that was made at %s; Release it if none need meet it", from)
	}
}

// firstFault returns the first fault that a request meets, nil if it meets none.
func (c *conn) firstFault(req Request) *Fault {
	s := c.s
	s.mu.Lock()
	none := len(s.faults) == 0
	s.mu.Unlock()
	if none { // then requests of several connections do not wait for each other
		return nil
	}

	s.conditionsMu.Lock() // conditions are called one at a time
	defer s.conditionsMu.Unlock()
	s.mu.Lock()
	faults := slices.Clone(s.faults)
	s.mu.Unlock()

	for _, f := range faults {
		if f.matches(req) && f.meet(c, req) {
			return f
		}
	}
	return nil
}

// matches calls the condition, which may do anything: conditionsMu is the only mutex of the server that is held.
func (f *Fault) matches(req Request) bool {
	returned := false
	defer func() {
		if !returned {
			f.Release() // the next request must not meet it again
			f.s.report("zkserver: the condition of the fault that was made at %s has ended its goroutine at %v %s: the fault is called off, "+
				"and the connection is closed", f.from, req.Op, req.Path)
		}
	}()
	yes := f.when(req)
	returned = true
	return yes
}

// meet notes that a request meets the fault. It returns false if the fault has been
// released, or another request has met it, since it was found.
func (f *Fault) meet(c *conn, req Request) bool {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.faults, f)
	if i < 0 {
		return false
	}
	if !f.every {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	f.isMet = true
	c.lastMet = req
	switch f.kind {
	case loseRequest:
		c.endLocked()
	case holdRequest:
		signal(c.wake) // the replies before it are not held
	}
	metByReply := f.kind == holdReply || f.kind == loseReply
	if !metByReply { // else applyReplyFaultLocked delivers it
		f.deliverLocked(req)
	}
	return true
}

// deliverLocked has Hit deliver a request.
func (f *Fault) deliverLocked(req Request) {
	f.undelivered = append(f.undelivered, req)
	f.offerLocked()
}

// offerLocked puts into hit what fits. If Hit has been called, the goroutine feed sends the rest.
func (f *Fault) offerLocked() {
	if f.feeding {
		return
	}
	for len(f.undelivered) > 0 && len(f.hit) < cap(f.hit) {
		f.hit <- f.undelivered[0] // does not block: without the goroutine nothing else sends
		f.undelivered = f.undelivered[1:]
	}
	if len(f.undelivered) > 0 && f.hitCalled && !f.s.closed {
		f.feeding = true
		f.s.wg.Go(f.feed)
	}
}

// feed sends what is undelivered. It ends when all has been received, or with the server.
func (f *Fault) feed() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for len(f.undelivered) > 0 && !f.s.closed {
		next := f.undelivered[0]
		f.s.mu.Unlock()
		sent := false
		select {
		case f.hit <- next:
			sent = true
		case <-f.s.done:
		}
		f.s.mu.Lock()
		if sent {
			f.undelivered = f.undelivered[1:]
		}
	}
	f.feeding = false
}

// meetFault finds the fault that a request meets, and holds the request if the fault says
// so. It returns false if the request is lost.
func (c *conn) meetFault(req Request) (f *Fault, ok bool) {
	f = c.firstFault(req)
	switch {
	case f == nil:
		return nil, true
	case f.kind == loseRequest:
		return nil, false
	case f.kind == holdRequest:
		select {
		case <-f.released:
		case <-c.closed:
			return nil, false
		}
	}
	return f, true
}

// errorInstead returns the error that a request is answered with in place of being
// carried out; false if it is to be carried out. f may be nil.
func (f *Fault) errorInstead() (code jute.Code, instead bool) {
	if f == nil || f.kind != fail {
		return 0, false
	}
	return f.code, true
}

// applyReplyFaultLocked holds or loses the reply that begins at mark in c.out, the frames to be sent. f may be nil.
func (c *conn) applyReplyFaultLocked(f *Fault, mark int) {
	if f == nil {
		return
	}
	switch f.kind {
	case loseReply:
		f.deliverLocked(c.lastMet)
		c.out.Truncate(mark)
		c.endLocked()
	case holdReply:
		f.deliverLocked(c.lastMet)
		select {
		case <-f.released: // released before it was met
		default:
			c.gates = append(c.gates, gate{mark, f})
		}
	}
}

// A Condition picks the requests that a fault is about. Any func(Request) bool will do in its place.
type Condition func(Request) bool

// variants are other requests that do the same. Which of them a client sends, its user does not see.
var variants = map[Op][]Op{
	OpCreate:      {OpCreate2, OpCreateContainer, OpCreateTTL},
	OpGetChildren: {OpGetChildren2},
	OpSetWatches:  {OpSetWatches2},
}

// On is the condition that a request is an op at a path. The pattern is that of package path: "/locks/*"
// means the children of /locks. The name of a sequential node has no number yet in its create. An empty
// pattern means any path, or none, as in a handshake or a ping; AnyOp means any request.
//
// OpCreate means a create of any kind (create2, createContainer, createTTL), or a multi whose first part is a create,
// as all creates of a zklock.Mutex are but its first. OpDelete also means a multi whose first part is a delete.
// OpGetChildren and OpSetWatches mean both forms that these have on the wire. On panics if the pattern is malformed.
func On(op Op, pattern string) Condition {
	if _, err := path.Match(pattern, ""); err != nil {
		panic("zkserver: the pattern " + pattern + " is malformed")
	}
	return func(r Request) bool {
		sent := r.Op
		if sent == OpMulti && (op == OpCreate || op == OpDelete) {
			sent = r.First
		}
		if op != AnyOp && sent != op && !slices.Contains(variants[op], sent) {
			return false
		}
		matched, _ := path.Match(pattern, r.Path)
		return pattern == "" || matched
	}
}

// From is c with one more condition: the request comes from this session. The number is that of zk.Conn's SessionID.
func (c Condition) From(session int64) Condition {
	return func(r Request) bool { return r.Session == session && c(r) }
}
