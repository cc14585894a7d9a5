package player

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// A Contender plays its script.
type Contender struct {
	w      *Player
	Client *Client
	Name   string
	Lock   Lock
	script []Op

	// Guarded by w.mu.
	State   string        // see the constants
	GoID    string        // of the goroutine that plays its script
	Gate    chan struct{} // not nil: the contender waits until the explorer lets it unlock
	again   bool          // at the Gate: it unlocks once more, after an error
	notes   []Entry       // not in the log yet: takeNotesLocked
	results []i18n.Text   // all notes so far
	bad     []Violation   // not reported yet

	// Of the last call of Lock or TryLock.
	Cancel         context.CancelFunc // of its ctx; nil: it has returned
	Ended          bool               // its ctx was ended
	looks          int                // its ctx ends after this number of looks at it; 0: it does not
	since          time.Time          // when it began
	called, joined int                // the turns in which it began, and in which its first request was carried out; 0: none was
	disturbed      bool               // a fault has happened to its client since it began, or an earlier one may still reach it
	company        bool               // meanwhile another contender has held the lock or waited for it
	stripped       bool               // meanwhile somebody has deleted its node
	passed         int                // how many times a contender that called Lock later got in first

	// Of a holder.
	depth      int             // how many times it has got the lock and not unlocked; only its own goroutine uses this
	held       int64           // the session in which it got the lock
	Lost       bool            // that session has ended
	lostSignal <-chan struct{} // the Lost channel of a Leased lock
	checked    bool            // enteredLocked has checked it
	unsure     bool            // it has lost the lock, and may report that it still holds it
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
				crash := Violation{Kind: Crash, Who: k.Name, What: i18n.Textf("%s panics: %v", "%s 发生 panic：%v", k.Name, p)}
				k.note(failed, i18n.Textf("panics", "发生 panic"), crash)
			}
		}()
		k.playScript()
	}()
}

// note changes the state of a contender, for the log, and reports what it has done wrong.
func (k *Contender) note(state string, text i18n.Text, bad ...Violation) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free {
		return // the schedule is over
	}
	k.State = state
	w.Camera.State(k, text)
	if text.En != "" {
		k.notes = append(k.notes, Entry{Kind: "note", Text: text})
		k.results = append(k.results, text)
	}
	k.bad = append(k.bad, bad...)
	w.stirLocked()
}

// playScript makes the calls of the script. A call is left out if it does not fit: see the Ops.
func (k *Contender) playScript() {
	for i, op := range k.script {
		switch {
		case op == RelockOp:
			k.relock()
		case op != UnlockOp && k.depth > 0:
			k.getInAgain(op)
		case op != UnlockOp:
			if k.getIn(op) {
				k.depth = 1
			}
		case k.depth > 1: // from here on op is UnlockOp
			k.letGoOnce()
		case k.depth == 1:
			k.depth = 0
			if !k.letGo() {
				k.note(done, i18n.Text{})
				return
			}
		case k.w.Lock.Closes:
			k.close()
		}
		if k.depth > 0 && (i+1 == len(k.script) || k.script[i+1] == UnlockOp || k.script[i+1] == RelockOp) && !k.gated() {
			return // the schedule is over
		}
	}
	k.unlockAgain()
	k.note(done, i18n.Text{})
}

// relock calls Lock, without Unlock before, if the lock has been lost.
func (k *Contender) relock() {
	k.w.mu.Lock()
	lost := k.Lost
	k.w.mu.Unlock()
	if k.depth != 1 || !lost {
		return
	}
	k.depth = 0
	if k.getIn(RelockOp) {
		k.depth = 1
	} else {
		k.unsure = true
	}
}

// getIn calls Lock or TryLock, and reports whether the contender is inside then.
func (k *Contender) getIn(op Op) bool {
	w := k.w
	ctx, cancel := context.WithCancel(context.Background())
	if w.Lock.Lenient { // of a student: the looks at ctx are counted, and the cause of its end is not ctx.Err()
		inner, end := context.WithCancelCause(context.Background())
		ctx, cancel = &lookedAt{inner, k}, func() { end(errCause) }
	}
	w.mu.Lock()
	k.Cancel, k.Ended, k.looks, k.stripped = cancel, false, 0, false
	k.since, k.called, k.joined = time.Now(), w.Turn, 0
	k.State = Waiting
	k.company = w.companyLocked(k)
	k.disturbed = !k.Client.soundLocked() || op == RelockOp
	w.Camera.State(k, i18n.Text{})
	w.Unnoted = true
	session := k.Client.Conn.SessionID()
	w.mu.Unlock()
	defer cancel()

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
		return false
	case !ok && alone:
		k.note(outside, findsItHeld, k.fails(i18n.Textf(
			"TryLock of %s finds the lock held, and nobody else holds it or waits for it", "%s 的 TryLock 报告锁被占用，却没有别人持有或等待这个锁", k.Name)))
		return false
	case !ok:
		k.note(outside, findsItHeld)
		return false
	case oneSession && session != 0 && session != k.Client.Conn.SessionID():
		k.note(outside, i18n.Textf("gets the lock in a new session", "在新会话里拿到锁"), k.fails(i18n.Textf(
			"%s of %s succeeds, though its session ended meanwhile", "%[2]s 的会话在此期间已结束，%[1]s 却成功了", op.method(), k.Name)))
		return false
	}
	return k.enter()
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

