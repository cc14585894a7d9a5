package zkserver

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A node is one znode. Guarded by Server.mu.
type node struct {
	data                []byte // nil and empty differ
	acl                 []jute.ACL
	czxid, mzxid, pzxid int64 // the transactions that made it, that changed its data last, and its list of children
	ctime, mtime        int64 // in ms since 1970
	version, aversion   int32 // the numbers of changes of its data and of its ACL
	creates             int32 // children ever made: the number of the next sequential child, up to 2³¹-1
	wrapped             int32 // the number of the next one behind 2³¹-1: see nextNumber, which has an example
	wrappedIn           int64 // Server.lulls, the count of all lulls so far, when wrapped was set
	owner               int64 // session of an ephemeral node, else 0
	container           bool
	ttl                 int64               // of a node with a time to live, in ms, else 0
	children            map[string]struct{} // their names
	list                []byte              // names of the children as on the wire; nil: to be made again
}

func (n *node) stat() jute.Stat {
	return jute.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid,
		Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion,
		// Clients see the number of changes, and the server counts creates: each child
		// was created once, and those that are gone were deleted once.
		Cversion:       2*n.creates - int32(len(n.children)),
		EphemeralOwner: n.owner,
		DataLength:     int32(len(n.data)),
		NumChildren:    int32(len(n.children)),
	}
}

// encodeChildren writes the names. A herd asks for the same list over and over, so it is kept until it changes.
func (n *node) encodeChildren(e *jute.Encoder) {
	if n.list == nil {
		var list jute.Encoder
		list.Int32(int32(len(n.children)))
		for name := range n.children {
			list.String(name)
		}
		n.list = list.Bytes()
	}
	e.Raw(n.list)
}

// split returns the path of the parent and the name. "/a" has the parent "/".
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 1)], path[i+1:]
}

// resetLocked leaves only the permanent nodes, and no session.
func (s *Server) resetLocked() {
	s.zxid = s.epoch << 32
	s.sessions = make(map[int64]*session)
	s.nodes = make(map[string]*node)
	s.containers = make(map[string]struct{})
	s.ttls = make(map[string]struct{})
	for _, path := range permanent {
		s.nodes[path] = &node{data: []byte{}, acl: jute.WorldACL(), children: make(map[string]struct{})}
		if parent, name := split(path); path != "/" {
			s.nodes[parent].children[name] = struct{}{}
		}
	}
	config := s.nodes["/zookeeper/config"]
	config.acl = []jute.ACL{{Perms: jute.PermRead, Scheme: "world", ID: "anyone"}}
	config.aversion = -1 // as the real server's
}

// permanent are the paths of the nodes that every server has, and that cannot be deleted.
var permanent = []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"}

// lookup finds the node that a read asks for. Like the real server it takes the empty path for the root.
func (s *Server) lookup(path string) *node {
	return s.nodes[cmp.Or(path, "/")]
}

func (s *Server) countBelow(path string) int32 {
	switch path {
	case "/":
		return int32(len(s.nodes) - 1)
	case "":
		return int32(len(s.nodes)) // so the real server: "/" lies below it
	}
	n := int32(0)
	for other := range s.nodes {
		if strings.HasPrefix(other, path) && strings.HasPrefix(other[len(path):], "/") {
			n++
		}
	}
	return n
}

// A txn is one transaction: all its changes carry the same zxid, and their
// events are sent when it is committed. It can be rolled back until then.
type txn struct {
	s      *Server
	now    int64
	undo   []func()
	events []func()
}

// begin uses up a zxid, as every attempt to write does, a failed one too.
func (s *Server) begin() *txn {
	s.zxid++
	return &txn{s: s, now: time.Now().UnixMilli()}
}

func (t *txn) commit() {
	for _, fire := range t.events {
		fire()
	}
}

func (t *txn) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.undo, t.events = nil, nil
}

func hasTTL(flags int32) bool { return flags == jute.FlagTTL || flags == jute.FlagSequentialTTL }

// timeToLive returns that of the node that r asks for, in milliseconds; 0 if it has none.
func (s *Server) timeToLive(op jute.Op, r *jute.CreateTTLRequest) (ttl int64, code jute.Code) {
	switch {
	case r.Flags < jute.FlagPersistent || r.Flags > jute.FlagSequentialTTL: // there are no such flags
		return 0, jute.ErrBadArguments
	case !hasTTL(r.Flags) && op == jute.OpCreateTTL && r.TTL >= 0: // the flags do not ask for it
		return 0, jute.ErrBadArguments
	case !hasTTL(r.Flags):
		return 0, jute.OK
	case !s.withTTL:
		return 0, jute.ErrUnimplemented
	case op != jute.OpCreateTTL || r.TTL <= 0 || r.TTL > longestTTL: // the request has no valid time
		return 0, jute.ErrBadArguments
	}
	return r.TTL, jute.OK
}

