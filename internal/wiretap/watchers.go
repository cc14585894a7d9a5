package wiretap

import (
	"sync"

	"example.com/zklock/internal/jute"
)

// watchers counts how many watchers the client library keeps for each node that is watched through one connection.
type watchers struct {
	mu    sync.Mutex             // guards the fields below
	asked map[int32]watchRequest // by xid
	set   map[watch]int64        // how many watchers; 0: unknown, the watch was set again after a reconnect
}

// armed is the number of watches that are set and have not fired.
func (w *watchers) armed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.set)
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
		if path, watched := d.String(), d.Bool(); watched && d.Err() == nil {
			ofChildren := h.Op == jute.OpGetChildren || h.Op == jute.OpGetChildren2
			w.asked[h.Xid] = watchRequest{watch{path, ofChildren}, h.Op == jute.OpExists}
		}
	case jute.OpSetWatches:
		var r jute.SetWatches
		r.Decode(d)
		for _, path := range append(r.Data, r.Exist...) {
			w.set[watch{path, false}] += 0 // makes the entry, if there is none
		}
		for _, path := range r.Child {
			w.set[watch{path, true}] += 0
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
