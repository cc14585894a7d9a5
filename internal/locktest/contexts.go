package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// A ContextLock is one contender, used by one goroutine at a time, that gives up when its ctx ends.
type ContextLock interface {
	Lock(ctx context.Context) error
	TryLock() (bool, error)
	Unlock() error
}

// A ContextSubject is a fair queue in which a waiter can give up. Subject has the cases for any contender.
type ContextSubject struct {
	New          func(conn *zk.Conn, path string) ContextLock // a contender for the lock at path, the parent of its node
	ErrNotLocked error                                        // as in Subject
	Level        Level                                        // how much is asked of the lock; the zero Level is Full
}

func (s ContextSubject) Plan() Plan {
	contender := Subject{
		New:          func(conn *zk.Conn, path string) Lock { return Background(s.New(conn, path)) },
		ErrNotLocked: s.ErrNotLocked,
		Queue:        true,
	}
	return NewPlan(contextCases, stage.Of[*contexts](s.Level),
		contender, func(w *World) *contexts { return &contexts{w, s} }).
		Needs(s.New != nil, "ContextSubject.New is nil: it must make a contender")
}

// Background makes a Lock of a ContextLock: its ctx does not end.
func Background(l ContextLock) Lock { return endlessLock{l} }

type endlessLock struct{ ContextLock }

func (l endlessLock) Lock() error { return l.ContextLock.Lock(context.Background()) }

// In most cases a holder has the lock, and a waiter calls Lock in a goroutine (beginLock), gives up when its ctx ends
// (giveUp), and must return an error (Result). Faults of w.Server spoil one request: Hold keeps it from the server, and
// HoldReply keeps back its reply, until Release; Fail has it fail; LoseRequest loses it with the connection. Hit has a
// value once the request has come. stage.NthRequest and stage.Sent say which request that is.
var contextCases = []TestCase[*contexts]{
	row("a waiter whose ctx ends returns an error that wraps it", Liveness, waiterReturns, basic),
	row("a waiter that gives up leaves the queue", Liveness, waiterLeaves, basic),
	row("a waiter that gives up lets nobody in and stops nobody", Liveness, waiterBetween, basic),
	row("a waiter waits until the deadline of its ctx, however often it wakes, and no longer", Liveness, waitsUntilDeadline, basic, calm),
	row("a contender that gave up can lock again", Liveness, locksAgain, basic),
	row("a ctx that ends after Lock has returned changes nothing", Liveness, endsAfterLock, basic),
	row("a ctx that has ended before gets no lock", Liveness, endedBefore, basic),
	row("a waiter that gives up returns though no server answers", Faults, silentServer, exact),
	row("a request that is answered after ctx has ended leaves nothing behind", Faults, answeredTooLate, exact),
	row("a waiter that gives up in the instant in which it gets the lock keeps nobody out",
		Liveness, givesUpAtOnce, exact),
	row("no goroutine is left when a waiter has given up", Cost, goroutinesOfGivingUp, exact),
	row("a ctx that has ended before sends nothing", Cost, endedBeforeSendsNothing),
}

type contexts struct {
	*World
	subject ContextSubject
}

// soon is how long Lock may take to return when its ctx has ended, in virtual time; on a real server, stage.Patience.
const soon = time.Second

// longTimeout is the longest session timeout that a server agrees to by default. In such a session a server may answer
// after the time late, without loss of the connection.
const longTimeout, late = 40 * time.Second, 25 * time.Second

// A contextContender has a session of its own, and a ctx that giveUp ends.
type contextContender struct {
	endlessLock // as the other helpers of a World use it
	s           *Session
	ctx         context.Context
	giveUp      context.CancelFunc
	result      <-chan error // of its Lock
}

func (w *contexts) newContender() *contextContender {
	s := w.SessionFor(longTimeout)
	// The deadline is never reached: a ctx that has one can also be cancelled.
	ctx, cancel := context.WithTimeout(context.Background(), 1000*time.Hour)
	w.Cleanup(cancel)
	return &contextContender{endlessLock: endlessLock{w.subject.New(s.Conn, w.Path)}, s: s, ctx: ctx, giveUp: cancel}
}

