package locktest

import (
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

func ExpiredWaiter(w *World) {
	if err := expiredWaiter(w); err != nil {
		w.saysWhy(err)
	}
}

// expiredWaiter has the session of a waiter end. It returns the error of the waiter's Lock, nil
// if Lock has outlived the session.
func expiredWaiter(w *World) error {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	w.Expire(s)
	// The requests of the client fail while it changes over.
	w.Renewed(s, i18n.Textf("the waiter's client has a new session", "等待者的客户端有了新会话"))

	expired := w.Subject.Expired
	if w.goesOn(result, s) && expired == nil {
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		w.Holds(result, i18n.Textf("a waiter whose session has expired, and that has queued again,", "会话过期后又重新排队的等待者"))
		w.unlockLast(waiter, it)
		return nil
	}
	w.False(w.Subject.Requeues, "a waiter's session has expired, and it does not queue again", "等待者的会话过期之后，没有重新排队")
	err := w.Result(result, i18n.Textf("Lock of a waiter whose session has expired", "会话过期的等待者的 Lock"))
	w.HasError(err, "a waiter's session has expired and its node has gone, and Lock returns no error while another contender holds the lock: two holders; the event that wakes it has Err set", "等待者的会话已经过期，节点也已消失，别的竞争者还持有锁，Lock 却没有返回错误：出现两个持有者；唤醒等待者的那个事件里，Err 不为 nil")
	w.True(expired == nil || slices.ContainsFunc(expired, func(want error) bool { return errors.Is(err, want) }),
		"a waiter's session has expired, and Lock does not say so: its error must wrap one of %v, and is %v", "等待者的会话已经过期，Lock 却没有说明：返回的错误应包装 %v 之一，实际是 %v", expired, err)
	w.NotLocked(waiter, i18n.Textf("Unlock after a Lock that failed", "Lock 失败之后的 Unlock"))
	w.Len(w.Nodes(), 1, "besides the holder's node there is one of a session that has expired, or the holder's has gone", "除了持有者的节点，还有一个会话已过期的节点；或者持有者的节点不见了")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.lockOnce(waiter, i18n.Textf("the waiter, in its new session", "处于新会话的等待者"))
	w.NothingLeft()
	return err
}

// goesOn waits until a Lock that was disturbed has returned, or waits on a watch again; it
// reports whether it waits. A lock may try again some times, with pauses.
func (w *World) goesOn(result <-chan error, s *Session) bool {
	w.Helper()
	pause := stage.Patience
	if w.Server == nil {
		pause = time.Second
	}
	time.Sleep(pause)
	w.Await(func() bool { return len(result) > 0 || s.Sleeps() }, "Lock neither returns nor waits on a watch%s", "Lock 既不返回，也不在监听上等待%s")
	return len(result) == 0
}

// ClosedWaiter closes the client of a waiter. Later calls of the client may never
// return, so Lock need not return.
func ClosedWaiter(w *World) {
	holder, _ := w.holder()
	_, s, result := w.waiter()
	s.Close()
	if w.Server != nil {
		time.Sleep(stage.Patience) // in which Lock may return
	}
	w.closedGetsNothing(result)
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	if w.Server != nil {
		time.Sleep(stage.Patience)
	}
	w.closedGetsNothing(result)
	w.NothingLeft()
}

// closedGetsNothing fails if the Lock of a waiter whose client was closed has returned the lock.
func (w *World) closedGetsNothing(result <-chan error) {
	w.Helper()
	if len(result) > 0 {
		w.HasError(<-result,
			"the client of a waiter has been closed, its session has ended, and Lock returns no error: the next contender gets in, too: two holders", "等待者的客户端已经关闭，会话已经结束，Lock 却没有返回错误：下一个竞争者也会拿到锁，出现两个持有者")
	}
}

func ExpiredHolder(w *World) {
	holder, s := w.holder()
	waiter, _, result := w.waiter()
	w.Expire(s)
	w.Holds(result, i18n.Textf("the waiter, after the holder's session has expired,", "等待者（持有者会话过期之后）"))
	w.unlockLast(waiter, i18n.Textf("the new holder", "新的持有者"))
	// It ends what the lock does for this holder in the background. Its error is for the next case.
	w.UnlockErr(holder, i18n.Textf("Unlock after the session has expired", "会话过期之后的 Unlock"))
}

// UnlockAfterExpiry has a holder whose session expires, and which then calls Unlock.
func UnlockAfterExpiry(w *World) {
	w.expiredUnlockInTheSameMillisecond()
	w.expiredUnlockInTheNextSession()

	holder, s := w.holder()
	w.Expire(s)
	next, _ := w.Contender()
	ok, tryErr := w.Try(next, i18n.Textf("TryLock after the holder's session has expired", "持有者的会话过期之后的 TryLock"))
	if errors.Is(tryErr, errors.ErrUnsupported) {
		w.MustLock(next, i18n.Textf("the next holder", "下一个持有者"))
	} else {
		w.True(ok && tryErr == nil, "the holder's session has expired, nobody holds the lock, and TryLock returns %v and %v", "持有者的会话已经过期，没有人持有锁，TryLock 却返回 %v 和 %v", ok, tryErr)
	}
	w.expiredUnlock(holder, s, i18n.Textf("another contender has the lock", "另一个竞争者拿到了锁"))
	w.Unlock(next, i18n.Textf("the new holder", "新的持有者"))
	w.lockOnce(holder, i18n.Textf("the old holder, once more", "再次加锁的原持有者"))
	w.NothingLeft()
}

// expiredUnlockInTheSameMillisecond has the next holder come in the same millisecond as the one
// whose session ends: a clock distinguishes them only if it is finer than that.
func (w *World) expiredUnlockInTheSameMillisecond() {
	s, next := w.Session(), w.Session()
	for _, each := range []*Session{s, next} { // the first answer to a new client comes late
		_, _, err := each.Exists("/")
		require.NoError(w, err)
	}
	if w.Server != nil { // on a real server the clock runs
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	holder := w.Subject.New(s.Conn, w.Path)
	w.MustLock(holder, i18n.Textf("the holder", "持有者"))
	if w.Server != nil {
		time.Sleep(100 * time.Microsecond)
	}
	waiter := w.Subject.New(next.Conn, w.Path)
	result := w.Lock(waiter)
	w.Waits(result, next, i18n.Textf("the waiter", "等待者"))
	w.Expire(s)
	w.Holds(result, i18n.Textf("the waiter, after the holder's session has expired,", "等待者（持有者会话过期之后）"))
	w.expiredUnlock(holder, s, i18n.Textf("another contender, which came in the same millisecond, has the lock", "另一个竞争者在同一毫秒到来，拿到了锁"))
	w.Unlock(waiter, i18n.Textf("the new holder", "新的持有者"))
}

// expiredUnlockInTheNextSession has the next holder in the client's next session: a node of
// the client's present session need not be the contender's own.
func (w *World) expiredUnlockInTheNextSession() {
	holder, s := w.holder()
	w.Expire(s)
	w.Renewed(s, i18n.Textf("the old holder's client has a new session", "原持有者的客户端有了新会话"))
	next, _ := w.Contender(s)
	w.MustLock(next, i18n.Textf("the next holder, of the same client", "同一客户端的下一个持有者"))
	w.expiredUnlock(holder, s, i18n.Textf("another contender of the same client has the lock in its next session", "同一客户端的另一个竞争者在下一个会话里拿到了锁"))
	w.Unlock(next, i18n.Textf("the next holder", "下一个持有者"))
}

// expiredUnlock fails if Unlock of a holder whose session has expired deletes a node.
func (w *World) expiredUnlock(holder Lock, s *Session, who i18n.Text) {
	w.Helper()
	w.Renewed(s, i18n.Textf("the old holder's client has a new session", "原持有者的客户端有了新会话"))
	before := w.Nodes()
	err := w.UnlockErr(holder, i18n.Textf("Unlock after the session has expired", "会话过期之后的 Unlock"))
	w.Equal(before, w.Nodes(),
		"the holder's session has expired, %s, and Unlock of the old holder has deleted another contender's node: two holders", "持有者的会话已经过期，%s，原持有者的 Unlock 却删除了别人的节点：出现两个持有者", who)
	w.IsNotLocked(err, i18n.Textf("Unlock after the session has expired", "会话过期之后的 Unlock"))
}

// A spoiler says what goes wrong with one request of a contender.
type spoiler struct {
	what           i18n.Text
	fault          func(when func(zkserver.Request) bool) *zkserver.Fault
	onlyBreaks     bool // the connection breaks, and nothing else goes wrong
	cleanUpIsLost  bool // the first delete after the request is lost, too
	serverIsAbsent bool // no server can be reached
}

// A failedCall is a Lock or TryLock that has returned an error after one of its requests was spoiled.
type failedCall struct {
	contender    Lock
	session      *Session
	request      int       // its number
	how          i18n.Text // what went wrong with it
	mustOutlive  bool      // the call should have gone on
	err          error     // that the call has returned
	unlockHolder func()    // has the holder let go, if there is one that has not
}

// spoil spoils the n-th request of a contender. After release its clean-up is spoiled no more.
func (w *World) spoil(sp spoiler, s *Session, n int) (fault *zkserver.Fault, release func()) {
	if sp.serverIsAbsent {
		w.Unreachable(s)
	}
	fault = sp.fault(stage.Number(s, n))
	if !sp.cleanUpIsLost {
		return fault, func() {}
	}
	return fault, w.Server.LoseRequest(stage.Sent(s, jute.OpDelete)).Release
}

// how says what went wrong with the n-th request of a contender.
func (sp spoiler) how(s *Session, n int) i18n.Text {
	return i18n.Textf("its request %d, %v, %s", "竞争者的第 %d 个请求（%v）%s", n, stage.LastRequest(s, n), sp.what)
}

// mustOutlive reports whether a lock must go on after its n-th request was spoiled.
func (w *World) mustOutlive(sp spoiler, s *Session, n int) bool {
	if w.Subject.Requeues {
		return true
	}
	create := stage.CreatesNode(stage.LastRequest(s, n))
	return sp.onlyBreaks && (w.Subject.FindsNode && create || w.Subject.Retries && !create)
}

// spoilers are all that may go wrong with a request.
func (w *World) spoilers() []spoiler {
	fail := func(when func(zkserver.Request) bool) *zkserver.Fault {
		return w.Server.Fail(jute.ErrRuntimeInconsistency, when)
	}
	spoilers := []spoiler{
		{what: i18n.Textf("is answered with an error", "得到错误"), fault: fail},
		{what: i18n.Textf("is lost with its connection", "随连接一起丢失"), fault: w.Server.LoseRequest, onlyBreaks: true},
		{what: i18n.Textf("is carried out, and its reply is lost with the connection", "已经执行，响应却随连接一起丢失"), fault: w.Server.LoseReply, onlyBreaks: true},
	}
	if w.Subject.Queue { // a lock without a queue has nothing to clean up
		spoilers = append(spoilers, spoiler{what: i18n.Textf("fails, and the first try to clean up is lost with its connection", "失败，第一次清理的请求又随连接一起丢失"), fault: fail, cleanUpIsLost: true})
	}
	return spoilers
}

// ErrorOnTheWay spoils each request of a waiter in turn.
func ErrorOnTheWay(w *World) {
	w.spoilLock(i18n.Textf("the waiter", "等待者"), func() (Lock, *Session) { return w.Contender() }, func(Lock) {}, func(call failedCall) {
		w.False(call.mustOutlive, "%s, and Lock returns an error: %v", "%s，Lock 返回了错误：%v", call.how, call.err)
		w.leavesNothing(call)
		call.unlockHolder()
		w.lockOnce(call.contender, i18n.Textf("the waiter, once more,", "再次加锁的等待者"))
		w.NoNodes(i18n.Textf("%s, every contender has let go since, and a node is left: send a delete again if it is lost", "%s，之后所有竞争者都已释放锁，却还有节点留着：delete 丢了就重发", call.how))
	})
}

// spoilLock spoils each request of a Lock in turn, while another contender holds the lock. open
// makes the contender. If its Lock returns no error, got is called with it, otherwise failed.
func (w *World) spoilLock(name i18n.Text, open func() (Lock, *Session), got func(l Lock), failed func(call failedCall)) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			holder, _ := w.holder()
			waiter, s := open()
			fault, release := w.spoil(sp, s, n)
			result := w.Lock(waiter)
			spoiled := w.Meets(fault, s, i18n.Textf("the request is spoiled, or the waiter waits", "请求受到干扰，或者等待者在等待"))
			waits := !spoiled || w.goesOn(result, s) // otherwise Lock has returned
			if waits {
				w.Unlock(holder, i18n.Textf("the holder", "持有者"))
			}
			err := w.Result(result, i18n.Textf(
				"Lock of %s, when its request %d %s, and it has tried again and waits, and the holder has let go,", "%s的 Lock（第 %d 个请求%s，它已重试并在等待，持有者已释放锁）", name, n, sp.what))
			how := sp.how(s, n)
			release()
			if err != nil {
				failed(failedCall{waiter, s, n, how, spoiled && w.mustOutlive(sp, s, n), err, func() {
					if !waits {
						w.Unlock(holder, i18n.Textf("the holder", "持有者"))
					}
				}})
				continue
			}
			w.True(waits,
				"%s, and Lock of %s returns no error while another contender holds the lock: two holders", "%s，别的竞争者还持有锁，%s的 Lock 却没有返回错误：出现两个持有者", how, name)
			met := len(fault.Hit()) > 0
			fault.Release()
			got(waiter)
			w.NotEmpty(w.Nodes(),
				"%s, and Lock has returned without a node, so that the next contender gets in: two holders", "%s，Lock 返回时却没有节点，下一个竞争者也会拿到锁：出现两个持有者", how)
			w.Unlock(waiter, name)
			w.nothingStays(how)
			if met {
				continue // it has tried again itself
			}
			atLeast := 1
			if w.Subject.Queue {
				atLeast = 2
			}
			w.True(n > atLeast, "%s sends only %d requests: it cannot have looked for the holder", "%s只发了 %d 个请求，不可能查看过谁是持有者", name, n-1)
			break // all requests of a Lock have been spoiled
		}
	}
}

