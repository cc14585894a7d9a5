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

// This file carries out the faults that the explorer has chosen; action.go says which are possible. Touched is told
// what a fault changes: actions that touch nothing in common can be swapped. The log and the Camera have what a viewer
// sees. Run.Facts has a create or a delete that was lost: a lock may be known for what follows from that
// (Subject.Known). Line.Up has the packets on their way to the server, and Line.Down those on their way to the client.

var (
	stoppedNote = i18n.Text("is stopped; its session expires meanwhile")
	dayPasses   = i18n.Both(string(Day), "过去了一天")
	stalledNote = i18n.Text("gets no more requests through, until its session has expired")

	// CtxEnds and CutOff are notes of a film, too.
	CtxEnds = i18n.Text("its ctx ends")
	CutOff  = i18n.Text("is cut off until its session has expired")
)

// Cut breaks a client's connection; what is on it is lost.
func (w *Player) Cut(c *Client) { w.Do(func() { w.CutLocked(c) }) }

// CutLocked is Cut for a caller that has mu.
func (w *Player) CutLocked(c *Client) {
	w.Camera.Depart() // the film must have the replies before they are lost
	w.noteLostLocked(c)
	if len(c.Line.Up)+len(c.Line.Down) == 0 {
		w.NoteLocked(c.Name, "the connection breaks")
	}
	c.NoteFaultLocked()
	w.Touched.addClient(c)
	c.Line.BreakLocked()
	w.Camera.Client(c, "cut off")
}

// noteLostLocked notes the packets that are lost with a client's connection: in the log, and in Run.Facts.
func (w *Player) noteLostLocked(c *Client) {
	facts := &w.Run.Facts
	for _, p := range c.Line.Up {
		w.logLostLocked(c, p, "the request is lost")
		if p.mainOp() == jute.OpDelete {
			facts.OrphanDelete = true
		}
	}
	for _, p := range c.Line.Down {
		if p.IsEvent {
			continue // the client sets its watches again when it is connected again
		}
		w.logLostLocked(c, p, "the reply is lost")
		switch {
		case strings.HasPrefix(p.Made, w.lockPath()): // the reply to a create, with the path of the node
			facts.OrphanCreate = true
		case p.mainOp() == jute.OpDelete:
			facts.OrphanDelete = true
		}
	}
}

func (w *Player) logLostLocked(c *Client, p Frame, how i18n.Text) {
	w.LogLocked(Entry{Who: c.Name, Kind: "lost", Op: p.Op.String(), Path: p.Path, Text: how})
}

// loseReply carries a client's request out and then breaks the connection.
func (w *Player) loseReply(c *Client) {
	w.Request(c)
	synctest.Wait() // the server has answered, and nothing has arrived
	w.Cut(c)
}

// refuseConnection refuses a client's first connection. Its requests fail, and the library tries again after a second.
func (w *Player) refuseConnection(c *Client) {
	w.Do(func() {
		c.refuseNext = true
		c.NoteFaultLocked()
	})
	w.reconnect(c)
	w.Do(func() { w.Touched.Everything = true }) // time has passed
}

// stallClient keeps the client's later requests inside it: they wait behind a request of another goroutine that does
// not get through. Earlier requests of the client arrive. In the end the session expires.
func (w *Player) stallClient(c *Client) {
	w.Do(func() {
		c.stalled = true
		c.NoteFaultLocked()
		w.Touched.addClient(c)
		w.NoteLocked(c.Name, stalledNote)
		w.Camera.Note(c.Name, stalledNote)
	})
	go c.Conn.Exists("/stalled")
}

// expireSession ends a client's session as its timeout does. If the lock looks at the clock, that time passes.
func (w *Player) expireSession(c *Client) {
	w.Do(func() {
		w.noteSessionEndLocked(c, CutOff)
		w.Touched.Everything = w.Lock.Timed
	})
	if w.Lock.Timed {
		w.passTime(w.Timeout()+time.Second, math.MaxInt, c)
	}
	w.Srv.Expire(c.Session)
	w.Do(func() { w.CheckLateLossLocked(c) })
}

// CheckLateLossLocked notes a violation for each holder that is not notified of the end of its session.
func (w *Player) CheckLateLossLocked(c *Client) {
	for _, k := range c.Contenders {
		if k.lostChannel != nil && !k.notified() && w.Lock.Timed && k.State == Inside {
			w.reportLocked(LateLoss, k.Name, "%s is not notified that it has lost the lock, though its session has expired", k.Name)
		}
	}
}

// stopClient ends a client's session, and the client does not notice it.
func (w *Player) stopClient(c *Client) {
	w.Do(func() {
		c.Stopped = true
		w.noteSessionEndLocked(c, stoppedNote)
	})
	w.Srv.Expire(c.Session)
}

// resumeClient lets a stopped client notice the end of its session.
func (w *Player) resumeClient(c *Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Stopped = false
	w.Touched.addClient(c)
	w.NoteLocked(c.Name, "runs on")
	w.Camera.Client(c, "runs on")
	c.Line.BreakLocked()
}

