package explore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/jute"
)

// faultsLocked lists the faults that may happen to a client now.
func (w *world) faultsLocked(c *client, cutOff bool) (list []action) {
	if w.faults >= w.Faults || c.stopped || c.gone {
		return nil
	}
	happened := func(f Fault) (n int) {
		for _, s := range w.run.Facts.Faults {
			if strings.HasSuffix(s, ": "+string(f)) {
				n++
			}
		}
		return n
	}
	busy := slices.ContainsFunc(c.players, func(k *contender) bool { return k.state != done })
	if !busy {
		return nil // nothing depends on it any more
	}
	add := func(f Fault, do func()) {
		if slices.Contains(w.Kinds, f) && (w.Each == 0 || happened(f) < w.Each) {
			list = append(list, action{c.name, string(f), f, do})
		}
	}
	l := c.line
	live := !cutOff && !c.expired
	if c.session == 0 {
		if !c.faulted {
			add(Refuse, func() { w.refuse(c) })
		}
		return list
	}
	switch {
	case live && len(l.up) > 0 && !c.stalled:
		add(LoseRequest, func() { w.cut(c) })
		add(LoseReply, func() { w.loseReply(c) })
	case live && w.Packets && len(l.down) > 0:
		add(LoseReply, func() { w.cut(c) })
	case live:
		add(Cut, func() { w.cut(c) })
	}
	if !c.expired {
		add(Expire, func() { w.expire(c) })
		add(Stop, func() { w.stop(c) })
	}
	if live && !c.stalled {
		add(Stall, func() { w.stall(c) })
	}
	for _, k := range c.players {
		if w.Lock.Contexts && k.cancel != nil && k.state == waiting && !k.ended {
			if slices.Contains(w.Kinds, EndContext) && (w.Each == 0 || happened(EndContext) < w.Each) {
				list = append(list, action{k.name, string(EndContext), EndContext, func() {
					w.mu.Lock()
					w.film.note(k.name, "its ctx ends")
					k.ended = true
					w.foot.client(c)
					cancel := k.cancel
					w.mu.Unlock()
					cancel()
				}})
			}
		}
	}
	return list
}

// faultLocked notes that a fault happens to a client.
func (c *client) faultLocked() {
	c.faulted = true
	for _, k := range c.players {
		k.disturbed = true
	}
}

// soundLocked says whether nothing of an earlier fault can still reach a call
// that begins now.
func (c *client) soundLocked() bool {
	l := c.line
	return c.session != 0 && !c.expired && !c.stopped && !c.stalled && c.connecting == nil && c.dialing == nil && !l.broken && !l.serverEnd
}

// cut breaks a client's connection; what is on it is lost.
func (w *world) cut(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutLocked(c)
}

func (w *world) cutLocked(c *client) {
	l := c.line
	w.film.departLocked()
	for _, p := range l.up {
		w.logLocked(Entry{Who: c.name, Kind: "lost", Op: p.op.String(), Path: p.path, Text: "the request is lost"})
		if p.op == jute.OpDelete {
			w.run.Facts.OrphanDelete = true
		}
	}
	for _, p := range l.down {
		if p.isEvent {
			continue
		}
		w.logLocked(Entry{Who: c.name, Kind: "lost", Op: p.op.String(), Path: p.path, Text: "the reply is lost"})
		switch {
		case strings.HasPrefix(p.made, w.at()):
			w.run.Facts.OrphanCreate = true
		case p.op == jute.OpDelete:
			w.run.Facts.OrphanDelete = true
		}
	}
	if len(l.up)+len(l.down) == 0 {
		w.logLocked(Entry{Who: c.name, Kind: "note", Text: "the connection breaks"})
	}
	c.faultLocked()
	w.foot.client(c)
	l.breakLocked()
	w.film.client(c, "cut off")
}

// loseReply carries a client's request out and then breaks the connection.
func (w *world) loseReply(c *client) {
	w.request(c)
	synctest.Wait() // the server has answered, and nothing has arrived
	w.cut(c)
}

// pause lets time pass for all.
func (w *world) pause(f Fault) {
	d, most, what := pause, math.MaxInt, fmt.Sprintf("%v pass", pause)
	if f == Day {
		// A waiter that looks again every second has looked often enough before that.
		d, most, what = day, 300, string(Day)
	}
	w.mu.Lock()
	w.foot.everything = true
	w.logLocked(Entry{Kind: "note", Text: what})
	w.film.note("", what)
	w.mu.Unlock()
	w.letPass(nil, d, most)
}

