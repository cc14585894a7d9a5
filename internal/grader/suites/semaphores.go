package suites

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A Semaphore is one contender for one of several places, used by one goroutine
// at a time.
type Semaphore = locks.Semaphore

// A SemaphoreSubject is a fair queue in which as many contenders are inside at a
// time as there are permits. With one permit a semaphore is a lock: locktest.Subject
// has the cases for that, and the suite here has the others.
type SemaphoreSubject struct {
	// New makes a contender for the semaphore at path, the parent of its node.
	New func(conn *zk.Conn, path string, permits int) Semaphore
	// ErrNotAcquired is what Release returns, or wraps, if the contender is not
	// inside.
	ErrNotAcquired error
	// WakeUps is how many watch events a release may send to the contenders that
	// wait, each in a session of its own. If it is nil they are not counted.
	WakeUps func(permits int) int
	// Requests is how many requests n contenders may send in all, each in a
	// session of its own, that arrive one by one before the first release, and
	// then each go out in the order in which they came. If it is nil they are not
	// counted.
	Requests func(permits, n int) int
	// Level says how much is asked of the semaphore. The zero Level is Full.
	Level locktest.Level
}

// Plan has the cases of a semaphore with several permits.
func (s SemaphoreSubject) Plan() locktest.Plan {
	return locktest.NewPlan(semaphoreCases, stage.Of[*semaphoreWorld](s.Level),
		locktest.Subject{ErrNotLocked: s.ErrNotAcquired, Queue: true},
		func(w *locktest.World) *semaphoreWorld { return &semaphoreWorld{World: w, subject: s} }).
		Needs(s.New != nil, "SemaphoreSubject.New is nil: it must make a contender")
}

// with makes a case whose semaphore has this number of permits.
func with(permits int, run func(w *semaphoreWorld)) func(w *semaphoreWorld) {
	return func(w *semaphoreWorld) {
		w.permits = permits
		w.World.Subject.New = func(conn *zk.Conn, path string) locktest.Lock {
			return semaphoreLock{w.subject.New(conn, path, permits)}
		}
		run(w)
	}
}

// A semaphoreLock is a contender for a semaphore as the cases of locks use it.
type semaphoreLock struct{ Semaphore }

func (s semaphoreLock) Lock() error            { return s.Acquire() }
func (s semaphoreLock) TryLock() (bool, error) { return s.TryAcquire() }
func (s semaphoreLock) Unlock() error          { return s.Release() }

var semaphoreCases = []locktest.TestCase[*semaphoreWorld]{
	{Name: "as many as there are permits get in, also if there are many", Zh: "许可有几个就能进几个，许可很多时也一样", Group: locktest.Liveness, Run: manyPermits, Basic: true},
	{Name: "whichever of those inside goes, the first waiter gets in", Zh: "不管里面的哪一个离开，都轮到第一个等待者", Group: locktest.Liveness, Run: with(3, whicheverGoes), Basic: true},
	{Name: "TryAcquire takes a free place, and says false at once when there is none", Zh: "有空位时 TryAcquire 能拿到，没有空位时立即返回 false", Group: locktest.Liveness, Run: with(2, tryAcquire), Basic: true},
	{Name: "a release between looking and watching is not missed, whichever of those inside goes", Zh: "不管里面的哪一个离开，查看之后、监听之前的释放都不会漏掉", Group: locktest.Liveness, Run: with(2, releaseBeforePlaceWatch), Exact: true},
	{Name: "a release wakes no more waiters than predicted", Zh: "一次释放唤醒的等待者不超过预测", Group: locktest.Cost, Run: with(3, placeWakeUps), Exact: true},
	{Name: "the requests are no more than predicted", Zh: "请求数不超过预测", Group: locktest.Cost, Run: with(3, placeRequests), Exact: true},
	{Name: "no goroutine is left when every contender has gone out", Zh: "所有竞争者出来之后，不留下 goroutine", Group: locktest.Cost, Run: with(3, func(w *semaphoreWorld) { whicheverGoes(w); w.NoGoroutines() }), Exact: true},
	{Name: "less than one permit is an error at once", Zh: "许可少于一个，立即返回错误", Group: locktest.Faults, Run: with(0, noPermits)},
}

type semaphoreWorld struct {
	*locktest.World
	subject SemaphoreSubject
	permits int
}

// An acquirer is a contender that has called Acquire.
type acquirer struct {
	lock   locktest.Lock
	s      *locktest.Session
	result <-chan error // of Acquire
}

func (w *semaphoreWorld) acquirer(l locktest.Lock, s *locktest.Session) acquirer {
	return acquirer{l, s, w.Lock(l)}
}

func sessionsOf(acquirers []acquirer) (sessions []*locktest.Session) {
	for _, a := range acquirers {
		sessions = append(sessions, a.s)
	}
	return sessions
}

