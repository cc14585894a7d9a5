package zkserver

// Expire ends a session as if its timeout had run out: its ephemeral nodes are deleted and its
// connection is closed. It returns false if there is no such session.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[session]
	if ss != nil {
		s.expireLocked(ss)
	}
	return ss != nil
}

// Cut closes a session's connection; the session lives on until its timeout.
// It returns false if there is no such session, or no client is attached to it.
func (s *Server) Cut(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[session]
	if ss == nil || ss.conn == nil {
		return false
	}
	ss.conn.closeLocked()
	return true
}

// CutAll closes all connections, as Cut does. The clients may come back at
// once, which is what distinguishes it from Stop.
func (s *Server) CutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.closeLocked()
	}
}

// Delete deletes the node at path, as another client does, and its watches fire. It
// returns false if there is no such node, or it has children.
func (s *Server) Delete(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[path]
	if n == nil || len(n.children) > 0 {
		return false
	}
	t := s.begin()
	t.remove(path)
	t.commit()
	return true
}

// Touch writes the data of the node at path again, as another client does, and its
// watches fire. It returns false if there is no such node.
func (s *Server) Touch(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[path]
	if n == nil {
		return false
	}
	t := s.begin()
	t.set(path, n, n.data)
	t.commit()
	return true
}

// SetSequence sets the number of the next sequential child of the node at path, as if that many had been
// made before; a negative number is one after the largest. It returns false if there is no such node.
func (s *Server) SetSequence(path string, next int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[path]
	if n != nil {
		n.creates, n.wrappedIn = next, -1 // no lull has that number, so nextNumber returns creates
	}
	return n != nil
}

// ReapContainers removes the containers that have been used and are empty, and the nodes whose time
// to live is over, as the server does by itself once a minute.
func (s *Server) ReapContainers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reapContainersLocked()
}
