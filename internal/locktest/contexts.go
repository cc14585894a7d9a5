package locktest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// A ContextLock is one contender, used by one goroutine at a time, that gives up when its ctx ends.
type ContextLock interface {
	Lock(ctx context.Context) error
	TryLock() (bool, error)
	Unlock() error
}

// A ContextSubject is a fair queue in which a waiter can give up. Subject has the
// cases that hold for any contender: the two suites complete each other.
type ContextSubject struct {
	// New makes a contender for the lock at path, the parent of its node.
	New func(conn *zk.Conn, path string) ContextLock
	// ErrNotLocked is as in Subject.
	ErrNotLocked error
	// Level says how much is asked of the lock. The zero Level is Full.
	Level Level
}

// Plan has the cases of a lock whose ctx ends.
func (s ContextSubject) Plan() Plan {
	contender := Subject{
		New:          func(conn *zk.Conn, path string) Lock { return Background(s.New(conn, path)) },
		ErrNotLocked: s.ErrNotLocked,
		Queue:        true,
	}
	return NewPlan(contextCases, stage.Of[*contexts](s.Level), contender, func(w *World) *contexts { return &contexts{w, s} }).
		Needs(s.New != nil, "ContextSubject.New is nil: it must make a contender")
}

// Background is a ContextLock whose ctx does not end.
func Background(l ContextLock) Lock { return background{l} }

type background struct{ ContextLock }

func (b background) Lock() error { return b.ContextLock.Lock(context.Background()) }

var contextCases = []TestCase[*contexts]{
	{Name: "a waiter whose ctx ends returns an error that wraps it", Zh: "ctx 结束时，等待者返回包装了 ctx.Err() 的错误", Group: Liveness, Run: waiterReturns, Basic: true},
	{Name: "a waiter that gives up leaves the queue", Zh: "放弃等待的等待者会离开队列", Group: Liveness, Run: waiterLeaves, Basic: true},
	{Name: "a waiter that gives up lets nobody in and stops nobody", Zh: "等待者放弃等待，既不会让别人提前拿到锁，也不会挡住别人", Group: Liveness, Run: waiterBetween, Basic: true},
	{Name: "a waiter waits until the deadline of its ctx, however often it wakes, and no longer", Zh: "不管醒来几次，等待者都只等到 ctx 的截止时间为止", Group: Liveness, Run: waitsUntilDeadline, Basic: true, Calm: true},
	{Name: "a contender that gave up can lock again", Zh: "放弃等待的竞争者可以再次加锁", Group: Liveness, Run: locksAgain, Basic: true},
	{Name: "a ctx that ends after Lock has returned changes nothing", Zh: "Lock 返回之后 ctx 才结束，不再有任何影响", Group: Liveness, Run: endsAfterLock, Basic: true},
	{Name: "a ctx that has ended before gets no lock", Zh: "ctx 事先已经结束，就拿不到锁", Group: Liveness, Run: endedBefore, Basic: true},
	{Name: "a waiter that gives up returns though no server answers", Zh: "没有服务器响应时，等待者放弃等待也能返回", Group: Faults, Run: silentServer, Exact: true},
	{Name: "a request that is answered after ctx has ended leaves nothing behind", Zh: "ctx 结束后请求才得到响应，也不会留下节点", Group: Faults, Run: answeredTooLate, Exact: true},
	{Name: "a waiter that gives up in the instant in which it gets the lock keeps nobody out", Zh: "等待者恰在拿到锁的瞬间放弃，不会挡住别人", Group: Liveness, Run: givesUpAtOnce, Exact: true},
	{Name: "no goroutine is left when a waiter has given up", Zh: "等待者放弃之后，不留下 goroutine", Group: Cost, Run: goroutinesOfGivingUp, Exact: true},
	{Name: "a ctx that has ended before sends nothing", Zh: "ctx 事先已经结束，就不发任何请求", Group: Cost, Run: endedBeforeSendsNothing},
}

type contexts struct {
	*World
	subject ContextSubject
}

// soon is how long a Lock may take to return when its ctx has ended, in virtual time. On a real
// server it may take stage.Patience.
const soon = time.Second