// beginLock calls Lock in a goroutine of its own, with the contender's ctx.
func (w *contexts) beginLock(contender *contextContender) {
	contender.result = w.Aside("Lock", func() error { return contender.ContextLock.Lock(contender.ctx) })
}

func (w *contexts) newWaiter(name i18n.Text) *contextContender {
	contender := w.newContender()
	w.beginLock(contender)
	w.Waits(contender.result, contender.s, name)
	return contender
}

// givesUp ends the ctx of a Lock, and waits for its result.
func (w *contexts) givesUp(contender *contextContender, name i18n.Text) {
	contender.giveUp()
	began := time.Now()
	err := w.Result(contender.result, i18n.Textf("the ctx of %s has ended, and its Lock", name))
	w.HasError(err, "the ctx of %s has ended, another contender holds the lock, and Lock returns no error: two holders", name)
	w.ErrorIs(err, context.Canceled, "the ctx of %s has ended, and Lock returns an error that does not wrap "+
		"ctx.Err(): the caller cannot find out why (fmt.Errorf with %%w)", name)
	w.NotErrorIs(err, context.DeadlineExceeded, "the ctx of %s was cancelled, and its deadline has not passed", name)
	w.True(w.Server == nil || time.Since(began) <= soon,
		"the ctx of %s has ended, and Lock returns much later: select on ctx.Done() and on the watch", name)
}

func waiterReturns(w *contexts) {
	holder, _ := w.holder()
	waiter := w.newWaiter("the waiter")
	w.givesUp(waiter, "the waiter")
	w.NotLocked(waiter, "Unlock after a Lock that gave up")
	w.MustUnlock(holder, "the holder")
	w.Rest()
}

func waiterLeaves(w *contexts) {
	holder, _ := w.holder()
	waiter := w.newContender()
	waiter.ctx, waiter.giveUp = context.WithCancel(context.Background()) // it has no deadline
	w.beginLock(waiter)
	w.Waits(waiter.result, waiter.s, "the waiter")
	w.givesUp(waiter, "the waiter")
	w.WaitUntil(func() bool { return len(w.Nodes()) == 1 }, "a waiter has given up, and its node is still in the "+
		"queue: it blocks every contender that comes later; delete the node when ctx ends")
	w.MustUnlock(holder, "the holder")
	next, _ := w.Contender()
	w.lockOnce(next, "a contender that comes later")
	w.NothingLeft()
}

func waiterBetween(w *contexts) {
	holder, _ := w.holder()
	middle, last := w.newWaiter("the waiter in the middle"), w.newWaiter("the last waiter")
	w.givesUp(middle, "the waiter in the middle")
	w.Eventually("the node of the waiter that gave up goes", func() bool { return len(w.Nodes()) == 2 })
	w.Waits(last.result, last.s, "the waiter after the one that gave up")
	w.MustUnlock(holder, "the holder")
	w.Holds(last.result, "the waiter after the one that gave up")
	w.unlockLast(last, it)
}

// waitsUntilDeadline has a waiter with a deadline wake three times: three waiters before it give up in turn.
func waitsUntilDeadline(w *contexts) {
	const patience = 2*time.Hour + 700*time.Millisecond // a lock that counts whole seconds, or minutes, is late
	holder, _ := w.holder()
	var before []*contextContender
	for i := range 3 {
		before = append(before, w.newWaiter(stage.Contender(i+1)))
	}
	last := w.newContender()
	last.ctx, last.giveUp = context.WithTimeout(context.Background(), patience)
	w.Cleanup(last.giveUp)
	began := time.Now()
	w.beginLock(last)
	w.Waits(last.result, last.s, "the waiter with a deadline")

	for _, contender := range slices.Backward(before) { // the one just before it first
		time.Sleep((patience - soon/10) / 3) // the last time is just before the deadline
		if len(last.result) > 0 {
			w.NoError(<-last.result,
				"the ctx of a waiter ends after %v, and after %v its Lock fails", patience, time.Since(began))
			w.Failf("the waiter with a deadline has got the lock while another contender holds it: two holders")
		}
		w.givesUp(contender, "a waiter before it")
	}

	time.Sleep(time.Until(began.Add(patience)) + soon)
	w.True(len(last.result) > 0,
		"the ctx of a waiter has ended after %v, and Lock has not returned: the waiter has woken three times meanwhile, "+
			"and each time it waits for what is left of its ctx, not for as long as at first", patience)
	err := <-last.result
	w.HasError(err, "the ctx of a waiter has ended, another contender holds the lock, and Lock returns no error: two holders")
	w.NotErrorIs(err, context.Canceled, "the deadline of a ctx has passed, and the error says that it was cancelled")
	w.ErrorIs(err, context.DeadlineExceeded,
		"the deadline of a ctx has passed, and Lock returns an error that does not wrap ctx.Err() (fmt.Errorf with %%w)")
	w.MustUnlock(holder, "the holder")
	w.Rest()
	w.NothingLeft()
}

