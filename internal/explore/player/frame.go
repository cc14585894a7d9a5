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
	turn     int    // the number of the action during which it was sent
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
	data     string   // of a create: distinguishes two requests
	rest     digest   // of a reply: what it has besides the fields of an Entry
	numbered bool     // of a create: the server appends a number to the name

	// Of a schedule that is filmed:
	ID  int           // the number of the film's packet
	Tag string        // in a tagged world, the contender
	Of  int           // of a reply: the ID of its request
	Due time.Duration // in a paced run, when it arrives; 0: not known yet
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

// parseReply reads a reply or an event. Asked returns the request of a reply. Hidden reports
// whether the server is behind, and does not have a node yet.
//
// A list of children is put into descending order: ZooKeeper promises no order, and
// a lock that relies on one must fail, in the same way each time.
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

// kindOf is the operation; of a multi that begins with a create or a delete, that one. The rest of such a multi only
// counts the contenders, or marks how many have gone.
func (p *Frame) kindOf() jute.Op {
	if p.Op == jute.OpMulti && (p.first == jute.OpCreate || p.first == jute.OpDelete) {
		return p.first
	}
	return p.Op
}

// Size is the number of its bytes on the wire.
func (p *Frame) Size() int { return len(p.raw) }

// Kind is the kind of a packet that comes from the server.
func (p *Frame) Kind() string {
	if p.IsEvent {
		return "event"
	}
	return "reply"
}

// packet encodes a frame with these parts.
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

// compareSent orders packets that goroutines of one client have sent at the same
// instant, so that it does not matter which of them ran first.
func compareSent(a, b Frame) int {
	last := func(p Frame) int {
		if p.Op == jute.OpSetWatches { // the client sends it last
			return 1
		}
		return 0
	}
	// The data comes last, because a lock's random id differs each time.
	return cmp.Or(last(a)-last(b), int(a.Op-b.Op), cmp.Compare(a.Path, b.Path), len(a.data)-len(b.data), byName(a.Tag, b.Tag), cmp.Compare(a.data, b.data))
}