func (t *txn) create(c *conn, op jute.Op, r *jute.CreateTTLRequest) (path string, code jute.Code) {
	ttl, code := t.s.timeToLive(op, r)
	if code != jute.OK {
		return "", code
	}
	slash := strings.LastIndexByte(r.Path, '/')
	if slash < 0 || strings.IndexByte(r.Path, 0) >= 0 {
		return "", jute.ErrBadArguments
	}
	acl, ok := c.resolveACL(r.ACL)
	if !ok {
		return "", jute.ErrInvalidACL
	}

	parentPath := r.Path[:slash]
	parent := t.s.lookup(parentPath)
	if parent == nil {
		return "", jute.ErrNoNode
	}
	if !c.may(jute.PermCreate, parent.acl) {
		return "", jute.ErrNoAuth
	}

	path = r.Path
	number := t.s.nextNumber(parent)
	if r.Flags&jute.FlagSequential != 0 {
		path += fmt.Sprintf("%010d", number)
	}
	switch {
	case !validPath(path):
		return "", jute.ErrBadArguments
	case t.s.nodes[path] != nil:
		return "", jute.ErrNodeExists
	case parent.owner != 0:
		return "", jute.ErrNoChildrenForEphemeral
	}

	n := &node{
		data: r.Data, acl: acl, ttl: ttl,
		czxid: t.s.zxid, mzxid: t.s.zxid, pzxid: t.s.zxid,
		ctime: t.now, mtime: t.now,
		children:  make(map[string]struct{}),
		container: op == jute.OpCreateContainer, // whatever the flags
	}
	if r.Flags&jute.FlagEphemeral != 0 && ttl == 0 && !n.container {
		n.owner = c.session.id
	}
	parentPath, _ = split(path) // "/" where it was ""
	saved := *parent
	t.undo = append(t.undo, func() {
		t.s.unlink(path)
		parent.creates, parent.wrapped, parent.wrappedIn, parent.pzxid = saved.creates, saved.wrapped, saved.wrappedIn, saved.pzxid
	})
	t.s.link(path, n)
	t.s.countChild(parent, number, saved.pzxid)
	t.events = append(t.events, func() {
		t.s.dataWatches.fire(path, jute.EventCreated, n.acl, nil)
		t.s.childWatches.fire(parentPath, jute.EventChildrenChanged, parent.acl, nil)
	})
	return path, jute.OK
}

// nextNumber returns the number of the parent's next sequential child: that of the creates so far, up to the largest
// number, 2³¹-1. Behind that, creates of one burst get -2³¹, -2³¹+1 and so on. A burst ends with a lull, a moment in
// which no client waits for an answer: the next create gets 2³¹-1 again, and those of its burst go on with -2³¹.
func (s *Server) nextNumber(parent *node) int32 {
	if parent.creates == math.MaxInt32 && parent.wrappedIn == s.lulls.Load() {
		return parent.wrapped
	}
	return parent.creates
}

// countChild notes that the parent's child of this number was made; pzxid is the parent's before that. The real server
// counts the creates of a burst in a copy of the parent, where the number wraps. In its tree the number is only ever
// raised: once it is the largest, creates change neither the number nor the parent's pzxid.
func (s *Server) countChild(parent *node, number int32, pzxid int64) {
	parent.wrapped, parent.wrappedIn = number+1, s.lulls.Load()
	if number+1 > parent.creates {
		parent.creates = number + 1
	} else {
		parent.pzxid = pzxid // link has raised it
	}
}

func (t *txn) delete(c *conn, r *jute.PathVersion) jute.Code {
	slash := strings.LastIndexByte(r.Path, '/')
	if slash < 0 || strings.IndexByte(r.Path, 0) >= 0 || slices.Contains(permanent, r.Path) {
		return jute.ErrBadArguments
	}
	parent := t.s.lookup(r.Path[:slash])
	if parent == nil {
		return jute.ErrNoNode
	}
	if !c.may(jute.PermDelete, parent.acl) {
		return jute.ErrNoAuth
	}
	n := t.s.nodes[r.Path]
	switch {
	case n == nil:
		return jute.ErrNoNode
	case r.Version != -1 && r.Version != n.version:
		return jute.ErrBadVersion
	case len(n.children) > 0:
		return jute.ErrNotEmpty
	}
	t.remove(r.Path)
	return jute.OK
}

// remove deletes a node, which exists and has no children.
func (t *txn) remove(path string) {
	n := t.s.nodes[path]
	parentPath, _ := split(path)
	parent := t.s.nodes[parentPath]
	before := parent.pzxid
	t.undo = append(t.undo, func() {
		t.s.link(path, n)
		parent.pzxid = before
	})
	t.s.unlink(path)
	t.events = append(t.events, func() {
		sent := t.s.dataWatches.fire(path, jute.EventDeleted, n.acl, nil)
		t.s.childWatches.fire(path, jute.EventDeleted, n.acl, sent)
		t.s.childWatches.fire(parentPath, jute.EventChildrenChanged, parent.acl, nil)
	})
}

