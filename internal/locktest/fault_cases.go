package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// The cases in which something fails: a session ends, a request is lost, a server refuses. Most spoil each request of a
// call in turn: the first time that the case makes the call its first request, then the second, until it sends no more.

// ExpiredWaiter has the session of a waiter end. The error, if there is one, must say so.
func ExpiredWaiter(w *World) {
	if err := expiredWaiter(w); err != nil {
		w.errorSaysWhy(err)
	}
}

// expiredWaiter has the session of a waiter end. It returns the error of its Lock, nil if Lock outlives the session.
func expiredWaiter(w *World) error {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	w.Expire(s)
	// The requests of the client fail until it has a new session.
	w.Renewed(s, "the waiter's client has a new session")

	expired := w.Subject.Expired
	if w.waitsAgain(result, s) && expired == nil {
		w.MustUnlock(holder, "the holder")
		w.Holds(result, "a waiter whose session has expired, and that has queued again,")
		w.unlockLast(waiter, it)
		if w.Subject.Queue {
			w.queuesAgainBehind()
		}
		return nil
	}
	w.False(w.Subject.Requeues, "a waiter's session has expired, and it does not queue again")
	err := w.Result(result, "Lock of a waiter whose session has expired")
	w.HasError(err, "a waiter's session has expired and its node has gone, and Lock returns no error while another "+
		"contender holds the lock: two holders; the event that wakes it has Err set")
	w.True(expired == nil || slices.ContainsFunc(expired, func(want error) bool { return errors.Is(err, want) }),
		"a waiter's session has expired, and Lock does not say so: its error must wrap one of %v, and is %v", expired, err)
	w.NotLocked(waiter, "Unlock after a Lock that failed")
	w.Len(w.Nodes(), 1, "besides the holder's node there is one of a session that has expired, or the holder's has gone")
	w.MustUnlock(holder, "the holder")
	w.lockOnce(waiter, "the waiter, in its new session")
	w.NothingLeft()
	return err
}

// waitsAgain waits, after Patience, until a Lock that was disturbed has returned or sleeps on a watch. It reports
// whether it sleeps.
func (w *World) waitsAgain(result <-chan error, s *Session) bool {
	pause := stage.Patience
	if w.Server == nil {
		pause = time.Second
	}
	time.Sleep(pause)
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || s.Sleeps() }, "Lock neither returns nor waits on a watch%s")
	return len(result) == 0
}

// ClosedWaiter closes the clients of waiters, while a request is under way, and in the end while one sleeps.
func ClosedWaiter(w *World) { w.EachRequest(w.closedAtRequest) }

// closedAtRequest closes the client of a waiter while its n-th request is under way, and reports whether there was one.
// If not, the waiter sleeps by then. Lock must return; one that takes a ctx may clean up until that ends.
func (w *World) closedAtRequest(n int) bool {
	holder, _ := w.holder()
	waiter, s := w.Contender()
	lock := waiter.Lock
	if l, ok := waiter.(endlessLock); ok {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour/2)
		defer cancel()
		lock = func() error { return l.ContextLock.Lock(ctx) }
	}

	var held *zkserver.Fault                     // nil: the client is closed only when the waiter sleeps
	if w.Server != nil && !w.Subject.FindsNode { // a search may go on until there is an answer
		held = w.Server.Hold(stage.NthRequest(s, n))
	}
	underWay := func() bool { return held != nil && len(held.Hit()) > 0 }
	result := w.Aside("Lock", lock)
	w.Sleeps(s, "the waiter", func() bool { return underWay() || len(result) > 0 })
	if !underWay() {
		w.Waits(result, s, "the waiter")
	}

	s.Close()
	w.WaitFor(time.Hour, func() bool { return len(result) > 0 })
	w.True(len(result) > 0, "the client of a waiter was closed an hour ago, and Lock has not returned: a closed client does not "+
		"connect again, and each of its requests fails with zk.ErrConnectionClosed; return an error when the event that "+
		"ends the wait has zk.ErrClosing, or after a number of requests in a row that fail")
	err := <-result
	w.HasError(err, "the client of a waiter has been closed, its session has ended, and Lock returns no error: the next contender "+
		"gets in, too: two holders")
	w.NotErrorIs(err, zk.ErrSessionExpired,
		"the client of a waiter has been closed, and the error says that its session has expired: wrap the error of the event")
	if held != nil {
		held.Release()
		w.Server.Expire(s.ID)
	}
	w.unlockLast(holder, "the holder")
	return underWay()
}