// fill has contenders arrive one by one: they take all places, and then this number of them wait.
func (w *semaphoreWorld) fill(waiting int) (all []acquirer) {
	w.Helper()
	for i := range w.permits + waiting {
		a := w.acquirer(w.Contender())
		if i < w.permits {
			w.goesIn(a, stage.Contender(i), i18n.Textf("there are %d permits, and a place is free", "共有 %d 个许可，还有空位", w.permits))
		} else {
			w.staysOut(a, i18n.Textf("%s, with %d permits,", "%s（共 %d 个许可）", stage.Contender(i), w.permits))
		}
		all = append(all, a)
	}
	return all
}

var whichever = i18n.Textf("a waiter may get in when any of the nodes before it goes, not only the one just before it or the first: think which ones it must watch", "前面的任何一个节点消失，等待者都可能轮到，不只是紧挨着的前一个，也不只是第一个：请想清楚等待者要监听哪些节点")

// getsIn waits until a waiter is inside whose turn has come.
func (w *semaphoreWorld) getsIn(a acquirer, name i18n.Text) {
	w.Helper()
	w.goesIn(a, name, whichever)
}

// goesIn waits until a contender is inside. Advice is for a lock whose contender waits.
func (w *semaphoreWorld) goesIn(a acquirer, name, advice i18n.Text) {
	w.Helper()
	w.Await(func() bool { return len(a.result) > 0 },
		"%s must get in, and waits, though fewer than %d contenders are before it: %s%s", "%s应该进入，却在等待，而排在它前面的竞争者不到 %d 个：%s%s", name, w.permits, advice)
	w.NoError(<-a.result, "%s: Acquire fails", "%s：Acquire 失败", name)
}

// staysOut fails if a contender is inside, or does not sleep on a watch.
func (w *semaphoreWorld) staysOut(a acquirer, name i18n.Text) {
	w.Helper()
	w.Sleeps(a.s, name, func() bool { return len(a.result) > 0 })
	if len(a.result) > 0 {
		w.NoError(<-a.result, "%s must wait, and Acquire fails", "%s应该等待，Acquire 却失败了", name)
		w.Failf("%s must wait, and has got in: there is one too many inside", "%s应该等待，却进入了：里面多了一个", name)
	}
}

func (w *semaphoreWorld) release(a acquirer, name i18n.Text) {
	w.Helper()
	w.NoError(w.Result(w.Aside("Release", a.lock.Unlock), i18n.Textf("Release of %s", "%s的 Release", name)), "Release of %s fails", "%s的 Release 失败", name)
}

// empty has all that are inside release.
func (w *semaphoreWorld) empty(inside []acquirer) {
	w.Helper()
	for _, a := range inside {
		w.release(a, i18n.Textf("a contender that is inside", "里面的竞争者"))
	}
	w.NothingLeft()
}

// manyPermits tries the number of permits that the page has, and others that an author may not have drawn.
func manyPermits(w *semaphoreWorld) {
	for _, permits := range []int{3, 4, 5, 10, 11, 33, 300} {
		with(permits, func(w *semaphoreWorld) {
			all := w.fill(2)
			second := all[permits+1]
			w.release(all[permits/2], i18n.Textf("one that is inside", "里面的一个"))
			w.getsIn(all[permits], i18n.Textf("with %d permits, the first waiter, after a release,", "共有 %d 个许可，一次释放之后，第一个等待者", permits))
			w.staysOut(second, i18n.Textf("with %d permits, the second waiter, after one release,", "共有 %d 个许可，一次释放之后，第二个等待者", permits))
			w.release(all[0], i18n.Textf("one that is inside", "里面的一个"))
			w.getsIn(second, i18n.Textf("with %d permits, the second waiter, after two releases,", "共有 %d 个许可，两次释放之后，第二个等待者", permits))
			// The second waiter goes, and waits once more. By then some of those inside are others.
			name := i18n.Textf("with %d permits, the second waiter, once more,", "共有 %d 个许可，再次等待的第二个等待者", permits)
			w.release(second, name)
			w.MustLock(all[0].lock, i18n.Textf("one that has gone, once more,", "离开后又来的竞争者"))
			again := w.acquirer(second.lock, second.s)
			w.staysOut(again, name)
			w.release(all[permits-1], i18n.Textf("one that has been inside all the time", "一直在里面的一个"))
			w.getsIn(again, name)
			w.empty(slices.Concat(all[:permits/2], all[permits/2+1:permits-1], all[permits:]))
		})(w)
	}
	for _, permits := range []int{1 << 16, math.MaxInt/2 + 1, math.MaxInt} { // the second is 0 in 32 bits
		with(permits, (*semaphoreWorld).hugePermits)(w)
	}
}