// errorInTryLock spoils each request of TryLock on a free lock in turn.
func errorInTryLock(w *World) {
	w.Parent()
	late := func(s *Session) { time.AfterFunc(6*time.Second, w.Server.HoldReply(stage.Number(s, 1)).Release) }
	admin := w.Session()
	gone := func(s *Session) {
		list := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
		time.AfterFunc(time.Second, func() { admin.Delete(strings.Join(w.NodesOf(s), ""), -1); list.Release() })
	}
	for _, trouble := range []func(*Session){w.Unreachable, w.EndsWith, late, gone} {
		l, s := w.Contender()
		trouble(s)
		ok, err := w.Try(l, i18n.Textf("TryLock, when no server can be reached, its session ends, its create is answered late, or its node goes,", "TryLock（连不上服务器、会话结束、create 的响应迟到，或者节点被删除）"))
		w.True(ok || err != nil, "no server can be reached, the session ends, the create is answered late, or its node goes, nobody holds the lock, and TryLock returns false and no error: that says that another contender holds it", "连不上服务器、会话结束、create 的响应迟到，或者节点被删除，没有人持有锁，TryLock 却返回 false，没有错误：这表示锁在别人手里")
		if ok {
			w.Unlock(l, it)
		}
		w.WaitUntil(func() bool { return len(w.NodesOf(s)) == 0 }, "TryLock returns the error %v, and its node stays: the answer to its create came six seconds late; delete the node when it comes", "TryLock 返回错误 %v，节点却留着：create 的响应迟到了六秒；响应到来时请删除节点", err)
	}
	w.spoilTryLock(it, func() (Lock, *Session) { return w.Contender() }, func(call failedCall) {
		w.False(call.mustOutlive, "%s, and TryLock returns an error: %v", "%s，TryLock 返回了错误：%v", call.how, call.err)
		w.leavesNothing(call)
		w.lockOnce(call.contender, i18n.Textf("it, once more,", "再次尝试的竞争者"))
	})
}

