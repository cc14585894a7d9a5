package zkserver

import (
	"slices"
	"sync"

	"example.com/zklock/internal/jute"
)

// A Request is a packet from a client, for a fault's condition.
type Request struct {
	Session int64 // in a handshake the session asked for, 0 for a new one
	Xid     int32
	Op      jute.Op // jute.OpConnect for a handshake
	Path    string  // as sent: a sequential create has no number yet; of a multi, that of its first part
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
// fulfils its condition. Then it is spent. Where several wait for the same
// request, it meets the one that was made first; the others go on waiting.
type Fault struct {
	s    *Server
	when func(Request) bool
	kind faultKind
	code jute.Code
	hit  chan Request
	free chan struct{} // closed by Release
	once sync.Once
	met  Request // what it interferes with
	on   *conn   // the connection whose reply is held; guarded by s.mu
}

func (s *Server) fault(kind faultKind, code jute.Code, when func(Request) bool) *Fault {
	f := &Fault{s: s, when: when, kind: kind, code: code, hit: make(chan Request, 1), free: make(chan struct{})}
	s.mu.Lock()
	s.faults = append(s.faults, f)
	s.mu.Unlock()
	return f
}

// Hold keeps a request, and all that its connection sends after it, from
// reaching the server until Release: a slow network. The session is not
// touched meanwhile. The condition is called with the server locked: it must
// not call the server. This holds for every kind of fault.
func (s *Server) Hold(when func(Request) bool) *Fault { return s.fault(holdRequest, 0, when) }

// HoldReply lets a request be carried out and keeps its reply, and all that
// follows on the connection, from being sent until Release.
func (s *Server) HoldReply(when func(Request) bool) *Fault { return s.fault(holdReply, 0, when) }

// LoseRequest closes the connection in place of carrying the request out.
func (s *Server) LoseRequest(when func(Request) bool) *Fault { return s.fault(loseRequest, 0, when) }

// LoseReply carries the request out and then closes the connection in place
// of sending the reply. Events that come before the reply are sent.
func (s *Server) LoseReply(when func(Request) bool) *Fault { return s.fault(loseReply, 0, when) }

// Fail answers a request with an error in place of carrying it out. Whatever
// the error is, the answer to a handshake is that its session has expired: it can
// carry no other error.
func (s *Server) Fail(code jute.Code, when func(Request) bool) *Fault {
	return s.fault(fail, code, when)
}

// Hit delivers the request that met the fault, once: for HoldReply and
// LoseReply after it has been carried out, else before.
func (f *Fault) Hit() <-chan Request { return f.hit }

// Release lets the held request or reply go on, and cancels the fault if no
// request has met it yet. It may be called more than once.
func (f *Fault) Release() {
	f.once.Do(func() { close(f.free) })
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.faults = slices.DeleteFunc(f.s.faults, func(g *Fault) bool { return g == f })
	if c := f.on; c != nil {
		c.gates = slices.DeleteFunc(c.gates, func(g gate) bool { return g.fault == f })
		signal(c.wake)
	}
}

// meetFault finds the fault that applies to a request, and holds or loses
// the request accordingly. It returns false if the request is lost.
func (c *conn) meetFault(req Request) (f *Fault, ok bool) {
	s := c.s
	s.mu.Lock()
	for i, candidate := range s.faults {
		if candidate.when(req) {
			f = candidate
			s.faults = slices.Delete(s.faults, i, i+1)
			f.met = req
			switch f.kind {
			case loseRequest:
				c.endLocked()
			case holdRequest:
				signal(c.wake) // the replies before it are not held
			}
			if f.kind != holdReply && f.kind != loseReply {
				f.hit <- req // has room: a fault is met once
			}
			break
		}
	}
	s.mu.Unlock()
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
		f.hit <- f.met
		c.out.Truncate(mark)
		c.endLocked()
	case holdReply:
		f.hit <- f.met
		select {
		case <-f.free: // released before it was met
		default:
			f.on = c
			c.gates = append(c.gates, gate{mark, f})
		}
	}
}
