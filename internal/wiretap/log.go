package wiretap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A Kind is the kind of an Entry.
type Kind int

// What crosses the wire.
const (
	Request Kind = iota // from client to server, handshakes included
	Reply               // to a request or handshake
	Event               // a watch has fired
)

// An Entry is one packet in the log. Pings are not logged.
type Entry struct {
	Order   int   // place in the log, from 0: the order in which the tap saw it
	Conn    int   // which connection, in the order of dialing, from 1
	Session int64 // 0 until the handshake has been answered
	Kind    Kind
	Op      jute.Op        // of a request and its reply
	Event   jute.EventType // of an event
	Xid     int32
	Zxid    int64     // of a reply
	Err     jute.Code // of a reply
	Path    string    // of a reply: the path made, if one was; of a multi, that of its first part
	Watch   bool      // the request asks for a watch
}

// String is one line for people to read.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: session %#x ", e.Order, e.Session)
	switch e.Kind {
	case Request:
		fmt.Fprintf(&b, "-> %v %s", e.Op, e.Path)
		if e.Watch {
			b.WriteString(" (watch)")
		}
	case Reply:
		fmt.Fprintf(&b, "<- %v %s zxid %d", e.Op, e.Path, e.Zxid)
		if e.Err != jute.OK {
			fmt.Fprintf(&b, " error %d", e.Err)
		}
	case Event:
		fmt.Fprintf(&b, "<- event %v %s", e.Event, e.Path)
	}
	return b.String()
}

// Log returns a copy of all that was logged so far; nothing without WithLog.
func (t *Tap) Log() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.log)
}

// Pending is the number of requests that have no reply yet, over all open
// connections. It needs WithLog.
func (t *Tap) Pending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for c := range t.conns {
		n += len(c.pending)
	}
	return n
}

// Armed is the number of watches that are set and have not fired, over all
// open connections; as on the server, one connection that watches a path
// twice counts once. It needs WithLog.
func (t *Tap) Armed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for c := range t.conns {
		n += c.watchers.armed()
	}
	return n
}

// Password returns the password that a client needs to come back to its session
// with; nil if the session began elsewhere.
func (t *Tap) Password(session int64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.passwords[session])
}

// SessionTimeout returns the timeout that the server granted a session; 0 if
// the tap has not seen the session.
func (t *Tap) SessionTimeout(session int64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.granted[session]
}

// request counts one packet to the server. It returns false if that makes no sense.
func (c *conn) request(b []byte) bool {
	d := jute.NewDecoder(b)
	if !c.asked {
		c.asked = true
		if c.tap.logging {
			var r jute.ConnectRequest
			r.Decode(d)
			c.tap.add(c, Entry{Kind: Request, Op: jute.OpConnect, Session: r.SessionID})
		}
		return true
	}
	var h jute.RequestHeader
	if h.Decode(d); d.Err() != nil {
		return false
	}
	if i := int64(h.Op) + int64(opBase); i >= 0 && i < int64(len(c.tap.requests)) {
		c.tap.requests[i].Add(1)
	}
	body := *d
	c.watchers.request(h, &body)
	if !c.tap.logging || h.Op == jute.OpPing {
		return true
	}
	e := Entry{Kind: Request, Op: h.Op, Xid: h.Xid}
	if h.Op.PathFirst() {
		e.Path = d.String()
	}
	op := h.Op
	if op == jute.OpMulti {
		op, e.Path = jute.FirstOfMulti(d)
	}
	switch op {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		e.Watch = d.Bool()
	}
	c.tap.add(c, e)
	return true
}

// reply counts one packet from the server. It returns false if that makes no sense.
func (c *conn) reply(b []byte) bool {
	d := jute.NewDecoder(b)
	if !c.answered {
		c.answered = true
		var r jute.ConnectResponse
		if r.Decode(d); d.Err() != nil {
			return false
		}
		t := c.tap
		t.mu.Lock()
		c.session = r.SessionID
		t.passwords[r.SessionID] = r.Password
		t.granted[r.SessionID] = time.Duration(r.TimeoutMs) * time.Millisecond
		t.mu.Unlock()
		if t.logging {
			t.add(c, Entry{Kind: Reply, Op: jute.OpConnect})
		}
		return true
	}
	var h jute.ReplyHeader
	if h.Decode(d); d.Err() != nil {
		return false
	}
	if h.Xid == jute.XidEvent {
		c.tap.events.Add(1)
		var ev jute.WatcherEvent
		body := *d
		ev.Decode(&body)
		c.tap.wakeUps.Add(c.watchers.event(ev))
	} else {
		c.watchers.reply(h)
	}
	if !c.tap.logging || h.Xid == jute.XidPing {
		return true
	}
	if h.Xid == jute.XidEvent {
		var ev jute.WatcherEvent
		ev.Decode(d)
		c.tap.add(c, Entry{Kind: Event, Event: ev.Type, Xid: h.Xid, Path: ev.Path})
		return true
	}
	e := Entry{Kind: Reply, Xid: h.Xid, Zxid: h.Zxid, Err: h.Err}
	if h.Err == jute.OK {
		c.tap.mu.Lock()
		op := c.pending[h.Xid].Op
		c.tap.mu.Unlock()
		switch op {
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
			e.Path = d.String()
		case jute.OpMulti:
			if first, path := jute.FirstOfMulti(d); first == jute.OpCreate {
				e.Path = path
			}
		}
	}
	c.tap.add(c, e)
	return true
}

// add completes an entry with what is known of its connection, updates what
// is pending, and logs it.
func (t *Tap) add(c *conn, e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Order, e.Conn = len(t.log), c.id
	if e.Session == 0 {
		e.Session = c.session
	}
	switch e.Kind {
	case Request:
		if e.Op != jute.OpConnect {
			c.pending[e.Xid] = e
		}
	case Reply:
		if e.Op == jute.OpConnect {
			break
		}
		asked := c.pending[e.Xid]
		delete(c.pending, e.Xid)
		e.Op = asked.Op
		if e.Path == "" {
			e.Path = asked.Path
		}
	}
	t.log = append(t.log, e)
}