func ExpiredHolder(w *World) {
	holder, s := w.holder()
	waiter, _, result := w.waiter()
	w.Expire(s)
	w.Holds(result, "the waiter, after the holder's session has expired,")
	w.unlockLast(waiter, "the new holder")
	// This ends what the lock does for the old holder in the background. UnlockAfterExpiry asks for the error.
	w.UnlockErr(holder, "Unlock after the session has expired")
}

// UnlockAfterExpiry has a holder whose session expires. A contender comes and goes, the next holder uses the old one's
// client, whose session is a new one by then, and the old one calls Unlock. That is done with Lock, and then with
// TryLock, each on a new path: if the parent goes with its last child, the next node may have the old name there.
func UnlockAfterExpiry(w *World) {
	w.expiredUnlockInTheSameMillisecond()
	for _, take := range []func(Lock, i18n.Text){w.MustLock, w.mustTryLock} {
		w.Path += "-2"
		w.MakeParent()
		holder, s := w.Contender()
		take(holder, "the holder")
		w.Expire(s)
		w.Renewed(s, "the old holder's client has a new session")

		between, _ := w.Contender()
		take(between, "a contender that comes after the holder's session has expired")
		w.MustUnlock(between, it)
		w.WaitWhileKept(0) // until no node is left

		next, _ := w.Contender(s)
		take(next, "the next holder, of the same client")
		w.expiredUnlock(holder, s, "others have come and gone since, another contender of the same client has the lock in "+
			"its next session, and its node may have the old name (look whose it is, or leave the parent: in a new one the "+
			"numbers begin again)")
		w.MustUnlock(next, "the next holder")
		w.lockOnce(holder, "the old holder, once more")
		w.NothingLeft()
	}
}

// mustTryLock takes a lock that nobody holds with TryLock or, if there is none, with Lock.
func (w *World) mustTryLock(l Lock, name i18n.Text) {
	if ok, err := w.TryLock(l, i18n.Textf("TryLock of %s", name)); errors.Is(err, errors.ErrUnsupported) {
		w.MustLock(l, name)
	} else {
		w.True(ok && err == nil, "no live session holds the lock, and TryLock of %s returns %v and %v", name, ok, err)
	}
}

