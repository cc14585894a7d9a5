package zkserver

import (
	"cmp"
	"slices"

	"example.com/zklock/internal/jute"
)

// A watchMode says how long a watch lasts and which nodes it is about.
type watchMode int8

const (
	oneShot    watchMode = iota // one event of one node
	persistent                  // every event of one node
	recursive                   // every event of the node and all below it, except changes of a list of children
)

// A watchTable holds the watches of one kind: which connections watch which path. A connection has one watch of a path,
// the last one that it has set. So, as in 3.8.0, a read with a watch turns a persistent watch into a one-shot one.
type watchTable struct {
	conns     map[string]map[*conn]watchMode // by path
	paths     map[*conn]map[string]struct{}  // the same watches, by connection
	recursive int                            // how many of them are recursive
}

func newWatchTable() *watchTable {
	return &watchTable{conns: make(map[string]map[*conn]watchMode), paths: make(map[*conn]map[string]struct{})}
}

func (w *watchTable) add(path string, c *conn, mode watchMode) {
	w.remove(path, c)
	if w.conns[path] == nil {
		w.conns[path] = make(map[*conn]watchMode)
	}
	if w.paths[c] == nil {
		w.paths[c] = make(map[string]struct{})
	}
	w.conns[path][c] = mode
	w.paths[c][path] = struct{}{}
	if mode == recursive {
		w.recursive++
	}
}

func (w *watchTable) remove(path string, c *conn) (had bool) {
	mode, had := w.conns[path][c]
	if !had {
		return false
	}
	delete(w.conns[path], c)
	if len(w.conns[path]) == 0 {
		delete(w.conns, path)
	}
	delete(w.paths[c], path)
	if len(w.paths[c]) == 0 {
		delete(w.paths, c)
	}
	if mode == recursive {
		w.recursive--
	}
	return true
}

func (w *watchTable) drop(c *conn) {
	for path := range w.paths[c] {
		w.remove(path, c)
	}
}

// fire sends an event to all connections that watch path, except those in sent, and ends the one-shot
// watches among theirs. A connection that may not read the node, by its acl, gets no event; its watch has
// fired all the same (CVE-2024-23944). It returns all connections whose watch has fired, oldest first.
// Their events are sent in this order, so that a run can be repeated exactly.
func (w *watchTable) fire(path string, event jute.EventType, acl []jute.ACL, sent []*conn) (fired []*conn) {
	for at := path; ; at, _ = split(at) { // up to the root if there are recursive watches
		for c, mode := range w.conns[at] {
			wanted := at == path
			if mode == recursive {
				wanted = event != jute.EventChildrenChanged
			}
			if wanted && mode == oneShot {
				w.remove(at, c)
			}
			if wanted {
				fired = append(fired, c)
			}
		}
		if w.recursive == 0 || at == "/" {
			break
		}
	}
	slices.SortFunc(fired, older)
	fired = slices.Compact(fired) // a connection that watches the node and one above it gets one event
	for _, c := range fired {
		if _, alreadySent := slices.BinarySearchFunc(sent, c, older); !alreadySent && c.may(jute.PermRead, acl) {
			c.sendEventLocked(event, path)
		}
	}
	return fired
}

func older(a, b *conn) int { return cmp.Compare(a.number, b.number) }

// addWatchLocked arms a watch of addWatch, which is about the node and about its list of children.
func (s *Server) addWatchLocked(c *conn, path string, mode watchMode) {
	s.dataWatches.add(path, c, mode)
	s.childWatches.add(path, c, mode)
}

// setWatchesLocked arms the watches of a client that has come back, and sends it at once what it
// missed. A watch of addWatch gets nothing: its client reads again when it is connected again.
func (s *Server) setWatchesLocked(c *conn, r *jute.SetWatches2) {
	rearm := func(paths []string, table *watchTable, changed jute.EventType, lastChange func(*node) int64) {
		for _, path := range paths {
			if n := s.lookup(path); n == nil {
				c.sendEventLocked(jute.EventDeleted, path)
			} else if lastChange(n) > r.RelativeZxid {
				c.sendEventLocked(changed, path)
			} else {
				table.add(path, c, oneShot)
			}
		}
	}
	rearm(r.Data, s.dataWatches, jute.EventDataChanged, func(n *node) int64 { return n.mzxid })
	for _, path := range r.Exist { // a watch for a node to come is about the node, too
		if s.lookup(path) != nil {
			c.sendEventLocked(jute.EventCreated, path)
		} else {
			s.dataWatches.add(path, c, oneShot)
		}
	}
	rearm(r.Child, s.childWatches, jute.EventChildrenChanged, func(n *node) int64 { return n.pzxid })
	for _, path := range r.Persistent {
		s.addWatchLocked(c, path, persistent)
	}
	for _, path := range r.Recursive {
		s.addWatchLocked(c, path, recursive)
	}
}
