package player

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
)

// This file has the calls of Lock, TryLock and Unlock that a contender's script makes, and checks their results.

// acquire calls Lock or TryLock, and reports whether the contender has got the lock.
func (k *Contender) acquire(op Op) bool {
	w := k.w
	ctx, cancel := context.WithCancel(context.Background())
	if w.Lock.Lenient { // its calls of ctx.Err are counted, for EndAfterLook; and its ctx has a cause of its own
		inner, end := context.WithCancelCause(context.Background())
		ctx, cancel = &countedContext{inner, k}, func() { end(errCause) }
	}
	defer cancel()
	session := k.beginCall(op, cancel)
	got, err := k.call(op, ctx)

	var contended bool
	w.Do(func() {
		k.Cancel, k.looksLeft = nil, 0
		nodeOrphaned := w.Run.Facts.OrphanCreate // a node whose create got no reply: it locks, too
		contended = k.contended || w.othersContendLocked(k) || nodeOrphaned
	})
	makesOneNode := !w.Lock.Requeues && !w.Lock.Lenient && !w.OneOwner && !w.Ensemble
	sessionEnded := session != 0 && session != k.Client.Conn.SessionID() // and the node that was made in it

	switch {
	case err != nil:
		k.noteError(op, err)
	case got && makesOneNode && sessionEnded:
		k.note(outside, "gets the lock in a new session",
			k.failure("%s of %s succeeds, though its session ended meanwhile", op.method(), k.Name))
	case got:
		return k.enter()
	case contended:
		k.note(outside, findsItHeld)
	default:
		k.note(outside, findsItHeld, k.failure("TryLock of %s finds the lock held, and nobody else holds it or waits for it", k.Name))
	}
	return false
}

// beginCall notes that a call of Lock or TryLock begins, whose ctx cancel ends. It returns the session of the client.
func (k *Contender) beginCall(op Op, cancel context.CancelFunc) (session int64) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	k.Cancel, k.Ended, k.looksLeft, k.nodeDeleted = cancel, false, 0, false
	k.calledAt, k.calledTurn, k.joinedTurn = time.Now(), w.Turn, 0
	k.State = Waiting
	k.contended = w.othersContendLocked(k)
	k.disturbed = !k.Client.healthyLocked() || op == RelockOp
	w.Camera.State(k, "")
	w.Unnoted = true
	return k.Client.Conn.SessionID()
}

// call calls Lock or TryLock. The result of TryLock is got; Lock has none.
func (k *Contender) call(op Op, ctx context.Context) (got bool, err error) {
	if op == TryLockOp {
		return k.Lock.TryLock(ctx)
	}
	return true, k.Lock.Lock(ctx)
}