func locksAgain(w *contexts) {
	holder, _ := w.holder()
	waiter := w.newWaiter("the waiter")
	w.givesUp(waiter, "the waiter")
	w.MustUnlock(holder, "the holder")
	w.lockOnce(waiter, "the contender that gave up, with another ctx,")
	w.Rest()
}

func endsAfterLock(w *contexts) {
	holder := w.newContender()
	w.beginLock(holder)
	w.Holds(holder.result, "the holder")
	holder.giveUp()
	other, _ := w.Contender()
	for range 3 {
		w.Rest()
		w.Len(w.Nodes(), 1, "the ctx that Lock was called with has ended, after Lock had returned, and the holder's node "+
			"has gone, so that the next contender gets in: two holders; ctx bounds the waiting, not the holding")
		ok, err := w.TryLock(other, "TryLock on a held lock")
		w.NoError(err, "TryLock on a held lock fails")
		w.False(ok, "the ctx that Lock was called with has ended, after Lock had returned, and another contender gets in: two holders")
	}
	w.unlockLast(holder, "the holder, whose ctx has ended,")
}

func endedBefore(w *contexts) {
	contender := w.newContender()
	contender.ctx, contender.giveUp = context.WithTimeout(context.Background(), soon)
	contender.giveUp()
	time.Sleep(2 * soon) // its deadline passes as well
	w.beginLock(contender)
	err := w.Result(contender.result, "Lock with a ctx that has ended")
	w.ErrorIs(err, context.Canceled,
		"Lock was called with a ctx that had ended, and returns no error that wraps ctx.Err(): look at ctx before "+
			"anything else, and return ctx.Err(): a ctx that was cancelled can have a deadline that has passed")
	w.namesTheLock(err)
	w.Rest()
	w.NotLocked(contender, "Unlock after a Lock that gave up")
	w.NoNodes("Lock was called with a ctx that had ended, and has left a node")
	w.lockOnce(contender, "the contender whose ctx had ended, with another ctx,")
}

// goroutinesOfGivingUp has a contender lock whose ctx does not end, and waiters give up while they wait, and while a
// request of theirs is not answered. What Lock returns then, and when, is another case.
func goroutinesOfGivingUp(w *contexts) {
	locked := w.newContender() // its ctx goes on
	w.beginLock(locked)
	w.Holds(locked.result, it)
	w.MustUnlock(locked, it)
	for n := 1; n <= 4; n++ {
		holder, _ := w.holder()
		waiter := w.newContender()
		held := w.Server.Hold(stage.NthRequest(waiter.s, n))
		w.beginLock(waiter)
		w.HitOrSleeps(held, waiter.s, "the request is held back, or the waiter waits")
		waiter.giveUp()
		w.Rest()
		held.Release()
		w.MustUnlock(holder, "the holder")
		if w.Result(waiter.result, "the ctx of a waiter has ended, and its Lock") == nil {
			w.MustUnlock(waiter, "the waiter")
		}
	}

	holder, _ := w.holder()
	waiter := w.newWaiter("the waiter")
	held := w.Server.Hold(stage.Sent(waiter.s, jute.OpDelete))
	waiter.giveUp()
	w.Hit(held, "a waiter that has given up deletes its node")
	waiter.s.Conn.Close()
	held.Release()
	w.MustUnlock(holder, "the holder")
	w.NoGoroutines()
}

