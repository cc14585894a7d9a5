package player

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Contender plays its script.
type Contender struct {
	w      *Player
	Client *Client
	Name   string
	Lock   Lock
	script []Op

	// Guarded by w.mu.
	State  string        // see the constants
	Gate   chan struct{} // not nil: waits until the explorer lets it unlock
	Cancel context.CancelFunc
	Ended  bool // its ctx was ended
	// A fault has happened to its client since Lock or TryLock was called, or
	// one from before may still reach the call.
	disturbed  bool
	depth      int // how often it has got the lock and not unlocked; its own goroutine counts
	held       int64
	notes      []Entry
	results    []string
	bad        []Violation
	company    bool            // at some time during TryLock another contender held the lock or waited
	Lost       bool            // its session ended while it held the lock
	lostSignal <-chan struct{} // of a Leased lock, from when it was got: its Lost channel
	node       string
	since      time.Time // when Lock was called
	// Lock was called, and its first request was carried out, at these turns;
	// 0: it has not been.
	called, joined int
	passed         int    // how often a later contender got in before this one
	GoID           string // of the goroutine that plays its script
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

// Start begins the script, in a goroutine of its own.
func (k *Contender) Start() {
	go func() {
		k.GoID = goid()
		defer func() {
			if p := recover(); p != nil {
				k.note(failed, "panics", Violation{Kind: Crash, Who: k.Name, What: fmt.Sprintf("%s panics: %v", k.Name, p)})
			}
		}()
		k.playScript()
	}()
}

// note changes the state of a contender, and logs that.
func (k *Contender) note(state, text string, bad ...Violation) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free {
		return // the schedule is over
	}
	k.State = state
	w.Camera.State(k, text)
	if text != "" {
		k.notes = append(k.notes, Entry{Kind: "note", Text: text})
		k.results = append(k.results, text)
	}
	k.bad = append(k.bad, bad...)
	w.stirLocked()
}

func (k *Contender) playScript() {
	for i, op := range k.script {
		switch {
		case op != UnlockOp && k.depth > 0:
			k.getInAgain(op)
		case op != UnlockOp:
			if k.getIn(op) {
				k.depth = 1
			}
		case k.depth > 1:
			k.letGoOnce()
		case k.depth == 1:
			k.depth = 0
			if !k.letGo() {
				k.note(done, "")
				return
			}
		case k.w.Lock.Closes:
			k.close()
		}
		if k.depth > 0 && (i+1 == len(k.script) || k.script[i+1] == UnlockOp) && !k.gated() {
			return // the schedule is over
		}
	}
	k.unlockAgain()
	k.note(done, "")
}

// getIn calls Lock or TryLock.
func (k *Contender) getIn(op Op) bool {
	w := k.w
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	k.Cancel, k.Ended = cancel, false
	k.since, k.called, k.joined = time.Now(), w.Turn, 0
	k.State = Waiting
	k.company = w.companyLocked(k)
	k.disturbed = !k.Client.soundLocked()
	w.Camera.State(k, "")
	w.Unnoted = true
	session := k.Client.Conn.SessionID()
	w.mu.Unlock()
	defer cancel()
	ok, err := true, error(nil)
	if op == LockOp {
		err = k.Lock.Lock(ctx)
	} else {
		ok, err = k.Lock.TryLock(ctx)
	}
	w.mu.Lock()
	k.Cancel = nil
	alone := !k.company && !w.companyLocked(k) && !w.Run.Facts.OrphanCreate
	allowed := k.disturbed && !w.Lock.Requeues || k.Ended
	w.mu.Unlock()
	switch {
	case err != nil && !allowed:
		k.note(outside, "gets an error: "+short(err), Violation{Kind: Failure, Who: k.Name, What: fmt.Sprintf("%s of %s fails: %v", op, k.Name, short(err))})
		return false
	case err != nil:
		k.note(outside, "gets an error: "+short(err))
		return false
	case !ok && alone:
		k.note(outside, "finds the lock held", Violation{Kind: Failure, Who: k.Name,
			What: "TryLock of " + k.Name + " finds the lock held, and nobody else holds it or waits for it"})
		return false
	case !ok:
		k.note(outside, "finds the lock held")
		return false
	case !w.Lock.Requeues && !w.Lock.Lenient && !w.OneOwner && !w.Ensemble && session != 0 && session != k.Client.Conn.SessionID():
		k.note(outside, "gets the lock in a new session", Violation{Kind: Failure, Who: k.Name,
			What: fmt.Sprintf("%s of %s succeeds, though its session ended meanwhile", op, k.Name)})
		return false
	}
	var lostSignal <-chan struct{}
	if leased, ok := k.Lock.(Leased); ok {
		lostSignal = leased.Lost() // once: it must be closed though nobody asks again
	}
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	k.lostSignal = lostSignal
	k.held, k.Lost = k.Client.Conn.SessionID(), false
	w.mu.Unlock()
	k.note(Inside, "holds the lock")
	return true
}

// gated waits until the explorer lets the contender unlock. It returns false if the
// schedule is over.
func (k *Contender) gated() bool {
	w := k.w
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	gate := make(chan struct{})
	k.Gate = gate
	w.stirLocked()
	w.mu.Unlock()
	<-gate
	return true
}