// spoilTryLock spoils each request of TryLock on a free lock in turn. open makes the contender.
// If TryLock returns an error, failed is called.
func (w *World) spoilTryLock(name i18n.Text, open func() (Lock, *Session), failed func(call failedCall)) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			l, s := open()
			fault, release := w.spoil(sp, s, n)
			ok, err := w.Try(l, i18n.Textf("TryLock, when its request %d %s,", "TryLock（第 %d 个请求%s）", n, sp.what))
			release()
			met, how := len(fault.Hit()) > 0, sp.how(s, n)
			if err != nil {
				w.False(ok, "TryLock returns true and an error", "TryLock 返回 true，同时又返回错误")
				failed(failedCall{l, s, n, how, met && w.mustOutlive(sp, s, n), err, func() {}})
				continue
			}
			fault.Release()
			w.True(ok, "TryLock on a free lock returns false and no error, when %s", "锁空闲，%s，TryLock 返回 false，却没有错误", how)
			w.NotEmpty(w.Nodes(),
				"%s, and TryLock returns true without a node, so that the next contender gets in: two holders", "%s，TryLock 没有节点却返回 true，下一个竞争者也会拿到锁：出现两个持有者", how)
			w.Unlock(l, name)
			w.nothingStays(how)
			if !met { // else it has tried again itself
				w.True(n > 1, "TryLock takes a lock without a request", "TryLock 一个请求都没发就拿到了锁")
				break
			}
		}
	}
}