// noteSessionEndLocked notes the end of a session by expireSession or stopClient, and what that changes at once.
func (w *Player) noteSessionEndLocked(c *Client, how i18n.Text) {
	w.NoteLocked(c.Name, how)
	c.NoteFaultLocked()
	w.Touched.addClient(c)
	for _, node := range w.nodesOf(c) {
		w.Touched.addRequest(Frame{Op: jute.OpDelete, Path: node})
	}

	if c.Stopped {
		w.Camera.Client(c, "stopped")
	}
	w.MarkExpiredLocked(c)
	if !c.Line.ClosedByServer {
		for _, p := range c.Line.Up {
			w.logLostLocked(c, p, "the request is lost")
		}
	}
	if !c.Stopped { // a stopped client does not notice
		c.Line.BreakLocked()
	}
}

// MarkExpiredLocked notes that the session of a client ends, and that its holders lose the lock.
func (w *Player) MarkExpiredLocked(c *Client) {
	c.Expired, w.Run.Unordered = true, true // the server deletes the nodes of a session in any order
	w.Camera.Client(c, "expired")
	for _, k := range c.Contenders {
		if k.State == Inside {
			k.Lost = true
			w.Camera.Lost(k, !isNoticed)
		}
	}
}

// pauseAll lets time pass for all: Pause or Day.
func (w *Player) pauseAll(f Fault) {
	lasts, mostRequests, what := pause, math.MaxInt, i18n.Textf("%v pass", pause)
	if f == Day {
		// A waiter that looks again every second would send a request for each of 86,400 seconds: 300 show as much.
		lasts, mostRequests, what = day, 300, dayPasses
	}
	w.Do(func() {
		w.Touched.Everything = true
		w.NoteLocked("", what)
		w.Camera.Note("", what)
	})
	w.passTime(lasts, mostRequests, nil)
}

// passTime lets a time pass, or ends after mostRequests. Meanwhile requests arrive at once, except those of cutOff.
func (w *Player) passTime(lasts time.Duration, mostRequests int, cutOff *Client) {
	for deadline := time.Now().Add(lasts); ; {
		w.Settle()
		next := Read(w, func() int {
			return slices.IndexFunc(w.Clients, func(c *Client) bool {
				return c != cutOff && len(c.Line.Up) > 0 && !c.Line.Broken && !c.Stopped && !c.stalled
			})
		})
		if next >= 0 {
			mostRequests--
			if mostRequests < 0 {
				return
			}
			w.Request(w.Clients[next])
			continue
		}

		w.ForgetActivity() // all of it is settled
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		w.WaitForActivity(left)
	}
}

// removeParent removes the queue's parent, as the server does with an empty container: its numbers begin at 0 again.
func (w *Player) removeParent() {
	w.Do(func() {
		w.Touched.Everything = true
		w.NoteLocked("server", i18n.Textf("removes %s, which is empty", w.lockPath()))
	})
	w.Srv.ReapContainers()
}

// tamperWithNodes carries out NodeGoes or NodeSet: somebody deletes a contender's nodes, or writes their data again.
func (w *Player) tamperWithNodes(k *Contender, f Fault) {
	// For NodeSet. Each text is a format: Textf finds its Chinese by the English.
	happens, change := i18n.Text("has the node %s, whose data somebody writes again"), w.Srv.Touch
	var nodes []string
	w.Do(func() {
		if f == NodeGoes {
			happens, change = "loses the node %s, which an administrator deletes", w.Srv.Delete
			k.nodeDeleted = true
		}
		k.Client.NoteFaultLocked()
		w.Touched.Everything = true
		nodes = w.nodesOf(k.Client)
		for _, node := range nodes {
			w.NoteLocked(k.Name, i18n.Textf(happens.String(), path.Base(node)))
		}
	})
	for _, node := range nodes { // without mu, which the server's replies need
		change(node)
	}
}

func (w *Player) endContext(k *Contender) {
	cancel := Read(w, func() context.CancelFunc {
		w.Camera.Note(k.Name, CtxEnds)
		k.Ended = true
		w.Touched.addClient(k.Client)
		return k.Cancel
	})
	cancel()
}

// endContextAfterLooks ends the ctx of a contender with the n-th call of its Err from now on. That call still returns
// nil: the contender looks at its ctx, goes on, and the ctx ends right after the look.
func (w *Player) endContextAfterLooks(k *Contender, n int) {
	w.Do(func() {
		k.looksLeft = n
		w.Touched.addClient(k.Client)
	})
}

var errCause = errors.New("the caller has given up") // context.Cause of a student's ctx

// A countedContext is the ctx of a contender, and counts the calls of its Err. Contexts derived from it end with it.
type countedContext struct {
	context.Context
	k *Contender
}

// Err ends the ctx with the last look of endContextAfterLooks. When the play is over (gatesOpen) it counts no more.
func (c *countedContext) Err() error {
	k := c.k
	k.w.mu.Lock()
	var end context.CancelFunc
	if k.looksLeft > 0 && !k.w.gatesOpen {
		k.looksLeft--
		if k.looksLeft == 0 && k.Cancel != nil && !k.Ended {
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