// expiredUnlockInTheSameMillisecond has the next holder come in the same millisecond as the one
// whose session ends: a clock distinguishes them only if it is finer than that.
func (w *World) expiredUnlockInTheSameMillisecond() {
	s, next := w.Session(), w.Session()
	// The first answer to a new client comes late. Here it is that of Exists, so those of Lock come at once.
	for _, each := range []*Session{s, next} {
		_, _, err := each.Exists("/")
		require.NoError(w, err)
	}
	if w.Server != nil { // a full second is the beginning of a millisecond; on a real server the clock runs
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	holder := w.Subject.New(s.Conn, w.Path)
	w.MustLock(holder, "the holder")
	time.Sleep(100 * time.Microsecond)
	waiter, _, result := w.waiter(next)
	w.Expire(s)
	w.Holds(result, "the waiter, after the holder's session has expired,")
	w.expiredUnlock(holder, s, "another contender, which came in the same millisecond, has the lock")
	w.MustUnlock(waiter, "the new holder")
}

// expiredUnlock fails if Unlock of a holder whose session has expired deletes a node.
func (w *World) expiredUnlock(holder Lock, s *Session, who i18n.Text) {
	w.Renewed(s, "the old holder's client has a new session")
	before := w.Nodes()
	err := w.UnlockErr(holder, "Unlock after the session has expired")
	w.Equal(before, w.Nodes(), "the holder's session has expired, %s, and Unlock of the old holder has deleted another "+
		"contender's node: two holders", who)
	w.IsNotLocked(err, "Unlock after the session has expired")
}

// ErrorOnTheWay spoils each request of a waiter in turn, and then has no server be reached when the waiter is woken.
func ErrorOnTheWay(w *World) {
	w.spoilEach(w.spoilLock, spoiledContender{
		name: "the waiter",
		open: func() (Lock, *Session) { return w.Contender() },
		failed: func(call failedCall) {
			w.False(call.mustOutlive, "%s, and Lock returns an error: %v", call.how, call.err)
			w.failedCleanly(call)
			call.unlockHolder()
			w.lockOnce(call.contender, "the waiter, once more,")
			w.NoNodes(i18n.Textf("%s, every contender has let go since, and a node is left: send a delete again if it is lost",
				call.how))
		},
	})

	CreateIsLost(w)
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	w.Server.LoseRequest(stage.NthRequest(s, 1))
	time.AfterFunc(stage.Outage, w.CutOff(w.Server.LoseRequest, s, jute.OpConnect))
	w.MustUnlock(holder, "the holder")
	err := w.Result(result, "Lock, when no server can be reached for four seconds after it has waited,")
	if err == nil {
		w.MustUnlock(waiter, "the waiter")
		w.Rest()
		w.NothingLeft()
		return
	}
	w.errorSaysWhy(err)
	w.Rest()
	w.NotLocked(waiter, "Unlock after a Lock that failed when no server could be reached") // its node may still be there
}

// A spoiledContender says which contender a case spoils: something goes wrong with one of its requests, each time with
// another one. It also says what the case does when the contender's Lock or TryLock has returned.
type spoiledContender struct {
	name   i18n.Text               // in messages
	open   func() (Lock, *Session) // makes it, once for each request
	got    func(l Lock)            // is called with a contender that has got the lock; may be nil
	failed func(call failedCall)   // is called if the call has returned an error
}

// A failedCall is a Lock or TryLock that has returned an error after one of its requests was spoiled.
type failedCall struct {
	contender    Lock
	session      *Session
	request      int       // the number of the spoiled one
	how          i18n.Text // what went wrong with it
	mustOutlive  bool      // the lock should have tried again, so the error is a failure
	err          error     // that the call has returned
	unlockHolder func()    // has the holder let go, if there is one that has not
}

// spoilEach spoils each request of a call in turn, in each way. spoilAt makes the call, and spoils its n-th request.
func (w *World) spoilEach(spoilAt func(c spoiledContender, sp spoiler, n int) (sent bool), c spoiledContender) {
	for _, sp := range w.spoilers() {
		w.EachRequest(func(n int) bool { return spoilAt(c, sp, n) })
	}
}

// spoilLock spoils the n-th request of a Lock while another contender holds the lock, and reports whether Lock has sent
// one. If Lock waits, also after it has tried again, the holder lets go.
func (w *World) spoilLock(c spoiledContender, sp spoiler, n int) (sent bool) {
	holder, _ := w.holder()
	waiter, s := c.open()
	fault, release := w.spoil(sp, s, n)
	result := w.BeginLock(waiter)
	spoiled := w.HitOrSleeps(fault, s, "the request is spoiled, or the waiter waits")

	// A Lock that is not spoiled yet waits, and may send the n-th request once it is woken.
	waited := !spoiled || w.waitsAgain(result, s)
	if waited {
		w.MustUnlock(holder, "the holder")
	}
	err := w.Result(result, i18n.Textf(
		"Lock of %s, when its request %d %s, and it has tried again and waits, and the holder has let go,", c.name, n, sp.what))
	how := sp.how(s, n)
	release()

	if err != nil {
		c.failed(failedCall{contender: waiter, session: s, request: n, how: how,
			mustOutlive: spoiled && w.mustOutlive(sp, s, n), err: err, unlockHolder: func() {
				if !waited { // else the holder has let go already
					w.MustUnlock(holder, "the holder")
				}
			}})
		return true
	}

	w.True(waited, "%s, and Lock of %s returns no error while another contender holds the lock: two holders", how, c.name)
	sent = len(fault.Hit()) > 0 // perhaps only when the waiter was woken
	fault.Release()
	if c.got != nil {
		c.got(waiter)
	}

	w.NotEmpty(w.Nodes(), "%s, and Lock has returned without a node, so that the next contender gets in: two holders", how)
	w.MustUnlock(waiter, c.name)
	w.noNodeStays(how)

	atLeast := 1 // request
	if w.Subject.Queue {
		atLeast = 2 // a create, and a list of the children
	}
	w.True(sent || n > atLeast, "%s sends only %d requests: it cannot have looked for the holder", c.name, n-1)
	return sent
}

// A spoiler is one way in which one request of a contender goes wrong.
type spoiler struct {
	what          i18n.Text // goes wrong
	fault         stage.MakeFault
	onlyBreaks    bool // the connection breaks, and nothing else goes wrong
	cleanUpIsLost bool // the first delete after the request is lost, too, or its reply
}

func (w *World) spoilers() []spoiler {
	fail := func(when func(zkserver.Request) bool) *zkserver.Fault {
		return w.Server.Fail(jute.ErrRuntimeInconsistency, when)
	}
	spoilers := []spoiler{
		{what: "is answered with an error", fault: fail},
		{what: "is lost with its connection", fault: w.Server.LoseRequest, onlyBreaks: true},
		{what: "is carried out, and its reply is lost with the connection", fault: w.Server.LoseReply, onlyBreaks: true},
	}
	if w.Subject.Queue { // a lock without a queue has nothing to clean up
		spoilers = append(spoilers, spoiler{fault: fail, cleanUpIsLost: true,
			what: "fails, and the first try to clean up, or its reply, is lost with its connection"})
	}
	return spoilers
}

// spoil has the n-th request of a contender, from now on, meet the spoiler's fault. If the spoiler loses a delete of
// the clean-up, too, that lasts until release is called.
func (w *World) spoil(sp spoiler, s *Session, n int) (fault *zkserver.Fault, release func()) {
	fault = sp.fault(stage.NthRequest(s, n))
	if !sp.cleanUpIsLost {
		return fault, func() {}
	}
	lose := w.Server.LoseRequest
	if n%2 == 1 { // by turns, the delete or its reply
		lose = w.Server.LoseReply
	}
	return fault, lose(stage.Sent(s, jute.OpDelete)).Release
}

func (sp spoiler) how(s *Session, n int) i18n.Text {
	return i18n.Textf("its request %d, %v, %s", n, stage.RequestKind(s, n), sp.what)
}

// mustOutlive reports whether a lock must try again, and return no error, after its n-th request was spoiled.
func (w *World) mustOutlive(sp spoiler, s *Session, n int) bool {
	outlivesBreak := w.Subject.Retries
	if stage.CreatesNode(stage.RequestKind(s, n)) {
		outlivesBreak = w.Subject.FindsNode
	}
	return w.Subject.Requeues || sp.onlyBreaks && outlivesBreak
}

// errorInTryLock spoils each request of TryLock on a free lock in turn.
func errorInTryLock(w *World) {
	w.MakeParent()
	w.troubledTryLock()
	w.tryLockLosesItsCreate()
	w.tryLockLosesItsDeletes()
	w.spoilEach(w.spoilTryLock, spoiledContender{
		name: it,
		open: func() (Lock, *Session) { return w.Contender() },
		failed: func(call failedCall) {
			w.False(call.mustOutlive, "%s, and TryLock returns an error: %v", call.how, call.err)
			if slices.Contains(stage.RequestsOf(call.session), jute.OpDelete) {
				w.lockOnce(call.contender, "it, which has tried before and may still be cleaning up,")
			}
			w.failedCleanly(call)
			w.lockOnce(call.contender, "it, once more,")
		},
	})
}

// longWait is the time for which a client waits for an answer, or loses its requests: its session lives on.
const longWait = 6 * time.Second

// troubledTryLock has the TryLock of a free lock fail for other reasons than one request.
func (w *World) troubledTryLock() {
	answeredLate := func(s *Session) { time.AfterFunc(longWait, w.Server.HoldReply(stage.NthRequest(s, 1)).Release) }
	admin := w.Session()
	nodeGoes := func(s *Session) {
		list := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
		time.AfterFunc(time.Second, func() {
			admin.Delete(strings.Join(w.NodesOf(s), ""), -1) // it has one node, or none
			list.Release()
		})
	}

	for _, trouble := range []func(*Session){w.Unreachable, w.SaysExpired, answeredLate, nodeGoes} {
		l, s := w.Contender()
		trouble(s)
		ok, err := w.TryLock(l, "TryLock, when no server can be reached, its session ends, its create is answered late, or "+
			"its node goes,")
		w.True(ok || err != nil, "no server can be reached, the session ends, the create is answered late, or its node "+
			"goes, nobody holds the lock, and TryLock returns false and no error: that says that another contender holds it")
		if ok {
			w.MustUnlock(l, it)
		}
		w.WaitUntil(func() bool { return len(w.NodesOf(s)) == 0 }, "TryLock returns the error %v, and its node stays: "+
			"the answer to its create came six seconds late; delete the node when it comes", err)
	}
}

// tryLockLosesItsCreate has a TryLock lose the reply to its create. Another contender of its session holds the lock.
func (w *World) tryLockLosesItsCreate() {
	s := w.Ordinary() // it connects again at once
	locks := w.contenders(2, s)
	w.MustLock(locks[0], "the holder")
	held := w.Nodes()
	w.Server.LoseReply(stage.Creates(s))
	ok, _ := w.TryLock(locks[1], "TryLock on a held lock, when the reply to its create is lost,")
	w.False(ok, "the reply to the create of TryLock is lost, and it takes a lock that another contender of its session "+
		"holds: two holders; a node of your session need not be yours")
	time.Sleep(stage.Patience) // in which it may clean up
	w.Has(w.Nodes(), held, "the reply to the create of TryLock is lost, and its clean-up has deleted another contender's "+
		"node, that of the holder, which has the same session: two holders; a node of your session need not be yours")
	w.Server.Expire(s.ID)
}

// tryLockLosesItsDeletes has a TryLock on a held lock lose each delete of its clean-up, for a while.
func (w *World) tryLockLosesItsDeletes() {
	holder, _ := w.holder()
	l, s := w.Contender()
	time.AfterFunc(longWait, w.CutOff(w.Server.LoseRequest, s, jute.OpDelete))
	_, err := w.TryLock(l, "TryLock on a held lock, when each delete is lost for six seconds,")
	w.Rest()
	w.True(err != nil || len(w.NodesOf(s)) == 0, "each delete was lost for six seconds, TryLock on a held lock has returned no "+
		"error, and its node stays: no error says that nothing is left behind; send a delete again until it is answered")
	s.Close()
	w.MustUnlock(holder, "the holder")
}

// spoilTryLock spoils the n-th request of a TryLock on a free lock, and reports whether TryLock has sent one.
func (w *World) spoilTryLock(c spoiledContender, sp spoiler, n int) (sent bool) {
	l, s := c.open()
	fault, release := w.spoil(sp, s, n)
	ok, err := w.TryLock(l, i18n.Textf("TryLock, when its request %d %s,", n, sp.what))
	release()
	sent = len(fault.Hit()) > 0
	how := sp.how(s, n)
	if err != nil {
		w.False(ok, "TryLock returns true and an error")
		c.failed(failedCall{contender: l, session: s, request: n, how: how,
			mustOutlive: sent && w.mustOutlive(sp, s, n), err: err, unlockHolder: func() {}})
		return true
	}

	fault.Release()
	w.True(ok, "TryLock on a free lock returns false and no error, when %s", how)
	w.NotEmpty(w.Nodes(), "%s, and TryLock returns true without a node, so that the next contender gets in: two holders",
		how)
	w.MustUnlock(l, c.name)
	w.noNodeStays(how)
	w.True(sent || n > 1, "TryLock takes a lock without a request")
	return sent
}

// noNodeStays fails if a lock that has tried again keeps a node, once its work in the background has ended.
func (w *World) noNodeStays(how i18n.Text) {
	w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
		"%s, the lock has tried again and has been let go, and it leaves a node behind: it blocks every contender that "+
			"comes later; send a delete again if it is lost, and look for the node of a create whose reply is lost", how)
}