// getInAgain calls Lock or TryLock while the contender holds the lock. It gets it
// at once, unless the lock has been lost.
func (k *Contender) getInAgain(op Op) {
	ok, err := true, error(nil)
	if op == LockOp {
		err = k.Lock.Lock(context.Background())
	} else {
		ok, err = k.Lock.TryLock(context.Background())
	}
	switch {
	case err == nil && ok:
		k.depth++
		k.note(Inside, "holds the lock once more")
	case k.excused():
		k.note(Inside, "does not get it once more")
	case err != nil:
		k.note(Inside, "does not get it once more", Violation{Kind: Failure, Who: k.Name,
			What: fmt.Sprintf("%s of %s, which holds the lock, fails: %v", op, k.Name, short(err))})
	default:
		k.note(Inside, "does not get it once more", Violation{Kind: Failure, Who: k.Name, What: "TryLock of " + k.Name + ", which holds the lock, finds it held"})
	}
}

// letGoOnce calls Unlock, after which the contender still holds the lock.
func (k *Contender) letGoOnce() {
	k.depth--
	err := k.Lock.Unlock(context.Background())
	if err == nil || k.excused() {
		k.note(Inside, "has unlocked once")
		return
	}
	k.note(Inside, "cannot unlock once", Violation{Kind: Failure, Who: k.Name,
		What: fmt.Sprintf("Unlock of %s, which has locked twice, fails: %v", k.Name, short(err))})
}

// excused reports whether a fault may be the reason of an error.
func (k *Contender) excused() bool {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	return k.Client.faulted
}

// letGo calls Unlock, and again if that fails after a fault. It returns false if it
// did not work in the end.
func (k *Contender) letGo() bool {
	w := k.w
	for try := 0; ; try++ {
		w.mu.Lock()
		lost := k.Lost
		w.mu.Unlock()
		if try == 0 {
			k.note(Unlocking, "unlocks")
		}
		err := k.Lock.Unlock(context.Background())
		w.mu.Lock()
		faulted, held := k.Client.faulted, k.held
		sound := w.Lock.Requeues && k.lostSignal != nil && !IsClosed(k.lostSignal) && !k.Lost
		w.mu.Unlock()
		sound = sound && w.lives(held) // without mu: a server that closes a line has its own lock, and waits for mu
		notLocked := err != nil && w.Lock.NotLocked != nil && w.Lock.NotLocked(err)
		switch {
		case err == nil && lost && try == 0 && w.Lock.NotLocked != nil && !w.OneOwner: // another goroutine of the owner may be the last
			k.note(outside, "has unlocked", Violation{Kind: HidesLoss, Who: k.Name, What: "Unlock of " + k.Name + " reports success, but the lock was lost before"})
			return true
		case err == nil:
			k.note(outside, "has unlocked")
			return true
		case notLocked && faulted && sound: // a lock that tries again must take its own earlier delete into account
			k.note(outside, "finds that the lock was lost", Violation{Kind: Failure, Who: k.Name,
				What: "Unlock of " + k.Name + " says that the lock was lost, though its session lives"})
			return true
		case notLocked && faulted:
			k.note(outside, "finds that the lock was lost")
			return true
		case !faulted || w.Lock.Requeues:
			k.note(outside, "cannot unlock: "+short(err), Violation{Kind: Failure, Who: k.Name, What: fmt.Sprintf("Unlock of %s fails: %v", k.Name, short(err))})
			return false
		case try == 5:
			k.note(outside, "cannot unlock: "+short(err))
			return false
		}
		k.note(Unlocking, "fails to unlock and tries again")
		time.Sleep(time.Second)
	}
}

// close calls Unlock after a Lock that failed.
func (k *Contender) close() {
	if err := k.Lock.Unlock(context.Background()); err != nil {
		k.note(outside, "Unlock fails, too: "+short(err))
	}
}

// unlockAgain calls Unlock once more than the lock was got.
func (k *Contender) unlockAgain() {
	w := k.w
	if w.Lock.NotLocked == nil || w.OneOwner { // another goroutine of the owner may hold it
		return
	}
	w.mu.Lock()
	over := w.free
	w.mu.Unlock()
	if over {
		return
	}
	if err := k.Lock.Unlock(context.Background()); err == nil || !w.Lock.NotLocked(err) {
		what := "succeeds"
		if err != nil {
			what = "says " + short(err)
		}
		k.note(outside, "", Violation{Kind: Failure, Who: k.Name, What: "Unlock of " + k.Name + ", which does not hold the lock, " + what})
	}
}

// short is an error without what differs between runs.
func short(err error) string {
	for _, e := range []error{context.Canceled, zk.ErrSessionExpired, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrNoNode, zk.ErrNodeExists} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	s := err.Error()
	if len(s) > 100 {
		s = s[:100]
	}
	return s
}

// companyLocked reports whether another contender holds the lock, waits for it
// or unlocks it, or has left a node.
func (w *Player) companyLocked(k *Contender) bool {
	for _, o := range w.Contenders {
		if o != k && (o.State == Waiting || o.State == Inside || o.State == Unlocking || o.Client != k.Client && len(w.nodesOf(o.Client)) > 0) {
			return true
		}
	}
	return false
}

// goid returns the number of the goroutine that calls it, as stacks have it.
func goid() string {
	buf := make([]byte, 32)
	return GoroutineNumber(buf[:runtime.Stack(buf, false)])
}

// GoroutineNumber is the number that a stack begins with.
func GoroutineNumber(stack []byte) string {
	number, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	return string(number)
}
