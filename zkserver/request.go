package zkserver

import (
	"strings"

	"example.com/zklock/internal/jute"
)

// handle carries out one request and queues its reply. It returns false if the connection is to be read no further.
func (c *conn) handle(frame []byte) bool {
	d := jute.NewDecoder(frame)
	var h jute.RequestHeader
	h.Decode(d)
	if d.Err() != nil {
		return false
	}
	req := Request{Session: c.session.id, Xid: h.Xid, Op: h.Op}
	if h.Op.PathFirst() {
		req.Path = jute.NewDecoder(frame[8:]).String() // behind xid and op
	} else if h.Op == jute.OpMulti {
		req.First, req.Path = jute.FirstOfMulti(jute.NewDecoder(frame[8:]))
	}
	f, ok := c.meetFault(req) // of fault.go: nil if the request meets none, which its methods allow
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

	kind, implemented := operations[h.Op]
	if !implemented {
		kind = notImplemented
	}
	reply := jute.ReplyHeader{Xid: h.Xid}
	s.body.Reset()
	if code, instead := f.errorInstead(); instead {
		reply.Err = code
	} else {
		reply.Err = kind.execute(c, h.Op, d, &s.body)
	}
	if h.Op == jute.OpAuth && reply.Err == jute.ErrMarshalling {
		return false // without a reply
	}

	if h.Op == jute.OpPing {
		reply.Xid = jute.XidPing // whatever the client has sent
	}
	reply.Zxid = s.zxid
	if kind.zxid != nil {
		reply.Zxid = kind.zxid(s.zxid)
	}
	mark := c.out.Len()
	c.sendReplyLocked(reply, s.body.Bytes())
	c.applyReplyFaultLocked(f, mark) // a fault may hold the reply back, or drop it
	if kind.ends != nil && kind.ends(reply.Err) {
		c.endLocked()
	}
	return !c.ending
}

