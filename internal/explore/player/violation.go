package player

import (
	"fmt"
	"slices"
)

// A Kind of violation.
type Kind string

// The kinds of violation.
const (
	TwoHolders    Kind = "two holders"
	Hang          Kind = "hang" // nothing can happen any more, and a contender waits
	Endless       Kind = "endless"
	TokenShrinks  Kind = "token does not grow"
	Overtaken     Kind = "order overturned"
	NodeLeft      Kind = "node left"
	WatchLeft     Kind = "watch left"
	GoroutineLeft Kind = "goroutine left"
	Failure       Kind = "error not allowed"
	HidesLoss     Kind = "loss not reported"
	LateLoss      Kind = "loss reported too late"
	ForeignDelete Kind = "deletes another's node"
	Crash         Kind = "panic"
	NodeMissing   Kind = "holder without a node"
	Costly        Kind = "more requests or wake-ups than predicted"
	TooLong       Kind = "waits too long"
	Starves       Kind = "starves"
	SessionLeft   Kind = "session left"
	OwnCheck      Kind = "own check fails" // Subject.Check
	// Outlived is a holder whose session has ended while it held the lock, and
	// that cannot notice it: article E. It is reported apart, as Known, always.
	Outlived Kind = "holder outlives its session"
)

// Kinds are all kinds of violation that end a schedule.
var Kinds = []Kind{
	TwoHolders, Hang, Endless, TokenShrinks, Overtaken, NodeLeft, WatchLeft, GoroutineLeft, Failure, HidesLoss,
	LateLoss, ForeignDelete, Crash, NodeMissing, Costly, TooLong, Starves, SessionLeft, OwnCheck,
}

// A Violation is something that a lock must not do.
type Violation struct {
	Kind Kind   `json:"kind"`
	Who  string `json:"who,omitempty"`
	What string `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", v.Kind, v.What) }

// Violate is ViolateLocked for a caller that does not have mu.
func (w *Player) Violate(v Violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ViolateLocked(v)
}

// ViolateLocked notes a violation. The first one ends the schedule.
func (w *Player) ViolateLocked(v Violation) {
	r := w.Run
	if w.free || slices.Contains(w.Lock.Ignore, v.Kind) {
		return
	}
	known := ""
	for _, k := range w.Lock.Known {
		if known == "" && k.Match(v, r.Facts) {
			known = k.Name
		}
	}
	w.Camera.Violation(v, known)
	if r.over || r.Violation != nil {
		return
	}
	for _, k := range w.Lock.Known {
		if k.Match(v, r.Facts) {
			w.knownLocked(k.Name, v)
			r.over = true // the rest follows from it
			return
		}
	}
	r.Violation = &v
	w.LogLocked(Entry{Who: v.Who, Kind: "note", Text: v.String()})
}

func (w *Player) knownLocked(name string, v Violation) {
	w.Camera.Violation(v, name)
	if !slices.Contains(w.Run.Known, name) {
		w.Run.Known = append(w.Run.Known, name)
		w.LogLocked(Entry{Who: v.Who, Kind: "note", Text: "known: " + v.String()})
	}
}

// IsClosed reports whether a channel that nothing is sent on is closed.
func IsClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