// failedCleanly fails if a failed call has left a node, unless a reply to create was lost: then its session must end.
func (w *World) failedCleanly(call failedCall) {
	s, how := call.session, call.how
	w.errorSaysWhy(call.err)
	w.NotErrorIs(call.err, zk.ErrNoNode,
		"%s, no node has gone, and the error says that one has: return the error of the request that failed", how)
	w.NotLocked(call.contender, i18n.Textf("Unlock after a Lock that failed (%s)", how))
	if !stage.CreatesNode(stage.RequestKind(s, call.request)) {
		w.WaitUntil(func() bool { return s.Tap.Pending() == 0 && len(w.NodesOf(s)) == 0 },
			"%s, Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the "+
				"node before you return an error, and send that delete again if it is lost", how)
		return
	}
	w.WaitUntil(func() bool { return len(w.NodesOf(s)) <= 1 }, "%s, and there are two nodes", how)
	w.Server.Expire(s.SessionID())
	w.Renewed(s, "the client has a new session")
}

func (w *World) namesTheLock(err error) {
	w.notErrNotLocked(err, "Lock returns ErrNotLocked, which is Unlock's error")
	w.ErrorContains(err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %%w)")
}

// errorSaysWhy is for the error of a call after a request has failed, or a watch has ended with an error. It fails if
// the error wraps none of the client's errors, or does not name the lock. The client has no value for the error of a
// code that it does not know: that one is recognized by its text.
func (w *World) errorSaysWhy(err error) {
	wrapsOne := slices.ContainsFunc(clientErrors, func(e error) bool { return errors.Is(err, e) })
	w.True(wrapsOne || strings.Contains(err.Error(), "unknown error"), "a request has failed, or a watch has ended with "+
		"an event whose Err is set, and the error does not wrap the client's (fmt.Errorf with %%w): %v", err)
	w.namesTheLock(err)
}