// A contextContender has a session of its own, and a ctx that giveUp ends.
type contextContender struct {
	background
	s      *Session
	ctx    context.Context
	giveUp context.CancelFunc
	result <-chan error // of its Lock
}

func (w *contexts) contextContender() *contextContender {
	w.Helper()
	s := w.Session()
	ctx, cancel := context.WithTimeout(context.Background(), 1000*time.Hour) // one with a deadline can also be cancelled
	w.Cleanup(cancel)
	return &contextContender{background{w.subject.New(s.Conn, w.Path)}, s, ctx, cancel, nil}
}

// begin calls Lock in a goroutine of its own, with the contender's ctx.
func (w *contexts) begin(p *contextContender) {
	p.result = w.Aside("Lock", func() error { return p.ContextLock.Lock(p.ctx) })
}

// waiting makes a contender that waits behind another one.
func (w *contexts) waiting(name i18n.Text) *contextContender {
	w.Helper()
	p := w.contextContender()
	w.begin(p)
	w.Waits(p.result, p.s, name)
	return p
}

// givesUp ends the ctx of a Lock, and waits for its result.
func (w *contexts) givesUp(p *contextContender, name i18n.Text) {
	w.Helper()
	p.giveUp()
	began := time.Now()
	err := w.Result(p.result, i18n.Textf("the ctx of %s has ended, and its Lock", "%s的 ctx 已经结束，Lock", name))
	w.HasError(err, "the ctx of %s has ended, another contender holds the lock, and Lock returns no error: two holders", "%s的 ctx 已经结束，别的竞争者还持有锁，Lock 却没有返回错误：出现两个持有者", name)
	w.ErrorIs(err, context.Canceled, "the ctx of %s has ended, and Lock returns an error that does not wrap ctx.Err(): the caller cannot find out why (fmt.Errorf with %%w)", "%s的 ctx 已经结束，Lock 返回的错误却没有包装 ctx.Err()：调用方无从知道原因（fmt.Errorf 加 %%w）", name)
	if w.Server != nil {
		w.True(time.Since(began) <= soon,
			"the ctx of %s has ended, and Lock returns much later: select on ctx.Done() and on the watch", "%s的 ctx 已经结束，Lock 过了很久才返回：请用 select 同时等待 ctx.Done() 和监听", name)
	}
}

func waiterReturns(w *contexts) {
	holder, _ := w.holder()
	waiter := w.waiting(i18n.Textf("the waiter", "等待者"))
	w.givesUp(waiter, i18n.Textf("the waiter", "等待者"))
	w.NotLocked(waiter, i18n.Textf("Unlock after a Lock that gave up", "Lock 放弃之后的 Unlock"))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Rest()
}

func waiterLeaves(w *contexts) {
	holder, _ := w.holder()
	waiter := w.contextContender()
	waiter.ctx, waiter.giveUp = context.WithCancel(context.Background()) // it has no deadline
	w.begin(waiter)
	w.Waits(waiter.result, waiter.s, i18n.Textf("the waiter", "等待者"))
	w.givesUp(waiter, i18n.Textf("the waiter", "等待者"))
	w.WaitUntil(func() bool { return len(w.Nodes()) == 1 }, "a waiter has given up, and its node is still in the queue: it blocks every contender that comes later; delete the node when ctx ends", "等待者已经放弃，节点却还在队列里，会挡住后来的每个竞争者；ctx 结束时请删除节点")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	next, _ := w.Contender()
	w.lockOnce(next, i18n.Textf("a contender that comes later", "后来的竞争者"))
	w.NothingLeft()
}

func waiterBetween(w *contexts) {
	holder, _ := w.holder()
	middle, last := w.waiting(i18n.Textf("the waiter in the middle", "中间的等待者")), w.waiting(i18n.Textf("the last waiter", "最后一个等待者"))
	w.givesUp(middle, i18n.Textf("the waiter in the middle", "中间的等待者"))
	w.Eventually(i18n.Textf("the node of the waiter that gave up goes", "等待者放弃等待之后，节点消失"), func() bool { return len(w.Nodes()) == 2 })
	w.Waits(last.result, last.s, i18n.Textf("the waiter after the one that gave up", "排在放弃者后面的等待者"))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Holds(last.result, i18n.Textf("the waiter after the one that gave up", "排在放弃者后面的等待者"))
	w.unlockLast(last, it)
}

