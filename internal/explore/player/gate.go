package player

import "slices"

// A goroutine that must not go on before the explorer lets it waits at a gate, which is a channel: a contender that is
// to unlock, a client that is to connect, and a goroutine of the lock in a gap.

// waitAtGate makes a gate, hands it to put, with mu held, and waits until it is opened; false: the schedule is over.
func (w *Player) waitAtGate(put func(gate chan struct{})) bool {
	w.mu.Lock()
	if w.gatesOpen {
		w.mu.Unlock()
		return false
	}
	gate := make(chan struct{})
	put(gate)
	w.noteActivityLocked()
	w.mu.Unlock()
	<-gate
	return true
}

// openGate opens a gate, and reports whether there is one.
func openGate(gate *chan struct{}) bool {
	if *gate == nil {
		return false
	}
	close(*gate)
	*gate = nil
	return true
}

// A gap is a place in a lock where a goroutine is kept: see Subject.Begin.
type gap struct {
	name string
	gate chan struct{}
	goid string // of the goroutine that is kept there
}

// stopInGap keeps the calling goroutine of the lock in a gap until the explorer lets it continue.
func (w *Player) stopInGap(name string) {
	w.waitAtGate(func(gate chan struct{}) {
		for slices.ContainsFunc(w.gaps, func(g *gap) bool { return g.name == name }) {
			name += "'" // another goroutine is kept there
		}
		w.gaps = append(w.gaps, &gap{name: name, gate: gate, goid: goid()})
	})
}

// leaveGap is the action that lets a goroutine continue from its gap.
func (w *Player) leaveGap(g *gap) action {
	return action{who: "gap " + g.name, what: "go on", do: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Touched.Everything = true
		w.gaps = slices.DeleteFunc(w.gaps, func(h *gap) bool { return h == g })
		close(g.gate)
	}}
}

// KeptInGaps returns the contender that is kept in each gap, by the gap's name.
func (w *Player) KeptInGaps() map[string]string {
	contenderAt := make(map[string]string)
	for _, g := range w.gaps {
		for _, k := range w.Contenders {
			if k.GoID == g.goid {
				contenderAt[g.name] = k.Name
			}
		}
	}
	return contenderAt
}