// nothingStays fails if a lock that has tried again leaves a node in the end: it may
// remove in the background what an earlier try has left.
func (w *World) nothingStays(how i18n.Text) {
	w.Helper()
	w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
		"%s, the lock has tried again and has been let go, and it leaves a node behind: it blocks every contender that comes later; send a delete again if it is lost, and look for the node of a create whose reply is lost", "%s，之后锁自己重试成功，也已经释放，却留下了节点，会挡住后来的每个竞争者；delete 丢了就重发，create 的响应丢了就把节点找出来", how)
}

// leavesNothing fails if a failed call has left a node. A create whose reply was lost is an
// exception: its node stays until the session ends, and the steps say so.
func (w *World) leavesNothing(call failedCall) {
	w.Helper()
	s, how := call.session, call.how
	w.saysWhy(call.err)
	w.NotErrorIs(call.err, zk.ErrNoNode, "%s, no node has gone, and the error says that one has: return the error of the request that failed", "%s，没有节点消失，返回的错误却说节点不存在：请返回失败的那个请求的错误", how)
	w.NotLocked(call.contender, i18n.Textf("Unlock after a Lock that failed (%s)", "Lock 失败之后的 Unlock（%s）", how))
	if !stage.CreatesNode(stage.LastRequest(s, call.request)) {
		w.WaitUntil(func() bool { return s.Tap.Pending() == 0 && len(w.NodesOf(s)) == 0 },
			"%s, Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the node before you return an error, and send that delete again if it is lost", "%s，Lock 失败，却留下了自己的节点，会挡住后来的每个竞争者；返回错误之前，请先删除节点，delete 丢了就重发", how)
		return
	}
	w.WaitUntil(func() bool { return len(w.NodesOf(s)) <= 1 }, "%s, and there are two nodes", "%s，结果有两个节点", how)
	w.Server.Expire(s.SessionID())
	w.Renewed(s, i18n.Textf("the client has a new session", "客户端有了新会话"))
}

