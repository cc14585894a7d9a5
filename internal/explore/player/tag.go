package player

import (
	"path"
	"slices"
	"strings"

	"example.com/zklock/internal/jute"
)

// In a tagged world (World.Tagged), a film of contenders that share a client, each contender has a path of its own to
// the same lock: /lab~B/lock is /lab/lock for B. The line takes the tag, B, out of requests, and puts it into replies
// and events. Without tags, goroutines that one event wakes would send equal requests in any order, and which of them
// gets which reply would differ from run to run.

const tagMark = "~"

// taggedPath is a contender's own path to the lock.
func taggedPath(plain, contender string) string {
	root, rest := cutRoot(plain)
	return root + tagMark + contender + rest
}

// Untagged takes the tag out of a path.
func Untagged(tagged string) (plain, tag string) {
	root, rest := cutRoot(tagged)
	root, tag, _ = strings.Cut(root, tagMark)
	return root + rest, tag
}

// cutRoot cuts the first component off a path: /lab and /lock are the parts of /lab/lock.
func cutRoot(p string) (root, rest string) {
	if i := strings.IndexByte(p[min(1, len(p)):], '/'); i >= 0 {
		return p[:i+1], p[i+1:]
	}
	return p, ""
}

// untag takes the tags out of a request, which it encodes again with plain paths. It returns the tag of its last path.
func untag(raw []byte) (plain []byte, tag string) {
	in := jute.NewDecoder(raw[4:]) // without the length
	var header jute.RequestHeader
	header.Decode(in)
	var out jute.Encoder
	mark := out.BeginFrame()
	header.Encode(&out)

	var watches jute.SetWatches2
	switch {
	case header.Op.PathFirst():
		tag = untagPath(in, &out)
		out.Raw(unread(raw, in))
	case header.Op == jute.OpSetWatches:
		watches.SetWatches.Decode(in)
		untagWatches(&watches)
		watches.SetWatches.Encode(&out)
	case header.Op == jute.OpSetWatches2:
		watches.Decode(in)
		untagWatches(&watches)
		watches.Encode(&out)
	case header.Op == jute.OpMulti:
		tag = untagMulti(raw, in, &out)
	default:
		return raw, ""
	}
	if in.Err() != nil {
		return raw, ""
	}
	out.EndFrame(mark)
	return out.Bytes(), tag
}

// unread is the part of a frame that its decoder has not read.
func unread(raw []byte, d *jute.Decoder) []byte { return raw[len(raw)-d.Len():] }

func untagPath(in *jute.Decoder, out *jute.Encoder) (tag string) {
	plain, tag := Untagged(in.String())
	out.String(plain)
	return tag
}

func untagWatches(r *jute.SetWatches2) {
	for _, list := range []*[]string{&r.Data, &r.Exist, &r.Child, &r.Persistent, &r.Recursive} {
		for i, p := range *list {
			(*list)[i], _ = Untagged(p)
		}
		slices.Sort(*list)
		*list = slices.Compact(*list) // paths that differed in their tags alone: the server sends one event
	}
}

// untagMulti takes the tags out of the parts of a multi, which is raw.
func untagMulti(raw []byte, in *jute.Decoder, out *jute.Encoder) (tag string) {
	for {
		var part jute.MultiHeader
		part.Decode(in)
		part.Encode(out)
		if part.Done || in.Err() != nil {
			return tag
		}
		tag = untagPath(in, out)

		rest := unread(raw, in) // of this part, and the parts after it
		switch part.Op {
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
			in.Buffer()
			in.ACLs()
		case jute.OpSetData:
			in.Buffer()
		}
		in.Int32()                         // the flags or the version
		out.Raw(rest[:len(rest)-in.Len()]) // without the parts after it
	}
}

// retag puts the tag of its request into the path that a reply to a create has.
func (p *Frame) retag() {
	if p.Tag == "" || p.Made == "" {
		return
	}
	in := jute.NewDecoder(p.raw[4:])
	var header jute.ReplyHeader
	header.Decode(in)
	p.raw = encodeFrame(header.Encode, func(out *jute.Encoder) {
		if p.Op == jute.OpMulti {
			var part jute.MultiHeader
			part.Decode(in)
			part.Encode(out)
		}
		out.String(taggedPath(path.Clean(in.String()), p.Tag))
		out.Raw(unread(p.raw, in))
	})
}

// eventForEach returns the event for the path of each contender. The client library drops one that nobody waits for.
func (p *Frame) eventForEach(contenders []*Contender) []byte {
	in := jute.NewDecoder(p.raw[4:])
	var header jute.ReplyHeader
	header.Decode(in)
	var event jute.WatcherEvent
	event.Decode(in)
	plain := event.Path
	var all []byte
	for _, k := range contenders {
		event.Path = taggedPath(plain, k.Name)
		all = append(all, encodeFrame(header.Encode, event.Encode)...)
	}
	return all
}
