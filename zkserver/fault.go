package zkserver

import (
	"fmt"
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
	First   Op     // of a multi, the operation of its first part
	Path    string // as sent: a sequential create has no number yet; of a multi, that of its first part; "" if there is none
}

type faultKind int

const (
	holdRequest faultKind = iota
	holdReply
	loseRequest
	loseReply
	fail
)

// A Fault interferes with the first request, from when it was made on, that
// fulfils its condition. Then it is spent, unless it is for Every. Where
// several wait for the same request, it meets the one that was made first; the
// others go on waiting.
//
// Conditions are called one at a time, in the order in which requests come in.
// A condition may look at the server. If it panics, the process ends with
// its stack. If it ends its goroutine, as the FailNow of a test does, the fault is called
// off and the connection of the request is closed.
type Fault struct {
	s    *Server
	when func(Request) bool
	kind faultKind
	code Code
	from string        // the caller's file and line
	hit  chan Request  // has room for one: what follows waits in late
	free chan struct{} // closed by Release
	once sync.Once

	// Guarded by s.mu.
	every bool
	isMet bool
	asked bool      // Hit has been called
	late  []Request // have met the fault, and did not fit into hit, in order
	feeds bool      // a goroutine sends late to hit
}

func (s *Server) fault(kind faultKind, code Code, when func(Request) bool) *Fault {
	if when == nil {
		panic("zkserver: a fault without a condition")
	}
	f := &Fault{s: s, when: when, kind: kind, code: code, hit: make(chan Request, 1), free: make(chan struct{})}
	if _, file, line, ok := runtime.Caller(2); ok { // of Hold, HoldReply, LoseRequest, LoseReply or Fail
		f.from = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	s.mu.Lock()
	s.faults = append(s.faults, f)
	s.mu.Unlock()
	return f
}

// Hold keeps a request, and all that its connection sends after it, from
// reaching the server until Release: a slow network. The session is not
// touched meanwhile. Like all faults it panics if the condition is nil.
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

// Fail answers a request with an error in place of carrying it out. Whatever
// the error is, the answer to a handshake is that its session has expired: it can
// carry no other error.
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
	case <-f.free:
	default:
		if !slices.Contains(f.s.faults, f) { // a request has been faster
			f.s.faults = append(f.s.faults, f)
		}
	}
	return f
}

// Hit delivers the request that met the fault, once: for HoldReply and
// LoseReply after it has been carried out, else before. With Every it delivers
// each request that met the fault, in order, however late it is received: also
// after Release. The channel is always the same one and is never closed. It has
// room for one request, so its length is 0 or 1. After Close of the server, each
// call of Hit puts one more of those that are left into the channel.
func (f *Fault) Hit() <-chan Request {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.asked = true
	f.passLocked()
	return f.hit
}

// Release lets the held request or reply go on, and cancels the fault if no
// request has met it yet, or if it is for Every. It may be called more than
// once.
func (f *Fault) Release() {
	f.once.Do(func() { close(f.free) })
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.faults = slices.DeleteFunc(f.s.faults, func(g *Fault) bool { return g == f })
	for c := range f.s.conns {
		if n := len(c.gates); n > 0 {
			c.gates = slices.DeleteFunc(c.gates, func(g gate) bool { return g.fault == f })
			if len(c.gates) < n {
				signal(c.wake)
			}
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

// find takes the fault that a request meets, or returns nil.
func (c *conn) find(req Request) *Fault {
	s := c.s
	s.mu.Lock()
	none := len(s.faults) == 0
	s.mu.Unlock()
	if none {
		return nil
	}
	s.conditions.Lock()
	defer s.conditions.Unlock()
	s.mu.Lock()
	faults := slices.Clone(s.faults)
	s.mu.Unlock()
	for _, f := range faults {
		if f.asks(req) && f.take(c, req) {
			return f
		}
	}
	return nil
}

// asks calls the condition, which may do anything: no lock of the server is
// held but the one that keeps conditions apart.
func (f *Fault) asks(req Request) bool {
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

// take has the fault meet a request, unless it has been released meanwhile.
func (f *Fault) take(c *conn, req Request) bool {
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
	c.met = req
	switch f.kind {
	case loseRequest:
		c.endLocked()
	case holdRequest:
		signal(c.wake) // the replies before it are not held
	}
	if f.kind != holdReply && f.kind != loseReply {
		f.deliverLocked(req)
	}
	return true
}

func (f *Fault) deliverLocked(req Request) {
	f.late = append(f.late, req)
	f.passLocked()
}

// passLocked puts into hit what fits. If Hit has been called, the goroutine feed sends
// the rest: it ends when all has been received, or with the server.
func (f *Fault) passLocked() {
	for !f.feeds && len(f.late) > 0 {
		select {
		case f.hit <- f.late[0]:
			f.late = f.late[1:]
			continue
		default:
		}
		if !f.asked || f.s.closed {
			return
		}
		f.feeds = true
		f.s.wg.Go(f.feed)
	}
}

func (f *Fault) feed() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for len(f.late) > 0 && !f.s.closed {
		next := f.late[0]
		f.s.mu.Unlock()
		sent := false
		select {
		case f.hit <- next:
			sent = true
		case <-f.s.done:
		}
		f.s.mu.Lock()
		if sent {
			f.late = f.late[1:]
		}
	}
	f.feeds = false
}

// meetFault finds the fault that applies to a request, and holds or loses
// the request accordingly. It returns false if the request is lost.
func (c *conn) meetFault(req Request) (f *Fault, ok bool) {
	f = c.find(req)
	switch {
	case f == nil:
		return nil, true
	case f.kind == loseRequest:
		return nil, false
	case f.kind == holdRequest:
		select {
		case <-f.free:
		case <-c.closed:
			return nil, false
		}
	}
	return f, true
}

// answer is the error in place of carrying the request out, if any.
func (f *Fault) answer() (jute.Code, bool) {
	if f == nil || f.kind != fail {
		return 0, false
	}
	return f.code, true
}

// applyReplyFaultLocked holds or loses the reply that begins at mark in out.
func (c *conn) applyReplyFaultLocked(f *Fault, mark int) {
	if f == nil {
		return
	}
	switch f.kind {
	case loseReply:
		f.deliverLocked(c.met)
		c.out.Truncate(mark)
		c.endLocked()
	case holdReply:
		f.deliverLocked(c.met)
		select {
		case <-f.free: // released before it was met
		default:
			c.gates = append(c.gates, gate{mark, f})
		}
	}
}
