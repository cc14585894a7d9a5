package player

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"time"

	"example.com/zklock/internal/i18n"
)

// A Contender plays its script: a goroutine that calls Lock, TryLock and Unlock. The calls are in calls.go.
type Contender struct {
	w      *Player
	Client *Client
	Name   string
	Lock   Lock
	script []Op

	// Guarded by w.mu.
	State        string        // see the constants
	GoID         string        // of the goroutine that plays its script
	UnlockGate   chan struct{} // not nil: the contender waits until the explorer lets it unlock
	unlocksAgain bool          // at the UnlockGate: it unlocks once more, after an error
	notes        []Entry       // that are not in the log yet: takeNotesLocked
	results      []i18n.Text   // all notes so far, also those in the log
	violations   []Violation   // not reported yet

	// Of the last call of Lock or TryLock. A turn is an action of the schedule, by its number.
	Cancel      context.CancelFunc // of its ctx; nil: the call has returned
	Ended       bool               // its ctx was ended
	looksLeft   int                // its ctx ends after this number of looks at it; 0: it does not
	calledAt    time.Time          // when it began
	calledTurn  int                // the turn in which it began
	joinedTurn  int                // the turn in which its first request was carried out; 0: none was
	disturbed   bool               // a fault has happened to its client since it began, or an earlier one may still reach it
	contended   bool               // meanwhile another contender has held the lock or waited for it
	nodeDeleted bool               // meanwhile somebody has deleted its node
	overtaken   int                // how many times a contender that called Lock later got in first

	// Of a holder.
	depth        int             // how many times it has got the lock and not unlocked; only its own goroutine uses this
	holdSession  int64           // the session in which it got the lock
	Lost         bool            // that session has ended
	lostChannel  <-chan struct{} // the Lost channel of a Leased lock
	entryChecked bool            // checkEntryLocked has checked it
	mayStillHold bool            // it has lost the lock, and may report that it still holds it
}

// The states of a contender.
const (
	outside   = "outside"
	Waiting   = "waiting"
	Inside    = "inside"
	Unlocking = "unlocking"
	done      = "done"
	failed    = "failed"
)

var statesZh = map[string]string{
	outside: "在锁外", Waiting: "正在等待", Inside: "持有锁", Unlocking: "正在释放锁", done: "已结束", failed: "已失败",
}

// Start begins the script, in a goroutine of its own.
func (k *Contender) Start() {
	go func() {
		k.GoID = goid()
		defer func() {
			if p := recover(); p != nil {
				crash := Violation{Kind: Crash, Who: k.Name, What: i18n.Textf("%s panics: %v", k.Name, p)}
				k.note(failed, "panics", crash)
			}
		}()
		k.playScript()
	}()
}

// playScript makes the calls of the script. A call is left out if it does not fit: see the Ops.
func (k *Contender) playScript() {
	for i, op := range k.script {
		switch {
		case op == RelockOp:
			k.relock()
		case op != UnlockOp && k.depth > 0:
			k.acquireAgain(op)
		case op != UnlockOp:
			if k.acquire(op) {
				k.depth = 1
			}
		case k.depth > 1: // from here on op is UnlockOp
			k.releaseOnce()
		case k.depth == 1:
			k.depth = 0
			if !k.release() {
				k.note(done, "")
				return
			}
		case k.w.Lock.Closes:
			k.closeAfterFailure()
		}

		locksAgain := i+1 < len(k.script) && k.script[i+1] != UnlockOp && k.script[i+1] != RelockOp
		if k.depth > 0 && !locksAgain && !k.awaitUnlockChoice() {
			return // the schedule is over
		}
	}
	k.unlockUnheld()
	k.note(done, "")
}

// relock calls Lock, without Unlock before, if the lock has been lost.
func (k *Contender) relock() {
	lost := Read(k.w, func() bool { return k.Lost })
	if k.depth != 1 || !lost {
		return
	}
	k.depth = 0
	if k.acquire(RelockOp) {
		k.depth = 1
	} else {
		k.mayStillHold = true
	}
}

// awaitUnlockChoice waits until the explorer lets the contender unlock. It returns false if the schedule is over.
func (k *Contender) awaitUnlockChoice() bool {
	return k.w.waitAtGate(func(gate chan struct{}) { k.UnlockGate = gate })
}

// note changes the state of a contender, notes for the log what it does, and reports what it has done wrong.
func (k *Contender) note(state string, text i18n.Text, violations ...Violation) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gatesOpen {
		return // the schedule is over
	}
	k.State = state
	w.Camera.State(k, text)
	if text.String() != "" {
		k.notes = append(k.notes, Entry{Kind: "note", Text: text})
		k.results = append(k.results, text)
	}
	k.violations = append(k.violations, violations...)
	w.noteActivityLocked()
}

// othersContendLocked reports whether another contender holds the lock, waits for it or unlocks it, or has left a node.
func (w *Player) othersContendLocked(k *Contender) bool {
	return slices.ContainsFunc(w.Contenders, func(o *Contender) bool {
		busy := o.State == Waiting || o.State == Inside || o.State == Unlocking
		return o != k && (busy || o.Client != k.Client && len(w.nodesOf(o.Client)) > 0)
	})
}

// goid returns the number of the goroutine that calls it, as stacks have it.
func goid() string {
	buf := make([]byte, 32)
	return GoroutineNumber(buf[:runtime.Stack(buf, false)])
}

// GoroutineNumber is the number that a stack begins with.
func GoroutineNumber(stack []byte) string {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	return string(digits)
}