// An operation is what the server does with one kind of request.
type operation struct {
	// execute does what a request asks and writes the body of the reply. Watch events that it causes are
	// queued before it returns, so that each client sees an event before it can read the change.
	execute func(c *conn, op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code
	ends    func(code jute.Code) bool // whether the connection ends after the reply; nil: it does not
	zxid    func(last int64) int64    // of the reply; nil: that of the last change
}

// operations are all requests that the server implements.
var operations = map[jute.Op]operation{
	jute.OpPing:         {execute: func(*conn, jute.Op, *jute.Decoder, *jute.Encoder) jute.Code { return jute.OK }},
	jute.OpAuth:         {execute: (*conn).executeAuth, ends: endsOn(jute.ErrAuthFailed), zxid: func(int64) int64 { return 0 }},
	jute.OpCloseSession: {execute: (*conn).executeCloseSession, ends: endsOn(jute.OK)},
	jute.OpSync:         {execute: (*conn).executeSync},

	jute.OpExists:               {execute: (*conn).executeRead},
	jute.OpGetData:              {execute: (*conn).executeRead},
	jute.OpGetChildren:          {execute: (*conn).executeRead},
	jute.OpGetChildren2:         {execute: (*conn).executeRead},
	jute.OpGetACL:               {execute: (*conn).executePlainRead},
	jute.OpGetAllChildrenNumber: {execute: (*conn).executePlainRead},
	jute.OpGetEphemerals:        {execute: (*conn).executeGetEphemerals},
	jute.OpWhoAmI:               {execute: (*conn).executeWhoAmI},

	jute.OpSetWatches:    {execute: (*conn).executeSetWatches},
	jute.OpSetWatches2:   {execute: (*conn).executeSetWatches},
	jute.OpAddWatch:      {execute: (*conn).executeAddWatch},
	jute.OpCheckWatches:  {execute: (*conn).executeCheckOrRemoveWatches},
	jute.OpRemoveWatches: {execute: (*conn).executeCheckOrRemoveWatches},

	jute.OpCreate:          {execute: (*conn).executeWrite},
	jute.OpCreate2:         {execute: (*conn).executeWrite},
	jute.OpCreateContainer: {execute: (*conn).executeWrite},
	jute.OpCreateTTL:       {execute: (*conn).executeWrite},
	jute.OpDelete:          {execute: (*conn).executeWrite},
	jute.OpSetData:         {execute: (*conn).executeWrite},
	jute.OpSetACL:          {execute: (*conn).executeWrite},
	jute.OpMulti:           {execute: (*conn).executeMulti},
}

// notImplemented is for every other request. A check is one of them: the server implements it only as a part of a multi.
var notImplemented = operation{
	execute: func(*conn, jute.Op, *jute.Decoder, *jute.Encoder) jute.Code { return jute.ErrUnimplemented },
	ends:    endsOn(jute.ErrUnimplemented),
	zxid:    func(int64) int64 { return -1 },
}

func endsOn(end jute.Code) func(jute.Code) bool {
	return func(code jute.Code) bool { return code == end }
}

// executeWrite carries out a write that is not in a multi. If the write fails, it has changed nothing: there is no
// rollback.
func (c *conn) executeWrite(op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	t := c.s.begin() // before the body is decoded: a malformed write uses up a zxid, too
	execute := decodeWrite(op, d)
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	code := execute(t, c, body)
	if code == jute.OK {
		t.commit()
	}
	return code
}

func (c *conn) executeCloseSession(jute.Op, *jute.Decoder, *jute.Encoder) jute.Code {
	c.s.endSessionLocked(c.session)
	return jute.OK
}

func (c *conn) executeAuth(_ jute.Op, d *jute.Decoder, _ *jute.Encoder) jute.Code {
	var r jute.AuthPacket
	r.Decode(d)
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	if !c.authenticate(&r) {
		return jute.ErrAuthFailed
	}
	return jute.OK
}

func (c *conn) executeSync(_ jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	path, ok := d.NullString()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	if ok {
		body.String(path)
	} else {
		body.Buffer(nil) // null, as it came
	}
	return jute.OK
}

func (c *conn) executeSetWatches(op jute.Op, d *jute.Decoder, _ *jute.Encoder) jute.Code {
	var r jute.SetWatches2
	if op == jute.OpSetWatches {
		r.SetWatches.Decode(d)
	} else {
		r.Decode(d)
	}
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	c.s.setWatchesLocked(c, &r)
	return jute.OK
}

func (c *conn) executeAddWatch(_ jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	var r jute.AddWatch
	r.Decode(d)
	mode, isKnown := map[int32]watchMode{jute.ModePersistent: persistent, jute.ModePersistentRecursive: recursive}[r.Mode]
	if d.Err() != nil || !isKnown {
		return jute.ErrMarshalling
	}
	c.s.addWatchLocked(c, r.Path, mode)
	body.Int32(0) // an error code, besides the one in the header
	return jute.OK
}

// executePlainRead answers reads that cannot leave a watch: getACL and getAllChildrenNumber.
func (c *conn) executePlainRead(op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	path := d.String()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	perm := jute.PermRead
	if op == jute.OpGetACL {
		perm |= jute.PermAdmin
	}
	n := c.s.lookup(path)
	switch {
	case n == nil:
		return jute.ErrNoNode
	case !c.may(perm, n.acl):
		return jute.ErrNoAuth
	case op == jute.OpGetAllChildrenNumber:
		body.Int32(c.s.countBelow(path))
		return jute.OK
	case c.may(jute.PermAdmin, n.acl):
		body.ACLs(n.acl)
	default:
		body.ACLs(maskDigests(n.acl))
	}
	n.stat().Encode(body)
	return jute.OK
}

func (c *conn) executeGetEphemerals(_ jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	prefix, _ := d.NullString()
	if d.Err() != nil {
		return jute.ErrMarshalling
	}
	// The prefix is compared as text, so /a is also one of /ab.
	if trimmed := javaTrim(prefix); trimmed == "" || trimmed == "/" {
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

func (c *conn) executeWhoAmI(_ jute.Op, _ *jute.Decoder, body *jute.Encoder) jute.Code {
	body.Int32(int32(len(c.identities)))
	for _, own := range c.identities {
		user := own.id
		if own.scheme == "digest" {
			user, _, _ = strings.Cut(own.id, ":") // without the hash of the password
		}
		body.String(own.scheme)
		body.String(user)
	}
	return jute.OK
}

// executeCheckOrRemoveWatches answers checkWatches and removeWatches.
func (c *conn) executeCheckOrRemoveWatches(op jute.Op, d *jute.Decoder, _ *jute.Encoder) jute.Code {
	var r jute.PathType
	r.Decode(d)
	if d.Err() != nil || r.Type < jute.WatcherChildren || r.Type > jute.WatcherAny {
		return jute.ErrMarshalling
	}
	checkOrRemove := func(w *watchTable, kind int32) (found bool) {
		if r.Type != kind && r.Type != jute.WatcherAny {
			return false
		}
		if op == jute.OpRemoveWatches {
			return w.remove(r.Path, c)
		}
		return len(w.conns[r.Path]) > 0 // of any connection, as on the real server
	}
	childFound := checkOrRemove(c.s.childWatches, jute.WatcherChildren)
	dataFound := checkOrRemove(c.s.dataWatches, jute.WatcherData)
	if !childFound && !dataFound {
		return jute.ErrNoWatcher
	}
	return jute.OK
}

// javaTrim is what String.trim does in Java: control characters go as well.
func javaTrim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }

// executeRead answers the reads that can leave a watch.
func (c *conn) executeRead(op jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	s := c.s
	var r jute.PathWatch
	r.Decode(d)
	if d.Err() != nil {
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
	if op == jute.OpExists {
		n.stat().Encode(body)
		return jute.OK
	}
	if !c.may(jute.PermRead, n.acl) {
		return jute.ErrNoAuth
	}

	if op == jute.OpGetData {
		if r.Watch {
			s.dataWatches.add(r.Path, c, oneShot)
		}
		body.Buffer(n.data)
		n.stat().Encode(body)
	} else {
		if r.Watch {
			s.childWatches.add(r.Path, c, oneShot)
		}
		n.encodeChildren(body)
		if op == jute.OpGetChildren2 {
			n.stat().Encode(body)
		}
	}
	return jute.OK
}

// A write is a decoded request that changes the tree, alone or in a multi.
type write func(t *txn, c *conn, body *jute.Encoder) jute.Code

// decodeWrite reads the body of a write. If it is malformed, the Decoder's Err says so.
func decodeWrite(op jute.Op, d *jute.Decoder) write {
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return createAs(op, decodeCreate(op, d))
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
		return func(t *txn, c *conn, body *jute.Encoder) jute.Code { return t.setData(c, &r, body) }
	case jute.OpSetACL:
		var r jute.SetACLRequest
		r.Decode(d)
		return func(t *txn, c *conn, body *jute.Encoder) jute.Code { return t.setACL(c, &r, body) }
	}
	return nil
}

func decodeCreate(op jute.Op, d *jute.Decoder) *jute.CreateTTLRequest {
	var r jute.CreateTTLRequest
	if op == jute.OpCreateTTL {
		r.Decode(d)
	} else {
		r.CreateRequest.Decode(d)
	}
	return &r
}

// createAs returns the write that makes a node and answers as a request of kind op.
func createAs(op jute.Op, r *jute.CreateTTLRequest) write {
	return func(t *txn, c *conn, body *jute.Encoder) jute.Code {
		path, code := t.create(c, op, r)
		if code != jute.OK {
			return code
		}
		body.String(path)
		if op != jute.OpCreate {
			t.s.nodes[path].stat().Encode(body)
		}
		return jute.OK
	}
}

// A multiPart is one operation of a multi.
type multiPart struct {
	op       jute.Op
	execute  write
	lacksTTL bool // its flags ask for a time to live, and its kind cannot carry one
}

// decodeMulti reads the body of a multi. It returns false if it is malformed. A part that is malformed is seen at the
// next header, because d keeps its first error.
func decodeMulti(d *jute.Decoder) (parts []multiPart, ok bool) {
	for {
		var h jute.MultiHeader
		h.Decode(d)
		if d.Err() != nil || h.Done {
			return parts, d.Err() == nil
		}
		switch h.Op {
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			// In a multi the flags alone say what is made, and what the result looks like.
			r := decodeCreate(h.Op, d)
			op := jute.OpCreate
			if hasTTL(r.Flags) {
				op = jute.OpCreateTTL
			} else if r.Flags == jute.FlagContainer {
				op = jute.OpCreateContainer
			}
			lacksTTL := hasTTL(r.Flags) && h.Op != jute.OpCreateTTL
			parts = append(parts, multiPart{op: op, execute: createAs(op, r), lacksTTL: lacksTTL})
		case jute.OpDelete, jute.OpSetData, jute.OpCheck:
			parts = append(parts, multiPart{op: h.Op, execute: decodeWrite(h.Op, d)})
		default:
			return nil, false
		}
	}
}

// executeMulti carries out all operations of a multi or none. The reply's
// header has OK either way; each operation has its own error.
func (c *conn) executeMulti(_ jute.Op, d *jute.Decoder, body *jute.Encoder) jute.Code {
	t := c.s.begin()
	parts, ok := decodeMulti(d)
	if !ok {
		return jute.ErrMarshalling
	}
	for i, part := range parts {
		if part.lacksTTL { // the real server fails to read such a request, too
			t.rollback()
			return jute.ErrMarshalling
		}
		h := jute.MultiHeader{Op: part.op}
		if part.op == jute.OpCreateContainer || part.op == jute.OpCreateTTL {
			h.Op = jute.OpCreate2 // path and stat
		}
		h.Encode(body)
		if code := part.execute(t, c, body); code != jute.OK {
			t.rollback()
			body.Reset()
			encodeFailure(body, len(parts), i, code)
			break
		}
	}
	jute.EndOfMulti.Encode(body)
	t.commit() // nothing, after a rollback
	return jute.OK
}

// encodeFailure writes the results of a multi of n operations, of which one has failed.
func encodeFailure(body *jute.Encoder, n, failed int, code jute.Code) {
	for i := range n {
		result := jute.OK
		if i == failed {
			result = code
		} else if i > failed {
			result = jute.ErrRuntimeInconsistency
		}
		(&jute.MultiHeader{Op: jute.OpError, Err: result}).Encode(body)
		body.Int32(int32(result))
	}
}
