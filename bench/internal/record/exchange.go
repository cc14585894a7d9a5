package record

import (
	"path"
	"slices"
	"time"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// An exchange is a request with its reply, or an event.
type exchange struct {
	client    int
	asked     wiretap.Entry // of an event: the event
	answer    wiretap.Entry
	answered  bool
	lost      time.Duration // if its connection has ended: when that was noticed
	sent      time.Duration // by the client
	at        time.Duration // at the server
	came      time.Duration // to the client
	cause     *exchange     // of an event: the write that has caused it, and
	armed     *exchange     // the read that has set the watch; nil: unknown
	heardFrom time.Duration // of a write: when its first event or reply came
}

func (t *exchange) event() bool { return t.asked.Kind == wiretap.Event }

// writes reports whether it has changed something, in a transaction of its own.
func (t *exchange) writes() bool {
	return t.creates() || t.does(jute.OpDelete, jute.OpSetData, jute.OpMulti, jute.OpCloseSession)
}

func (t *exchange) creates() bool {
	return t.does(jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL)
}

// does reports whether one of the operations has succeeded.
func (t *exchange) does(ops ...jute.Op) bool {
	return t.answered && t.answer.Err == jute.OK && slices.Contains(ops, t.asked.Op)
}

// causes reports whether a write causes an event.
func (t *exchange) causes(e wiretap.Entry) bool {
	p := t.answer.Path
	switch e.Event {
	case jute.EventCreated:
		return t.creates() && p == e.Path
	case jute.EventDeleted:
		return t.asked.Op == jute.OpDelete && p == e.Path
	case jute.EventDataChanged:
		return t.asked.Op == jute.OpSetData && p == e.Path
	case jute.EventChildrenChanged:
		return (t.creates() || t.asked.Op == jute.OpDelete) && path.Dir(p) == e.Path
	}
	return false
}

// A watch is of a client for a path: of its node, or of its children.
type watch struct {
	client   int
	path, of string
}

// sets returns the watch that a read has set.
func (t *exchange) sets() (of string, ok bool) {
	if t.event() || !t.answered || !t.asked.Watch {
		return "", false
	}
	switch t.asked.Op {
	case jute.OpGetChildren, jute.OpGetChildren2:
		return "children", t.answer.Err == jute.OK
	case jute.OpExists:
		return "node", t.answer.Err == jute.OK || t.answer.Err == jute.ErrNoNode
	}
	return "node", t.answer.Err == jute.OK
}

// taken are the kinds of watch that an event takes away.
func taken(e jute.EventType) []string {
	switch e {
	case jute.EventChildrenChanged:
		return []string{"children"}
	case jute.EventDeleted:
		return []string{"node", "children"}
	}
	return []string{"node"}
}

// exchanges pairs requests with replies.
func (r *Recording) exchanges(log []wiretap.Entry) (list []*exchange, cuts []film.Mark) {
	type key struct {
		conn int
		xid  int32
	}
	pending := make(map[key]*exchange)
	byConn := make(map[int]int)
	for _, e := range r.tap.Log() {
		if i, ok := r.own[e.Session]; ok {
			byConn[e.Conn] = i
		}
	}
	for _, e := range log {
		client, ok := byConn[e.Conn]
		if !ok {
			continue // a session that has ended before it was known
		}
		at := e.Time.Sub(r.began)
		k := key{e.Conn, e.Xid}
		switch {
		case e.Op == jute.OpConnect && e.Kind == wiretap.Request:
			for k, t := range pending {
				if t.client == client && k.conn != e.Conn {
					t.lost = at
					delete(pending, k)
				}
			}
			cuts = append(cuts, film.Mark{At: at, Kind: "client", Who: r.clientName(client), State: "cut off"})
		case e.Op == jute.OpConnect:
			cuts = append(cuts, film.Mark{At: at, Kind: "client", Who: r.clientName(client), State: "connected"})
		case e.Kind == wiretap.Request:
			t := &exchange{client: client, asked: e, sent: at}
			pending[k] = t
			list = append(list, t)
		case e.Kind == wiretap.Event:
			list = append(list, &exchange{client: client, asked: e, sent: -1, came: at})
		case pending[k] != nil:
			t := pending[k]
			t.answer, t.answered, t.came, t.heardFrom = e, true, at, at
			delete(pending, k)
		}
	}
	return list, cuts
}

// arrived orders exchanges by what the client has seen of them last.
func arrived(a, b *exchange) int {
	return max(a.asked.Order, a.answer.Order) - max(b.asked.Order, b.answer.Order)
}
