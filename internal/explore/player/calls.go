package player

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
)

// This file has the calls of a contender's script, and checks their results.

// getIn calls Lock or TryLock, and reports whether the contender has got the lock.
func (k *Contender) getIn(op Op) bool {
	w := k.w
	ctx, cancel := context.WithCancel(context.Background())
	if w.Lock.Lenient { // its looks at ctx are counted, and context.Cause differs from ctx.Err
		inner, end := context.WithCancelCause(context.Background())
		ctx, cancel = &lookedAt{inner, k}, func() { end(errCause) }
	}
	defer cancel()
	session := k.begin(op, cancel)
	ok, err := k.invoke(op, ctx)

	w.mu.Lock()
	k.Cancel, k.looks = nil, 0
	mayFail := k.disturbed && !w.Lock.Requeues || k.Ended
	hidesEnd := err != nil && k.Ended && !k.disturbed && w.Lock.Lenient && !errors.Is(err, context.Canceled)
	oneSession := !w.Lock.Requeues && !w.Lock.Lenient && !w.OneOwner && !w.Ensemble // its node ends with its session
	alone := !k.company && !w.companyLocked(k) && !w.Run.Facts.OrphanCreate         // an orphaned node locks, too
	w.mu.Unlock()

	switch {
	case err != nil:
		k.refused(op, err, hidesEnd, mayFail)
	case !ok && alone:
		k.note(outside, findsItHeld, k.fails(i18n.Textf(
			"TryLock of %s finds the lock held, and nobody else holds it or waits for it", k.Name)))
	case !ok:
		k.note(outside, findsItHeld)
	case oneSession && session != 0 && session != k.Client.Conn.SessionID():
		k.note(outside, "gets the lock in a new session", k.fails(i18n.Textf(
			"%s of %s succeeds, though its session ended meanwhile", op.method(), k.Name)))
	default:
		return k.enter()
	}
	return false
}

// begin notes that a call of Lock or TryLock begins, whose ctx cancel ends. It returns the session of the client.
func (k *Contender) begin(op Op, cancel context.CancelFunc) (session int64) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	k.Cancel, k.Ended, k.looks, k.stripped = cancel, false, 0, false
	k.since, k.called, k.joined = time.Now(), w.Turn, 0
	k.State = Waiting
	k.company = w.companyLocked(k)
	k.disturbed = !k.Client.soundLocked() || op == RelockOp
	w.Camera.State(k, "")
	w.Unnoted = true
	return k.Client.Conn.SessionID()
}

// invoke calls Lock or TryLock. The result of TryLock is got; Lock has none.
func (k *Contender) invoke(op Op, ctx context.Context) (got bool, err error) {
	if op == TryLockOp {
		return k.Lock.TryLock(ctx)
	}
	return true, k.Lock.Lock(ctx)
}

// refused notes an error of Lock or TryLock. It is a violation if the call must not fail, or if it
// hides the end of its ctx.
func (k *Contender) refused(op Op, err error, hidesEnd, mayFail bool) {
	var broken Broken
	switch {
	case errors.As(err, &broken):
		k.note(outside, "", broken.violation(k))
	case hidesEnd:
		k.note(outside, failsWith(err), k.fails(i18n.Textf("the ctx of %s has ended, and %s returns an error that does "+
			"not wrap ctx.Err(): %v", k.Name, op.method(), shortError(err))))
	case !mayFail:
		k.note(outside, failsWith(err), k.fails(i18n.Textf("%s of %s fails: %v", op.method(), k.Name, shortError(err))))
	default:
		k.note(outside, failsWith(err))
	}
}

// enter notes that the contender has got the lock. It returns false if the schedule is over.
func (k *Contender) enter() bool {
	w := k.w
	var lostSignal <-chan struct{}
	if leased, ok := k.Lock.(Leased); ok {
		lostSignal = leased.Lost() // asked once: it must be closed although nobody asks again
	}
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	k.lostSignal, k.held, k.Lost = lostSignal, k.Client.Conn.SessionID(), false
	w.mu.Unlock()
	k.note(Inside, Does(k.Lock))
	return true
}

// Does says what a contender does once its Lock or TryLock has succeeded. A lock may have words of its own for that.
func Does(lock Lock) i18n.Text {
	if l, ok := lock.(interface{ Does() i18n.Text }); ok {
		return l.Does()
	}
	return "holds the lock"
}

// A Broken is an error of a subject's own check: what the lock has done wrong.
type Broken struct {
	Kind Kind
	Text i18n.Text
}

func (b Broken) Error() string { return b.Text.String() }

func (b Broken) violation(k *Contender) Violation {
	return Violation{Kind: b.Kind, Who: k.Name, What: i18n.Textf("%s: %s", k.Name, b.Text)}
}