// hugePermits has contenders take a place with Acquire and with TryAcquire: nearly all places are
// free. A lock that allocates something for each permit is right to panic: there is no such memory.
func (w *semaphoreWorld) hugePermits() {
	defer func() {
		if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "make") { // of makechan or makeslice
			panic(p)
		}
	}()
	for range 2 {
		l, _ := w.Contender()
		ok, err := l.TryLock()
		w.True(ok && err == nil, "%d permits, next to all of them are free, and TryAcquire returns %v and %v", "共有 %d 个许可，几乎都空着，TryAcquire 却返回 %v 和 %v", w.permits, ok, err)
		l, _ = w.Contender()
		w.NoError(l.Lock(), "Acquire with %d permits fails", "共有 %d 个许可，Acquire 失败了", w.permits)
	}
}

func whicheverGoes(w *semaphoreWorld) {
	for first := range w.permits {
		for second := range w.permits {
			all := w.fill(2)
			firstWaiter, secondWaiter := all[w.permits], all[w.permits+1]
			w.release(all[first], i18n.Textf("one that is inside", "里面的一个"))
			w.getsIn(firstWaiter, i18n.Textf("%s, one of the %d inside, has gone: the first waiter", "里面共 %[2]d 个，%[1]s 离开之后，第一个等待者", stage.Contender(first), w.permits))
			w.staysOut(secondWaiter, i18n.Textf("the second waiter", "第二个等待者"))

			inside := slices.Concat(all[:first], all[first+1:w.permits+1])
			next := second // the number of inside[second] among all
			if next >= first {
				next++
			}
			w.release(inside[second], i18n.Textf("one that is inside", "里面的一个"))
			w.getsIn(secondWaiter, i18n.Textf("%s has gone, and then %s, which was inside as well: the second waiter", "%s 离开，接着同样在里面的%s 也离开，第二个等待者", stage.Contender(first), stage.Contender(next)))
			w.empty(slices.Concat(inside[:second], inside[second+1:], all[w.permits+1:]))
		}
	}
}

func tryAcquire(w *semaphoreWorld) {
	var inside []acquirer
	for i := range w.permits {
		l, _ := w.Contender()
		ok, err := w.Try(l, i18n.Textf("TryAcquire with a free place", "有空位时的 TryAcquire"))
		w.NoError(err, "TryAcquire with a free place fails", "有空位，TryAcquire 却失败了")
		w.True(ok, "TryAcquire returns false, and only %d of %d places are taken", "%[2]d 个位置只用了 %[1]d 个，TryAcquire 却返回 false", i, w.permits)
		inside = append(inside, acquirer{lock: l})
	}
	l, _ := w.Contender()
	for range 3 {
		ok, err := w.Try(l, i18n.Textf("TryAcquire without a free place", "没有空位时的 TryAcquire"))
		w.NoError(err, "TryAcquire without a free place fails: false says that there is none", "没有空位时，TryAcquire 失败了：这时应该返回 false")
		w.False(ok, "TryAcquire goes inside, and all places are taken: there is one too many inside", "位置已满，TryAcquire 却进入了：里面多了一个")
	}
	w.Len(w.Nodes(), w.permits, "TryAcquire has returned false and has left a node behind: it takes a place from every contender that comes later", "TryAcquire 返回 false，却留下了节点，会占掉后来者的一个位置")
	w.release(inside[0], i18n.Textf("one that is inside", "里面的一个"))
	ok, err := w.Try(l, i18n.Textf("TryAcquire after a release", "释放之后的 TryAcquire"))
	w.NoError(err, "TryAcquire after a release fails", "释放之后，TryAcquire 失败了")
	w.True(ok, "TryAcquire returns false after a release", "释放之后，TryAcquire 却返回 false")
	w.empty(append(inside[1:], acquirer{lock: l}))
}

// releaseBeforePlaceWatch holds back each request of a waiter in turn, and
// meanwhile one of those inside goes.
func releaseBeforePlaceWatch(w *semaphoreWorld) {
	for first := range w.permits {
		for n := 2; w.GoesOn(n); n++ { // 1 is the create
			all := w.fill(0)
			l, s := w.Contender()
			held := w.Server.Hold(stage.Number(s, n))
			waiter := w.acquirer(l, s)
			met := w.Meets(held, s, i18n.Textf("the request is held back, or the waiter waits", "请求被扣住，或者等待者在等待"))
			op := stage.LastRequest(s, n)
			w.release(all[first], i18n.Textf("one that is inside", "里面的一个"))
			synctest.Wait() // its event has arrived
			held.Release()
			w.goesIn(waiter, i18n.Textf("%s, which was inside, has gone while request %d of a waiter, %v, was on its way: the waiter", "等待者的第 %[2]d 个请求（%[3]v）还在路上时，里面的%[1]s 离开了：等待者", stage.Contender(first), n, op),
				i18n.Textf("between looking and watching a node can go; use one request that looks and sets the watch (GetW), look again if it finds no node, and keep an event that comes while you set the next watch", "查看之后、设置监听之前，节点可能消失；请用同一个请求查看并设置监听（GetW），节点不存在就再看一次；设置下一个监听期间到来的事件，不要丢掉"))
			w.empty(append(slices.Delete(all, first, first+1), waiter))
			if !met {
				w.True(n > 2, "the waiter sends nothing but its create before it waits", "等待者在等待之前，除了 create 什么都没有发")
				break
			}
		}
	}
}