// namesTheLock fails if an error does not have the path.
func (w *World) namesTheLock(err error) {
	w.Helper()
	w.ErrorContains(err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %%w)", "错误里没有说明是哪个锁：请包装错误，并带上路径（fmt.Errorf 加 %%w）")
}

// saysWhy fails if the error of a call, one of whose requests has failed or whose watch has ended with an error, wraps none
// of the client's errors, or does not name the lock. The client has no value for the error of a code that it does not know:
// that one is recognized by its text.
func (w *World) saysWhy(err error) {
	w.Helper()
	w.notErrNotLocked(err, i18n.Textf("Lock returns ErrNotLocked, which is Unlock's error", "Lock 返回了 ErrNotLocked，那是 Unlock 的错误"))
	w.True(strings.Contains(err.Error(), "unknown error") || slices.ContainsFunc(clientErrors, func(e error) bool { return errors.Is(err, e) }),
		"a request has failed, or a watch has ended with an event whose Err is set, and the error does not wrap the client's (fmt.Errorf with %%w): %v", "请求失败了，或者监听以 Err 不为 nil 的事件结束，返回的错误却没有包装客户端的错误（fmt.Errorf 加 %%w）：%v", err)
	w.namesTheLock(err)
}

var clientErrors = []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrNoNode, zk.ErrClosing}