// getInAgain calls Lock or TryLock while the contender holds the lock. It gets it
// at once, unless the lock has been lost.
func (k *Contender) getInAgain(op Op) {
	ok, err := k.invoke(op, context.Background())
	switch {
	case err == nil && ok:
		k.depth++
		k.note(Inside, "holds the lock once more")
	case k.excused():
		k.note(Inside, notOnceMore)
	case err != nil:
		k.note(Inside, notOnceMore, k.fails(i18n.Textf(
			"%s of %s, which holds the lock, fails: %v", op.method(), k.Name, shortError(err))))
	default:
		k.note(Inside, notOnceMore, k.fails(i18n.Textf("TryLock of %s, which holds the lock, finds it held", k.Name)))
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
	k.note(Inside, "cannot unlock once", k.fails(i18n.Textf(
		"Unlock of %s, which has locked twice, fails: %v", k.Name, shortError(err))))
}

// excused reports whether a fault may be the reason of an error.
func (k *Contender) excused() bool {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	return k.Client.faulted
}

// letGo calls Unlock, and again if that fails after a fault. It returns false if the last try failed, too.
func (k *Contender) letGo() bool {
	w := k.w
	k.note(Unlocking, "unlocks")
	for try := 1; ; try++ {
		var lost bool
		w.Do(func() { lost = k.Lost })
		err := k.Lock.Unlock(context.Background())
		faulted := k.excused()

		switch {
		case k.unlocked(err, faulted, lost && try == 1):
			return true
		case !faulted || w.Lock.Requeues:
			k.note(outside, cannotUnlock(err), k.fails(i18n.Textf("Unlock of %s fails: %v", k.Name, shortError(err))))
			return false
		case try == 6: // enough: a fault may be the reason of all six errors
			k.note(outside, cannotUnlock(err))
			return false
		case !k.triesAgain():
			return false
		}
	}
}

// unlocked reports whether an Unlock that has returned err has ended the hold. If so, it notes what err says. lost
// reports whether the lock was lost before the first call of Unlock.
func (k *Contender) unlocked(err error, faulted, lost bool) bool {
	w := k.w
	w.mu.Lock()
	stillHeld := w.Lock.Requeues && k.lostSignal != nil && !k.notified() && !k.Lost
	held := k.held
	w.mu.Unlock()
	stillHeld = stillHeld && w.sessionLives(held) // without mu: a server that closes a line has its own lock, and waits for mu
	notLocked := err != nil && w.Lock.NotLocked != nil && w.Lock.NotLocked(err)

	var broken Broken
	switch {
	case errors.As(err, &broken):
		k.note(outside, hasUnlocked, broken.violation(k))
	case err == nil && lost && w.Lock.NotLocked != nil && !w.OneOwner: // another goroutine of the owner may be the last
		k.note(outside, hasUnlocked, Violation{Kind: HidesLoss, Who: k.Name, What: i18n.Textf(
			"Unlock of %s reports success, but the lock was lost before", k.Name)})
	case err == nil:
		k.note(outside, hasUnlocked)
	case notLocked && faulted && stillHeld: // a lock that tries again must take its own earlier delete into account
		k.note(outside, findsItLost, k.fails(i18n.Textf(
			"Unlock of %s says that the lock was lost, though its session lives", k.Name)))
	case notLocked && faulted:
		k.note(outside, findsItLost)
	default:
		return false
	}
	return true
}

// triesAgain waits until the contender unlocks once more. It returns false if the schedule is over.
func (k *Contender) triesAgain() bool {
	if !k.w.Lock.Lenient {
		k.note(Unlocking, "fails to unlock and tries again")
		time.Sleep(time.Second)
		return true
	}
	k.note(Unlocking, "fails to unlock")
	k.w.Do(func() { k.again = true })
	return k.gated()
}

// close calls Unlock after a Lock that failed.
func (k *Contender) close() {
	if err := k.Lock.Unlock(context.Background()); err != nil {
		k.note(outside, i18n.Textf("Unlock fails, too: %s", shortError(err)))
	}
}

// unlockAgain calls Unlock once more than the lock was got.
func (k *Contender) unlockAgain() {
	w := k.w
	if w.Lock.NotLocked == nil || k.unsure || w.OneOwner { // another goroutine of the owner may hold it
		return
	}
	var over bool
	w.Do(func() { over = w.free })
	if over {
		return
	}
	if err := k.Lock.Unlock(context.Background()); err == nil || !w.Lock.NotLocked(err) {
		what := i18n.Textf("Unlock of %s, which does not hold the lock, succeeds", k.Name)
		if err != nil {
			what = i18n.Textf("Unlock of %s, which does not hold the lock, says %s", k.Name, shortError(err))
		}
		k.note(outside, "", k.fails(what))
	}
}

var (
	findsItHeld = i18n.Text("finds the lock held")
	findsItLost = i18n.Text("finds that the lock was lost")
	hasUnlocked = i18n.Text("has unlocked")
	notOnceMore = i18n.Text("does not get it once more")
)

func failsWith(err error) i18n.Text {
	if errors.Is(err, context.Canceled) { // its ctx has ended
		return i18n.Textf("gives up: %s", shortError(err))
	}
	return i18n.Textf("gets an error: %s", shortError(err))
}

func cannotUnlock(err error) i18n.Text {
	return i18n.Textf("cannot unlock: %s", shortError(err))
}

// fails is the violation of a call that returns what it must not.
func (k *Contender) fails(what i18n.Text) Violation {
	return Violation{Kind: Failure, Who: k.Name, What: what}
}

// method is the name of the method that getIn calls, for a sentence.
func (op Op) method() i18n.Text {
	return i18n.Both(string(op), map[Op]string{LockOp: "Lock", TryLockOp: "TryLock", RelockOp: "Lock"}[op])
}

// shortError is the text of an error, without what differs between runs, and at most 100 bytes long.
func shortError(err error) string {
	for _, e := range []error{context.Canceled, zk.ErrSessionExpired, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing,
		zk.ErrNoNode, zk.ErrNodeExists} {
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
