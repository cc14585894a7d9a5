package player

import (
	"fmt"
	"hash/fnv"
	"path"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A digest is a hash under way.
type digest uint64

func (d *digest) num(n uint64) {
	x := uint64(*d) ^ n
	x *= 0x9e3779b97f4a7c15 // as SplitMix64 mixes
	x ^= x >> 32
	*d = digest(x*0xbf58476d1ce4e5b9 + 1)
}

func (d *digest) text(s string) {
	h := uint64(14695981039346656037) // FNV-1a
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

// remember adds a line of the log to its client's past.
func (c *Client) remember(e Entry) {
	d := &c.past
	d.num(uint64(e.At))
	for _, s := range []string{e.Kind, e.Op, e.Path, e.Made, e.Err, e.Text.En} {
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

// noteReplyLocked keeps the origins up to date, and notes what a reply has of the
// node that it is about, apart from what an Entry shows.
func (w *Player) noteReplyLocked(c *Client, p *Frame) {
	c.carried++
	mark := digest(c.Index)
	mark.num(uint64(c.carried))
	if p.Err != jute.OK {
		return
	}
	o := w.origins[p.Path]
	d := jute.NewDecoder(p.raw[4:])
	var h jute.ReplyHeader
	h.Decode(d)
	var stat jute.Stat
	switch p.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		w.origins[p.Made] = origin{mark, mark}
		w.born[p.Made] = p.zxid
		w.births[path.Dir(p.Made)]++
		w.births[p.Made] = 0
		return
	case jute.OpSetData:
		w.origins[p.Path] = origin{o.made, mark}
		return
	case jute.OpMulti:
		if p.kindOf() == jute.OpCreate {
			if p.Made != "" {
				w.origins[p.Made] = origin{mark, mark}
				w.births[path.Dir(p.Made)]++
				w.births[p.Made] = 0
				parent, _ := w.Srv.Node(path.Dir(p.Made))
				p.rest.num(uint64(parent.Stat.NumChildren))
			}
			return
		}
		for node := range w.origins { // any of them may have changed
			w.origins[node] = origin{mark, mark}
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
	p.rest.num(uint64(o.made))
	p.rest.num(uint64(o.changed))
	for _, n := range []int32{stat.Version, stat.Cversion, stat.NumChildren, stat.DataLength} {
		p.rest.num(uint64(n))
	}
}

// situationLocked is a hash of all that the rest of a schedule depends on. Two
// schedules that come to one situation go on alike. How a client goes on depends on
// its past: the packets that it has sent and received, and their times. Its memory
// need not be read, as long as clients share none.
func (w *Player) situationLocked() uint64 {
	var d digest
	f := w.Run.Facts
	d.flags(f.OrphanCreate, f.OrphanDelete)
	d.num(uint64(w.Happened))
	d.num(uint64(w.Idle))
	d.num(uint64(time.Since(w.Start)))
	for _, c := range w.Clients {
		d.num(uint64(c.past))
		l := c.Line
		d.flags(c.Expired, c.connecting != nil, c.Dialing != nil, c.Stopped, c.stalled, c.faulted, c.refuse, c.gone, c.behind, l.Broken, l.ServerEnd)
		d.num(uint64(len(l.Up)))
		for _, p := range l.Down {
			d.num(uint64(p.rest))
			d.text(p.Op.String() + p.Event.String() + Code(p.Err) + p.Path + p.Made)
			d.flags(p.IsEvent, p.Watch, w.Run.Unordered)
			for _, s := range p.Names {
				d.text(s)
			}
		}
	}
	for _, k := range w.Contenders {
		d.text(k.State)
		d.flags(k.Gate != nil, k.Cancel != nil, k.Ended, k.company, k.Lost, k.disturbed, k.checked)
		d.num(uint64(k.depth))
		d.num(uint64(k.passed))
		d.num(uint64(k.looks))
		d.flags(k.stripped, k.again, k.unsure)
	}
	w.hashTree(&d, path.Dir(w.lockPath()))
	for _, x := range w.Srv.Watches() {
		d.text(x.Path + w.OwnerLocked(x.Session))
		d.flags(x.Children, x.Persistent, x.Recursive)
	}
	return uint64(d)
}

func (w *Player) hashTree(d *digest, at string) { // a node and all below it
	node, ok := w.Srv.Node(at)
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
		d.text(w.OwnerLocked(node.Stat.EphemeralOwner))
	}
	d.flags(node.Stat.Czxid > w.token, node.Container)
	for _, name := range w.Srv.Children(at) {
		w.hashTree(d, path.Join(at, name))
	}
}

func (w *Player) hashLocked() uint64 { // of a state, for a search that counts states
	var b strings.Builder
	for _, c := range w.Clients {
		fmt.Fprintf(&b, "%s %x %v %v %v", c.Name, c.history, c.Stopped, c.Line.Broken, c.Expired)
		for _, p := range c.Line.Up {
			fmt.Fprintf(&b, " >%d%s", p.Op, p.Path)
		}
		for _, p := range c.Line.Down {
			fmt.Fprintf(&b, " <%d%s%d%s", p.Op, p.Path, p.Err, p.Made)
		}
	}
	for _, k := range w.Contenders {
		fmt.Fprintf(&b, " %s %s %v", k.Name, k.State, k.results)
	}
	for _, dir := range []string{path.Dir(w.lockPath()), w.lockPath()} {
		fmt.Fprint(&b, w.Srv.Children(dir))
	}
	for _, x := range w.Srv.Watches() {
		fmt.Fprint(&b, x.Path, x.Children, w.OwnerLocked(x.Session))
	}
	fmt.Fprint(&b, w.Happened)
	return hashText(b.String())
}

func hashText(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	x := h.Sum64()
	x ^= x >> 29
	return x * 0xbf58476d1ce4e5b9
}
