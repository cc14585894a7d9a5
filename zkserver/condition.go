package zkserver

import (
	"path"
	"slices"
)

// A Condition picks the requests that a fault is about. Any func(Request)
// bool will do in its place.
type Condition func(Request) bool

// variants are the requests that do the same on the wire. A client sends the one
// or the other, which its user does not see.
var variants = map[Op][]Op{
	OpCreate:      {OpCreate2, OpCreateContainer, OpCreateTTL},
	OpGetChildren: {OpGetChildren2},
	OpSetWatches:  {OpSetWatches2},
}

// On is the condition that a request is an op at a path. The pattern is that of
// package path: "/locks/*" means the children of /locks. The name of a
// sequential node has no number yet when it is asked for. An empty pattern means any
// path, and no path, which a handshake or a ping has; AnyOp means any request.
//
// OpCreate means a create of any kind (create2, createContainer, createTTL), and a multi whose
// first part is one: a Mutex of zklock sends its first create alone, and later ones so. OpDelete, too, means
// a multi whose first part is a delete. OpGetChildren and OpSetWatches mean both forms that these have on the wire. On panics if
// the pattern is malformed.
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

// From is the condition that, besides, the request is of a session. Clients
// know the number of theirs: zk.Conn's is SessionID().
func (c Condition) From(session int64) Condition {
	return func(r Request) bool { return r.Session == session && c(r) }
}
