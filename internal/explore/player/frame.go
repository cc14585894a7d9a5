package player

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// A Frame is one packet on its way.
type Frame struct {
	raw      []byte // with the four bytes of its length
	turn     int    // the action during which it was sent
	xid      int32
	zxid     int64   // of a reply
	Op       jute.Op // of a request; a reply gets that of its request
	first    jute.Op // of a multi: its first part
	Path     string  // of a request or an event; of a reply the request's
	Made     string  // of a reply to create: the new node's path
	Watch    bool
	Event    jute.EventType
	IsEvent  bool
	Err      jute.Code
	Names    []string // of a reply: the list of children
	data     string   // of a create, to distinguish two requests
	rest     digest   // of a reply: what an Entry does not show
	numbered bool     // the server completes the name of what is created

	// Of a schedule that is filmed.
	ID  int           // of the film's packet
	Tag string        // the contender of a tagged world
	Of  int           // of a reply: the id of its request
	Due time.Duration // when it arrives, in a paced run; 0: not known yet
}

// parseRequest reads the parts of a request that the explorer needs.
func parseRequest(raw []byte) Frame {
	p := Frame{raw: raw}
	d := jute.NewDecoder(raw[4:])
	var h jute.RequestHeader
	h.Decode(d)
	p.xid, p.Op = h.Xid, h.Op
	if h.Op.PathFirst() {
		p.Path = d.String()
	}
	if h.Op == jute.OpMulti {
		p.first, p.Path = jute.FirstOfMulti(d)
	}
	switch p.kindOf() {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		p.Watch = d.Bool()
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.data = string(d.Buffer())
		d.ACLs()
		p.numbered = d.Int32()&jute.FlagSequential != 0
	case jute.OpSync:
		p.Path, _ = d.NullString()
	}
	return p
}

// parseReply reads a reply or an event. Asked is the request of a reply.
//
// A list of children is put into descending order: ZooKeeper promises no order, and
// a lock that relies on one must fail, and in the same way each time.
//
// Hidden reports whether the server does not have a node yet.
func parseReply(raw []byte, asked func(xid int32) Frame, hidden func(path string) bool) Frame {
	p := Frame{raw: raw}
	d := jute.NewDecoder(raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	p.xid, p.Err, p.zxid = h.Xid, h.Err, h.Zxid
	if h.Xid == jute.XidEvent {
		var ev jute.WatcherEvent
		ev.Decode(d)
		p.IsEvent, p.Event, p.Path = true, ev.Type, ev.Path
		return p
	}
	req := asked(h.Xid)
	p.Op, p.first, p.Path, p.Watch, p.Of, p.Tag = req.Op, req.first, req.Path, req.Watch, req.ID, req.Tag
	if h.Err != jute.OK {
		return p
	}
	switch req.Op {
	case jute.OpGetData, jute.OpExists:
		if hidden(req.Path) {
			h.Err, p.Err = jute.ErrNoNode, jute.ErrNoNode
			p.raw = packet(h.Encode)
		}
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.Made = d.String()
	case jute.OpMulti:
		if first, made := jute.FirstOfMulti(d); first == jute.OpCreate {
			p.Made = made
		}
	case jute.OpGetChildren, jute.OpGetChildren2:
		p.Names = slices.DeleteFunc(d.Strings(), func(name string) bool { return hidden(req.Path + "/" + name) })
		rest := raw[len(raw)-d.Len():]
		slices.SortFunc(p.Names, func(a, b string) int { return cmp.Compare(b, a) })
		p.raw = packet(h.Encode, func(e *jute.Encoder) {
			e.Strings(p.Names)
			e.Raw(rest)
		})
		slices.Sort(p.Names) // for the log
	}
	return p
}

// kindOf is the operation. Of a multi that begins with a create or a delete it is that: with the rest of such a multi a
// lock counts the contenders, or marks how many have gone.
func (p *Frame) kindOf() jute.Op {
	if p.Op == jute.OpMulti && (p.first == jute.OpCreate || p.first == jute.OpDelete) {
		return p.first
	}
	return p.Op
}

// Size is the number of its bytes on the wire.
func (p *Frame) Size() int { return len(p.raw) }

// Kind is that of the film's packet, on the way down.
func (p *Frame) Kind() string {
	if p.IsEvent {
		return "event"
	}
	return "reply"
}

// packet is a frame with these parts.
func packet(parts ...func(*jute.Encoder)) []byte {
	var e jute.Encoder
	mark := e.BeginFrame()
	for _, encode := range parts {
		encode(&e)
	}
	e.EndFrame(mark)
	return e.Bytes()
}

// cutFrames splits the server's output into packets.
func cutFrames(b []byte, frame func([]byte)) {
	for len(b) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(b))
		frame(slices.Clone(b[:n]))
		b = b[n:]
	}
}

// together orders packets that goroutines of one client have sent at the same
// instant, so that it does not matter which of them ran first.
func together(a, b Frame) int {
	last := func(p Frame) int {
		if p.Op == jute.OpSetWatches { // the client sends it last
			return 1
		}
		return 0
	}
	// The data comes last: a random id of a lock differs each time.
	return cmp.Or(last(a)-last(b), int(a.Op-b.Op), cmp.Compare(a.Path, b.Path), len(a.data)-len(b.data), byName(a.Tag, b.Tag), cmp.Compare(a.data, b.data))
}