func endedBeforeSendsNothing(w *contexts) {
	contender := w.newContender()
	contender.giveUp()
	w.beginLock(contender)
	w.HasError(w.Result(contender.result, "Lock with a ctx that has ended"),
		"Lock was called with a ctx that had ended, and returns no error")
	w.Rest()
	w.Empty(stage.RequestsOf(contender.s),
		"Lock was called with a ctx that had ended, and has sent a request: look at ctx before anything else")
}

// silentServer has a waiter give up while each of its requests in turn is not answered. Then that request fails, and
// the delete with which Lock cleans up is not answered.
func silentServer(w *contexts) {
	const atRequest, atCleanUp = false, true
	w.EachRequest(func(n int) (sent bool) {
		if sent = w.givesUpInSilence(n, atRequest); sent {
			w.givesUpInSilence(n, atCleanUp)
		}
		w.True(sent || n > 1, "the waiter sends nothing before it waits")
		return sent
	})
	w.Rest()
	w.NothingLeft()
}

// givesUpInSilence plays these steps, and reports whether the waiter has sent the request that is not answered:
//
//  1. The waiter calls Lock. The server does not answer its n-th request. If atCleanUp, that request fails, and the
//     server does not answer the delete that Lock then sends.
//  2. The ctx of the waiter ends, and Lock returns. The waiter calls Lock again with another ctx. This is done twice.
//  3. The ctx of the last Lock ends, too. The server answers again, and the waiter's nodes go.
func (w *contexts) givesUpInSilence(n int, atCleanUp bool) (sent bool) {
	holder, _ := w.holder()
	waiter := w.newContender()
	unanswered := stage.NthRequest(waiter.s, n)
	if atCleanUp {
		w.Server.Fail(jute.ErrRuntimeInconsistency, unanswered)
		unanswered = stage.Sent(waiter.s, jute.OpDelete)
	}
	held := w.Server.Hold(unanswered)
	w.beginLock(waiter)
	w.WaitFor(soon, func() bool { return len(held.Hit()) > 0 })
	sent = len(held.Hit()) > 0

	for range 2 {
		waiter.giveUp()
		select {
		case err := <-waiter.result:
			w.True(err != nil && (atCleanUp || errors.Is(err, context.Canceled)), // atCleanUp: or that of the failed request
				"the ctx of a waiter has ended, and Lock returns an error that does not wrap ctx.Err(): %v", err)
			w.NotErrorIs(err, context.DeadlineExceeded, "the ctx of %s was cancelled, and its deadline has not passed", "a waiter")
			w.namesTheLock(err)
		case <-time.After(soon):
			sent := stage.RequestsOf(waiter.s)
			w.Failf(
				"the ctx of a waiter has ended while the server did not answer its request %d, %v, and Lock does not return: the client's calls "+
					"take no ctx; make them in a goroutine, also the delete of a clean-up, and let Lock select on its result and on ctx.Done()",
				len(sent), sent[len(sent)-1])
		}
		waiter.ctx, waiter.giveUp = context.WithCancel(context.Background())
		w.beginLock(waiter)
		time.Sleep(soon)
	}

	waiter.giveUp()
	held.Release()
	w.Rest()
	w.MustUnlock(holder, "the holder")
	w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
		"a waiter has given up while the server did not answer, and its node stays when the server answers again: it "+
			"blocks every contender that comes later; delete it in the goroutine that Lock left behind")
	return sent
}

// What becomes of the first delete that a Lock sends when it has given up.
const deleteWorks, deleteIsLost, deleteFails = "works", "is-lost", "fails"

// answeredTooLate has ctx end while the reply to each request of a Lock in turn is held back.
func answeredTooLate(w *contexts) {
	w.EachRequest(func(n int) bool {
		for _, firstDelete := range []string{deleteWorks, deleteIsLost, deleteFails} {
			if sent := w.givesUpBeforeReply(n, firstDelete); !sent {
				w.True(n > 1, "Lock sends no request")
				return false
			}
		}
		return true
	})
	w.losesItsDelete(true)
	w.losesItsDelete(false)
	w.waitsInTheClient()
}