// remake removes the parent of the queue, as the server does with a container
// that is empty. The next contender makes it again, and numbers begin at 0.
func (w *world) remake() {
	w.mu.Lock()
	w.foot.everything = true
	w.logLocked(Entry{Who: "server", Kind: "note", Text: "removes " + w.at() + ", which is empty"})
	w.mu.Unlock()
	w.srv.ReapContainers()
}

// refuse refuses a client's first connection. The library fails what waits
// for it, and tries again after a second.
func (w *world) refuse(c *client) {
	w.mu.Lock()
	c.refuse = true
	c.faultLocked()
	w.mu.Unlock()
	w.reconnect(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foot.everything = true // time has passed
}

// expire ends a client's session as its timeout does.
func (w *world) expire(c *client) {
	w.mu.Lock()
	w.endLocked(c, "is cut off until its session has expired")
	timed := w.Lock.Timed
	w.foot.everything = timed // time passes
	w.mu.Unlock()
	if timed {
		w.letPass(c, w.session()+time.Second, math.MaxInt)
	}
	w.srv.Expire(c.session)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range c.players {
		if k.told != nil && !isClosed(k.told) && timed && k.state == inside {
			w.violateLocked(Violation{Kind: LateLoss, Who: k.name, What: k.name + " is not told that it has lost the lock, though its session has expired"})
		}
	}
}

// endLocked is what Expire and Stop have in common.
func (w *world) endLocked(c *client, how string) {
	w.logLocked(Entry{Who: c.name, Kind: "note", Text: how})
	c.expired = true
	c.faultLocked()
	w.foot.client(c)
	for _, p := range w.nodesOf(c) {
		w.foot.request(packet{op: jute.OpDelete, path: p})
	}
	w.run.unordered = true
	if how == stoppedNote {
		w.film.client(c, "stopped")
	}
	w.film.client(c, "expired")
	for _, k := range c.players {
		if k.state == inside {
			k.lost = true
			w.film.lost(k, false)
		}
	}
	if !c.line.serverEnd {
		for _, p := range c.line.up {
			w.logLocked(Entry{Who: c.name, Kind: "lost", Op: p.op.String(), Path: p.path, Text: "the request is lost"})
		}
	}
	if how != stoppedNote {
		c.line.breakLocked()
	}
}

const stoppedNote = "is stopped; its session expires meanwhile"

// stop ends a client's session without the client's noticing.
func (w *world) stop(c *client) {
	w.mu.Lock()
	c.stopped = true
	w.endLocked(c, stoppedNote)
	w.mu.Unlock()
	w.srv.Expire(c.session)
}

// runOn lets a stopped client notice what has happened to it.
func (w *world) runOn(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.stopped = false
	w.foot.client(c)
	w.logLocked(Entry{Who: c.name, Kind: "note", Text: "runs on"})
	w.film.client(c, "runs on")
	c.line.breakLocked()
}

// letPass lets time pass. What others than c send meanwhile is carried out at
// once; after so many requests the time is over.
func (w *world) letPass(c *client, d time.Duration, most int) {
	for deadline := time.Now().Add(d); ; {
		w.settle()
		w.mu.Lock()
		var next *client
		for _, o := range w.clients {
			if o != c && len(o.line.up) > 0 && !o.line.broken && !o.stopped && !o.stalled {
				next = o
				break
			}
		}
		w.mu.Unlock()
		if next != nil {
			if most--; most < 0 {
				return
			}
			w.request(next)
			continue
		}
		w.drainStir()
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		w.pass(left)
	}
}

// stall keeps what a client sends from now on inside it, behind a request of
// another goroutine of the same client that does not get through. What the
// client has sent before arrives. In the end the session expires.
func (w *world) stall(c *client) {
	w.mu.Lock()
	c.stalled = true
	c.faultLocked()
	w.foot.client(c)
	w.logLocked(Entry{Who: c.name, Kind: "note", Text: "gets no more requests through, until its session has expired"})
	w.film.note(c.name, "gets no more requests through, until its session has expired")
	w.mu.Unlock()
	go c.conn.Exists("/stalled")
}
