package explore

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// A packet is one frame on its way.
type packet struct {
	raw      []byte // with the four bytes of its length
	turn     int    // the action during which it was sent
	xid      int32
	op       jute.Op // of a request; a reply gets that of its request
	first    jute.Op // of a multi: its first part
	path     string  // of a request or an event; of a reply the request's
	made     string  // of a reply to create: the new node's path
	watch    bool
	event    jute.EventType
	isEvent  bool
	err      jute.Code
	names    []string // of a reply: the list of children
	data     string   // of a create, to tell two requests apart
	tells    digest   // of a reply: what an Entry does not show
	numbered bool     // the server completes the name of what is created

	// Of a schedule that is filmed.
	id  int           // of the film's packet
	tag string        // the contender of a tagged world
	of  int           // of a reply: the id of its request
	due time.Duration // when it arrives, in a paced run; 0: not known yet
}

// parseRequest reads what the explorer needs to know of a request.
func parseRequest(raw []byte) packet {
	p := packet{raw: raw}
	d := jute.NewDecoder(raw[4:])
	var h jute.RequestHeader
	h.Decode(d)
	p.xid, p.op = h.Xid, h.Op
	if h.Op.PathFirst() {
		p.path = d.String()
	}
	if h.Op == jute.OpMulti {
		p.first, p.path = jute.FirstOfMulti(d)
	}
	switch p.kindOf() {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		p.watch = d.Bool()
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.data = string(d.Buffer())
		d.ACLs()
		p.numbered = d.Int32()&jute.FlagSequential != 0
	case jute.OpSync:
		p.path, _ = d.NullString()
	}
	return p
}

// parseReply reads a reply or an event. Asked is the request of a reply.
//
// A list of children is put into descending order: ZooKeeper promises none,
// and a lock that relies on one must be found out, each time alike.
func parseReply(raw []byte, asked func(xid int32) packet) packet {
	p := packet{raw: raw}
	d := jute.NewDecoder(raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	p.xid, p.err = h.Xid, h.Err
	if h.Xid == jute.XidEvent {
		var ev jute.WatcherEvent
		ev.Decode(d)
		p.isEvent, p.event, p.path = true, ev.Type, ev.Path
		return p
	}
	req := asked(h.Xid)
	p.op, p.first, p.path, p.watch, p.of, p.tag = req.op, req.first, req.path, req.watch, req.id, req.tag
	if h.Err != jute.OK {
		return p
	}
	switch req.op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.made = d.String()
	case jute.OpMulti:
		if first, made := jute.FirstOfMulti(d); first == jute.OpCreate {
			p.made = made
		}
	case jute.OpGetChildren, jute.OpGetChildren2:
		p.names = d.Strings()
		rest := raw[len(raw)-d.Len():]
		slices.SortFunc(p.names, func(a, b string) int { return cmp.Compare(b, a) })
		var e jute.Encoder
		mark := e.BeginFrame()
		h.Encode(&e)
		e.Strings(p.names)
		e.Raw(rest)
		e.EndFrame(mark)
		p.raw = e.Bytes()
		slices.Sort(p.names) // for the log
	}
	return p
}

// kindOf is the operation, and of a multi that begins with a create, which is
// how a lock counts the contenders, a create.
func (p *packet) kindOf() jute.Op {
	if p.op == jute.OpMulti && p.first == jute.OpCreate {
		return jute.OpCreate
	}
	return p.op
}

func mix(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	x := h.Sum64()
	x ^= x >> 29
	return x * 0xbf58476d1ce4e5b9
}

// kind is that of the film's packet, on the way down.
func (p *packet) kind() string {
	if p.isEvent {
		return "event"
	}
	return "reply"
}

// pong answers a ping.
func pong() []byte {
	var e jute.Encoder
	mark := e.BeginFrame()
	(&jute.ReplyHeader{Xid: jute.XidPing}).Encode(&e)
	e.EndFrame(mark)
	return e.Bytes()
}

// cutFrames splits what the server has written.
func cutFrames(b []byte, frame func([]byte)) {
	for len(b) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(b))
		frame(slices.Clone(b[:n]))
		b = b[n:]
	}
}

// what orders packets that goroutines of one client have sent at the same
// instant, so that it does not matter which of them ran first.
func (p *packet) what() (rank int, op jute.Op, path, data string) {
	if p.op == jute.OpSetWatches { // the client sends it last
		rank = 1
	}
	return rank, p.op, p.path, p.data
}
