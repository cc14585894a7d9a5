package player

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

func (w *Player) endContext(k *Contender) {
	w.mu.Lock()
	w.Camera.Note(k.Name, CtxEnds)
	k.Ended = true
	w.Foot.client(k.Client)
	cancel := k.Cancel
	w.mu.Unlock()
	cancel()
}

// endAtLook has the ctx of a contender end with the n-th call of its Err from now on, which still returns nil.
func (w *Player) endAtLook(k *Contender, n int) {
	w.Do(func() {
		k.looks = n
		w.Foot.client(k.Client)
	})
}

var errCause = errors.New("the caller has given up") // context.Cause of a student's ctx

// A lookedAt is the ctx of a contender, and counts the calls of its Err. Done, Value and Cause are
// those of the inner one, so contexts that the lock derives from it end with it.
type lookedAt struct {
	context.Context
	k *Contender
}

// Err counts the looks of endAtLook. At the last one it ends the ctx, and returns nil once more.
func (c *lookedAt) Err() error {
	k := c.k
	k.w.mu.Lock()
	var end context.CancelFunc
	if k.looks > 0 && !k.w.free {
		k.looks--
		if k.looks == 0 && k.Cancel != nil && !k.Ended {
			end, k.Ended = k.Cancel, true
			k.notes = append(k.notes, Entry{Kind: "note", Text: "looks at its ctx, which has not ended, and then it ends"})
		}
	}
	k.w.mu.Unlock()
	if end != nil {
		end()
		return nil
	}
	return c.Context.Err()
}

// tamper carries out NodeGoes or NodeSet: somebody deletes the nodes of a contender, or writes their data again.
func (w *Player) tamper(k *Contender, f Fault) {
	happens, change := i18n.Text("has the node %s, whose data somebody writes again"), w.Srv.Touch // NodeSet
	w.mu.Lock()
	if f == NodeGoes {
		happens, change = "loses the node %s, which an administrator deletes", w.Srv.Delete
		k.stripped = true
	}
	k.Client.FaultLocked()
	w.Foot.Everything = true
	nodes := w.nodesOf(k.Client)
	for _, node := range nodes {
		w.LogLocked(Entry{Who: k.Name, Kind: "note", Text: i18n.Textf(happens.String(), path.Base(node))})
	}
	w.mu.Unlock()

	for _, node := range nodes { // without mu, which the server's replies need
		change(node)
	}
}

// Cut breaks a client's connection; what is on it is lost.
func (w *Player) Cut(c *Client) { w.Do(func() { w.CutLocked(c) }) }

// CutLocked is Cut for a caller that has mu.
func (w *Player) CutLocked(c *Client) {
	l := c.Line
	w.Camera.Depart()
	for _, p := range l.Up {
		w.LogLocked(Entry{Who: c.Name, Kind: "lost", Op: p.Op.String(), Path: p.Path, Text: "the request is lost"})
		if p.kindOf() == jute.OpDelete {
			w.Run.Facts.OrphanDelete = true
		}
	}
	for _, p := range l.Down {
		if p.IsEvent {
			continue
		}
		w.LogLocked(Entry{Who: c.Name, Kind: "lost", Op: p.Op.String(), Path: p.Path, Text: "the reply is lost"})
		switch {
		case strings.HasPrefix(p.Made, w.lockPath()):
			w.Run.Facts.OrphanCreate = true
		case p.kindOf() == jute.OpDelete:
			w.Run.Facts.OrphanDelete = true
		}
	}
	if len(l.Up)+len(l.Down) == 0 {
		w.LogLocked(Entry{Who: c.Name, Kind: "note", Text: "the connection breaks"})
	}
	c.FaultLocked()
	w.Foot.client(c)
	l.BreakLocked()
	w.Camera.Client(c, "cut off")
}

// loseReply carries a client's request out and then breaks the connection.
func (w *Player) loseReply(c *Client) {
	w.Request(c)
	synctest.Wait() // the server has answered, and nothing has arrived
	w.Cut(c)
}

// pause lets time pass for all.
func (w *Player) pause(f Fault) {
	d, most, what := pause, math.MaxInt, i18n.Textf("%v pass", pause)
	if f == Day {
		// A waiter that looks again every second would send a request for each of 86,400 seconds: 300 show as much.
		d, most, what = day, 300, dayPasses
	}
	w.mu.Lock()
	w.Foot.Everything = true
	w.LogLocked(Entry{Kind: "note", Text: what})
	w.Camera.Note("", what)
	w.mu.Unlock()
	w.letPass(nil, d, most)
}

// remake removes the parent of the queue, as the server does with a container
// that is empty. The next contender makes it again, and numbers begin at 0.
func (w *Player) remake() {
	w.mu.Lock()
	w.Foot.Everything = true
	w.LogLocked(Entry{Who: "server", Kind: "note", Text: i18n.Textf("removes %s, which is empty", w.lockPath())})
	w.mu.Unlock()
	w.Srv.ReapContainers()
}

