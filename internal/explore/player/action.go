package player

import (
	"slices"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// An action is what the explorer can do next.
type action struct {
	who, what string
	fault     Fault // "": it is none
	do        func()
}

func (a action) String() string { return a.who + ": " + a.what }

// enabled lists the possible actions: first those of gaps and of the client that acted last, and at the end the faults.
func (w *Player) enabled() []action {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first, rest, faults []action
	for _, g := range w.gaps {
		first = slices.Insert(first, 0, w.goOn(g))
	}
	for _, c := range w.Clients {
		for _, a := range w.actionsLocked(c) {
			if a.who == w.last {
				first = append(first, a)
			} else {
				rest = append(rest, a)
			}
		}
		faults = append(faults, w.faultsLocked(c)...)
	}
	if len(first)+len(rest) == 0 {
		return nil
	}
	return slices.Concat(first, rest, faults, w.faultsOfAllLocked())
}

// actionsLocked lists what a client and its contenders can do.
func (w *Player) actionsLocked(c *Client) (list []action) {
	add := func(who, what string, do func()) { list = append(list, action{who, what, "", do}) }
	l := c.Line
	cutOff := l.CutOffLocked()
	switch {
	case c.Stopped:
		add(c.Name, "run on", func() { w.runOn(c) })
		return list
	case cutOff && !c.gone:
		add(c.Name, "reconnect", func() { w.reconnect(c) })
	}
	if c.stalled && !cutOff {
		add(c.Name, string(Expire), func() { w.expire(c) })
	}
	if len(l.Up) > 0 && !cutOff {
		add(c.Name, "request", func() { w.Request(c) })
	}
	if w.Packets && len(l.Down) > 0 && !l.Broken {
		add(c.Name, l.Down[0].Kind(), func() {
			w.mu.Lock()
			w.SortEvents(l.Down)
			w.ArrivesLocked(c)
			w.mu.Unlock()
		})
	}
	for _, k := range c.Contenders {
		if k.Gate != nil && k.again && !c.gone && !c.soundLocked() {
			continue // it unlocks again once its client is connected
		}
		if k.Gate != nil {
			what := "unlock"
			if k.again {
				what = "unlock again"
			}
			add(k.Name, what, func() {
				w.mu.Lock()
				w.Foot.client(c)
				openGate(&k.Gate)
				k.again = false
				w.mu.Unlock()
			})
		}
	}
	return list
}

// A gap is a place in a lock where a goroutine is kept: see Subject.Begin.
type gap struct {
	name string
	gate chan struct{}
	goid string // of the goroutine that is kept there
}

// gap holds a goroutine of the lock until the explorer lets it continue.
func (w *Player) gap(name string) {
	w.waitAt(func(gate chan struct{}) {
		for slices.ContainsFunc(w.gaps, func(g *gap) bool { return g.name == name }) {
			name += "'" // another goroutine is kept there
		}
		w.gaps = append(w.gaps, &gap{name, gate, goid()})
	})
}

// goOn lets a goroutine continue from its gap.
func (w *Player) goOn(g *gap) action {
	return action{"gap " + g.name, "go on", "", func() {
		w.mu.Lock()
		w.Foot.Everything = true
		w.gaps = slices.DeleteFunc(w.gaps, func(h *gap) bool { return h == g })
		close(g.gate)
		w.mu.Unlock()
	}}
}

// keptInGaps returns the contender that is held in each gap.
func (w *Player) keptInGaps() map[string]string {
	if len(w.gaps) == 0 {
		return nil
	}
	by := make(map[string]string)
	for _, g := range w.gaps {
		for _, k := range w.Contenders {
			if k.GoID == g.goid {
				by[g.name] = k.Name
			}
		}
	}
	return by
}

// Request carries out a client's next request.
func (w *Player) Request(c *Client) Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := c.Line.carryLocked()
	w.executedLocked(c, p)
	return p
}

// executedLocked notes a request that has just been delivered to the server.
func (w *Player) executedLocked(c *Client, p Frame) {
	w.Foot.client(c)
	w.Foot.request(p)
	if !p.Watch && !slices.Contains([]jute.Op{jute.OpGetData, jute.OpExists, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSetWatches}, p.Op) {
		c.behind = false // a sync or a write: the server has come up to it
	}
	w.Run.Unordered = p.Op == jute.OpSetWatches || p.kindOf() == jute.OpMulti
	w.Camera.Carried(c, p)
	w.LogLocked(Entry{Who: c.Name, Kind: "carried out", Op: p.Op.String(), Path: p.Path, Watch: p.Watch, For: p.Tag})
	for _, k := range c.Contenders {
		if k.State == Waiting && k.joined == 0 {
			k.joined = w.Turn
		}
	}
	if p.kindOf() == jute.OpDelete {
		node, ok := w.Srv.Node(p.Path)
		if owner := node.Stat.EphemeralOwner; ok && owner != 0 && owner != c.Conn.SessionID() {
			w.ViolateLocked(Violation{Kind: ForeignDelete, Who: c.Name, What: i18n.Textf(
				"%s deletes %s, the node of %s", "%[1]s 删除了 %[3]s 的节点 %[2]s", c.Name, p.Path, w.OwnerLocked(owner))})
		}
	}
}
