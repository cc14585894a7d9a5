package suites

import (
	"fmt"
	"math"
	"strings"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// A Semaphore is one contender for one of several places, used by one goroutine at a time.
type Semaphore = locks.Semaphore

// A SemaphoreSubject is a fair queue in which as many contenders are inside at a time as there are permits. With one
// permit a semaphore is a lock: locktest.Subject has the cases for that, and the suite here has the others.
type SemaphoreSubject struct {
	// New makes a contender for the semaphore at path, the parent of its node.
	New func(conn *zk.Conn, path string, permits int) Semaphore
	// ErrNotAcquired is what Release returns, or wraps, if the contender is not inside.
	ErrNotAcquired error
	// WakeUps is how many watch events a release may send to the contenders that
	// wait, each in a session of its own. If it is nil they are not counted.
	WakeUps func(permits int) int
	// Requests is how many requests n contenders may send in all, each in a session of its own, that arrive one by one
	// before the first release, and then each go out in the order in which they came. If it is nil they are not counted.
	Requests func(permits, n int) int
	// Level says how much is asked of the semaphore. The zero Level is Full.
	Level locktest.Level
}

func (s SemaphoreSubject) Plan() locktest.Plan {
	return locktest.NewPlan(semaphoreCases, stage.Of[*semaphoreWorld](s.Level),
		locktest.Subject{ErrNotLocked: s.ErrNotAcquired, Queue: true},
		func(w *locktest.World) *semaphoreWorld { return &semaphoreWorld{World: w, subject: s} }).
		Needs(s.New != nil, "SemaphoreSubject.New is nil: it must make a contender")
}

// withPermits makes a case whose semaphore has this number of permits.
func withPermits(permits int, run func(w *semaphoreWorld)) func(w *semaphoreWorld) {
	return func(w *semaphoreWorld) {
		w.permits = permits
		w.World.Subject.New = func(conn *zk.Conn, path string) locktest.Lock {
			return semaphoreLock{w.subject.New(conn, path, permits)}
		}
		run(w)
	}
}

// onePlaceLeft makes a case of those for locks: all places but one are taken, and the last one is a lock.
func onePlaceLeft(permits int, runs ...func(w *locktest.World)) func(w *semaphoreWorld) {
	return withPermits(permits, func(w *semaphoreWorld) {
		w.fill(allButOne)
		w.Others = w.Nodes()
		for _, run := range runs {
			run(w.World)
		}
	})
}

// A semaphoreLock is a contender for a semaphore as the cases of locks use it.
type semaphoreLock struct{ Semaphore }

func (s semaphoreLock) Lock() error            { return s.Acquire() }
func (s semaphoreLock) TryLock() (bool, error) { return s.TryAcquire() }
func (s semaphoreLock) Unlock() error          { return s.Release() }

// A row has a name, a group, the function and the traits (suites.go). One without the trait basic is of the level Full.
var semaphoreCases = []locktest.TestCase[*semaphoreWorld]{
	row("as many as there are permits get in, also if there are many", liveness, manyPermits, basic),
	row("whichever of those inside goes, the first waiter gets in", liveness, withPermits(3, whicheverGoes), basic),
	row("TryAcquire takes a free place, and says false at once when there is none",
		liveness, onePlaceLeft(2, locktest.TryLockHeld, locktest.ForeignChild), basic),
	row("a release between looking and watching is not missed, whichever of those inside goes",
		liveness, withPermits(2, releaseBeforePlaceWatch), exact),
	row("a release wakes no more waiters than predicted", cost, withPermits(3, placeWakeUps), exact),
	row("the requests are no more than predicted", cost, withPermits(3, placeRequests), exact),
	row("no goroutine is left when every contender has gone out",
		cost, withPermits(3, noGoroutineStays), exact),
	row("an error on the way to the last of several places leaves no node behind",
		faults, onePlaceLeft(3, locktest.ErrorOnTheWay), exact),
	row("less than one permit is an error at once", faults, withPermits(0, noPermits)),
}

type semaphoreWorld struct {
	*locktest.World
	subject SemaphoreSubject
	permits int
}

// An acquirer is a contender that has called Acquire.
type acquirer struct {
	lock     locktest.Lock
	s        *locktest.Session
	result   <-chan error // of Acquire
	released bool
}

func (w *semaphoreWorld) beginAcquire(l locktest.Lock, s *locktest.Session) *acquirer {
	return &acquirer{lock: l, s: s, result: w.BeginLock(l)}
}

func sessionsOf(acquirers []*acquirer) (sessions []*locktest.Session) {
	for _, a := range acquirers {
		sessions = append(sessions, a.s)
	}
	return sessions
}

const allButOne = -1 // for fill: one place stays free

// fill has contenders arrive one by one: they take all places, and then this number of them wait.
func (w *semaphoreWorld) fill(waiting int) (all []*acquirer) {
	for i := range w.permits + waiting {
		a := w.beginAcquire(w.Contender())
		if i < w.permits {
			w.mustEnter(a, stage.Contender(i), i18n.Textf("there are %d permits, and a place is free", w.permits))
		} else {
			w.mustStayOut(a, i18n.Textf("%s, with %d permits,", stage.Contender(i), w.permits))
		}
		all = append(all, a)
	}
	return all
}

// mustEnterNext waits until a waiter is inside whose turn has come.
func (w *semaphoreWorld) mustEnterNext(a *acquirer, name i18n.Text) {
	w.mustEnter(a, name, "a waiter may get in when any of the nodes before it goes, "+
		"not only the one just before it or the first: think which ones it must watch")
}

// mustEnter waits until a contender is inside. Advice is for a lock whose contender waits.
func (w *semaphoreWorld) mustEnter(a *acquirer, name, advice i18n.Text) {
	w.WaitOrSayWhy(func() bool { return len(a.result) > 0 },
		"%s must get in, and waits, though fewer than %d contenders are before it: %s%s", name, w.permits, advice)
	w.NoError(<-a.result, "%s: Acquire fails", name)
}

// mustStayOut fails if a contender is inside, or does not sleep on a watch.
func (w *semaphoreWorld) mustStayOut(a *acquirer, name i18n.Text) {
	w.Sleeps(a.s, name, func() bool { return len(a.result) > 0 })
	if len(a.result) > 0 {
		w.NoError(<-a.result, "%s must wait, and Acquire fails", name)
		w.Failf("%s must wait, and has got in: there is one too many inside", name)
	}
}

func (w *semaphoreWorld) release(a *acquirer, name i18n.Text) {
	a.released = true
	w.NoError(w.Result(w.Aside("Release", a.lock.Unlock), i18n.Textf("Release of %s", name)), "Release of %s fails", name)
}

// empty has all release that have not released yet: they are inside by now.
func (w *semaphoreWorld) empty(all []*acquirer) {
	for _, a := range all {
		if !a.released {
			w.release(a, "a contender that is inside")
		}
	}
	w.NothingLeft()
}

// manyPermits tries the number of permits that the page has, and others that an author may not have drawn.
func manyPermits(w *semaphoreWorld) {
	for _, permits := range []int{3, 4, 5, 10, 11, 33, 300} { // more than a digit, 32 bits and a byte can count, too
		withPermits(permits, (*semaphoreWorld).waitersGetIn)(w)
	}
	for _, permits := range []int{1 << 16, math.MaxInt/2 + 1, math.MaxInt} { // in 16 bits the first is 0, in 32 the second
		withPermits(permits, (*semaphoreWorld).hugePermits)(w)
	}
}

// waitersGetIn has two contenders wait, and as many of those inside go. Then the second waiter goes out, and waits once
// more, while others are inside than the first time.
func (w *semaphoreWorld) waitersGetIn() {
	permits := w.permits
	all := w.fill(2) // these two wait
	all[permits+1] = w.comesAgain(all[permits+1])
	second := all[permits+1]
	for _, node := range w.Nodes() {
		all[0].s.Set(w.Path+"/"+node, nil, -1) // every watch fires, and lets nobody in
	}
	w.release(all[permits/2], "one that is inside")
	w.mustEnterNext(all[permits], i18n.Textf("with %d permits, the first waiter, when somebody had written all nodes, after a release,", permits))
	w.mustStayOut(second, i18n.Textf("with %d permits, the second waiter, after one release,", permits))
	w.release(all[0], "one that is inside")
	w.mustEnterNext(second, i18n.Textf("with %d permits, the second waiter, after two releases,", permits))

	name := i18n.Textf("with %d permits, the second waiter, once more,", permits)
	if permits == 3 { // in one of the runs, its session ends before it comes again
		w.Expire(second.s)
		w.Renewed(second.s, "its client has a new session")
	}
	w.UnlockErr(second.lock, name)
	w.MustLock(all[0].lock, "one that has gone, once more,")
	all[0].released = false
	again := w.beginAcquire(second.lock, second.s)
	w.mustStayOut(again, name)
	w.release(all[permits-1], "one that has been inside all the time")
	w.mustEnterNext(again, name)
	w.empty(all)
}

// comesAgain has the session of a waiter end. The waiter calls Acquire again, unless the first call has queued again.
func (w *semaphoreWorld) comesAgain(waiter *acquirer) *acquirer {
	w.Expire(waiter.s)
	w.Renewed(waiter.s, "its client has a new session")
	w.WaitFor(stage.Patience, func() bool { return len(waiter.result) > 0 })
	if len(waiter.result) > 0 {
		waiter = w.beginAcquire(waiter.lock, waiter.s)
	}
	w.mustStayOut(waiter, "a waiter whose session has ended, once more,")
	return waiter
}

// hugePermits has contenders take a place with Acquire and with TryAcquire: nearly all places are
// free. A lock that allocates something for each permit is right to panic: there is no such memory.
func (w *semaphoreWorld) hugePermits() {
	defer func() {
		p := recover()
		if isNoMemory := strings.Contains(fmt.Sprint(p), "make"); p != nil && !isNoMemory { // of makechan or makeslice
			panic(p)
		}
	}()
	for range 2 {
		l, _ := w.Contender()
		ok, err := l.TryLock()
		w.True(ok && err == nil, "%d permits, next to all of them are free, and TryAcquire returns %v and %v", w.permits,
			ok, err)
		l, _ = w.Contender()
		w.NoError(l.Lock(), "Acquire with %d permits fails", w.permits)
	}
}

func whicheverGoes(w *semaphoreWorld) {
	for first := range w.permits {
		for second := range w.permits + 1 { // the first waiter, which is inside by then, may go second
			if second == first {
				continue
			}
			all := w.fill(2) // these two wait
			firstWaiter, secondWaiter := all[w.permits], all[w.permits+1]
			w.release(all[first], "one that is inside")
			w.mustEnterNext(firstWaiter, i18n.Textf("%s, one of the %d inside, has gone: the first waiter", stage.Contender(first),
				w.permits))
			w.mustStayOut(secondWaiter, "the second waiter")

			w.release(all[second], "one that is inside")
			w.mustEnterNext(secondWaiter, i18n.Textf("%s has gone, and then %s, which was inside as well: the second waiter",
				stage.Contender(first), stage.Contender(second)))
			w.empty(all)
		}
	}
}

// releaseBeforePlaceWatch holds back each request of a waiter, or its answer, while one of those inside goes.
func releaseBeforePlaceWatch(w *semaphoreWorld) {
	for first := range w.permits {
		for _, hold := range []stage.MakeFault{w.Server.Hold, w.Server.HoldReply} {
			w.EachRequest(func(n int) bool { return w.releaseAtFirstLook(n, first, hold) })
			w.EachRequest(func(n int) bool { return w.releaseAtNextLook(n, first, 1, hold) })
			w.EachRequest(func(n int) bool { return w.releaseAtNextLook(n, first, w.permits, hold) })
		}
	}
}

// noGoroutineStays counts the goroutines when contenders have gone in any order, also while others looked.
func noGoroutineStays(w *semaphoreWorld) {
	whicheverGoes(w)
	w.EachRequest(func(n int) bool { return w.releaseAtNextLook(n, 0, w.permits, w.Server.Hold) })
	w.NoGoroutines()
}

// releaseAtFirstLook has contender first go while the n-th request after a waiter's create is held back. It reports
// whether the waiter has sent that request.
func (w *semaphoreWorld) releaseAtFirstLook(n, first int, hold stage.MakeFault) (sent bool) {
	inside := w.fill(0) // nobody waits
	l, s := w.Contender()
	number := 1 + n // among the waiter's requests: the create is request 1
	held := hold(stage.NthRequest(s, number))
	waiter := w.beginAcquire(l, s)
	sent = w.HitOrSleeps(held, s, "the request is held back, or the waiter waits")
	w.True(sent || n > 1, "the waiter sends nothing but its create before it waits")
	w.releaseDuring(held, number, waiter, inside, first)
	return sent
}

// releaseAtNextLook is the same for the n-th request that a waiter sends when the session of those just before it ends.
func (w *semaphoreWorld) releaseAtNextLook(n, first, before int, hold stage.MakeFault) (sent bool) {
	inside, s := w.fill(0), w.Session()
	for range before {
		w.mustStayOut(w.beginAcquire(w.Contender(s)), "a waiter")
	}
	waiter := w.beginAcquire(w.Contender())
	w.mustStayOut(waiter, "the waiter behind them")
	number := len(stage.RequestsOf(waiter.s)) + n // among the waiter's requests
	held := hold(stage.NthRequest(waiter.s, n))   // counts from now on
	w.Vanishes(s)
	synctest.Wait() // the events have arrived
	sent = w.HitOrSleeps(held, waiter.s, "the request is held back, or the waiter waits")
	w.releaseDuring(held, number, waiter, inside, first)
	s.Close() // wakes what waits in its contenders
	return sent
}

// releaseDuring has contender first go while the waiter's request number n is held back: the waiter must get in.
func (w *semaphoreWorld) releaseDuring(held *zkserver.Fault, n int, waiter *acquirer, inside []*acquirer, first int) {
	w.release(inside[first], "one that is inside")
	synctest.Wait() // its event has arrived
	held.Release()
	w.mustEnter(waiter, i18n.Textf("%s, which was inside, has gone while request %d of a waiter, %v, was on its way: "+
		"the waiter", stage.Contender(first), n, stage.RequestKind(waiter.s, n)),
		"between looking and watching a node can go; use one request that looks and sets the watch (GetW), look again "+
			"if it finds no node, and keep an event that comes while you set the next watch")
	w.empty(append(inside, waiter))
}

// placeWakeUps has those inside leave while nine wait, and counts the watch events of each release.
func placeWakeUps(w *semaphoreWorld) {
	if w.subject.WakeUps == nil {
		w.Skip(i18n.Text("SemaphoreSubject.WakeUps is nil: there is no prediction of the watch events to compare with"))
	}
	const waiting = 9
	all := w.fill(waiting)
	sessions := sessionsOf(all)
	last := w.permits - 1      // of those inside: if it leaves, most are woken
	done := make(map[int]bool) // those that wait no longer, whose events do not count
	for i := range w.permits {
		done[i] = true
	}
	for i := range waiting {
		before := locktest.Events(sessions, done)
		w.release(all[last], "one that is inside")
		w.mustEnterNext(all[w.permits+i], "the waiter whose turn it is")
		for j := w.permits + i + 1; j < len(all); j++ {
			w.mustStayOut(all[j], stage.Contender(j))
		}
		sent, most := int(locktest.Events(sessions, done)-before), w.subject.WakeUps(w.permits)
		w.True(sent <= most, "a release with %d waiting and %d permits sent %d watch events, and %d at most were predicted (the herd "+
			"effect): a waiter far back in the queue cannot get in, so it need not wake", waiting-i, w.permits, sent, most)
		last = w.permits + i
		done[last] = true
	}
	w.empty(all)
}

// placeRequests has contenders arrive, and then each leave in turn, and counts their requests.
func placeRequests(w *semaphoreWorld) {
	if w.subject.Requests == nil {
		w.Skip(i18n.Text("SemaphoreSubject.Requests is nil: there is no prediction of the requests to compare with"))
	}
	for _, waiting := range []int{0, 1, 2, 7} {
		all := w.fill(waiting)
		for i, a := range all {
			w.release(a, "one that is inside")
			if next := w.permits + i; next < len(all) {
				w.mustEnterNext(all[next], "the waiter whose turn it is")
				for j := next + 1; j < len(all); j++ {
					w.mustStayOut(all[j], stage.Contender(j))
				}
			}
		}
		requests := stage.RequestsOf(sessionsOf(all)...)
		most := w.subject.Requests(w.permits, len(all))
		w.True(len(requests) <= most, "%d contenders for %d places that arrive one by one send %d requests in all, and "+
			"%d at most were predicted (%s)", len(all), w.permits, len(requests), most, locktest.ByKind(requests))
	}
	w.NothingLeft()
}

func noPermits(w *semaphoreWorld) {
	s := w.Session()
	for _, permits := range []int{0, -1, math.MinInt} {
		l := semaphoreLock{w.subject.New(s.Conn, w.Path, permits)}
		err := w.Result(w.BeginLock(l), i18n.Textf("Acquire with %d permits", permits))
		w.HasError(err, "Acquire with %d permits returns no error", permits)
		ok, err := w.TryLock(l, i18n.Textf("TryAcquire with %d permits", permits))
		w.HasError(err, "TryAcquire with %d permits returns no error", permits)
		w.False(ok, "TryAcquire with %d permits returns true", permits)
	}
	w.Empty(stage.RequestsOf(s), "with less than one permit, Acquire or TryAcquire has sent a request: look at the "+
		"permits before anything else")
}
