package player

import (
	"slices"

	"example.com/zklock/internal/jute"
)

// An action is what the explorer can do next: it is one of the possible choices.
type action struct {
	who, what string
	fault     Fault // "": it is none
	do        func()
}

func (a action) String() string { return a.who + ": " + a.what }

// possibleActions lists the possible actions: first those of goroutines that are kept in a gap, a place between two
// steps of a lock, and of the client or contender that acted last; then those of the others, then the faults.
func (w *Player) possibleActions() []action {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first, others, faults []action
	for _, g := range slices.Backward(w.gaps) { // the goroutine that was kept last is first
		first = append(first, w.leaveGap(g))
	}

	for _, c := range w.Clients {
		for _, a := range w.clientActionsLocked(c) {
			if a.who == w.lastActor {
				first = append(first, a)
			} else {
				others = append(others, a)
			}
		}
		faults = append(faults, w.clientFaultsLocked(c)...)
	}
	if len(first)+len(others) == 0 {
		return nil
	}
	return slices.Concat(first, others, faults, w.worldFaultsLocked())
}

// clientActionsLocked lists what a client and its contenders can do.
func (w *Player) clientActionsLocked(c *Client) (list []action) {
	add := func(who, what string, do func()) { list = append(list, action{who: who, what: what, do: do}) }
	l := c.Line
	cutOff := l.CutOffLocked()
	switch {
	case c.Stopped:
		add(c.Name, "run on", func() { w.resumeClient(c) })
		return list
	case cutOff && !c.closed:
		add(c.Name, "reconnect", func() { w.reconnect(c) })
	}

	if c.stalled && !cutOff { // each stall ends like this, so it is not another fault
		add(c.Name, string(Expire), func() { w.expireSession(c) })
	}
	if len(l.Up) > 0 && !cutOff {
		add(c.Name, "request", func() { w.Request(c) })
	}
	if w.Packets && len(l.Down) > 0 && !l.Broken {
		add(c.Name, l.Down[0].Kind(), func() {
			w.Do(func() {
				w.SortEvents(l.Down)
				w.DeliverLocked(c)
			})
		})
	}

	for _, k := range c.Contenders {
		switch {
		case k.UnlockGate == nil: // it is not about to unlock
		case !k.unlocksAgain:
			add(k.Name, "unlock", func() { w.letUnlock(k) })
		case c.closed || c.healthyLocked(): // otherwise it unlocks again once its client is connected
			add(k.Name, "unlock again", func() { w.letUnlock(k) })
		}
	}
	return list
}

func (w *Player) letUnlock(k *Contender) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Touched.addClient(k.Client)
	openGate(&k.UnlockGate)
	k.unlocksAgain = false
}

// worldFaultsLocked lists the faults that happen to no client in particular.
func (w *Player) worldFaultsLocked() (list []action) {
	if w.FaultCount >= w.Faults {
		return nil
	}
	for _, f := range []Fault{Pause, Day} {
		if slices.Contains(w.Kinds, f) {
			list = append(list, action{who: "all", what: string(f), fault: f, do: func() { w.pauseAll(f) }})
		}
	}
	if slices.Contains(w.Kinds, Remake) {
		parent, ok := w.Srv.Node(w.lockPath())
		wasUsed := ok && parent.Stat.Cversion > 0
		if wasUsed && parent.Container && parent.Stat.NumChildren == 0 {
			list = append(list, action{who: "server", what: string(Remake), fault: Remake, do: w.removeParent})
		}
	}
	return list
}

// clientFaultsLocked lists the faults that may happen to a client now.
func (w *Player) clientFaultsLocked(c *Client) (list []action) {
	if w.FaultCount >= w.Faults || c.Stopped || c.closed {
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

	if c.Session == 0 { // it has not been connected yet
		if !c.faulted {
			add(c.Name, Refuse, func() { w.refuseConnection(c) })
		}
		return list
	}

	// A connection that breaks has the name of what it loses: a request that is under way, or the reply to it. If nothing
	// is under way, it is a Cut. The requests of a stalled client are still inside the client.
	l := c.Line
	live := !l.CutOffLocked() && !c.Expired
	switch {
	case live && len(l.Up) > 0 && !c.stalled:
		add(c.Name, LoseRequest, func() { w.Cut(c) })
		add(c.Name, LoseReply, func() { w.loseReply(c) })
	case live && w.Packets && len(l.Down) > 0: // the reply is on the line already, and is lost with it
		add(c.Name, LoseReply, func() { w.Cut(c) })
	case live:
		add(c.Name, Cut, func() { w.Cut(c) })
	}
	if !c.Expired {
		add(c.Name, Expire, func() { w.expireSession(c) })
		add(c.Name, Stop, func() { w.stopClient(c) })
	}
	if live && !c.stalled {
		add(c.Name, Stall, func() { w.stallClient(c) })
	}
	w.contenderFaultsLocked(c, live, add)
	return list
}

// contenderFaultsLocked adds the faults that happen to one contender of a client, which is connected if live.
func (w *Player) contenderFaultsLocked(c *Client, live bool, add func(who string, f Fault, do func())) {
	for _, k := range c.Contenders {
		if w.Lock.Contexts && k.Cancel != nil && k.State == Waiting && !k.Ended {
			add(k.Name, EndContext, func() { w.endContext(k) })
			if k.looksLeft == 0 {
				add(k.Name, EndAfterLook, func() { w.endContextAfterLooks(k, 1) })
				add(k.Name, EndAfterLook2, func() { w.endContextAfterLooks(k, 2) })
			}
		}

		if w.Shared || !live || len(w.nodesOf(c)) == 0 || !slices.Contains([]string{Waiting, Inside, Unlocking}, k.State) {
			continue // the contender has no node, or it is not known which is its own
		}
		add(k.Name, NodeSet, func() { w.tamperWithNodes(k, NodeSet) })
		if k.State == Waiting {
			add(k.Name, NodeGoes, func() { w.tamperWithNodes(k, NodeGoes) })
		}
	}
}

// Request carries out a client's next request.
func (w *Player) Request(c *Client) Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := c.Line.arriveAtServerLocked()
	w.noteExecutedLocked(c, p)
	return p
}

// readOps are the operations for which a server need not have what was written last: World.Behind.
var readOps = []jute.Op{jute.OpGetData, jute.OpExists, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSetWatches}

// noteExecutedLocked notes a request that has just been delivered to the server, which carries it out next.
func (w *Player) noteExecutedLocked(c *Client, p Frame) {
	w.Touched.addClient(c)
	w.Touched.addRequest(p)
	if !p.Watch && !slices.Contains(readOps, p.Op) {
		c.behind = false // a sync or a write: the server has come up to it
	}
	// Either may cause several events, which the server sends in any order.
	w.Run.Unordered = p.Op == jute.OpSetWatches || p.mainOp() == jute.OpMulti
	w.Camera.Carried(c, p)
	w.LogLocked(Entry{Who: c.Name, Kind: "carried out", Op: p.Op.String(), Path: p.Path, Watch: p.Watch, For: p.Tag})

	for _, k := range c.Contenders {
		if k.State == Waiting && k.joinedTurn == 0 {
			k.joinedTurn = w.Turn
		}
	}
	if p.mainOp() == jute.OpDelete {
		node, ok := w.Srv.Node(p.Path) // it is still there: the server reads the request only when mu is free
		if owner := node.Stat.EphemeralOwner; ok && owner != 0 && owner != c.Conn.SessionID() {
			w.reportLocked(ForeignDelete, c.Name, "%s deletes %s, the node of %s", c.Name, p.Path, w.OwnerLocked(owner))
		}
	}
}
