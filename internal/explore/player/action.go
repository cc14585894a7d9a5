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
	add := func(who, what string, do func()) { list = append(list, action{who: who, what: what, do: do}) }
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
			w.DeliverLocked(c)
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

// faultsOfAllLocked lists the faults that happen to no client in particular.
func (w *Player) faultsOfAllLocked() (list []action) {
	if w.Happened >= w.Faults {
		return nil
	}
	for _, f := range []Fault{Pause, Day} {
		if slices.Contains(w.Kinds, f) {
			list = append(list, action{who: "all", what: string(f), fault: f, do: func() { w.pause(f) }})
		}
	}
	if slices.Contains(w.Kinds, Remake) {
		if node, ok := w.Srv.Node(w.lockPath()); ok && node.Container && node.Stat.Cversion > 0 && node.Stat.NumChildren == 0 {
			list = append(list, action{who: "server", what: string(Remake), fault: Remake, do: w.remake})
		}
	}
	return list
}

// faultsLocked lists the faults that may happen to a client now.
func (w *Player) faultsLocked(c *Client) (list []action) {
	if w.Happened >= w.Faults || c.Stopped || c.gone {
		return nil
	}
	if !slices.ContainsFunc(c.Contenders, func(k *Contender) bool { return k.State != done }) {
		return nil // no contender depends on the client any more
	}
	add := func(who string, f Fault, do func()) {
		if slices.Contains(w.Kinds, f) && (w.Each == 0 || w.Run.Facts.Happened(f) < w.Each) {
			list = append(list, action{who: who, what: string(f), fault: f, do: do})
		}
	}

	l := c.Line
	live := !l.CutOffLocked() && !c.Expired
	if c.Session == 0 {
		if !c.faulted {
			add(c.Name, Refuse, func() { w.refuse(c) })
		}
		return list
	}
	switch {
	case live && len(l.Up) > 0 && !c.stalled:
		add(c.Name, LoseRequest, func() { w.Cut(c) })
		add(c.Name, LoseReply, func() { w.loseReply(c) })
	case live && w.Packets && len(l.Down) > 0: // its request has been carried out
		add(c.Name, LoseReply, func() { w.Cut(c) })
	case live:
		add(c.Name, Cut, func() { w.Cut(c) })
	}
	if !c.Expired {
		add(c.Name, Expire, func() { w.expire(c) })
		add(c.Name, Stop, func() { w.stop(c) })
	}
	if live && !c.stalled {
		add(c.Name, Stall, func() { w.stall(c) })
	}
	w.contendersFaultsLocked(c, live, add)
	return list
}

// contendersFaultsLocked adds the faults that happen to one contender of a client.
func (w *Player) contendersFaultsLocked(c *Client, live bool, add func(who string, f Fault, do func())) {
	for _, k := range c.Contenders {
		if w.Lock.Contexts && k.Cancel != nil && k.State == Waiting && !k.Ended {
			add(k.Name, EndContext, func() { w.endContext(k) })
			if k.looks == 0 {
				add(k.Name, EndAfterLook, func() { w.endAtLook(k, 1) })
				add(k.Name, EndAfterLook2, func() { w.endAtLook(k, 2) })
			}
		}
		if w.Shared || !live || len(w.nodesOf(c)) == 0 || !slices.Contains([]string{Waiting, Inside, Unlocking}, k.State) {
			continue
		}
		add(k.Name, NodeSet, func() { w.tamper(k, NodeSet) })
		if k.State == Waiting {
			add(k.Name, NodeGoes, func() { w.tamper(k, NodeGoes) })
		}
	}
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
		w.gaps = append(w.gaps, &gap{name: name, gate: gate, goid: goid()})
	})
}

// goOn lets a goroutine continue from its gap.
func (w *Player) goOn(g *gap) action {
	return action{who: "gap " + g.name, what: "go on", do: func() {
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
				"%s deletes %s, the node of %s", c.Name, p.Path, w.OwnerLocked(owner))})
		}
	}
}