// link enters a node into the tree and all indexes; unlink takes it out of them.
func (s *Server) link(path string, n *node) {
	parentPath, name := split(path)
	parent := s.nodes[parentPath]
	parent.children[name] = struct{}{}
	parent.list, parent.pzxid = nil, s.zxid
	s.nodes[path] = n
	if n.container {
		s.containers[path] = struct{}{}
	}
	if n.ttl != 0 {
		s.ttls[path] = struct{}{}
	}
	if n.owner != 0 {
		s.sessions[n.owner].ephemerals[path] = struct{}{}
	}
}

func (s *Server) unlink(path string) {
	n := s.nodes[path]
	parentPath, name := split(path)
	parent := s.nodes[parentPath]
	delete(parent.children, name)
	parent.list, parent.pzxid = nil, s.zxid
	delete(s.nodes, path)
	delete(s.containers, path)
	delete(s.ttls, path)
	if n.owner != 0 {
		delete(s.sessions[n.owner].ephemerals, path)
	}
}

// change finds the node of a setData, a setACL or a check. A rollback undoes what setData changes; a setACL is never in
// a multi, so never rolled back. As on the real server, these check the form of the path first, which a read does not.
func (t *txn) change(c *conn, path string, perm int32) (*node, jute.Code) {
	if !validPath(path) {
		return nil, jute.ErrBadArguments
	}
	n := t.s.nodes[path]
	if n == nil {
		return nil, jute.ErrNoNode
	}
	if !c.may(perm, n.acl) {
		return nil, jute.ErrNoAuth
	}
	saved := *n
	t.undo = append(t.undo, func() {
		n.data, n.version, n.mzxid, n.mtime = saved.data, saved.version, saved.mzxid, saved.mtime
	})
	return n, jute.OK
}

func (t *txn) setData(c *conn, r *jute.SetDataRequest, body *jute.Encoder) jute.Code {
	n, code := t.change(c, r.Path, jute.PermWrite)
	if code != jute.OK {
		return code
	}
	if r.Version != -1 && r.Version != n.version {
		return jute.ErrBadVersion
	}
	t.set(r.Path, n, r.Data)
	n.stat().Encode(body)
	return jute.OK
}

func (t *txn) set(path string, n *node, data []byte) {
	n.data, n.mzxid, n.mtime = data, t.s.zxid, t.now
	n.version++
	t.events = append(t.events, func() { t.s.dataWatches.fire(path, jute.EventDataChanged, n.acl, nil) })
}

func (t *txn) setACL(c *conn, r *jute.SetACLRequest, body *jute.Encoder) jute.Code {
	if !validPath(r.Path) {
		return jute.ErrBadArguments
	}
	acl, ok := c.resolveACL(r.ACL)
	if !ok {
		return jute.ErrInvalidACL
	}
	n, code := t.change(c, r.Path, jute.PermAdmin)
	if code != jute.OK {
		return code
	}
	if r.Version != -1 && r.Version != n.aversion {
		return jute.ErrBadVersion
	}
	n.acl = acl
	n.aversion++
	n.stat().Encode(body)
	return jute.OK
}

func (t *txn) check(c *conn, r *jute.PathVersion) jute.Code {
	n, code := t.change(c, r.Path, jute.PermRead)
	if code == jute.OK && r.Version != -1 && r.Version != n.version {
		return jute.ErrBadVersion
	}
	return code
}

const longestTTL = 1<<40 - 1 // the longest time to live, in milliseconds: it has 40 bits

// reapContainersLocked removes the containers that have been used and are
// empty, and the empty nodes that have not been changed in their time to live.
func (s *Server) reapContainersLocked() {
	var due []string
	for path := range s.containers {
		if n := s.nodes[path]; n.creates != 0 && len(n.children) == 0 {
			due = append(due, path)
		}
	}
	for path := range s.ttls {
		if n := s.nodes[path]; time.Now().UnixMilli()-n.mtime > n.ttl && len(n.children) == 0 {
			due = append(due, path)
		}
	}
	slices.Sort(due)
	for _, path := range due {
		t := s.begin()
		t.remove(path)
		t.commit()
	}
}

// validPath reports whether a node may have this path (PathUtils.validatePath in the Apache source).
func validPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, r := range path {
		control := r <= 0x1f || r >= 0x7f && r <= 0x9f
		private := r >= 0xd800 && r <= 0xf8ff  // with the surrogates
		if control || private || r >= 0xfff0 { // the last are special, or need two chars in Java
			return false
		}
	}
	return true
}
