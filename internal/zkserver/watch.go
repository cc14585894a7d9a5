package zkserver

import "example.com/zklock/internal/jute"

// A watchTable holds the one-shot watches of one kind: which connections
// watch which path. A connection that watches a path more than once is told
// once.
type watchTable struct {
	conns map[string]map[*conn]struct{} // by path
	paths map[*conn]map[string]struct{} // the same pairs, by connection
}

func newWatchTable() watchTable {
	return watchTable{make(map[string]map[*conn]struct{}), make(map[*conn]map[string]struct{})}
}

func (w watchTable) add(path string, c *conn) {
	if w.conns[path] == nil {
		w.conns[path] = make(map[*conn]struct{})
	}
	if w.paths[c] == nil {
		w.paths[c] = make(map[string]struct{})
	}
	w.conns[path][c] = struct{}{}
	w.paths[c][path] = struct{}{}
}

func (w watchTable) has(path string, c *conn) bool {
	_, ok := w.conns[path][c]
	return ok
}

func (w watchTable) remove(path string, c *conn) (had bool) {
	had = w.has(path, c)
	if delete(w.conns[path], c); len(w.conns[path]) == 0 {
		delete(w.conns, path)
	}
	if delete(w.paths[c], path); len(w.paths[c]) == 0 {
		delete(w.paths, c)
	}
	return had
}

// drop forgets all watches of a connection.
func (w watchTable) drop(c *conn) {
	for path := range w.paths[c] {
		w.remove(path, c)
	}
}

// fire ends all watches of path and tells their connections, except those in
// told. Who may not read the node, by its acl, is not told; the watch has
// ended all the same (CVE-2024-23944). It returns all whose watch has ended.
func (w watchTable) fire(path string, event jute.EventType, acl []jute.ACL, told map[*conn]struct{}) map[*conn]struct{} {
	set := w.conns[path]
	delete(w.conns, path)
	for c := range set {
		if delete(w.paths[c], path); len(w.paths[c]) == 0 {
			delete(w.paths, c)
		}
		if _, ok := told[c]; !ok && c.may(jute.PermRead, acl) {
			c.sendEventLocked(event, path)
		}
	}
	return set
}

// setWatchesLocked arms the watches of a client that has come back, and tells
// it at once what it missed.
func (s *Server) setWatchesLocked(c *conn, r *jute.SetWatches) {
	for _, path := range r.Data {
		if n := s.lookup(path); n == nil {
			c.sendEventLocked(jute.EventDeleted, path)
		} else if n.mzxid > r.RelativeZxid {
			c.sendEventLocked(jute.EventDataChanged, path)
		} else {
			s.dataWatches.add(path, c)
		}
	}
	for _, path := range r.Exist {
		if s.lookup(path) != nil {
			c.sendEventLocked(jute.EventCreated, path)
		} else {
			s.dataWatches.add(path, c)
		}
	}
	for _, path := range r.Child {
		if n := s.lookup(path); n == nil {
			c.sendEventLocked(jute.EventDeleted, path)
		} else if n.pzxid > r.RelativeZxid {
			c.sendEventLocked(jute.EventChildrenChanged, path)
		} else {
			s.childWatches.add(path, c)
		}
	}
}