// refuse refuses a client's first connection. The requests that wait for it fail, and
// the library tries again after a second.
func (w *Player) refuse(c *Client) {
	w.mu.Lock()
	c.refuse = true
	c.FaultLocked()
	w.mu.Unlock()
	w.reconnect(c)
	w.Do(func() { w.Foot.Everything = true }) // time has passed
}

// expire ends a client's session as its timeout does.
func (w *Player) expire(c *Client) {
	w.mu.Lock()
	w.endLocked(c, CutOff)
	timed := w.Lock.Timed
	w.Foot.Everything = timed // time passes
	w.mu.Unlock()
	if timed {
		w.letPass(c, w.Timeout()+time.Second, math.MaxInt)
	}
	w.Srv.Expire(c.Session)
	w.Do(func() { w.LateLossLocked(c) })
}

// LateLossLocked notes a violation for each holder that is not notified of the end of its session.
func (w *Player) LateLossLocked(c *Client) {
	for _, k := range c.Contenders {
		if k.lostSignal != nil && !k.notified() && w.Lock.Timed && k.State == Inside {
			w.ViolateLocked(Violation{Kind: LateLoss, Who: k.Name, What: i18n.Textf(
				"%s is not notified that it has lost the lock, though its session has expired", k.Name)})
		}
	}
}

// endLocked notes the end of a session, and what that changes at once. expire and stop call it.
func (w *Player) endLocked(c *Client, how i18n.Text) {
	w.LogLocked(Entry{Who: c.Name, Kind: "note", Text: how})
	c.FaultLocked()
	w.Foot.client(c)
	for _, p := range w.nodesOf(c) {
		w.Foot.request(Frame{Op: jute.OpDelete, Path: p})
	}
	if c.Stopped {
		w.Camera.Client(c, "stopped")
	}
	w.ExpiredLocked(c)
	if !c.Line.ServerEnd {
		for _, p := range c.Line.Up {
			w.LogLocked(Entry{Who: c.Name, Kind: "lost", Op: p.Op.String(), Path: p.Path, Text: "the request is lost"})
		}
	}
	if !c.Stopped { // a stopped client does not notice
		c.Line.BreakLocked()
	}
}

// ExpiredLocked notes that the session of a client ends.
func (w *Player) ExpiredLocked(c *Client) {
	c.Expired, w.Run.Unordered = true, true
	w.Camera.Client(c, "expired")
	for _, k := range c.Contenders {
		if k.State == Inside {
			k.Lost = true
			w.Camera.Lost(k, false)
		}
	}
}

var (
	stoppedNote = i18n.Text("is stopped; its session expires meanwhile")
	dayPasses   = i18n.Both(string(Day), "过去了一天")
	stalledNote = i18n.Text("gets no more requests through, until its session has expired")

	// CtxEnds and CutOff are notes of a film, too.
	CtxEnds = i18n.Text("its ctx ends")
	CutOff  = i18n.Text("is cut off until its session has expired")
)

// stop ends a client's session, and the client does not notice it.
func (w *Player) stop(c *Client) {
	w.mu.Lock()
	c.Stopped = true
	w.endLocked(c, stoppedNote)
	w.mu.Unlock()
	w.Srv.Expire(c.Session)
}

// runOn lets a stopped client notice the end of its session.
func (w *Player) runOn(c *Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Stopped = false
	w.Foot.client(c)
	w.LogLocked(Entry{Who: c.Name, Kind: "note", Text: "runs on"})
	w.Camera.Client(c, "runs on")
	c.Line.BreakLocked()
}

// letPass lets the time d pass, and returns earlier if more than most requests are sent. Meanwhile requests are
// carried out at once, except for those of c.
func (w *Player) letPass(c *Client, d time.Duration, most int) {
	for deadline := time.Now().Add(d); ; {
		w.Settle()
		w.mu.Lock()
		next := slices.IndexFunc(w.Clients, func(o *Client) bool {
			return o != c && len(o.Line.Up) > 0 && !o.Line.Broken && !o.Stopped && !o.stalled
		})
		w.mu.Unlock()
		if next >= 0 {
			most--
			if most < 0 {
				return
			}
			w.Request(w.Clients[next])
			continue
		}
		w.DrainStir()
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		w.Pass(left)
	}
}

// stall keeps the client's later requests inside it: they wait behind a request of another goroutine that does not
// get through. Earlier requests of the client arrive. In the end the session expires.
func (w *Player) stall(c *Client) {
	w.mu.Lock()
	c.stalled = true
	c.FaultLocked()
	w.Foot.client(c)
	w.LogLocked(Entry{Who: c.Name, Kind: "note", Text: stalledNote})
	w.Camera.Note(c.Name, stalledNote)
	w.mu.Unlock()
	go c.Conn.Exists("/stalled")
}