// losesItsDelete has a waiter give up while it sleeps, and its delete is lost. Perhaps the waiter locks again at once.
func (w *contexts) losesItsDelete(again bool) {
	holder, _ := w.holder()
	waiter := w.newWaiter("the waiter")
	lost := w.Server.LoseRequest(stage.Sent(waiter.s, jute.OpDelete))
	defer lost.Release()
	waiter.giveUp()
	w.Result(waiter.result, "the ctx of a waiter has ended, and its Lock") // what it returns is another case
	if again {
		w.MustUnlock(holder, "the holder")
		time.Sleep(50 * time.Millisecond) // of virtual time: the connection has broken, and what sends the delete again still waits
		if w.Result(w.BeginLock(waiter), "Lock of the contender that gave up, with another ctx,") == nil {
			w.Rest()
			w.NotEmpty(w.NodesOf(waiter.s), "a contender gave up, its delete was lost, it has locked again, and the delete that "+
				"was sent again has deleted the node with which it holds: two holders")
			w.MustUnlock(waiter, it)
		}
		w.Rest()
		w.NothingLeft()
		return
	}
	w.WaitUntil(func() bool { return len(w.Nodes()) == 1 }, "the ctx of a waiter that slept has ended, its delete was "+
		"lost with the connection, and its node stays: it blocks every contender that comes later; send the delete again "+
		"until it is answered")
}

// waitsInTheClient cuts a connection, and then has a ctx end: the request of its Lock waits in the client, which
// connects again a minute later and sends the request. After 67 s an ordinary client would have the request fail.
func (w *contexts) waitsInTheClient() {
	w.Path += "-2" // another lock: that of losesItsDelete has its holder still
	w.MakeParent()
	s := w.Ordinary()
	connect := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.Hit(connect, "the client connects again")
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	l := w.subject.New(s.Conn, w.Path)
	w.Result(w.Aside("Lock", func() error { return l.Lock(ctx) }), "Lock without a connection")
	time.Sleep(time.Minute)
	connect.Release()
	w.Rest()
	w.NoNodes("the ctx of a contender has ended while its request waited in the client for a connection, which came a minute " +
		"later, and the node stays: it blocks every contender that comes later; the goroutine that waits for the answer " +
		"must wait for as long as it takes, and delete the node")
}

// givesUpBeforeReply has ctx end before the reply to the n-th request of a Lock on a free lock, and reports whether
// the Lock has sent such a request. If its first delete after that fails, or is lost, it must send another one.
func (w *contexts) givesUpBeforeReply(n int, firstDelete string) (sent bool) {
	w.Path = fmt.Sprintf("/locktest/%d-%s/lock", n, firstDelete) // its parents are missing each time
	contender := w.newContender()
	held := w.Server.HoldReply(stage.NthRequest(contender.s, n))
	w.beginLock(contender)
	sent = w.HitOrReturns(held, contender.result)
	op := stage.RequestKind(contender.s, n)
	contender.giveUp()
	err := w.Result(contender.result, i18n.Textf(
		"the ctx of a contender has ended while the server did not answer its request %d, %v, and its Lock", n, op))

	if err == nil {
		held.Release()
		w.MustUnlock(contender, "a contender that has got the lock though its ctx has ended")
	} else {
		w.ErrorIs(err, context.Canceled, "the ctx of a contender has ended, and Lock returns an error that does not wrap ctx.Err()")
		time.Sleep(late)
		switch firstDelete {
		case deleteIsLost:
			defer w.Server.LoseRequest(stage.Sent(contender.s, jute.OpDelete)).Release()
		case deleteFails:
			w.notHeldAfterGivingUp(contender, held, n)
		}
		held.Release()
	}

	w.Rest()
	w.NoNodes(i18n.Textf(
		"request %d of a contender, %v, was answered %v after ctx had ended, Lock has returned an error, and the node "+
			"stays: it blocks every contender that comes later; the goroutine that waits for the answer must delete the "+
			"node, also if it has got the lock, and send the delete again if it is lost", n, op, late))
	w.NothingLeft()
	w.answeredLate(n)
	return sent
}