// UnlockAgain spoils each request of Unlock in turn. Unlock may try again itself, or
// return an error, and then it can be called again.
func UnlockAgain(w *World) {
	away := spoiler{what: i18n.Textf("cannot be sent: no server can be reached for four seconds", "发不出去：四秒钟连不上任何服务器"), fault: w.Server.LoseRequest, serverIsAbsent: true}
	for _, sp := range append(w.spoilers()[:3], away) {
		for n := 1; w.GoesOn(n); n++ {
			l, s := w.holder()
			before := w.Nodes()
			fault, _ := w.spoil(sp, s, n)
			err := w.UnlockErr(l, i18n.Same("Unlock"))
			met := sp.serverIsAbsent && err != nil || len(fault.Hit()) > 0
			fault.Release()

			how := i18n.Textf("request %d of Unlock %s", "Unlock 的第 %d 个请求%s", n, sp.what)
			if err != nil {
				w.True(met, "Unlock fails, and nothing was wrong: %v", "什么都没有出错，Unlock 却失败了：%v", err)
				if !errors.Is(err, w.Subject.ErrNotLocked) {
					w.saysWhy(err)
				}
				if slices.Equal(before, w.Nodes()) {
					w.notErrNotLocked(err, i18n.Textf(
						"%s, the node is still there, and Unlock returns ErrNotLocked: the holder still holds the lock", "%s，节点还在，Unlock 却返回 ErrNotLocked：持有者其实还持有锁", how))
				}
				w.Eventually(i18n.Textf("the client is connected", "客户端已连接"), func() bool { return s.State() == zk.StateHasSession })
				there := len(w.Nodes()) > 0
				err = w.UnlockErr(l, i18n.Textf("Unlock, called again,", "再次调用的 Unlock"))
				if there || err != nil && w.Subject.ErrNotLocked != nil && !errors.Is(err, w.Subject.ErrNotLocked) {
					w.NoError(err,
						"%s, and Unlock, called again, cannot delete the node: forget the node only once it has gone", "%s，再次调用 Unlock 却删不掉节点：确认节点已删除，才能忘掉它", how)
				}
			}
			w.WaitUntil(func() bool { return len(w.Nodes()) == 0 },
				"%s, Unlock has returned no error, and the node stays: the caller goes on as if the lock were free", "%s，Unlock 没有返回错误，节点却还在：调用方会以为锁已经释放", how)
			w.NotLocked(l, i18n.Textf("Unlock of a lock that has been let go", "锁释放之后的 Unlock"))
			if sp.serverIsAbsent {
				break
			}
			if !met {
				w.True(n > 1, "Unlock sends no request", "Unlock 没有发送任何请求")
				break
			}
		}
	}
}
