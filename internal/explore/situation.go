package explore

import (
	"path"
	"time"

	"example.com/zklock/internal/jute"
)

// A digest is a hash under way.
type digest uint64

func (d *digest) num(n uint64) {
	x := uint64(*d) ^ n
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	*d = digest(x*0xbf58476d1ce4e5b9 + 1)
}

func (d *digest) text(s string) {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	d.num(h)
}

func (d *digest) flags(list ...bool) {
	n := uint64(1)
	for _, b := range list {
		n <<= 1
		if b {
			n |= 1
		}
	}
	d.num(n)
}

// remember takes a line of the log into its client's past.
func (c *client) remember(e Entry) {
	d := &c.past
	d.num(uint64(e.At))
	for _, s := range []string{e.Kind, e.Op, e.Path, e.Made, e.Err, e.Text} {
		d.text(s)
	}
	d.flags(e.Watch)
	for _, s := range e.Names {
		d.text(s)
	}
}

// An origin says which request of which client made or changed a node. What a
// client writes follows from its past, so the origin stands for the data, even
// where a lock draws a part of that at random, and for the zxid.
type origin struct{ made, changed digest }

// noteReplyLocked keeps the origins up to date, and says what a reply tells of
// the node that it is about, apart from what an Entry shows.
func (w *world) noteReplyLocked(c *client, p *packet) {
	c.carried++
	mark := digest(c.index)
	mark.num(uint64(c.carried))
	if p.err != jute.OK {
		return
	}
	o := w.origins[p.path]
	d := jute.NewDecoder(p.raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	var stat jute.Stat
	switch p.op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		w.origins[p.made] = origin{mark, mark}
		w.births[path.Dir(p.made)]++
		w.births[p.made] = 0
		return
	case jute.OpSetData:
		w.origins[p.path] = origin{o.made, mark}
		return
	case jute.OpMulti:
		if p.kindOf() == jute.OpCreate {
			if p.made != "" {
				w.origins[p.made] = origin{mark, mark}
				w.births[path.Dir(p.made)]++
				w.births[p.made] = 0
				parent, _ := w.srv.Node(path.Dir(p.made))
				p.tells.num(uint64(parent.Stat.NumChildren))
			}
			return
		}
		for path := range w.origins { // any of them may have changed
			w.origins[path] = origin{mark, mark}
		}
		return
	case jute.OpGetData:
		d.Buffer()
	case jute.OpGetChildren2:
		d.Strings()
	case jute.OpExists:
	default:
		return
	}
	stat.Decode(d)
	p.tells.num(uint64(o.made))
	p.tells.num(uint64(o.changed))
	for _, n := range []int32{stat.Version, stat.Cversion, stat.NumChildren, stat.DataLength} {
		p.tells.num(uint64(n))
	}
}

// situationLocked is a hash of all that the rest of a schedule depends on. Two
// schedules that come to one situation go on alike. A client goes on as its
// past says: what it has sent, what has arrived, and when. Its memory need not
// be looked at, as long as clients share none.
func (w *world) situationLocked() uint64 {
	var d digest
	f := w.run.Facts
	d.flags(f.OrphanCreate, f.OrphanDelete)
	d.num(uint64(w.faults))
	d.num(uint64(w.idle))
	d.num(uint64(time.Since(w.start)))
	for _, c := range w.clients {
		d.num(uint64(c.past))
		l := c.line
		d.flags(c.expired, c.connecting != nil, c.dialing != nil, c.stopped, c.stalled, c.faulted, c.refuse, c.gone, l.broken, l.serverEnd)
		d.num(uint64(len(l.up)))
		for _, p := range l.down {
			d.num(uint64(p.tells))
			d.text(p.op.String() + p.event.String() + code(p.err) + p.path + p.made)
			d.flags(p.isEvent, p.watch, w.run.unordered)
			for _, s := range p.names {
				d.text(s)
			}
		}
	}
	for _, k := range w.players {
		d.text(k.state)
		d.flags(k.gate != nil, k.cancel != nil, k.ended, k.company, k.lost, k.disturbed, k.node != "")
		d.num(uint64(k.depth))
		d.num(uint64(k.passed))
	}
	w.hashTree(&d, path.Dir(w.at()))
	for _, x := range w.srv.Watches() {
		d.text(x.Path + w.ownerLocked(x.Session))
		d.flags(x.Children, x.Persistent, x.Recursive)
	}
	return uint64(d)
}

func (w *world) hashTree(d *digest, at string) {
	node, ok := w.srv.Node(at)
	if !ok {
		return
	}
	d.text(at)
	o := w.origins[at]
	d.num(uint64(o.made))
	d.num(uint64(o.changed))
	d.num(uint64(w.births[at]))
	for _, n := range []int32{node.Stat.Version, node.Stat.Cversion, node.Stat.NumChildren, node.Stat.DataLength} {
		d.num(uint64(n))
	}
	if node.Stat.EphemeralOwner != 0 {
		d.text(w.ownerLocked(node.Stat.EphemeralOwner))
	}
	d.flags(node.Stat.Czxid > w.token, node.Container)
	for _, name := range w.srv.Children(at) {
		w.hashTree(d, path.Join(at, name))
	}
}
