package player

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// A Frame is one packet on its way: a request, a reply or an event.
type Frame struct {
	raw         []byte // with the four bytes of its length
	turn        int    // the number of the action during which it was sent
	xid         int32
	zxid        int64   // of a reply
	Op          jute.Op // of a request; a reply gets that of its request
	multiFirst  jute.Op // of a multi: its first part
	Path        string  // of a request or an event; of a reply the request's
	Made        string  // of a reply to create: the new node's path
	Watch       bool
	Event       jute.EventType
	IsEvent     bool
	Err         jute.Code
	Names       []string // of a reply: the list of children
	data        string   // of a create: distinguishes two requests
	replyDigest digest   // of a reply: what it has besides the fields of an Entry
	sequential  bool     // of a create: the server appends a number to the name

	// Of a schedule that is filmed:
	ID  int           // the number of the film's packet
	Tag string        // in a tagged world, the contender
	Of  int           // of a reply: the ID of its request
	Due time.Duration // in a paced run, when it arrives; 0: not known yet
}

// parseRequest reads the parts of a request that the explorer needs.
func parseRequest(raw []byte) Frame {
	p := Frame{raw: raw}
	d := jute.NewDecoder(raw[4:]) // without the length
	var header jute.RequestHeader
	header.Decode(d)
	p.xid, p.Op = header.Xid, header.Op
	if p.Op.PathFirst() {
		p.Path = d.String()
	}
	if p.Op == jute.OpMulti {
		p.multiFirst, p.Path = jute.FirstOfMulti(d)
	}

	switch p.mainOp() {
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		p.Watch = d.Bool()
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.data = string(d.Buffer())
		d.ACLs()
		p.sequential = d.Int32()&jute.FlagSequential != 0
	case jute.OpSync:
		p.Path, _ = d.NullString()
	}
	return p
}

// parseReply reads a reply or an event, and takes the request of a reply out of the unanswered ones. hidden reports
// whether the server does not have a node yet. A list of children is put into descending order: ZooKeeper promises no
// order, and a lock that relies on one must fail, in the same way each time.
func parseReply(raw []byte, unanswered map[int32]Frame, hidden func(path string) bool) Frame {
	p := Frame{raw: raw}
	d := jute.NewDecoder(raw[4:])
	var header jute.ReplyHeader
	header.Decode(d)
	p.xid, p.Err, p.zxid = header.Xid, header.Err, header.Zxid
	if header.Xid == jute.XidEvent {
		var event jute.WatcherEvent
		event.Decode(d)
		p.IsEvent, p.Event, p.Path = true, event.Type, event.Path
		return p
	}

	request := unanswered[header.Xid]
	delete(unanswered, header.Xid)
	p.Op, p.multiFirst, p.Path, p.Watch = request.Op, request.multiFirst, request.Path, request.Watch
	p.Of, p.Tag = request.ID, request.Tag
	if header.Err != jute.OK {
		return p
	}

	switch p.Op {
	case jute.OpGetData, jute.OpExists:
		if hidden(p.Path) {
			header.Err, p.Err = jute.ErrNoNode, jute.ErrNoNode
			p.raw = encodeFrame(header.Encode)
		}
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		p.Made = d.String()
	case jute.OpMulti:
		if first, made := jute.FirstOfMulti(d); first == jute.OpCreate {
			p.Made = made
		}
	case jute.OpGetChildren, jute.OpGetChildren2:
		p.Names = slices.DeleteFunc(d.Strings(), func(name string) bool { return hidden(p.Path + "/" + name) })
		slices.SortFunc(p.Names, func(a, b string) int { return cmp.Compare(b, a) })
		p.raw = encodeFrame(header.Encode, func(e *jute.Encoder) {
			e.Strings(p.Names)
			e.Raw(unread(raw, d)) // the Stat that follows
		})
		slices.Sort(p.Names) // for the log
	}
	return p
}

// mainOp is the operation; of a multi that begins with a create or a delete, that one. The other parts of a lock's
// multi only keep a count of the contenders.
func (p *Frame) mainOp() jute.Op {
	if p.Op == jute.OpMulti && (p.multiFirst == jute.OpCreate || p.multiFirst == jute.OpDelete) {
		return p.multiFirst
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

func encodeFrame(parts ...func(*jute.Encoder)) []byte {
	var e jute.Encoder
	mark := e.BeginFrame()
	for _, encode := range parts {
		encode(&e)
	}
	e.EndFrame(mark)
	return e.Bytes()
}

// splitFrames splits the server's output into packets.
func splitFrames(b []byte, frame func([]byte)) {
	for len(b) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(b))
		frame(slices.Clone(b[:n]))
		b = b[n:]
	}
}

// compareSent orders what goroutines of one client have sent at one instant, so that the order does not depend on Go's
// scheduler.
func compareSent(a, b Frame) int {
	rank := func(p Frame) int {
		if p.Op == jute.OpSetWatches { // the client sends it last
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), int(a.Op-b.Op), cmp.Compare(a.Path, b.Path),
		len(a.data)-len(b.data), byName(a.Tag, b.Tag),
		cmp.Compare(a.data, b.data)) // at the end, because a lock's random id differs each time
}
