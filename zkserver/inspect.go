package zkserver

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Node is a copy of what the server has of one znode.
type Node struct {
	Data      []byte
	ACL       []ACL
	Stat      Stat
	Container bool
	TTL       time.Duration // of a node with a time to live, else 0
}

// Node returns the node at path, or false if there is none.
func (s *Server) Node(path string) (Node, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[path]
	if n == nil {
		return Node{}, false
	}
	return Node{bytes.Clone(n.data), slices.Clone(n.acl), n.stat(), n.container, time.Duration(n.ttl) * time.Millisecond}, true
}

// Children returns the names of a node's children, sorted; none if there is no such node.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[path]; n != nil {
		return slices.Sorted(maps.Keys(n.children))
	}
	return nil
}

// Tree returns the whole tree as text, for a test to compare: a line for each node,
// sorted by path. A line has the path, the kind if it is ephemeral, a container, or has a
// time to live, and the data, quoted, if there is any. The root and /zookeeper are left out.
//
//	/locks container
//	/locks/lock-0000000001 ephemeral "host 1"
func (s *Server) Tree() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		if path == "/" || path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/") {
			continue
		}
		n := s.nodes[path]
		b.WriteString(path)
		switch {
		case n.owner != 0:
			b.WriteString(" ephemeral")
		case n.container:
			b.WriteString(" container")
		case n.ttl != 0:
			fmt.Fprintf(&b, " ttl %v", time.Duration(n.ttl)*time.Millisecond)
		}
		if len(n.data) > 0 {
			fmt.Fprintf(&b, " %q", n.data)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A Session is a copy of what the server has of one session.
type Session struct {
	ID         int64
	Timeout    time.Duration // as negotiated
	Connected  bool          // a client is attached
	Ephemerals []string      // paths, sorted
}

// Sessions returns the sessions that live, oldest first.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Session
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		ss := s.sessions[id]
		out = append(out, Session{id, ss.timeout, ss.conn != nil, slices.Sorted(maps.Keys(ss.ephemerals))})
	}
	return out
}

// Ephemerals returns the paths of a session's ephemeral nodes, sorted, or false if there is no such session.
func (s *Server) Ephemerals(session int64) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[session]; ss != nil {
		return slices.Sorted(maps.Keys(ss.ephemerals)), true
	}
	return nil, false
}

// A Watch has been set and has not fired. A watch of addWatch counts as two, one with Children and one without.
type Watch struct {
	Path       string
	Children   bool // of the list of children; else of the node itself
	Session    int64
	Persistent bool // it stays when it has fired
	Recursive  bool // it is about all nodes below the path, too
}

// Watches returns all armed watches, sorted by path and session, those of the node first.
func (s *Server) Watches() []Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Watch
	for c := range s.conns {
		out = append(out, c.watchesLocked()...)
	}
	slices.SortStableFunc(out, func(a, b Watch) int { // watchesLocked has those of the node first
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session))
	})
	return out
}

// WatchesOf returns the armed watches of a session, in no order.
func (s *Server) WatchesOf(session int64) []Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[session]; ss != nil && ss.conn != nil {
		return ss.conn.watchesLocked()
	}
	return nil
}

func (c *conn) watchesLocked() (out []Watch) {
	for _, w := range []*watchTable{c.s.dataWatches, c.s.childWatches} {
		for path := range w.paths[c] {
			mode := w.conns[path][c]
			out = append(out, Watch{Path: path, Children: w == c.s.childWatches, Session: c.session.id,
				Persistent: mode != oneShot, Recursive: mode == recursive})
		}
	}
	return out
}