// waitsUntilDeadline has a waiter with a deadline wake three times: three waiters before it give up in turn.
func waitsUntilDeadline(w *contexts) {
	const patience = 2 * time.Hour
	holder, _ := w.holder()
	var before []*contextContender
	for i := range 3 {
		before = append(before, w.waiting(stage.Contender(i+1)))
	}
	last := w.contextContender()
	last.ctx, last.giveUp = context.WithTimeout(context.Background(), patience)
	w.Cleanup(last.giveUp)
	began := time.Now()
	w.begin(last)
	w.Waits(last.result, last.s, i18n.Textf("the waiter with a deadline", "有截止时间的等待者"))
	for _, p := range slices.Backward(before) { // the one just before it first
		time.Sleep((patience - 2*soon) / 3) // the last time is just before the deadline
		if len(last.result) > 0 {
			w.NoError(<-last.result,
				"the ctx of a waiter ends after %v, and after %v its Lock fails", "等待者的 ctx 在 %v 后才结束，Lock 过了 %v 就失败了", patience, time.Since(began))
			w.Failf("the waiter with a deadline has got the lock while another contender holds it: two holders", "别的竞争者还持有锁，有截止时间的等待者又拿到了锁：出现两个持有者")
		}
		w.givesUp(p, i18n.Textf("a waiter before it", "排在前面的一个等待者"))
	}
	time.Sleep(time.Until(began.Add(patience)) + soon)
	if len(last.result) == 0 {
		w.Failf(
			"the ctx of a waiter has ended after %v, and Lock has not returned: the waiter has woken three times meanwhile, and each time it waits for what is left of its ctx, not for as long as at first", "等待者的 ctx 在 %v 后已经结束，Lock 却没有返回：其间等待者醒来过三次，每次都只应当再等 ctx 剩下的时间，而不是从头等起", patience)
	}
	err := <-last.result
	w.HasError(err, "the ctx of a waiter has ended, another contender holds the lock, and Lock returns no error: two holders", "等待者的 ctx 已经结束，别的竞争者还持有锁，Lock 却没有返回错误：出现两个持有者")
	w.ErrorIs(err, context.DeadlineExceeded, "the deadline of a ctx has passed, and Lock returns an error that does not wrap ctx.Err() (fmt.Errorf with %%w)", "ctx 的截止时间已过，Lock 返回的错误却没有包装 ctx.Err()（fmt.Errorf 加 %%w）")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Rest()
	w.NothingLeft()
}

func locksAgain(w *contexts) {
	holder, _ := w.holder()
	waiter := w.waiting(i18n.Textf("the waiter", "等待者"))
	w.givesUp(waiter, i18n.Textf("the waiter", "等待者"))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.lockOnce(waiter, i18n.Textf("the contender that gave up, with another ctx,", "放弃之后换了一个 ctx 的竞争者"))
	w.Rest()
}

func endsAfterLock(w *contexts) {
	holder := w.contextContender()
	w.begin(holder)
	w.Holds(holder.result, i18n.Textf("the holder", "持有者"))
	holder.giveUp()
	other, _ := w.Contender()
	for range 3 {
		if w.Server != nil {
			time.Sleep(time.Second)
		}
		w.Len(w.Nodes(), 1,
			"the ctx that Lock was called with has ended, after Lock had returned, and the holder's node has gone, so that the next contender gets in: two holders; ctx bounds the waiting, not the holding", "Lock 返回之后，调用它时所用的 ctx 才结束，持有者的节点却被删除了，下一个竞争者就能拿到锁：出现两个持有者；ctx 限定的是等待，不是持有")
		ok, err := w.Try(other, i18n.Textf("TryLock on a held lock", "锁在别人手里时调用 TryLock"))
		w.NoError(err, "TryLock on a held lock fails", "锁在别人手里时，TryLock 失败了")
		w.False(ok,
			"the ctx that Lock was called with has ended, after Lock had returned, and another contender gets in: two holders", "Lock 返回之后，调用它时所用的 ctx 才结束，另一个竞争者却拿到了锁：出现两个持有者")
	}
	w.unlockLast(holder, i18n.Textf("the holder, whose ctx has ended,", "ctx 已经结束的持有者"))
}

