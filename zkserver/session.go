package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"maps"
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// A session is guarded by Server.mu.
type session struct {
	id         int64
	password   []byte
	timeout    time.Duration
	deadline   time.Duration // since the server's start
	conn       *conn         // nil while no client is attached
	ephemerals map[string]struct{}
}

// touchLocked gives the session its whole timeout again. The deadline is rounded up to the next tick.
func (s *Server) touchLocked(ss *session) {
	expiry := time.Since(s.start) + ss.timeout
	ss.deadline = (expiry/s.tick + 1) * s.tick
}

// attachLocked gives c the session that its handshake asks for: a new one, or an old one. It returns false if c gets none.
func (s *Server) attachLocked(c *conn, req *jute.ConnectRequest) (ok bool) {
	shortest, longest := 2*s.tick, 20*s.tick // as on the real server
	timeout := min(max(time.Duration(req.TimeoutMs)*time.Millisecond, shortest), longest)
	ss := s.sessions[req.SessionID]
	switch {
	case req.SessionID == 0:
		s.lastSession++
		s.zxid++ // to begin a session is a transaction
		ss = &session{id: s.lastSession, password: make([]byte, 16), ephemerals: make(map[string]struct{})}
		rand.Read(ss.password)
		s.sessions[ss.id] = ss
	case ss == nil:
		return false
	default:
		// As on the real server, a handshake that names a session closes the session's old connection, also
		// if the password turns out to be wrong and the handshake is refused.
		if ss.conn != nil {
			ss.conn.closeLocked()
		}
		if subtle.ConstantTimeCompare(ss.password, req.Password) == 0 {
			return false
		}
	}
	ss.timeout = timeout
	ss.conn, c.session = c, ss
	s.touchLocked(ss)
	return true
}

// endSessionLocked removes a session and, in one transaction, all its ephemeral nodes, by path. A
// real server promises no order; a fixed one lets a run be repeated exactly.
func (s *Server) endSessionLocked(ss *session) {
	t := s.begin()
	for _, path := range slices.Sorted(maps.Keys(ss.ephemerals)) {
		t.remove(path)
	}
	t.commit()
	delete(s.sessions, ss.id)
}

func (s *Server) expireLocked(ss *session) {
	s.endSessionLocked(ss)
	if ss.conn != nil {
		ss.conn.closeLocked()
	}
}
