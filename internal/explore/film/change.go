package film

import (
	"slices"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// RunsOn is a Change that ends Stop. Without it a stopped client runs on soon after its session has expired.
const RunsOn player.Fault = "runs on"

// PaceFaults are the faults that a Change can have.
var PaceFaults = []player.Fault{player.LoseRequest, player.LoseReply, player.Cut, player.Expire, player.Stop, RunsOn, player.EndContext}

// A Change is a fault at an instant. LoseRequest and LoseReply lose the first request or reply that arrives at this
// instant or later. If a Change is not possible at its instant, nothing happens, and the film has a note of that.
type Change struct {
	At  time.Duration `json:"at_ns"`
	Who string        `json:"who"` // a contender, or its client
	Do  player.Fault  `json:"do"`
}

// applyLocked carries out the part of a change that needs the player's lock. It returns the rest, which the caller must
// call without that lock.
func (p *pacer) applyLocked(ch Change) (withoutLock func()) {
	w, c := p.w, p.clientOf(ch.Who)
	var k *player.Contender // nil: the change names a client
	if i := slices.IndexFunc(w.Contenders, func(k *player.Contender) bool { return k.Name == ch.Who }); i >= 0 {
		k = w.Contenders[i]
	}
	if why := p.obstacle(ch.Do, c, k); why.String() != "" {
		p.recorder.Note(ch.Who, i18n.Textf("%s is not possible: %s", ch.Do, why))
		return func() {}
	}
	if ch.Do == RunsOn {
		return func() { p.runOn(c) }
	}

	w.FaultCount++
	now := p.recorder.now()
	switch ch.Do {
	case player.EndContext:
		k.Ended = true
		p.recorder.Note(k.Name, player.CtxEnds)
		return k.Cancel
	case player.Cut:
		w.CutLocked(c.Client)
	case player.LoseRequest:
		c.loseRequest = true
		c.NoteFaultLocked()
	case player.LoseReply:
		c.loseReply = true
		c.NoteFaultLocked()
	case player.Expire:
		c.cutOff, c.dialAt = true, never
		c.NoteFaultLocked()
		w.NoteLocked(c.Name, player.CutOff)
		c.Line.BreakLocked()
		c.expireAt = p.reserve(now + w.Timeout())
	case player.Stop:
		c.Stopped, c.dialAt = true, never
		c.NoteFaultLocked()
		p.recorder.Client(c.Client, "stopped")
		c.expireAt = p.reserve(now + w.Timeout())
		untilNextHolder := 4 * p.Latency // a while in which the next holder gets in
		c.runsOnAt = p.reserve(c.expireAt + untilNextHolder)
		runsItOn := func(later Change) bool { return later.Do == RunsOn && p.clientOf(later.Who) == c }
		if slices.ContainsFunc(p.changes, runsItOn) { // p.changes are those still to come
			c.runsOnAt = never
		}
	}
	return p.settleAndScan
}

// obstacle says why a change is not possible now. The text is empty if the change is possible.
func (p *pacer) obstacle(do player.Fault, c *pacedClient, k *player.Contender) (why i18n.Text) {
	connected := !c.Line.Broken && !c.Line.ClosedByServer
	switch {
	case do == RunsOn && !c.Stopped:
		why = "it is not stopped"
	case do == RunsOn:
	case c.Stopped:
		why = "it is stopped"
	case do == player.EndContext && (k == nil || !p.w.Lock.Contexts):
		why = "the lock takes no ctx"
	case do == player.EndContext && (k.Cancel == nil || k.State != player.Waiting):
		why = "it does not wait"
	case do == player.EndContext:
	case c.cutOff:
		why = "it is cut off until its session has expired"
	case do != player.Stop && do != player.Expire && !connected:
		why = "it is not connected"
	}
	return why
}

// expire ends the session of a client that is cut off or stopped.
func (p *pacer) expire(c *pacedClient) {
	w := p.w
	c.expireAt = never
	w.Do(func() {
		c.cutOff = false
		w.MarkExpiredLocked(c.Client)
		if !c.Stopped {
			w.CheckLateLossLocked(c.Client)
		}
	})
	w.Srv.Expire(c.Session)
	synctest.Wait()
	w.Do(p.recorder.scan)
}

func (p *pacer) runOn(c *pacedClient) {
	p.w.Do(func() {
		c.Stopped, c.runsOnAt = false, never
		p.recorder.Client(c.Client, "runs on")
		if c.Expired {
			c.Line.BreakLocked()
			return
		}
		c.expireAt = never

		// What waited for it arrives now.
		now := p.recorder.now()
		for _, packets := range [][]player.Frame{c.Line.Up, c.Line.Down} {
			for i := range packets {
				if packets[i].Due != 0 && packets[i].Due < now {
					packets[i].Due = p.reserve(now + 1)
				}
			}
		}
		c.Line.WakeLocked()
	})
}