var clientErrors = []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrNoNode, zk.ErrClosing}

// UnlockAgain spoils each request of Unlock in turn. Unlock may try again, or return an error and be called again.
func UnlockAgain(w *World) {
	for _, sp := range w.spoilers() {
		if !sp.cleanUpIsLost { // Unlock has no clean-up
			w.EachRequest(func(n int) bool { return w.unlockSpoiled(sp, n) })
		}
	}
	w.unlockWithoutServer()
	w.unlockIsToldOfTheEnd()
	w.unlockWaitsForItsDelete()
}

// unlockSpoiled has the n-th request of an Unlock spoiled, and reports whether Unlock has sent one.
func (w *World) unlockSpoiled(sp spoiler, n int) (sent bool) {
	l, s := w.holder()
	fault, _ := w.spoil(sp, s, n)
	err := w.UnlockErr(l, i18n.Same("Unlock"))
	sent = len(fault.Hit()) > 0
	fault.Release()
	w.True(sent || err == nil, "Unlock fails, and nothing was wrong: %v", err)
	w.letsGoDespite(l, s, err, i18n.Textf("request %d of Unlock %s", n, sp.what))
	w.True(sent || n > 1, "Unlock sends no request")
	return sent
}

// unlockWithoutServer has an Unlock when no server can be reached. Its first request that can be sent later is lost.
func (w *World) unlockWithoutServer() {
	l, s := w.holder()
	w.Unreachable(s)
	fault := w.Server.LoseRequest(stage.NthRequest(s, 1))
	err := w.UnlockErr(l, i18n.Same("Unlock"))
	fault.Release()
	w.letsGoDespite(l, s, err, i18n.Textf("request %d of Unlock %s", 1,
		i18n.Text("cannot be sent: no server can be reached for four seconds")))
}