func endedBefore(w *contexts) {
	p := w.contextContender()
	p.giveUp()
	w.begin(p)
	err := w.Result(p.result, i18n.Textf("Lock with a ctx that has ended", "用已经结束的 ctx 调用 Lock"))
	w.ErrorIs(err, context.Canceled,
		"Lock was called with a ctx that had ended, and returns no error that wraps ctx.Err(): look at ctx before anything else", "用已经结束的 ctx 调用 Lock，返回的错误没有包装 ctx.Err()：请先检查 ctx，再做别的")
	w.namesTheLock(err)
	w.Rest()
	w.NotLocked(p, i18n.Textf("Unlock after a Lock that gave up", "Lock 放弃之后的 Unlock"))
	w.NoNodes(i18n.Textf("Lock was called with a ctx that had ended, and has left a node", "用已经结束的 ctx 调用 Lock，却留下了节点"))
}

// goroutinesOfGivingUp has a contender lock whose ctx does not end, and waiters give up while they wait, and while a request of
// theirs is not answered. What Lock returns then, and when, is another case.
func goroutinesOfGivingUp(w *contexts) {
	locked := w.contextContender() // its ctx goes on
	w.begin(locked)
	w.Holds(locked.result, it)
	w.Unlock(locked, it)
	for n := 1; n <= 4; n++ {
		holder, _ := w.holder()
		waiter := w.contextContender()
		held := w.Server.Hold(stage.Number(waiter.s, n))
		w.begin(waiter)
		w.Meets(held, waiter.s, i18n.Textf("the request is held back, or the waiter waits", "请求被扣住，或者等待者在等待"))
		waiter.giveUp()
		w.Rest()
		held.Release()
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		if w.Result(waiter.result, i18n.Textf("the ctx of a waiter has ended, and its Lock", "等待者的 ctx 已经结束，Lock")) == nil {
			w.Unlock(waiter, i18n.Textf("the waiter", "等待者"))
		}
	}
	w.NoGoroutines()
}

func endedBeforeSendsNothing(w *contexts) {
	p := w.contextContender()
	p.giveUp()
	w.begin(p)
	w.HasError(w.Result(p.result, i18n.Textf("Lock with a ctx that has ended", "用已经结束的 ctx 调用 Lock")),
		"Lock was called with a ctx that had ended, and returns no error", "用已经结束的 ctx 调用 Lock，却没有返回错误")
	w.Rest()
	w.Empty(stage.RequestsOf(p.s),
		"Lock was called with a ctx that had ended, and has sent a request: look at ctx before anything else", "用已经结束的 ctx 调用 Lock，却发了请求：请先检查 ctx，再做别的")
}

