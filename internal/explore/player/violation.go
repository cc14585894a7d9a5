package player

import (
	"slices"

	"example.com/zklock/internal/i18n"
)

// A Kind of violation.
type Kind string

// The kinds of violation, on all pages: each is something that a reader sees happen.
const (
	TwoHolders    Kind = "two holders"
	Hang          Kind = "hang" // nothing can happen any more that wakes a contender that waits
	Endless       Kind = "endless"
	TokenShrinks  Kind = "token does not grow"
	Overtaken     Kind = "order overturned"
	NodeLeft      Kind = "node left"
	WatchLeft     Kind = "watch left"
	GoroutineLeft Kind = "goroutine left"
	Failure       Kind = "fails without a cause"
	HidesLoss     Kind = "loss not reported"
	LateLoss      Kind = "loss reported too late"
	ForeignDelete Kind = "deletes another's node"
	Crash         Kind = "panic"
	NodeMissing   Kind = "holder without a node"
	Costly        Kind = "more requests or wake-ups than predicted"
	TooLong       Kind = "waits too long"
	Starves       Kind = "starves"
	SessionLeft   Kind = "session left"
	LostAddition  Kind = "an addition is lost"
	StackGrows    Kind = "the stack grows"
	StaleWrite    Kind = "an old token writes"
	// Outlived is a holder that cannot notice that its session has ended: article E. It is always reported as Known.
	Outlived Kind = "holder outlives its session"
)

// Kinds are all kinds of violation that end a schedule.
var Kinds = []Kind{
	TwoHolders, Hang, Endless, TokenShrinks, Overtaken, NodeLeft, WatchLeft, GoroutineLeft, Failure, HidesLoss,
	LateLoss, ForeignDelete, Crash, NodeMissing, Costly, TooLong, Starves, SessionLeft, LostAddition, StackGrows, StaleWrite,
}

// KindsBut are all kinds of violation except those that are asked for.
func KindsBut(asked ...Kind) []Kind {
	return slices.DeleteFunc(slices.Clone(Kinds), func(k Kind) bool { return slices.Contains(asked, k) })
}

// A Violation is something that a lock must not do.
type Violation struct {
	Kind Kind      `json:"kind"`
	Who  string    `json:"who,omitempty"` // a contender or a client; "": several, or none
	What i18n.Text `json:"what"`
}

func (v Violation) String() string { return v.Text().String() }

// Text is the kind, and what has happened.
func (v Violation) Text() i18n.Text { return i18n.Textf("%s: %s", v.Kind.Text(), v.What) }

// Text is the name of the kind.
func (k Kind) Text() i18n.Text { return i18n.Text(k) }

// reportLocked is ViolateLocked with the parts of a Violation, whose Who is "" if several contenders take part in it.
func (w *Player) reportLocked(kind Kind, who, format string, args ...any) {
	w.ViolateLocked(Violation{Kind: kind, Who: who, What: i18n.Textf(format, args...)})
}

// ViolateLocked notes a violation. The first one ends the schedule, also if the lock is known for it.
func (w *Player) ViolateLocked(v Violation) {
	if over := w.gatesOpen; over || slices.Contains(w.Lock.Ignore, v.Kind) {
		return
	}
	run := w.Run
	var known i18n.Text
	if i := slices.IndexFunc(w.Lock.Known, func(k Known) bool { return k.Match(v, run.Facts) }); i >= 0 {
		known = w.Lock.Known[i].Name
	}

	w.Camera.Violation(v, known.String())
	switch {
	case run.over || run.Violation != nil: // what comes later follows from it
	case known.String() != "":
		w.knownLocked(known, v)
		run.over = true
	default:
		run.Violation = &v
		w.NoteLocked(v.Who, v.Text())
	}
}

// knownLocked notes a violation that the lock is known for, under the name of its Known.
func (w *Player) knownLocked(name i18n.Text, v Violation) {
	w.Camera.Violation(v, name.String()) // the film has it once, also if ViolateLocked has called this
	if !slices.Contains(w.Run.Known, name) {
		w.Run.Known = append(w.Run.Known, name)
		w.NoteLocked(v.Who, i18n.Textf("known: %s", v.Text()))
	}
}
