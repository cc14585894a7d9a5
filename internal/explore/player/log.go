package player

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// An Entry is one line of a schedule's log.
type Entry struct {
	Point int `json:"point"` // the number of the action that caused it, from 1; 0: the start
	// At is virtual time since the start. Time passes only while the lock, the
	// client library or a session timeout waits for it.
	At  time.Duration `json:"at_ns"`
	Who string        `json:"who"` // the name of the client or the contender
	// Kind is "sends", "carried out", "reply", "event", "lost" or "note". A reply and an event arrive at the client.
	Kind  string    `json:"kind"`
	Op    string    `json:"op,omitempty"`
	Path  string    `json:"path,omitempty"`
	Watch bool      `json:"watch,omitempty"`
	Made  string    `json:"made,omitempty"`  // by a create: the node
	Names []string  `json:"names,omitempty"` // children, sorted
	Err   string    `json:"error,omitempty"`
	Text  i18n.Text `json:"text,omitzero"` // of a note, or of what is lost
	For   string    `json:"for,omitempty"` // of a request that is carried out in a tagged world: the contender
}

func (e Entry) hash() uint64 {
	return hashText(fmt.Sprint(e.Kind, e.Op, e.Path, e.Made, e.Names, e.Err))
}

// Equal reports whether two entries are the same.
func (e Entry) Equal(f Entry) bool {
	return e.Point == f.Point && e.At == f.At && e.Who == f.Who && e.Kind == f.Kind && e.Op == f.Op && e.Path == f.Path &&
		e.Watch == f.Watch && e.Made == f.Made && e.Err == f.Err && e.Text.String() == f.Text.String() && slices.Equal(e.Names, f.Names)
}

// String is one line for people to read.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8.3fs %s ", e.At.Seconds(), e.Who)
	switch e.Kind {
	case "note":
		b.WriteString(e.Text.String())
		return b.String()
	case "reply":
		b.WriteString("<- ")
	case "event":
		b.WriteString("<- event ")
	case "sends":
		b.WriteString("-> ")
	case "carried out":
		b.WriteString("   at the server: ")
	case "lost":
		fmt.Fprintf(&b, "-- %s: ", e.Text)
	}
	b.WriteString(e.Op + " " + e.Path)
	if e.Watch {
		b.WriteString(" (watch)")
	}
	switch {
	case e.Err != "":
		b.WriteString(": " + e.Err)
	case e.Made != "":
		b.WriteString(": " + e.Made)
	case len(e.Names) > 0:
		fmt.Fprintf(&b, ": %v", e.Names)
	}
	return b.String()
}

// In a film of contenders that share a client, each has a path of its own to the same lock:
// /lab~B/lock is /lab/lock for B. The line takes the tag, B, out of requests, and puts it into
// replies and events. Without tags, goroutines that one event wakes would send equal requests in
// any order, and which of them gets which reply would differ from run to run.

const tagMark = "~"

// taggedPath is a contender's own path to the lock.
func taggedPath(at, name string) string {
	root, rest := cutRoot(at)
	return root + tagMark + name + rest
}

// cutRoot cuts the first component off a path.
func cutRoot(p string) (root, rest string) {
	if i := strings.IndexByte(p[min(1, len(p)):], '/'); i >= 0 {
		return p[:i+1], p[i+1:]
	}
	return p, ""
}

// Untagged takes the tag out of a path.
func Untagged(p string) (plain, tag string) {
	root, rest := cutRoot(p)
	root, tag, _ = strings.Cut(root, tagMark)
	return root + rest, tag
}

// untag takes the tags out of a request, and returns the last of them.
func untag(raw []byte) (without []byte, tag string) {
	d := jute.NewDecoder(raw[4:])
	var h jute.RequestHeader
	h.Decode(d)
	var e jute.Encoder
	mark := e.BeginFrame()
	h.Encode(&e)

	var watches jute.SetWatches2
	switch {
	case h.Op.PathFirst():
		tag = untagPath(d, &e)
		e.Raw(raw[len(raw)-d.Len():])
	case h.Op == jute.OpSetWatches:
		watches.SetWatches.Decode(d)
		untagWatches(&watches)
		watches.SetWatches.Encode(&e)
	case h.Op == jute.OpSetWatches2:
		watches.Decode(d)
		untagWatches(&watches)
		watches.Encode(&e)
	case h.Op == jute.OpMulti:
		tag = untagMulti(raw, d, &e)
	default:
		return raw, ""
	}
	if d.Err() != nil {
		return raw, ""
	}
	e.EndFrame(mark)
	return e.Bytes(), tag
}

func untagPath(d *jute.Decoder, e *jute.Encoder) (tag string) {
	p, tag := Untagged(d.String())
	e.String(p)
	return tag
}

func untagWatches(r *jute.SetWatches2) {
	for _, list := range []*[]string{&r.Data, &r.Exist, &r.Child, &r.Persistent, &r.Recursive} {
		for i, p := range *list {
			(*list)[i], _ = Untagged(p)
		}
		slices.Sort(*list)
		*list = slices.Compact(*list) // the server sends a client one event
	}
}

// untagMulti takes the tags out of the parts of a multi, which is raw. It returns the last of them.
func untagMulti(raw []byte, d *jute.Decoder, e *jute.Encoder) (tag string) {
	for {
		var part jute.MultiHeader
		part.Decode(d)
		part.Encode(e)
		if part.Done || d.Err() != nil {
			return tag
		}
		tag = untagPath(d, e)

		rest := raw[len(raw)-d.Len():]
		switch part.Op {
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
			d.Buffer()
			d.ACLs()
		case jute.OpSetData:
			d.Buffer()
		}
		d.Int32() // the flags or the version
		e.Raw(rest[:len(rest)-d.Len()])
	}
}

// retag puts the tag of its request into a reply.
func (p *Frame) retag() {
	if p.Tag == "" || p.Made == "" {
		return
	}
	d := jute.NewDecoder(p.raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	p.raw = packet(h.Encode, func(e *jute.Encoder) {
		if p.Op == jute.OpMulti {
			var part jute.MultiHeader
			part.Decode(d)
			part.Encode(e)
		}
		e.String(taggedPath(path.Clean(d.String()), p.Tag))
		e.Raw(p.raw[len(p.raw)-d.Len():])
	})
}

// forEach returns an event for each contender of a client. The client library drops those that nobody waits for.
func (p *Frame) forEach(contenders []*Contender) []byte {
	d := jute.NewDecoder(p.raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	var ev jute.WatcherEvent
	ev.Decode(d)
	plainPath := ev.Path
	var all []byte
	for _, k := range contenders {
		ev.Path = taggedPath(plainPath, k.Name)
		all = append(all, packet(h.Encode, ev.Encode)...)
	}
	return all
}