// noteError notes an error of Lock or TryLock: a violation if the call must not fail, or hides the end of its ctx.
func (k *Contender) noteError(op Op, err error) {
	var ctxEnded, disturbed bool
	k.w.Do(func() { ctxEnded, disturbed = k.Ended, k.disturbed })
	lock := k.w.Lock
	mayFail := ctxEnded || disturbed && !lock.Requeues
	hidesEnd := ctxEnded && !disturbed && lock.Lenient && !errors.Is(err, context.Canceled)

	var broken Broken
	switch {
	case errors.As(err, &broken):
		k.note(outside, "", broken.violation(k))
	case hidesEnd:
		k.note(outside, failsWith(err), k.failure("the ctx of %s has ended, and %s returns an error that does "+
			"not wrap ctx.Err(): %v", k.Name, op.method(), shortError(err)))
	case !mayFail:
		k.note(outside, failsWith(err), k.failure("%s of %s fails: %v", op.method(), k.Name, shortError(err)))
	default:
		k.note(outside, failsWith(err))
	}
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

// enter notes that the contender has got the lock. It returns false if the schedule is over.
func (k *Contender) enter() bool {
	w := k.w
	var lostChannel <-chan struct{}
	if leased, ok := k.Lock.(Leased); ok {
		lostChannel = leased.Lost() // asked once: it must be closed although nobody asks again
	}
	w.mu.Lock()
	if w.gatesOpen {
		w.mu.Unlock()
		return false
	}
	k.lostChannel, k.holdSession, k.Lost = lostChannel, k.Client.Conn.SessionID(), false
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

// acquireAgain calls Lock or TryLock while the contender holds the lock: it gets it at once, unless it has lost it.
func (k *Contender) acquireAgain(op Op) {
	got, err := k.call(op, context.Background())
	switch {
	case err == nil && got:
		k.depth++
		k.note(Inside, "holds the lock once more")
	case k.faulted():
		k.note(Inside, notOnceMore)
	case err != nil:
		k.note(Inside, notOnceMore, k.failure("%s of %s, which holds the lock, fails: %v", op.method(), k.Name, shortError(err)))
	default:
		k.note(Inside, notOnceMore, k.failure("TryLock of %s, which holds the lock, finds it held", k.Name))
	}
}

// releaseOnce calls Unlock, after which the contender still holds the lock.
func (k *Contender) releaseOnce() {
	k.depth--
	err := k.Lock.Unlock(context.Background())
	if err == nil || k.faulted() {
		k.note(Inside, "has unlocked once")
		return
	}
	k.note(Inside, "cannot unlock once", k.failure("Unlock of %s, which has locked twice, fails: %v", k.Name, shortError(err)))
}

// faulted reports whether a fault has happened to the client: it may be the reason of an error.
func (k *Contender) faulted() bool { return Read(k.w, func() bool { return k.Client.faulted }) }

// mostUnlocks is how many calls of Unlock may fail in a row: a fault may be the reason of all these errors.
const mostUnlocks = 6

// release calls Unlock, and again if that fails after a fault. It returns false if the last try failed, too.
func (k *Contender) release() bool {
	w := k.w
	k.note(Unlocking, "unlocks")
	for try := 1; ; try++ {
		lost := Read(w, func() bool { return k.Lost })
		err := k.Lock.Unlock(context.Background())
		faulted := k.faulted()

		switch {
		case k.endsHold(err, faulted, lost && try == 1):
			return true
		case !faulted || w.Lock.Requeues:
			k.note(outside, cannotUnlock(err), k.failure("Unlock of %s fails: %v", k.Name, shortError(err)))
			return false
		case try == mostUnlocks:
			k.note(outside, cannotUnlock(err))
			return false
		case !k.waitToUnlockAgain():
			return false
		}
	}
}

// endsHold reports whether an Unlock that returned err has ended the hold, and notes that. lost: it was lost before.
func (k *Contender) endsHold(err error, faulted, lost bool) bool {
	w := k.w
	w.mu.Lock()
	mayStillHold := w.Lock.Requeues && k.lostChannel != nil && !k.notified() && !k.Lost
	session := k.holdSession
	w.mu.Unlock()
	// sessionLives takes the server's lock. It is called without mu, for which a server that has its lock may wait.
	stillHolds := mayStillHold && w.sessionLives(session)
	mustReportLoss := lost && w.Lock.NotLocked != nil && !w.OneOwner // another goroutine of an owner may be the last
	notLocked := err != nil && w.Lock.NotLocked != nil && w.Lock.NotLocked(err)

	var broken Broken
	switch {
	case errors.As(err, &broken):
		k.note(outside, hasUnlocked, broken.violation(k))
	case err == nil && mustReportLoss:
		k.note(outside, hasUnlocked, Violation{Kind: HidesLoss, Who: k.Name, What: i18n.Textf(
			"Unlock of %s reports success, but the lock was lost before", k.Name)})
	case err == nil:
		k.note(outside, hasUnlocked)
	case notLocked && faulted && stillHolds: // a lock that tries again must take its own earlier delete into account
		k.note(outside, findsItLost, k.failure("Unlock of %s says that the lock was lost, though its session lives", k.Name))
	case notLocked && faulted:
		k.note(outside, findsItLost)
	default:
		return false
	}
	return true
}

// waitToUnlockAgain waits for a second or, if the lock is Lenient, for the explorer; false: the schedule is over.
func (k *Contender) waitToUnlockAgain() bool {
	if !k.w.Lock.Lenient {
		k.note(Unlocking, "fails to unlock and tries again")
		time.Sleep(time.Second)
		return true
	}
	k.note(Unlocking, "fails to unlock")
	k.w.Do(func() { k.unlocksAgain = true })
	return k.awaitUnlockChoice()
}

// closeAfterFailure calls Unlock after a Lock that failed, because Unlock closes the client.
func (k *Contender) closeAfterFailure() {
	if err := k.Lock.Unlock(context.Background()); err != nil {
		k.note(outside, i18n.Textf("Unlock fails, too: %s", shortError(err)))
	}
}

// unlockUnheld calls Unlock once more than the lock was got: it must report that the lock is not held.
func (k *Contender) unlockUnheld() {
	w := k.w
	over := Read(w, func() bool { return w.gatesOpen })
	if over || w.Lock.NotLocked == nil || k.mayStillHold || w.OneOwner { // another goroutine of the owner may hold it
		return
	}
	err := k.Lock.Unlock(context.Background())
	switch {
	case err == nil:
		k.note(outside, "", k.failure("Unlock of %s, which does not hold the lock, succeeds", k.Name))
	case !w.Lock.NotLocked(err):
		k.note(outside, "", k.failure("Unlock of %s, which does not hold the lock, says %s", k.Name, shortError(err)))
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

func cannotUnlock(err error) i18n.Text { return i18n.Textf("cannot unlock: %s", shortError(err)) }

// failure is the violation of a call that returns what it must not.
func (k *Contender) failure(format string, args ...any) Violation {
	return Violation{Kind: Failure, Who: k.Name, What: i18n.Textf(format, args...)}
}

// method is the name of the method that acquire calls, for a sentence.
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
	return s[:min(len(s), 100)]
}