// silentServer holds back each request of a waiter in turn, and meanwhile its ctx ends.
func silentServer(w *contexts) {
	for n := 1; w.GoesOn(n); n++ {
		holder, _ := w.holder()
		waiter := w.contextContender()
		held := w.Server.Hold(stage.Number(waiter.s, n))
		w.begin(waiter)
		met := w.Meets(held, waiter.s, i18n.Textf("the request is held back, or the waiter waits", "请求被扣住，或者等待者在等待"))
		op := stage.LastRequest(waiter.s, n)
		for range 2 {
			waiter.giveUp()
			select {
			case err := <-waiter.result:
				w.ErrorIs(err, context.Canceled, "the ctx of a waiter has ended, and Lock returns an error that does not wrap ctx.Err()", "等待者的 ctx 已经结束，Lock 返回的错误却没有包装 ctx.Err()")
				w.namesTheLock(err)
			case <-time.After(soon):
				w.Failf(
					"the ctx of a waiter has ended while the server did not answer its request %d, %v, and Lock does not return: the client's calls take no ctx; make them in a goroutine, and let Lock select on its result and on ctx.Done()", "服务器还没有响应第 %d 个请求（%v），等待者的 ctx 就结束了，Lock 却不返回：客户端的调用不接受 ctx；请在另一个 goroutine 里调用，让 Lock 用 select 同时等待结果和 ctx.Done()", n, op)
			}
			// The waiter calls Lock again, with another ctx, while the server still does not answer.
			waiter.ctx, waiter.giveUp = context.WithCancel(context.Background())
			w.begin(waiter)
			time.Sleep(soon)
		}
		waiter.giveUp()
		held.Release()
		w.Rest()
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
			"a waiter has given up while the server did not answer, and its node stays when the server answers again: it blocks every contender that comes later; delete it in the goroutine that Lock left behind", "服务器没有响应时等待者放弃了，服务器恢复响应之后，节点却还在，会挡住后来的每个竞争者；请在 Lock 留下的那个 goroutine 里删除节点")
		if !met {
			w.True(n > 1, "the waiter sends nothing before it waits", "等待者在等待之前什么都没有发")
			break
		}
	}
	w.Rest()
	w.NothingLeft()
}

// answeredTooLate holds back each reply on the way to a free lock in turn, and meanwhile ctx ends. It does
// so twice for each reply: the second time the first delete of the clean-up is lost.
func answeredTooLate(w *contexts) {
	for try := 2; w.GoesOn(try); try++ {
		n, loseCleanUp := try/2, try%2 == 1
		w.Path = fmt.Sprintf("/locktest/%d/lock", try) // its parents are missing each time
		p := w.contextContender()
		held := w.Server.HoldReply(stage.Number(p.s, n))
		w.begin(p)
		w.Eventually(i18n.Textf("the reply is held back, or Lock returns", "响应被扣住，或者 Lock 返回"), func() bool { return len(held.Hit()) > 0 || len(p.result) > 0 })
		met := len(held.Hit()) > 0
		op := stage.LastRequest(p.s, n)
		p.giveUp()
		err := w.Result(p.result, i18n.Textf(
			"the ctx of a contender has ended while the server did not answer its request %d, %v, and its Lock", "服务器还没有响应第 %d 个请求（%v），竞争者的 ctx 就结束了，Lock", n, op))
		if err != nil && loseCleanUp {
			defer w.Server.LoseRequest(stage.Sent(p.s, jute.OpDelete)).Release()
		}
		held.Release()
		if err == nil {
			w.Unlock(p, i18n.Textf("a contender that has got the lock though its ctx has ended", "ctx 已结束却拿到锁的竞争者"))
		} else {
			w.ErrorIs(err, context.Canceled, "the ctx of a contender has ended, and Lock returns an error that does not wrap ctx.Err()", "竞争者的 ctx 已经结束，Lock 返回的错误却没有包装 ctx.Err()")
		}
		w.Rest()
		w.NoNodes(i18n.Textf(
			"request %d of a contender, %v, was answered after ctx had ended, Lock has returned an error, and the node stays: it blocks every contender that comes later; the goroutine that waits for the answer must delete the node, also if it has got the lock, and send the delete again if it is lost", "竞争者的第 %d 个请求（%v）在 ctx 结束之后才得到响应，Lock 已返回错误，节点却还在，会挡住后来的每个竞争者；等待响应的那个 goroutine 必须删除节点，哪怕这时已经拿到锁；delete 丢了就重发", n, op))
		w.NothingLeft()
		w.notHeldAfterGivingUp(n)
		if !met {
			w.True(n > 1, "Lock sends no request", "Lock 没有发送任何请求")
			return
		}
	}
}