// letsGoDespite fails unless a holder whose Unlock has returned err lets go. If err is not nil, Unlock is called again.
func (w *World) letsGoDespite(l Lock, s *Session, err error, how i18n.Text) {
	if err != nil {
		w.notErrNotLocked(err, i18n.Textf("%s, and Unlock returns ErrNotLocked, though the holder held the lock until "+
			"then; a delete that finds no node, after one whose reply was lost, shows that the first has let go", how))
		w.errorSaysWhy(err)
		w.Eventually("the client is connected", func() bool { return s.State() == zk.StateHasSession })
		hasLetGo := len(w.Nodes()) == 0
		if hasLetGo {
			w.nextHolderIsAlone(l, how)
		}
		err = w.UnlockErr(l, "Unlock, called again,")
		maySayNotLocked := hasLetGo && (w.Subject.ErrNotLocked == nil || errors.Is(err, w.Subject.ErrNotLocked))
		if !maySayNotLocked {
			w.NoError(err, "%s, and Unlock, called again, cannot delete the node: forget the node only once it has gone", how)
		}
	}
	w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
		"%s, Unlock has returned no error, and the node stays: the caller goes on as if the lock were free", how)
	w.NotLocked(l, "Unlock of a lock that has been let go")
}

// nextHolderIsAlone fails if a contender that has let go, and whose Unlock has failed, says that it holds the lock.
func (w *World) nextHolderIsAlone(l Lock, how i18n.Text) {
	next, _ := w.holder()
	ok, _ := w.TryLock(l, "TryLock after an Unlock that failed")
	w.False(ok, "%s, another contender has the lock since, and TryLock of the one that has let go returns true: two holders", how)
	w.MustUnlock(next, "the next holder")
}

// unlockIsToldOfTheEnd answers the request of an Unlock with the error that the session has ended.
func (w *World) unlockIsToldOfTheEnd() {
	l, s := w.holder()
	w.SaysExpired(s)
	if w.UnlockErr(l, i18n.Same("Unlock")) == nil {
		w.Empty(w.Nodes(), "the answer to a request of Unlock is that the session has ended, and Unlock returns no error, while "+
			"its node is there: the lock was not let go but lost; return an error")
	}
}

// unlockWaitsForItsDelete leaves the delete of an Unlock without an answer for a while, and then loses it.
func (w *World) unlockWaitsForItsDelete() {
	l, s := w.Contender(w.SessionFor(longTimeout))
	w.MustLock(l, "the holder")
	held := w.Server.Hold(stage.Sent(s, jute.OpDelete))
	time.AfterFunc(late, func() { w.Server.Cut(s.ID); held.Release() })
	for again := 0; w.UnlockErr(l, i18n.Same("Unlock")) != nil && again < 2; again++ {
		w.Rest()
	}
	w.NoNodes(i18n.Textf("the delete of Unlock was not answered, after %v it was lost, and Unlock, called again, has not deleted "+
		"the node: forget the node only once it has gone", late))
}