func placeWakeUps(w *semaphoreWorld) {
	if w.subject.WakeUps == nil {
		w.Skip(i18n.Textf("SemaphoreSubject.WakeUps is nil: there is no prediction of the watch events to compare with", "SemaphoreSubject.WakeUps 为 nil：没有可供比较的监听事件数"))
	}
	const waiting = 9
	all := w.fill(waiting)
	sessions := sessionsOf(all)
	done, inside := map[int]bool{0: true, 1: true, 2: true}, []int{0, 1, 2} // done: it waits no longer
	for i := range waiting {
		before := locktest.Events(sessions, done)
		last := len(inside) - 1 // if the contender that came last leaves, most are woken
		w.release(all[inside[last]], i18n.Textf("one that is inside", "里面的一个"))
		w.getsIn(all[w.permits+i], i18n.Textf("the waiter whose turn it is", "轮到的等待者"))
		for j := w.permits + i + 1; j < len(all); j++ {
			w.staysOut(all[j], stage.Contender(j))
		}
		if sent, most := int(locktest.Events(sessions, done)-before), w.subject.WakeUps(w.permits); sent > most {
			w.Failf("a release with %d waiting and %d permits sent %d watch events, and %d at most were predicted (the herd effect): a waiter far back in the queue cannot get in, so it need not wake", "有 %d 个等待者、%d 个许可时释放一次，发出了 %d 个监听事件，而预测最多 %d 个（惊群效应）：队列后面的等待者进不来，不必唤醒", waiting-i, w.permits, sent, most)
		}
		inside[last] = w.permits + i
		done[w.permits+i] = true
	}
	for _, i := range inside {
		w.release(all[i], i18n.Textf("one that is inside", "里面的一个"))
	}
	w.NothingLeft()
}

func placeRequests(w *semaphoreWorld) {
	if w.subject.Requests == nil {
		w.Skip(i18n.Textf("SemaphoreSubject.Requests is nil: there is no prediction of the requests to compare with", "SemaphoreSubject.Requests 为 nil：没有可供比较的请求数"))
	}
	for _, waiting := range []int{0, 1, 2, 7} {
		all := w.fill(waiting)
		for i, a := range all {
			w.release(a, i18n.Textf("one that is inside", "里面的一个"))
			if next := w.permits + i; next < len(all) {
				w.getsIn(all[next], i18n.Textf("the waiter whose turn it is", "轮到的等待者"))
				for j := next + 1; j < len(all); j++ {
					w.staysOut(all[j], stage.Contender(j))
				}
			}
		}
		requests := stage.RequestsOf(sessionsOf(all)...)
		if most := w.subject.Requests(w.permits, len(all)); len(requests) > most {
			w.Failf("%d contenders for %d places that arrive one by one send %d requests in all, and %d at most were predicted (%s)", "%d 个竞争者依次来争 %d 个位置，一共发了 %d 个请求，而预测最多 %d 个（%s）", len(all), w.permits, len(requests), most, locktest.ByKind(requests))
		}
	}
	w.NothingLeft()
}

func noPermits(w *semaphoreWorld) {
	s := w.Session()
	for _, permits := range []int{0, -1, math.MinInt} {
		l := semaphoreLock{w.subject.New(s.Conn, w.Path, permits)}
		err := w.Result(w.Lock(l), i18n.Textf("Acquire with %d permits", "许可为 %d 个时的 Acquire", permits))
		w.HasError(err, "Acquire with %d permits returns no error", "许可为 %d 个时，Acquire 没有返回错误", permits)
		ok, err := w.Try(l, i18n.Textf("TryAcquire with %d permits", "许可为 %d 个时的 TryAcquire", permits))
		w.HasError(err, "TryAcquire with %d permits returns no error", "许可为 %d 个时，TryAcquire 没有返回错误", permits)
		w.False(ok, "TryAcquire with %d permits returns true", "许可为 %d 个时，TryAcquire 返回 true", permits)
	}
	w.Empty(stage.RequestsOf(s), "with less than one permit, Acquire or TryAcquire has sent a request: look at the permits before anything else", "许可少于一个时，Acquire 或 TryAcquire 发了请求：请先检查许可的个数，再做别的")
}
