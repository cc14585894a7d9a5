package wiretap

import (
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// Log returns the kinds of all requests so far, in their order, without those that Total
// leaves out; nothing without NewWithLog.
func (t *Tap) Log() []jute.Op {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.log)
}

// Pending is the number of requests that have no reply yet, over all open connections.
func (t *Tap) Pending() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		n += c.pending.Load()
	}
	return n
}

// Armed is the number of watches that are set and have not fired, over all open connections; as on
// the server, one connection that watches a path twice counts once. It needs NewWithLog.
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
	return slices.Clone(t.sessions[session].password)
}

// SessionTimeout returns the timeout that the server granted a session; 0 if the tap has not seen the session.
func (t *Tap) SessionTimeout(session int64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions[session].timeout
}

// request counts one packet to the server. It returns false if the packet makes no sense.
func (c *conn) request(b []byte) bool {
	if !c.asked {
		c.asked = true
		return true
	}
	d := jute.NewDecoder(b)
	var h jute.RequestHeader
	if h.Decode(d); d.Err() != nil {
		return false
	}
	if i := int64(h.Op) + int64(opBase); i >= 0 && i < int64(len(c.tap.requests)) {
		c.tap.requests[i].Add(1)
	}
	c.watchers.request(h, d)
	if h.Op == jute.OpPing {
		return true
	}
	c.pending.Add(1)
	if c.tap.logging && h.Op != jute.OpSetWatches {
		c.tap.mu.Lock()
		defer c.tap.mu.Unlock()
		c.tap.log = append(c.tap.log, h.Op)
	}
	return true
}

// reply counts one packet from the server. It returns false if the packet makes no sense.
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
		defer t.mu.Unlock()
		t.sessions[r.SessionID] = session{r.Password, time.Duration(r.TimeoutMs) * time.Millisecond}
		return true
	}
	var h jute.ReplyHeader
	if h.Decode(d); d.Err() != nil {
		return false
	}
	switch h.Xid {
	case jute.XidEvent:
		var ev jute.WatcherEvent
		ev.Decode(d)
		c.tap.events.Add(1)
		c.tap.wakeUps.Add(c.watchers.event(ev))
	case jute.XidPing:
	default:
		c.watchers.reply(h)
		c.pending.Add(-1)
	}
	return true
}