// Does says what a contender does whose Lock or TryLock has succeeded. A lock may have words of its own for it.
func Does(lock Lock) i18n.Text {
	if l, ok := lock.(interface{ Does() i18n.Text }); ok {
		return l.Does()
	}
	return i18n.Textf("holds the lock", "持有锁")
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
		k.note(outside, i18n.Text{}, broken.violation(k))
	case hidesEnd:
		k.note(outside, failsWith(err), k.fails(i18n.Textf("the ctx of %s has ended, and %s returns an error that does not wrap ctx.Err(): %v",
			"%s 的 ctx 已经结束，%s 返回的错误却没有包装 ctx.Err()：%v", k.Name, op.method(), shortError(err))))
	case !mayFail:
		k.note(outside, failsWith(err), k.fails(i18n.Textf("%s of %s fails: %v", "%[2]s 的 %[1]s 失败：%[3]v", op.method(), k.Name, shortError(err))))
	default:
		k.note(outside, failsWith(err))
	}
}

// A Broken is an error of a subject's own check: what the lock has done wrong.
type Broken struct {
	Kind Kind
	Text i18n.Text
}

func (b Broken) Error() string { return b.Text.En }

func (b Broken) violation(k *Contender) Violation {
	return Violation{Kind: b.Kind, Who: k.Name, What: i18n.Textf("%s: %s", "%s：%s", k.Name, b.Text)}
}

// gated waits until the explorer lets the contender unlock. It returns false if the schedule is over.
func (k *Contender) gated() bool {
	return k.w.waitAt(func(gate chan struct{}) { k.Gate = gate })
}

// getInAgain calls Lock or TryLock while the contender holds the lock. It gets it
// at once, unless the lock has been lost.
func (k *Contender) getInAgain(op Op) {
	ok, err := k.invoke(op, context.Background())
	switch {
	case err == nil && ok:
		k.depth++
		k.note(Inside, i18n.Textf("holds the lock once more", "再次拿到锁"))
	case k.excused():
		k.note(Inside, notOnceMore)
	case err != nil:
		k.note(Inside, notOnceMore, k.fails(i18n.Textf(
			"%s of %s, which holds the lock, fails: %v", "%[2]s 持有锁，%[1]s 却失败：%[3]v", op.method(), k.Name, shortError(err))))
	default:
		k.note(Inside, notOnceMore, k.fails(i18n.Textf(
			"TryLock of %s, which holds the lock, finds it held", "%s 持有锁，TryLock 却报告锁被占用", k.Name)))
	}
}

// letGoOnce calls Unlock, after which the contender still holds the lock.
func (k *Contender) letGoOnce() {
	k.depth--
	err := k.Lock.Unlock(context.Background())
	if err == nil || k.excused() {
		k.note(Inside, i18n.Textf("has unlocked once", "释放了一次"))
		return
	}
	k.note(Inside, i18n.Textf("cannot unlock once", "释放一次失败"), k.fails(i18n.Textf(
		"Unlock of %s, which has locked twice, fails: %v", "%s 加了两次锁，Unlock 却失败：%v", k.Name, shortError(err))))
}

// excused reports whether a fault may be the reason of an error.
func (k *Contender) excused() bool {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	return k.Client.faulted
}

