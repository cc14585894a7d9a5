package player

import (
	"fmt"
	"path"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A search needs two hashes. The state is what can be seen at an instant; a search counts the states. The situation is
// all that the rest of a schedule depends on; a search with Merge goes on from each situation once.

func (w *Player) stateHashLocked() uint64 {
	var b strings.Builder
	for _, c := range w.Clients {
		fmt.Fprintf(&b, "%s %x %v %v %v", c.Name, uint64(c.received), c.Stopped, c.Line.Broken, c.Expired)
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
	for _, watch := range w.Srv.Watches() {
		fmt.Fprint(&b, watch.Path, watch.Children, w.OwnerLocked(watch.Session))
	}
	fmt.Fprint(&b, w.FaultCount)
	var d digest
	d.addTexts(b.String())
	return uint64(d)
}

// situationHashLocked is the hash of the situation: two schedules that come to one go on alike. How a client goes on
// depends on its past, the packets that it has sent and received and their times, as long as clients share no memory.
func (w *Player) situationHashLocked() uint64 {
	var d digest
	d.addFlags(w.Run.Facts.OrphanCreate, w.Run.Facts.OrphanDelete) // a Known may ask for these
	d.add(uint64(w.FaultCount), uint64(w.Idle), uint64(time.Since(w.Start)))

	for _, c := range w.Clients {
		l := c.Line
		d.add(uint64(c.logDigest)) // its past, and so what its goroutines have sent and know

		// What it can do next, and the replies and events that are still to arrive.
		d.addFlags(c.Expired, c.lostGate != nil, c.DialGate != nil, c.Stopped, c.stalled)
		d.addFlags(c.faulted, c.refuseNext, c.closed, c.behind, l.Broken, l.ClosedByServer)
		d.add(uint64(len(l.Up)))
		for _, p := range l.Down {
			d.add(uint64(p.replyDigest))
			d.addTexts(p.Op.String() + p.Event.String() + Code(p.Err) + p.Path + p.Made)
			d.addFlags(p.IsEvent, p.Watch, w.Run.Unordered)
			d.addTexts(p.Names...)
		}
	}

	// What each contender can do next, and what the checks remember of its call.
	for _, k := range w.Contenders {
		d.addTexts(k.State)
		d.addFlags(k.UnlockGate != nil, k.Cancel != nil, k.Ended, k.contended, k.Lost, k.disturbed, k.entryChecked)
		d.add(uint64(k.depth), uint64(k.overtaken), uint64(k.looksLeft))
		d.addFlags(k.nodeDeleted, k.unlocksAgain, k.mayStillHold)
	}

	w.addTree(&d, path.Dir(w.lockPath()))
	for _, watch := range w.Srv.Watches() {
		d.addTexts(watch.Path + w.OwnerLocked(watch.Session))
		d.addFlags(watch.Children, watch.Persistent, watch.Recursive)
	}
	return uint64(d)
}

// addTree adds a node and all below it.
func (w *Player) addTree(d *digest, at string) {
	node, ok := w.Srv.Node(at)
	if !ok {
		return
	}
	d.addTexts(at)
	d.addOrigin(w.origins[at])
	d.add(uint64(w.childrenMade[at]))
	d.addStat(node.Stat)
	if node.Stat.EphemeralOwner != 0 {
		d.addTexts(w.OwnerLocked(node.Stat.EphemeralOwner))
	}
	d.addFlags(node.Stat.Czxid > w.highestToken, node.Container)
	for _, name := range w.Srv.Children(at) {
		w.addTree(d, path.Join(at, name))
	}
}

// remember adds an entry of the log to the client's past.
func (c *Client) remember(e Entry) {
	c.logDigest.add(uint64(e.At))
	c.logDigest.addTexts(e.Kind, e.Op, e.Path, e.Made, e.Err, e.Text.String())
	c.logDigest.addFlags(e.Watch)
	c.logDigest.addTexts(e.Names...)
}

// An origin says which request of which client made a node, and which changed it last. It stands for the node's data
// and zxid, which are not hashed: what a client writes follows from its past, except for what a lock draws at random.
type origin struct{ made, changed digest }

// noteReplyLocked keeps the origins up to date, and p.replyDigest: what a reply has that its Entry in the log lacks.
func (w *Player) noteReplyLocked(c *Client, p *Frame) {
	c.answered++
	if p.Err != jute.OK {
		return
	}
	request := digest(c.Index) // identifies the request that is answered
	request.add(uint64(c.answered))
	switch p.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		w.noteMadeLocked(p.Made, request)
		w.czxids[p.Made] = p.zxid
	case jute.OpSetData:
		w.origins[p.Path] = origin{w.origins[p.Path].made, request}
	case jute.OpMulti:
		if p.mainOp() == jute.OpCreate && p.Made != "" { // its reply has the parent's Stat
			w.noteMadeLocked(p.Made, request)
			parent, _ := w.Srv.Node(path.Dir(p.Made))
			p.replyDigest.add(uint64(parent.Stat.NumChildren))
		} else if p.mainOp() != jute.OpCreate { // any of the nodes may have changed
			for node := range w.origins {
				w.origins[node] = origin{request, request}
			}
		}
	case jute.OpGetData, jute.OpGetChildren2, jute.OpExists:
		p.replyDigest.addOrigin(w.origins[p.Path])
		p.replyDigest.addStat(statOf(p))
	}
}

// noteMadeLocked notes the origin of a node that a request has made.
func (w *Player) noteMadeLocked(node string, request digest) {
	w.origins[node] = origin{request, request}
	w.childrenMade[path.Dir(node)]++
	w.childrenMade[node] = 0
}

func statOf(p *Frame) (stat jute.Stat) {
	d := jute.NewDecoder(p.raw[4:])
	new(jute.ReplyHeader).Decode(d)
	switch p.Op {
	case jute.OpGetData:
		d.Buffer()
	case jute.OpGetChildren2:
		d.Strings()
	}
	stat.Decode(d)
	return stat
}

// A digest is a hash of all that has been added to it.
type digest uint64

func (d *digest) add(numbers ...uint64) {
	for _, n := range numbers {
		x := uint64(*d) ^ n
		x *= 0x9e3779b97f4a7c15 // as SplitMix64 mixes
		x ^= x >> 32
		*d = digest(x*0xbf58476d1ce4e5b9 + 1)
	}
}

func (d *digest) addTexts(texts ...string) {
	for _, s := range texts {
		h := uint64(14695981039346656037) // the hash FNV-1a begins with this number, and multiplies by the other one
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		d.add(h)
	}
}

// addFlags adds at most 63 flags as one number.
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

func (d *digest) addOrigin(o origin) { d.add(uint64(o.made), uint64(o.changed)) }

// addStat adds the fields that are the same in each run of a schedule: zxids and times are not.
func (d *digest) addStat(s jute.Stat) {
	d.add(uint64(s.Version), uint64(s.Cversion), uint64(s.NumChildren), uint64(s.DataLength))
}
