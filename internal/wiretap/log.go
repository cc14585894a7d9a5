package wiretap

import (
	"slices"
	"sync"
	"time"

	"example.com/zklock/internal/jute"
)

// What a Tap knows besides the counts: the log, the sessions, and the watches that are set.

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
func (t *Tap) Armed() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		c.watchers.mu.Lock()
		n += len(c.watchers.set)
		c.watchers.mu.Unlock()
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

// A watch is armed on one connection.
type watch struct {
	path     string
	children bool // of the node's list of children; otherwise of the node itself
}

// watchers counts how many watchers the client library keeps for each node that is watched through one connection.
type watchers struct {
	mu    sync.Mutex             // guards the fields below
	asked map[int32]watchRequest // by xid
	set   map[watch]int64        // how many watchers; 0: not known, as the client set the watch again after a reconnect
}

// A watchRequest has no reply yet.
type watchRequest struct {
	watch
	exists bool // exists watches a node that is not there, too
}

// request notes a request that asks for a watch. d has its body, which may have been cut off.
func (w *watchers) request(h jute.RequestHeader, d *jute.Decoder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch h.Op {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		path, watched := d.String(), d.Bool()
		if watched && d.Err() == nil {
			ofChildren := h.Op == jute.OpGetChildren || h.Op == jute.OpGetChildren2
			w.asked[h.Xid] = watchRequest{watch{path, ofChildren}, h.Op == jute.OpExists}
		}
	case jute.OpSetWatches:
		var r jute.SetWatches
		r.Decode(d)
		for _, path := range append(r.Data, r.Exist...) {
			w.set[watch{path: path}] += 0 // makes an entry with 0, if there is none
		}
		for _, path := range r.Child {
			w.set[watch{path: path, children: true}] += 0
		}
	}
}

// reply notes whether the watch has been set.
func (w *watchers) reply(h jute.ReplyHeader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked, ok := w.asked[h.Xid]
	delete(w.asked, h.Xid)
	if ok && (h.Err == jute.OK || h.Err == jute.ErrNoNode && asked.exists) {
		w.set[asked.watch]++
	}
}

// event takes the watches that an event fires, and returns how many watchers it wakes.
func (w *watchers) event(ev jute.WatcherEvent) (woken int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	take := func(fired watch) {
		woken += w.set[fired]
		delete(w.set, fired)
	}
	if ev.Type != jute.EventChildrenChanged {
		take(watch{path: ev.Path})
	}
	if ev.Type == jute.EventChildrenChanged || ev.Type == jute.EventDeleted {
		take(watch{path: ev.Path, children: true})
	}
	return woken
}
