package zkserver

import (
	"strings"

	"example.com/zklock/internal/jute"
)

// handle carries out one request and queues its reply. It returns false if the
// connection is to be read no further.
func (c *conn) handle(frame []byte) bool {
	d := jute.NewDecoder(frame)
	var h jute.RequestHeader
	h.Decode(d)
	if d.Err() != nil {
		return false
	}
	req := Request{Session: c.session.id, Xid: h.Xid, Op: h.Op}
	if h.Op.PathFirst() {
		req.Path = jute.NewDecoder(frame[8:]).String()
	} else if h.Op == jute.OpMulti {
		_, req.Path = jute.FirstOfMulti(jute.NewDecoder(frame[8:]))
	}
	f, ok := c.meetFault(req)
	if !ok {
		return false
	}

	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.countReceivedLocked(req)
	if c.dead || c.ending {
		return false
	}
	s.touchLocked(c.session)

	reply := jute.ReplyHeader{Xid: h.Xid}
	s.body.Reset()
	if code, answer := f.answer(); answer {
		reply.Err = code
	} else {
		reply.Err = s.execute(c, h.Op, d, &s.body)
	}
	reply.Zxid = s.zxid
	last := false // reply, then close
	switch {
	case h.Op == jute.OpPing:
		reply.Xid = jute.XidPing
	case h.Op == jute.OpAuth:
		reply.Zxid = 0
		if reply.Err == jute.ErrMarshalling {
			return false
		}
		last = reply.Err == jute.ErrAuthFailed
	case h.Op == jute.OpCloseSession:
		last = reply.Err == jute.OK
	case reply.Err == jute.ErrUnimplemented && !implemented(h.Op):
		reply.Zxid = -1
		last = true
	}
	mark := c.out.Len()
	c.sendReplyLocked(reply, s.body.Bytes())
	c.applyReplyFaultLocked(f, mark)
	if last {
		c.endLocked()
	}
	return !c.ending
}

func implemented(op jute.Op) bool {
	switch op {
	case jute.OpCloseSession, jute.OpPing, jute.OpMulti, jute.OpAuth, jute.OpSetWatches, jute.OpSetWatches2, jute.OpGetEphemerals, jute.OpWhoAmI:
		return true
	case jute.OpCheck:
		return false
	}
	return op.PathFirst()
}

// execute does what a request asks and writes the body of the reply. Watch
// events that it causes are queued before it returns, so that each client
// sees an event before it can read the change.
func (s *Server) execute(c *conn, op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	switch op {
	case jute.OpPing:
		return jute.OK
	case jute.OpAuth:
		return c.executeAuth(d)
	case jute.OpCloseSession:
		s.endSessionLocked(c.session)
		return jute.OK
	case jute.OpSync:
		return executeSync(d, body)
	case jute.OpSetWatches, jute.OpSetWatches2:
		return s.executeSetWatches(c, op, d)
	case jute.OpAddWatch:
		return s.executeAddWatch(c, d, body)
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		return s.executeRead(c, op, d, body)
	case jute.OpGetACL, jute.OpGetAllChildrenNumber:
		return s.executeAbout(c, op, d, body)
	case jute.OpGetEphemerals:
		return c.executeGetEphemerals(d, body)
	case jute.OpWhoAmI:
		c.whoAmI(body)
		return jute.OK
	case jute.OpCheckWatches, jute.OpRemoveWatches:
		return s.executeWatches(c, op, d)
	case jute.OpMulti:
		return s.executeMulti(c, d, body)
	}
	if !implemented(op) {
		return jute.ErrUnimplemented
	}
	// What is left are the writes, which are also the parts of a multi.
	t := s.begin()
	w := decodeWrite(op, d)
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	code := w(t, c, body)
	if code == jute.OK {
		t.commit()
	}
	return code
}

func (c *conn) executeAuth(d *jute.Decoder) jute.Code {
	var r jute.AuthPacket
	if r.Decode(d); d.Err() != nil {
		return jute.ErrMarshalling
	}
	if !c.authenticate(&r) {
		return jute.ErrAuthFailed
	}
	return jute.OK
}

func executeSync(d *jute.Decoder, body *jute.Encoder) jute.Code {
	path, ok := d.NullString()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	if ok {
		body.String(path)
	} else {
		body.Buffer(nil)
	}
	return jute.OK
}