// letGo calls Unlock, and again if that fails after a fault. It returns false if the last try
// failed, too.
func (k *Contender) letGo() bool {
	w := k.w
	k.note(Unlocking, i18n.Textf("unlocks", "正在释放锁"))
	for try := 1; ; try++ {
		w.mu.Lock()
		lostBefore := k.Lost
		w.mu.Unlock()

		err := k.Lock.Unlock(context.Background())

		w.mu.Lock()
		faulted, held := k.Client.faulted, k.held
		stillHeld := w.Lock.Requeues && k.lostSignal != nil && !bubble.IsClosed(k.lostSignal) && !k.Lost
		w.mu.Unlock()
		stillHeld = stillHeld && w.sessionLives(held) // without mu: a server that closes a line has its own lock, and waits for mu
		notLocked := err != nil && w.Lock.NotLocked != nil && w.Lock.NotLocked(err)
		var broken Broken
		switch {
		case errors.As(err, &broken):
			k.note(outside, hasUnlocked, broken.violation(k))
			return true
		case err == nil && lostBefore && try == 1 && w.Lock.NotLocked != nil && !w.OneOwner: // another goroutine of the owner may be the last
			k.note(outside, hasUnlocked, Violation{Kind: HidesLoss, Who: k.Name, What: i18n.Textf(
				"Unlock of %s reports success, but the lock was lost before", "%s 的 Unlock 报告成功，其实锁在此之前已经丢失", k.Name)})
			return true
		case err == nil:
			k.note(outside, hasUnlocked)
			return true
		case notLocked && faulted && stillHeld: // a lock that tries again must take its own earlier delete into account
			k.note(outside, findsItLost, k.fails(i18n.Textf(
				"Unlock of %s says that the lock was lost, though its session lives", "%s 的会话还在，Unlock 却报告锁已丢失", k.Name)))
			return true
		case notLocked && faulted:
			k.note(outside, findsItLost)
			return true
		case !faulted || w.Lock.Requeues:
			k.note(outside, cannotUnlock(err), k.fails(i18n.Textf("Unlock of %s fails: %v", "%s 的 Unlock 失败：%v", k.Name, shortError(err))))
			return false
		case try == 6: // a fault may be the reason of all six errors
			k.note(outside, cannotUnlock(err))
			return false
		}
		if !k.triesAgain() {
			return false
		}
	}
}

// triesAgain waits until the contender unlocks once more. It returns false if the schedule
// is over.
func (k *Contender) triesAgain() bool {
	if !k.w.Lock.Lenient {
		k.note(Unlocking, i18n.Textf("fails to unlock and tries again", "释放锁失败，再试一次"))
		time.Sleep(time.Second)
		return true
	}
	k.note(Unlocking, i18n.Textf("fails to unlock", "释放锁失败"))
	k.w.Do(func() { k.again = true })
	return k.gated()
}

// close calls Unlock after a Lock that failed.
func (k *Contender) close() {
	if err := k.Lock.Unlock(context.Background()); err != nil {
		k.note(outside, i18n.Textf("Unlock fails, too: %s", "Unlock 也失败：%s", shortError(err)))
	}
}

// unlockAgain calls Unlock once more than the lock was got.
func (k *Contender) unlockAgain() {
	w := k.w
	if w.Lock.NotLocked == nil || k.unsure || w.OneOwner { // another goroutine of the owner may hold it
		return
	}
	w.mu.Lock()
	over := w.free
	w.mu.Unlock()
	if over {
		return
	}
	if err := k.Lock.Unlock(context.Background()); err == nil || !w.Lock.NotLocked(err) {
		what := i18n.Textf("Unlock of %s, which does not hold the lock, succeeds", "%s 并不持有锁，Unlock 却成功了", k.Name)
		if err != nil {
			what = i18n.Textf("Unlock of %s, which does not hold the lock, says %s", "%s 并不持有锁，Unlock 返回：%s", k.Name, shortError(err))
		}
		k.note(outside, i18n.Text{}, k.fails(what))
	}
}

var (
	findsItHeld = i18n.Textf("finds the lock held", "发现锁被占用")
	findsItLost = i18n.Textf("finds that the lock was lost", "得知锁已丢失")
	hasUnlocked = i18n.Textf("has unlocked", "已释放锁")
	notOnceMore = i18n.Textf("does not get it once more", "没能再次拿到锁")
)

func failsWith(err error) i18n.Text {
	if errors.Is(err, context.Canceled) { // its ctx has ended
		return i18n.Textf("gives up: %s", "放弃等待：%s", shortError(err))
	}
	return i18n.Textf("gets an error: %s", "得到错误：%s", shortError(err))
}

func cannotUnlock(err error) i18n.Text {
	return i18n.Textf("cannot unlock: %s", "释放锁失败：%s", shortError(err))
}

// fails is the violation of a call that returns what it must not.
func (k *Contender) fails(what i18n.Text) Violation {
	return Violation{Kind: Failure, Who: k.Name, What: what}
}

// method is the name of the method that getIn calls, for a sentence.
func (op Op) method() i18n.Text {
	return i18n.Text{En: string(op), Zh: map[Op]string{LockOp: "Lock", TryLockOp: "TryLock", RelockOp: "Lock"}[op]}
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

// companyLocked reports whether another contender holds the lock, waits for it
// or unlocks it, or has left a node.
func (w *Player) companyLocked(k *Contender) bool {
	for _, o := range w.Contenders {
		if o != k && (o.State == Waiting || o.State == Inside || o.State == Unlocking ||
			o.Client != k.Client && len(w.nodesOf(o.Client)) > 0) {
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
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	return string(digits)
}