// notHeldAfterGivingUp does the same, but the first delete of the late lock fails, and then Unlock is called: the
// lock is not held, whatever the goroutine that Lock left behind has written into a field.
func (w *contexts) notHeldAfterGivingUp(n int) {
	p := w.contextContender()
	held := w.Server.HoldReply(stage.Number(p.s, n))
	w.begin(p)
	w.Eventually(i18n.Textf("the reply is held back, or Lock returns", "响应被扣住，或者 Lock 返回"), func() bool { return len(held.Hit()) > 0 || len(p.result) > 0 })
	failed := w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(p.s, jute.OpDelete))
	p.giveUp()
	if w.Result(p.result, i18n.Textf("the ctx of a contender has ended, and its Lock", "竞争者的 ctx 已经结束，Lock")) == nil {
		failed.Release()
		held.Release()
		w.Unlock(p, i18n.Textf("a contender that has got the lock though its ctx has ended", "ctx 已结束却拿到锁的竞争者"))
		return
	}
	held.Release()
	select {
	case <-failed.Hit():
	case <-time.After(soon): // there is no node
	}
	w.NotLocked(p, i18n.Textf("Unlock after a Lock that gave up, and whose request %d was answered afterwards,", "Lock 已放弃，第 %d 个请求随后才得到响应；这之后的 Unlock", n))
	w.begin(p)
	w.ErrorIs(w.Result(p.result, i18n.Textf("Lock with a ctx that has ended", "用已经结束的 ctx 调用 Lock")), context.Canceled,
		"a Lock has given up, and called again with the same ctx, which has ended, it returns no error that wraps ctx.Err()", "Lock 已经放弃，再用同一个已经结束的 ctx 调用，返回的错误没有包装 ctx.Err()")
	if ok, _ := w.Try(p, i18n.Textf("TryLock after a Lock that gave up", "Lock 放弃之后的 TryLock")); ok {
		w.Rest()
		w.NotEmpty(w.NodesOf(p.s),
			"request %d of a Lock was answered after its ctx had ended, TryLock has got the lock meanwhile, and there is no node, so that the next contender gets in: two holders; the node that came late is deleted: make another", "Lock 的第 %d 个请求在 ctx 结束之后才得到响应，其间 TryLock 拿到了锁，节点却不存在，下一个竞争者也会拿到锁：出现两个持有者；来迟的节点会被删除，请另外创建", n)
	}
	failed.Release()
	p.s.Conn.Close()
	w.Rest()
}

// givesUpAtOnce ends ctx at every moment from when the holder's node has gone
// until the waiter has the lock.
func givesUpAtOnce(w *contexts) {
	for range 20 {
		holder, holderSession := w.holder()
		waiter := w.waiting(i18n.Textf("the waiter", "等待者"))
		// The reply to the holder's delete is kept back, the events are not.
		held := w.Server.HoldReply(stage.Sent(holderSession, jute.OpDelete))
		released := w.Aside("Unlock", holder.Unlock)
		w.Hit(held, i18n.Textf("the holder deletes its node", "持有者删除自己的节点"))
		waiter.giveUp()
		held.Release()
		err := w.Result(waiter.result, i18n.Textf(
			"the ctx of a waiter ends in the instant in which it gets the lock, and its Lock", "等待者恰在拿到锁的瞬间 ctx 结束，Lock"))
		w.NoError(w.Result(released, i18n.Textf("Unlock of the holder", "持有者的 Unlock")), "Unlock of the holder fails", "持有者的 Unlock 失败")
		if err == nil {
			w.Unlock(waiter, i18n.Textf("a contender that got the lock just before its ctx ended", "刚拿到锁 ctx 就结束的竞争者"))
		} else {
			w.ErrorIs(err, context.Canceled,
				"the ctx of a waiter has ended, and Lock returns an error that does not wrap ctx.Err()", "等待者的 ctx 已经结束，Lock 返回的错误却没有包装 ctx.Err()")
		}
		w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
			"the ctx of a waiter has ended in the instant in which it got the lock, Lock has returned an error, and its node stays: every other contender waits; if Lock returns ctx.Err(), the node must go", "等待者恰在拿到锁的瞬间 ctx 结束，Lock 返回了错误，节点却还在，其他竞争者都只能等着；Lock 如果返回 ctx.Err()，就必须删除节点")
	}
	w.NothingLeft()
}
