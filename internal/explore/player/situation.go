package player

import (
	"fmt"
	"path"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A digest is a hash of all that has been added to it.
type digest uint64

func (d *digest) add(n uint64) {
	x := uint64(*d) ^ n
	x *= 0x9e3779b97f4a7c15 // as SplitMix64 mixes
	x ^= x >> 32
	*d = digest(x*0xbf58476d1ce4e5b9 + 1)
}

func (d *digest) addText(s string) {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	d.add(h)
}

func (d *digest) addFlags(list ...bool) {
	n := uint64(1)
	for _, b := range list {
		n <<= 1
		if b {
			n |= 1
		}
	}
	d.add(n)
}

// addStat adds what does not differ between runs.
func (d *digest) addStat(s jute.Stat) {
	for _, n := range []int32{s.Version, s.Cversion, s.NumChildren, s.DataLength} {
		d.add(uint64(n))
	}
}

// remember adds an entry of the log to the client's past.
func (c *Client) remember(e Entry) {
	d := &c.past
	d.add(uint64(e.At))
	for _, s := range []string{e.Kind, e.Op, e.Path, e.Made, e.Err, e.Text.En} {
		d.addText(s)
	}
	d.addFlags(e.Watch)
	for _, s := range e.Names {
		d.addText(s)
	}
}

// An origin says which request of which client made or changed a node. What a
// client writes follows from its past, so the origin stands for the data, even
// where a lock draws a part of that at random, and for the zxid.
type origin struct{ made, changed digest }

// noteReplyLocked keeps the origins up to date, and adds to p.rest what a reply has besides the
// fields of an Entry.
func (w *Player) noteReplyLocked(c *Client, p *Frame) {
	c.carried++
	mark := digest(c.Index) // of this request
	mark.add(uint64(c.carried))
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
				p.rest.add(uint64(parent.Stat.NumChildren))
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
	p.rest.add(uint64(o.made))
	p.rest.add(uint64(o.changed))
	p.rest.addStat(stat)
}

// situationLocked is a hash of all that the rest of a schedule depends on. Two
// schedules that come to one situation go on alike. How a client goes on depends on
// its past: the packets that it has sent and received, and their times. Its memory
// need not be read, as long as clients share none.
func (w *Player) situationLocked() uint64 {
	var d digest
	f := w.Run.Facts
	d.addFlags(f.OrphanCreate, f.OrphanDelete)
	d.add(uint64(w.Happened))
	d.add(uint64(w.Idle))
	d.add(uint64(time.Since(w.Start)))
	for _, c := range w.Clients {
		d.add(uint64(c.past))
		l := c.Line
		d.addFlags(c.Expired, c.connecting != nil, c.Dialing != nil, c.Stopped, c.stalled, c.faulted, c.refuse, c.gone, c.behind, l.Broken, l.ServerEnd)
		d.add(uint64(len(l.Up)))
		for _, p := range l.Down {
			d.add(uint64(p.rest))
			d.addText(p.Op.String() + p.Event.String() + Code(p.Err) + p.Path + p.Made)
			d.addFlags(p.IsEvent, p.Watch, w.Run.Unordered)
			for _, s := range p.Names {
				d.addText(s)
			}
		}
	}
	for _, k := range w.Contenders {
		d.addText(k.State)
		d.addFlags(k.Gate != nil, k.Cancel != nil, k.Ended, k.company, k.Lost, k.disturbed, k.checked)
		d.add(uint64(k.depth))
		d.add(uint64(k.passed))
		d.add(uint64(k.looks))
		d.addFlags(k.stripped, k.again, k.unsure)
	}
	w.hashTree(&d, path.Dir(w.lockPath()))
	for _, x := range w.Srv.Watches() {
		d.addText(x.Path + w.OwnerLocked(x.Session))
		d.addFlags(x.Children, x.Persistent, x.Recursive)
	}
	return uint64(d)
}

// hashTree adds a node and all below it.
func (w *Player) hashTree(d *digest, at string) {
	node, ok := w.Srv.Node(at)
	if !ok {
		return
	}
	d.addText(at)
	o := w.origins[at]
	d.add(uint64(o.made))
	d.add(uint64(o.changed))
	d.add(uint64(w.births[at]))
	d.addStat(node.Stat)
	if node.Stat.EphemeralOwner != 0 {
		d.addText(w.OwnerLocked(node.Stat.EphemeralOwner))
	}
	d.addFlags(node.Stat.Czxid > w.token, node.Container)
	for _, name := range w.Srv.Children(at) {
		w.hashTree(d, path.Join(at, name))
	}
}

// hashLocked is a hash of the state, for a search that counts states.
func (w *Player) hashLocked() uint64 {
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
	var d digest
	d.addText(s)
	return uint64(d)
}