func (s *Server) executeSetWatches(c *conn, op jute.Op, d *jute.Decoder) jute.Code {
	var r jute.SetWatches2
	if op == jute.OpSetWatches {
		r.SetWatches.Decode(d)
	} else {
		r.Decode(d)
	}
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	s.setWatchesLocked(c, &r)
	return jute.OK
}

func (s *Server) executeAddWatch(c *conn, d *jute.Decoder, body *jute.Encoder) jute.Code {
	var r jute.AddWatch
	r.Decode(d)
	mode, known := map[int32]watchMode{jute.ModePersistent: persistent, jute.ModePersistentRecursive: recursive}[r.Mode]
	if d.Err() != nil || !known {
		return jute.ErrMarshalling
	}
	s.addWatchLocked(c, r.Path, mode)
	body.Int32(0) // an error code, besides the one in the header
	return jute.OK
}

// executeAbout answers the reads that leave no watch.
func (s *Server) executeAbout(c *conn, op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	path := d.String()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	perm := jute.PermRead
	if op == jute.OpGetACL {
		perm |= jute.PermAdmin
	}
	n := s.lookup(path)
	switch {
	case n == nil:
		return jute.ErrNoNode
	case !c.may(perm, n.acl):
		return jute.ErrNoAuth
	case op == jute.OpGetAllChildrenNumber:
		body.Int32(s.countBelow(path))
		return jute.OK
	case c.may(jute.PermAdmin, n.acl):
		body.ACLs(n.acl)
	default:
		body.ACLs(maskDigests(n.acl))
	}
	stat := n.stat()
	stat.Encode(body)
	return jute.OK
}

func (c *conn) executeGetEphemerals(d *jute.Decoder, body *jute.Encoder) jute.Code {
	prefix, _ := d.NullString()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	// A prefix of the path as text, not of its nodes: /a has /ab, too.
	if all := javaTrim(prefix); all == "" || all == "/" {
		prefix = ""
	}
	var paths []string
	for path := range c.session.ephemerals {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	body.Strings(paths)
	return jute.OK
}

func (c *conn) whoAmI(body *jute.Encoder) {
	body.Int32(int32(len(c.identities)))
	for _, who := range c.identities {
		user := who.id
		if who.scheme == "digest" {
			user, _, _ = strings.Cut(who.id, ":")
		}
		body.String(who.scheme)
		body.String(user)
	}
}

// executeWatches asks for watches, or removes them.
func (s *Server) executeWatches(c *conn, op jute.Op, d *jute.Decoder) jute.Code {
	var r jute.PathType
	if r.Decode(d); d.Err() != nil || r.Type < jute.WatcherChildren || r.Type > jute.WatcherAny {
		return jute.ErrMarshalling
	}
	has := func(w *watchTable, kind int32) bool {
		if r.Type != kind && r.Type != jute.WatcherAny {
			return false
		}
		if op == jute.OpRemoveWatches {
			return w.remove(r.Path, c)
		}
		return len(w.conns[r.Path]) > 0 // of any connection, as on the real server
	}
	children, data := has(s.childWatches, jute.WatcherChildren), has(s.dataWatches, jute.WatcherData)
	if !children && !data {
		return jute.ErrNoWatcher
	}
	return jute.OK
}

// javaTrim is what String.trim does in Java: control characters go as well.
func javaTrim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// executeRead answers the reads that can leave a watch.
func (s *Server) executeRead(c *conn, op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	var r jute.PathWatch
	if r.Decode(d); d.Err() != nil {
		return jute.ErrMarshalling
	}
	if op == jute.OpExists && strings.IndexByte(r.Path, 0) >= 0 {
		return jute.ErrBadArguments
	}
	n := s.lookup(r.Path)
	if op == jute.OpExists && r.Watch {
		s.dataWatches.add(r.Path, c, oneShot) // also on a node that is not there yet
	}
	if n == nil {
		return jute.ErrNoNode
	}
	stat := n.stat()
	if op == jute.OpExists {
		stat.Encode(body)
		return jute.OK
	}
	if !c.may(jute.PermRead, n.acl) {
		return jute.ErrNoAuth
	}
	switch op {
	case jute.OpGetData:
		if r.Watch {
			s.dataWatches.add(r.Path, c, oneShot)
		}
		body.Buffer(n.data)
		stat.Encode(body)
	default:
		if r.Watch {
			s.childWatches.add(r.Path, c, oneShot)
		}
		n.encodeChildren(body)
		if op == jute.OpGetChildren2 {
			stat.Encode(body)
		}
	}
	return jute.OK
}

// A write is a decoded request that changes the tree, alone or in a multi.
type write func(t *txn, c *conn, body *jute.Encoder) jute.Code

// decodeWrite reads the body of a write. The Decoder's Err says whether it
// was one.
func decodeWrite(op jute.Op, d *jute.Decoder) write {
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		var r jute.CreateTTLRequest
		if op == jute.OpCreateTTL {
			r.Decode(d)
		} else {
			r.CreateRequest.Decode(d)
		}
		return createAs(op, &r)
	case jute.OpDelete:
		var r jute.PathVersion
		r.Decode(d)
		return func(t *txn, c *conn, _ *jute.Encoder) jute.Code { return t.delete(c, &r) }
	case jute.OpCheck:
		var r jute.PathVersion
		r.Decode(d)
		return func(t *txn, c *conn, _ *jute.Encoder) jute.Code { return t.check(c, &r) }
	case jute.OpSetData:
		var r jute.SetDataRequest
		r.Decode(d)
		return func(t *txn, c *conn, body *jute.Encoder) jute.Code {
			stat, code := t.setData(c, &r)
			stat.Encode(body)
			return code
		}
	case jute.OpSetACL:
		var r jute.SetACLRequest
		r.Decode(d)
		return func(t *txn, c *conn, body *jute.Encoder) jute.Code {
			stat, code := t.setACL(c, &r)
			stat.Encode(body)
			return code
		}
	}
	return nil
}