// notHeldAfterGivingUp goes on after a Lock that has given up, and has left a goroutine behind: that one waits for the
// reply which is held. The reply comes, and the delete that the goroutine then sends fails. Unlock, Lock and TryLock
// must not take the lock for held, whatever the goroutine has written into a field.
func (w *contexts) notHeldAfterGivingUp(contender *contextContender, held *zkserver.Fault, n int) {
	failed := w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(contender.s, jute.OpDelete))
	held.Release()
	w.WaitFor(soon, func() bool { return len(failed.Hit()) > 0 }) // in vain if there is no node to delete
	w.NotLocked(contender, i18n.Textf("Unlock after a Lock that gave up, and whose request %d was answered afterwards,", n))
	w.beginLock(contender)
	w.ErrorIs(w.Result(contender.result, "Lock with a ctx that has ended"), context.Canceled,
		"a Lock has given up, and called again with the same ctx, which has ended, it returns no error that wraps ctx.Err()")
	if ok, _ := w.TryLock(contender, "TryLock after a Lock that gave up"); ok {
		w.Rest()
		w.NotEmpty(w.NodesOf(contender.s),
			"request %d of a Lock was answered after its ctx had ended, TryLock has got the lock meanwhile, and there is no "+
				"node, so that the next contender gets in: two holders; the node that came late is deleted: make another", n)
	}
	failed.Release()
	contender.s.Conn.Close()
	w.Rest()
}

// answeredLate has the reply to the n-th request of a Lock come late. Its ctx does not end.
func (w *contexts) answeredLate(n int) {
	contender := w.newContender()
	held := w.Server.HoldReply(stage.NthRequest(contender.s, n))
	time.AfterFunc(late, held.Release)
	w.beginLock(contender)
	w.NoError(w.Result(contender.result, "Lock, one of whose requests is answered late,"),
		"request %d of a contender, %v, was answered after %v, its ctx goes on, and Lock fails: only the end of ctx ends "+
			"its wait", n, stage.RequestKind(contender.s, n), late)
	w.UnlockErr(contender, i18n.Same("Unlock")) // a lease may have been lost meanwhile
	contender.s.Conn.Close()
}

// An endingAtLook is a ctx that ends when somebody looks at it for the n-th time after n was set; 0: at no look.
type endingAtLook struct {
	context.Context
	n   atomic.Int32
	end context.CancelFunc
}

func (c *endingAtLook) Err() error {
	if c.n.Add(-1) == 0 {
		c.end()
	}
	return c.Context.Err()
}

const atOnce = 0 // in place of the number of a look at ctx

// givesUpAtOnce ends ctx when the holder's node has gone, just before the waiter has the lock: at once, and when the
// lock looks at ctx for the first time after that, the second, and so on.
func givesUpAtOnce(w *contexts) {
	const looks = 20 // more than a lock takes
	for n := 1; n <= looks; n++ {
		w.givesUpAsItLocks(atOnce)
		w.givesUpAsItLocks(n)
	}
	w.NothingLeft()
}

// givesUpAsItLocks ends the ctx of a waiter at the n-th look at it after the holder's node has gone.
func (w *contexts) givesUpAsItLocks(n int) {
	holder, holderSession := w.holder()
	waiter := w.newContender()
	ctx := &endingAtLook{Context: waiter.ctx, end: waiter.giveUp}
	waiter.ctx = ctx
	w.beginLock(waiter)
	w.Waits(waiter.result, waiter.s, "the waiter")

	// The reply to the holder's delete is kept back. The watch event is not, so the waiter wakes meanwhile.
	held := w.Server.HoldReply(stage.Sent(holderSession, jute.OpDelete))
	released := w.Aside("Unlock", holder.Unlock)
	w.Hit(held, "the holder deletes its node")
	ctx.n.Store(int32(n))
	if n == atOnce {
		waiter.giveUp()
	}

	held.Release()
	err := w.Result(waiter.result, "the ctx of a waiter ends in the instant in which it gets the lock, and its Lock")
	w.NoError(w.Result(released, "Unlock of the holder"), "Unlock of the holder fails")
	if err == nil {
		w.MustUnlock(waiter, "a contender that got the lock just before its ctx ended")
	} else {
		w.ErrorIs(err, context.Canceled, "the ctx of a waiter has ended, and Lock returns an error that does not wrap ctx.Err()")
	}
	w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
		"the ctx of a waiter has ended in the instant in which it got the lock, Lock has returned an error, and its "+
			"node stays: every other contender waits; if Lock returns ctx.Err(), the node must go")
}
