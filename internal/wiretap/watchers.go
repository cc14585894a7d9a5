package wiretap

import (
	"sync"

	"example.com/zklock/internal/jute"
)

// watchers counts how many watchers the client library keeps for each node
// that is watched through one connection.
type watchers struct {
	mu    sync.Mutex             // guards the fields below
	asked map[int32]watchRequest // by xid
	set   map[watch]int64
}

// A watchRequest has no reply yet.
type watchRequest struct {
	watch
	exists bool // exists watches a node that is not there, too
}

// request notes a request that asks for a watch. d has its body, which may have been
// cut off.
func (w *watchers) request(h jute.RequestHeader, d *jute.Decoder) {
	switch h.Op {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
	default:
		return
	}
	path, watched := d.String(), d.Bool()
	if !watched || d.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	children := h.Op == jute.OpGetChildren || h.Op == jute.OpGetChildren2
	w.asked[h.Xid] = watchRequest{watch{path, children}, h.Op == jute.OpExists}
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

// event returns how many watchers an event wakes.
func (w *watchers) event(ev jute.WatcherEvent) (woken int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	take := func(on watch) {
		woken += w.set[on]
		delete(w.set, on)
	}
	if ev.Type != jute.EventChildrenChanged {
		take(watch{ev.Path, false})
	}
	if ev.Type == jute.EventChildrenChanged || ev.Type == jute.EventDeleted {
		take(watch{ev.Path, true})
	}
	return woken
}