// createAs makes a node and answers as a request of kind op does.
func createAs(op jute.Op, r *jute.CreateTTLRequest) write {
	return func(t *txn, c *conn, body *jute.Encoder) jute.Code {
		path, code := t.create(c, op, r)
		if code != jute.OK {
			return code
		}
		body.String(path)
		if op != jute.OpCreate {
			stat := t.s.nodes[path].stat()
			stat.Encode(body)
		}
		return jute.OK
	}
}

// executeMulti carries out all operations of a multi or none. The reply's
// header has OK either way; each operation has its own error.
func (s *Server) executeMulti(c *conn, d *jute.Decoder, body *jute.Encoder) jute.Code {
	type step struct {
		op  jute.Op
		do  write
		ttl bool // has flags that ask for a time to live, and none
	}
	var steps []step
	t := s.begin()
	for {
		var h jute.MultiHeader
		if h.Decode(d); d.Err() != nil {
			return jute.ErrMarshalling
		}
		if h.Done {
			break
		}
		switch h.Op {
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			// In a multi the flags alone say what is made, and what the result
			// looks like.
			var r jute.CreateTTLRequest
			if h.Op == jute.OpCreateTTL {
				r.Decode(d)
			} else {
				r.CreateRequest.Decode(d)
			}
			op := jute.OpCreate
			toLive := r.Flags == jute.FlagTTL || r.Flags == jute.FlagSequentialTTL
			switch {
			case toLive:
				op = jute.OpCreateTTL
			case r.Flags == jute.FlagContainer:
				op = jute.OpCreateContainer
			}
			steps = append(steps, step{op, createAs(op, &r), toLive && h.Op != jute.OpCreateTTL})
		case jute.OpDelete, jute.OpSetData, jute.OpCheck:
			steps = append(steps, step{h.Op, decodeWrite(h.Op, d), false})
		default:
			return jute.ErrMarshalling
		}
		if d.Err() != nil {
			return jute.ErrMarshalling
		}
	}

	for i, st := range steps {
		if st.ttl { // the real server stumbles over it
			t.rollback()
			return jute.ErrMarshalling
		}
		h := jute.MultiHeader{Op: st.op}
		if st.op == jute.OpCreateContainer || st.op == jute.OpCreateTTL {
			h.Op = jute.OpCreate2 // path and stat
		}
		h.Encode(body)
		code := st.do(t, c, body)
		if code == jute.OK {
			continue
		}
		t.rollback()
		body.Reset()
		for j := range steps {
			result := jute.OK
			if j == i {
				result = code
			} else if j > i {
				result = jute.ErrRuntimeInconsistency
			}
			(&jute.MultiHeader{Op: jute.OpError, Err: result}).Encode(body)
			body.Int32(int32(result))
		}
		break
	}
	(&jute.MultiHeader{Op: -1, Done: true, Err: -1}).Encode(body)
	t.commit()
	return jute.OK
}
