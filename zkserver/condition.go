package zkserver

import (
	"path"
	"slices"
)

// A Condition picks the requests that a fault is about. Any func(Request) bool will do in its place.
type Condition func(Request) bool

// variants are other requests that do the same. Which of them a client sends, its user does not see.
var variants = map[Op][]Op{
	OpCreate:      {OpCreate2, OpCreateContainer, OpCreateTTL},
	OpGetChildren: {OpGetChildren2},
	OpSetWatches:  {OpSetWatches2},
}

// On is the condition that a request is an op at a path. The pattern is that of package path: "/locks/*"
// means the children of /locks. The name of a sequential node has no number yet in its create. An empty
// pattern means any path, or none, as in a handshake or a ping; AnyOp means any request.
//
// OpCreate means a create of any kind (create2, createContainer, createTTL), or a multi whose
// first part is a create, as all creates of a zklock.Mutex are but its first. OpDelete also
// means a multi whose first part is a delete. OpGetChildren and OpSetWatches mean both forms
// that these have on the wire. On panics if the pattern is malformed.
func On(op Op, pattern string) Condition {
	if _, err := path.Match(pattern, ""); err != nil {
		panic("zkserver: the pattern " + pattern + " is malformed")
	}
	return func(r Request) bool {
		sent := r.Op
		if sent == OpMulti && (op == OpCreate || op == OpDelete) {
			sent = r.First
		}
		if op != AnyOp && sent != op && !slices.Contains(variants[op], sent) {
			return false
		}
		matched, _ := path.Match(pattern, r.Path)
		return pattern == "" || matched
	}
}

// From is c with one more condition: the request comes from this session. The number is
// that of zk.Conn's SessionID.
func (c Condition) From(session int64) Condition {
	return func(r Request) bool { return r.Session == session && c(r) }
}
