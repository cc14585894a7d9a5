package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/stage"
)

// exclusion lets every contender lock a few times, and count in a variable that nothing but the
// lock guards: the race detector sees what the counter may miss. Unless all must get in, a
// contender that does not get the lock does not fail the case: that is not a matter of exclusion.
func exclusion(w *World, contenders []Lock, allMustGetIn bool) {
	const times = 5
	num := 0
	var holders atomic.Int32
	var entered atomic.Bool // by any contender
	var failed error
	results := w.Rounds("Lock, Unlock", times, contenders, func(l Lock) error {
		if err := l.Lock(); err != nil {
			return i18n.Errorf("Lock fails: %w", "Lock 失败：%v", err)
		}
		alone := holders.Add(1) == 1
		entered.Store(true)
		num++
		// Time for others to get in, if the lock lets them. In virtual time it
		// ends when all others have got as far as they can.
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		err := l.Unlock()
		if !alone {
			return i18n.Errorf("it has got the lock while another contender holds it: two holders", "别的竞争者还持有锁，这个竞争者又拿到了锁：出现两个持有者")
		}
		if err != nil {
			return i18n.Errorf("Unlock fails: %w", "Unlock 失败：%v", err)
		}
		return nil
	})

	for i, result := range results {
		if !allMustGetIn {
			w.WaitFor(stage.Patience, func() bool { return len(result) > 0 })
			if len(result) == 0 {
				continue
			}
		}
		err := w.Result(result, stage.Contender(i))
		failed = cmp.Or(failed, err)
		if err != nil && (allMustGetIn || Unsafe(err.Error())) {
			w.Failf("%s\n    %v", "%[2]v（%[1]s）", stage.Contender(i), err)
		}
	}
	if !allMustGetIn {
		w.True(entered.Load(), "none of %d contenders has got the lock: %v", "%d 个竞争者，没有一个拿到锁：%v", len(contenders), failed)
		return
	}
	w.Equal(times*len(contenders), num, "the count is wrong: two contenders held the lock at once: two holders", "计数不对：有两个竞争者同时持有过锁，即出现两个持有者")
	w.NothingLeft()
}

// Rounds has each contender do a round this many times, up to its first error, all of them at once.
func (w *World) Rounds(what string, times int, contenders []Lock, round func(l Lock) error) (results []<-chan error) {
	for _, l := range contenders {
		results = append(results, w.Aside(what, func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			return err
		}))
	}
	return results
}

// OfOneSession makes contenders in one session.
func (w *World) OfOneSession(n int) (contenders []Lock) {
	s := w.Session()
	for range n {
		l, _ := w.Contender(s)
		contenders = append(contenders, l)
	}
	return contenders
}

// OfManySessions makes contenders, each in a session of its own.
func (w *World) OfManySessions(n int) (contenders []Lock) {
	for range n {
		l, _ := w.Contender()
		contenders = append(contenders, l)
	}
	return contenders
}

func exclusionInOneSession(w *World)   { exclusion(w, w.OfOneSession(16), false) }
func exclusionInManySessions(w *World) { exclusion(w, w.OfManySessions(8), false) }

func allGetIn(w *World) {
	exclusion(w, w.OfManySessions(8), true)
	exclusion(w, w.OfOneSession(16), true)
}

func reuse(w *World) {
	l, _ := w.Contender()
	for i := range 3 {
		w.lockOnce(l, i18n.Textf("the same contender, time %d", "同一个竞争者第 %d 次", i+1))
	}
	w.NothingLeft()
}

// EphemeralNode looks at the node that the holder has made.
func EphemeralNode(w *World) {
	admin := w.Session()
	l, s := w.holder()
	nodes := w.Nodes()
	if len(nodes) == 0 {
		if _, stat, err := admin.Get(w.Path); err == nil && !w.Subject.Queue {
			w.True(stat.EphemeralOwner != 0,
				"the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral", "持有者的节点 %s 不是临时节点：持有者一旦崩溃，节点会一直留着，谁也拿不到锁；创建时请用 zk.FlagEphemeral", w.Path)
		}
		w.Failf(
			"Lock has returned, and there is no node of the holder at %s or below it: nothing keeps the next contender out; make a node, and hold the lock only if that makes you the holder", "Lock 已经返回，但 %s 及其下面没有持有者的节点，拦不住下一个竞争者；请创建节点，由节点决定谁是持有者", w.Path)
	}
	for _, node := range nodes {
		p := w.Path + "/" + node
		_, stat, err := admin.Get(p)
		if errors.Is(err, zk.ErrNoNode) {
			p = w.Path
			_, stat, err = admin.Get(p)
		}
		w.NoError(err, "the holder's node %s", "持有者的节点 %s", p)
		w.True(stat.EphemeralOwner != 0,
			"the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral or zk.FlagEphemeralSequential", "持有者的节点 %s 不是临时节点：持有者一旦崩溃，节点会一直留着，谁也拿不到锁；创建时请用 zk.FlagEphemeral 或 zk.FlagEphemeralSequential", p)
		w.Equal(s.SessionID(), stat.EphemeralOwner, "the holder's node %s belongs to another session", "持有者的节点 %s 属于另一个会话", p)
	}
	w.Len(nodes, 1, "one contender holds the lock, and there are several nodes", "只有一个竞争者持有锁，却有好几个节点")
	w.Unlock(l, i18n.Textf("the holder", "持有者"))
	w.NoNodes(i18n.Textf(
		"Unlock has returned, and the holder's node is still there: every other contender waits; Unlock must delete the node", "Unlock 已经返回，持有者的节点却还在，其他竞争者都只能等着；Unlock 必须删除这个节点"))
}

// WaiterSleeps has a waiter that must sleep on a watch, and wakes it.
func WaiterSleeps(w *World) { w.waiterSleeps(func(*Session) {}) }

// WaiterIsQuiet counts what a waiter sends while nothing happens.
func WaiterIsQuiet(w *World) {
	w.waiterSleeps(func(s *Session) {
		before, quiet := len(stage.RequestsOf(s)), 10*time.Second
		if w.Server == nil {
			quiet = 500 * time.Millisecond
		}
		time.Sleep(quiet) // in which nothing happens that a waiter could wait for
		// A lock may show now and then that its session lives: zklock sends two
		// requests in a third of the session timeout.
		if n := len(stage.RequestsOf(s)) - before; n > 10 {
			w.Failf(
				"the waiter polls: it has sent %d requests in %v while nothing changed (%s); set a watch, and sleep until its event comes", "等待者在轮询：什么都没有变化，却在 %[2]v 内发了 %[1]d 个请求（%[3]s）；请设置监听，然后睡眠，直到事件到来", n, quiet, ByKind(stage.RequestsOf(s)[before:]))
		}
	})
}

func (w *World) waiterSleeps(meanwhile func(s *Session)) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	meanwhile(s)
	w.Waits(result, s, i18n.Textf("the waiter", "等待者"))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Holds(result, i18n.Textf("the waiter, after the release,", "等待者（锁释放之后）"))
	w.unlockLast(waiter, it)
}

// LongHold has a holder that holds the lock for weeks, and whose session lives. A contender
// cannot know more of the holder than that.
func LongHold(w *World) {
	const weeks = 40 * 24 * time.Hour
	holder, holderSession := w.holder()
	held := w.Nodes()
	var waiters []Lock
	var results []<-chan error
	var sessions []*Session
	for i := range 2 {
		l, s := w.Contender()
		waiters, results, sessions = append(waiters, l), append(results, w.Lock(l)), append(sessions, s)
		time.Sleep(time.Second) // whether it waits on a watch is another case
		if len(results[i]) > 0 {
			w.NoError(<-results[i], "%s must wait, and Lock fails", "%s 应该等待，Lock 却失败了", stage.Contender(i+1))
			w.Failf("%s has got the lock while another contender holds it: two holders", "别的竞争者还持有锁，%s 又拿到了锁：出现两个持有者", stage.Contender(i+1))
		}
	}

	all := w.Nodes()
	began := time.Now()
	stillHeld := func() {
		after := time.Since(began)
		for i, result := range results {
			if len(result) > 0 {
				w.NoError(<-result,
					"the holder has held the lock for %v, and Lock of a waiter fails: Lock waits for as long as that takes", "持有者已持有锁 %v，等待者的 Lock 失败了：不管要等多久，Lock 都应该一直等", after)
				w.Failf(
					"the holder has held the lock for %v, its session lives, and %s has got it: two holders; however long it takes, only the holder or the end of its session ends a hold", "持有者已持有锁 %v，会话还在，%s 却拿到了锁：出现两个持有者；不管过了多久，只有持有者自己释放锁，或者会话结束，持有才算结束", after, stage.Contender(i+1))
			}
		}
		w.Has(w.Nodes(), held,
			"the holder has held the lock for %v, its session lives, and its node is gone, so that the next contender gets in: two holders; a waiter cannot find out that a holder has hung, and no clock ends a hold: only Unlock and the end of the session delete the node", "持有者已持有锁 %v，会话还在，节点却被删除了，下一个竞争者就能拿到锁：出现两个持有者；等待者无法知道持有者是否卡住，也不能靠计时来结束持有：只有 Unlock 和会话结束才能删除节点", after)
		w.Has(w.Nodes(), all,
			"a waiter has waited for %v, and its node is gone: another waiter has deleted another contender's node, or it has left the queue", "等待者已等了 %v，节点却不见了：要么别的等待者删了不属于自己的节点，要么这个等待者自己离开了队列", after)
	}
	// A lock that also looks now and then, besides its watch, need not be played for weeks: it has looked often enough
	// after half a minute, if it looks each millisecond; after three hours, if it looks each second or two.
	looksEnough := func(s *Session) bool {
		looks := len(stage.RequestsOf(s))
		return looks >= 60_000 || looks >= 6000 && time.Since(began) > 3*time.Hour
	}
	for step := time.Second; time.Since(began) < weeks && !looksEnough(sessions[0]) && !looksEnough(holderSession); {
		time.Sleep(step)
		synctest.Wait()
		stillHeld()
		step = min(2*step, max(10*time.Minute, time.Since(began)/4))
	}
	if w.Server != nil && !looksEnough(sessions[0]) {
		w.wakeOften(all)
		stillHeld()
	}

	late, _ := w.Contender()
	if ok, err := w.Try(late, i18n.Textf("TryLock on a lock that has been held for weeks", "锁已被别人持有几周时的 TryLock")); !errors.Is(err, errors.ErrUnsupported) {
		w.NoError(err,
			"TryLock on a lock that has been held for weeks fails: false says that another contender holds it", "锁已被别人持有几周，TryLock 失败了：锁在别人手里，应该返回 false")
		w.False(ok, "TryLock takes a lock that another contender has held for weeks: two holders", "别的竞争者已持有锁几周，TryLock 又拿到了锁：出现两个持有者")
	}
	w.Has(w.Nodes(), held,
		"the holder has held the lock for weeks, its session lives, and a contender that came later has deleted another contender's node, the holder's", "持有者已持有锁几周，会话还在，后来的竞争者却删除了持有者的节点，那不是它自己的节点")
	require.Equal(w, holderSession.ID, holderSession.SessionID())
	for i, result := range results {
		w.Empty(result,
			"a contender that came later has let %s in, and the holder has held the lock for weeks: two holders", "持有者已持有锁几周，后来的竞争者却让 %s 拿到了锁：出现两个持有者", stage.Contender(i+1))
	}
	w.Unlock(holder, i18n.Textf("the holder, after weeks,", "已持有几周的持有者"))
	for range waiters {
		w.Unlock(waiters[w.next(results)], it)
	}
	w.NothingLeft()
}

// wakeOften does hundreds of times what may wake a waiter for nothing: it writes the data of the
// nodes again, and makes and deletes a child of the path.
func (w *World) wakeOften(nodes []string) {
	admin := w.Session()
	for range 1100 {
		for _, node := range nodes {
			if !w.Server.Touch(w.Path + "/" + node) {
				w.Server.Touch(w.Path)
			}
		}
		if w.Subject.Queue {
			_, err := admin.Create(w.Path+"/minutes", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(w, err)
			require.NoError(w, admin.Delete(w.Path+"/minutes", -1))
		}
		time.Sleep(time.Millisecond)
	}
}

func MissingParents(w *World) {
	w.Path += "-17+%d/lock-0000000000/read-write" // a path with what a lock may look for in a node's name
	a, _ := w.Contender()
	b, s := w.Contender()
	w.NoError(w.Result(w.Lock(a), i18n.Textf("Lock where the parents are missing", "父节点不存在时的 Lock")),
		"Lock fails where the parents of its node are missing: make them when create returns zk.ErrNoNode", "父节点不存在时 Lock 失败：create 返回 zk.ErrNoNode 时，请先创建父节点")
	result := w.Lock(b)
	w.Waits(result, s, i18n.Textf("the second contender", "第二个竞争者"))
	w.Unlock(a, i18n.Textf("the first contender", "第一个竞争者"))
	w.Holds(result, i18n.Textf("the second contender", "第二个竞争者"))
	w.unlockLast(b, i18n.Textf("the second contender", "第二个竞争者"))
	// The parents go, and the same contender makes them once more.
	for p, admin := w.Path, w.Session(); p != "/"; p = path.Dir(p) {
		require.Contains(w, []error{nil, zk.ErrNoNode, zk.ErrNotEmpty}, admin.Delete(p, -1))
	}
	w.lockOnce(a, i18n.Textf("the first contender, whose parents have gone,", "第一个竞争者（父节点已被删除）"))
}

func tryLockFree(w *World) {
	a, _ := w.Contender()
	for range 2 { // the second time it has let go
		ok, err := w.Try(a, i18n.Textf("TryLock on a free lock", "对空闲的锁调用 TryLock"))
		w.NoError(err, "TryLock on a free lock fails", "锁空闲，TryLock 却失败了")
		w.True(ok, "TryLock returns false, and the lock is free", "锁空闲，TryLock 却返回 false")
		w.Unlock(a, i18n.Textf("the contender that took the lock with TryLock", "用 TryLock 拿到锁的竞争者"))
	}
	w.NothingLeft()
}

func tryLockHeld(w *World) {
	holder, holderSession := w.holder()
	before := w.Nodes()
	other, _ := w.Contender()
	neighbour, _ := w.Contender(holderSession) // a node of its session is not its own
	for i, further := range []int{1, 10, 100, 1 << 8, 1000, 10_000, 1 << 16, 100_000, 1_000_000, 10_000_000, 1 << 24, 100_000_000, 1_000_000_000} {
		w.setNextNumber(before, further)
		began := time.Now()
		ok, err := w.Try([]Lock{other, neighbour}[i%2], i18n.Textf("TryLock on a held lock", "锁在别人手里时调用 TryLock"))
		w.True(w.Server == nil || time.Since(began) < 10*time.Millisecond, "TryLock on a held lock takes %v: it waits for nobody", "锁在别人手里，TryLock 用了 %v：TryLock 不应等待", time.Since(began))
		w.NoError(err, "TryLock on a held lock fails: false says that another contender holds it", "锁在别人手里时，TryLock 失败了：这时应该返回 false")
		w.False(ok, "TryLock takes a lock that another contender holds%s: two holders", "%[1]s别的竞争者还持有锁，TryLock 又拿到了锁：出现两个持有者",
			[]i18n.Text{i18n.Same(""), i18n.Textf(", which has the same session: a node of your session need not be yours", "（同一会话的节点不一定是自己的）")}[i%2])
	}
	w.WaitUntil(func() bool { return slices.Equal(before, w.Nodes()) },
		"TryLock has returned false and has left a node behind: it blocks every contender that comes later", "TryLock 返回 false，却留下了节点，会挡住后来的每个竞争者")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.WaitWhileKept(0)
	ok, err := w.Try(other, i18n.Textf("TryLock on a lock that has been let go", "锁释放之后调用 TryLock"))
	w.NoError(err, "TryLock on a lock that has been let go fails", "锁释放之后，TryLock 失败了")
	w.True(ok, "TryLock returns false on a lock that has been let go", "锁已经释放，TryLock 却返回 false")
	w.unlockLast(other, i18n.Textf("the contender that took the lock with TryLock", "用 TryLock 拿到锁的竞争者"))
}

// setNextNumber gives the next node in the queue a number that is further by so many than that
// of the holder's node: a lock that does not compare all digits takes the two for the same. The
// node of a lock that is not a queue has no number.
func (w *World) setNextNumber(holder []string, further int) {
	if w.Server == nil || len(holder) == 0 {
		return
	}
	node := holder[0]
	if n, err := strconv.Atoi(node[max(0, len(node)-10):]); err == nil {
		w.Server.SetSequence(w.Path, int32(n+further))
	}
}

// tryLockRaces holds back each request of a TryLock in turn, while another contender asks for the lock.
func tryLockRaces(w *World) {
	for n := 1; w.GoesOn(n); n++ {
		l, s := w.Contender()
		other, otherSession := w.Contender()
		held := w.Server.Hold(stage.Number(s, n))
		var ok bool
		tried := w.Aside("TryLock", func() (err error) {
			ok, err = l.TryLock()
			return err
		})
		w.Eventually(i18n.Textf("the request is held back, or TryLock returns", "请求被扣住，或者 TryLock 返回"), func() bool { return len(held.Hit()) > 0 || len(tried) > 0 })
		met := len(held.Hit()) > 0

		result := w.Lock(other)
		w.Eventually(i18n.Textf("the other contender has the lock, or waits", "另一个竞争者拿到锁，或者在等待"), func() bool {
			return len(result) > 0 || otherSession.Sleeps()
		})
		free := len(result) == 0 // and stays free: the other contender waits behind the TryLock
		held.Release()
		select {
		case err := <-tried:
			w.NoError(err,
				"another contender has asked for the lock while request %d of TryLock was on its way, and TryLock fails", "TryLock 的第 %d 个请求还在路上时，另一个竞争者也来请求锁，TryLock 就失败了", n)
		case <-time.After(stage.Patience):
			w.Failf(
				"another contender has taken the lock while request %d of TryLock, %v, was on its way, and TryLock waits for it: TryLock waits for nobody%s", "TryLock 的第 %d 个请求（%v）还在路上时，另一个竞争者拿到了锁，TryLock 却开始等待：TryLock 不应等待%s", n, stage.LastRequest(s, n), w.Why())
		}
		if ok {
			if len(result) > 0 {
				w.NoError(<-result, "Lock of the other contender fails", "另一个竞争者的 Lock 失败")
				w.Failf(
					"another contender has taken the lock while request %d of TryLock was on its way, and TryLock takes it, too: two holders", "TryLock 的第 %d 个请求还在路上时，另一个竞争者拿到了锁，TryLock 又拿到了锁：出现两个持有者", n)
			}
			w.Unlock(l, i18n.Textf("the contender that took the lock with TryLock", "用 TryLock 拿到锁的竞争者"))
		} else if free {
			w.Failf(
				"another contender has queued behind TryLock while request %d of it, %v, was on its way, and TryLock returns false, though nobody holds the lock: only the nodes of contenders before its own count", "TryLock 的第 %d 个请求（%v）还在路上时，另一个竞争者排到了后面；没有人持有锁，TryLock 却返回 false：只有排在自己前面的竞争者的节点才算数", n, stage.LastRequest(s, n))
		}
		w.Holds(result, i18n.Textf("the other contender", "另一个竞争者"))
		w.Unlock(other, it)
		w.lockOnce(l, i18n.Textf("the contender that has called TryLock before", "之前调用过 TryLock 的竞争者"))
		w.nothingStays(i18n.Textf("another contender has taken the lock while request %d of TryLock was on its way", "TryLock 的第 %d 个请求还在路上时，另一个竞争者拿到了锁", n))
		if !met {
			w.True(n > 1, "TryLock sends no request", "TryLock 没有发送任何请求")
			return
		}
	}
}

func unlockByNonHolder(w *World) {
	holder, s := w.Contender()
	stranger, _ := w.Contender()
	neighbour, _ := w.Contender(s) // in the holder's own session
	w.MustLock(holder, i18n.Textf("the holder", "持有者"))
	freesNothing := func(l Lock, name i18n.Text) {
		before := w.Nodes()
		err := w.UnlockErr(l, name)
		w.Equal(before, w.Nodes(),
			"%s has deleted another contender's node, the holder's: delete only the node that this contender has made", "%s，删除了持有者的节点，那是别人的节点：只能删除自己创建的节点", name)
		w.IsNotLocked(err, name)
	}
	freesNothing(stranger, i18n.Textf("Unlock by a contender that does not hold the lock", "没有持有锁的竞争者调用 Unlock"))
	freesNothing(neighbour, i18n.Textf("Unlock by another contender of the holder's session", "与持有者同一会话的另一个竞争者调用 Unlock"))
	ok, err := w.Try(stranger, i18n.Textf("TryLock on a held lock", "锁在别人手里时调用 TryLock"))
	w.NoError(err, "TryLock on a held lock fails", "锁在别人手里时，TryLock 失败了")
	w.False(ok, "Unlock by a contender that does not hold the lock has freed it: two holders", "没有持有锁的竞争者调用 Unlock，竟把锁释放了：出现两个持有者")
	w.NotLocked(stranger, i18n.Textf("Unlock after TryLock has returned false", "TryLock 返回 false 之后的 Unlock"))
	// A waiter has a node, but not the lock.
	waiter, _, result := w.waiter()
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Holds(result, i18n.Textf("the waiter", "等待者"))
	freesNothing(holder, i18n.Textf("the second Unlock", "第二次 Unlock"))
	w.Unlock(waiter, i18n.Textf("the new holder", "新的持有者"))
	w.NotLocked(stranger, i18n.Textf("Unlock of a lock that no contender holds", "锁无人持有时的 Unlock"))
	w.NothingLeft()
}

// NoPermission has a parent that only another user may write to.
func NoPermission(w *World) {
	admin := w.Session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.Parents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	// The parent cannot be used, and below it one cannot be made.
	for _, at := range []string{w.Path, w.Path + "/b"} {
		l := w.Subject.New(w.Session().Conn, at)
		ok, err := w.Try(l, i18n.Textf("TryLock without permission", "没有权限时的 TryLock"))
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("%s: %w", at, zk.ErrNoAuth) // it has no TryLock
		}
		w.HasError(err,
			`TryLock takes the error "no permission" for "another contender holds the lock": only zk.ErrNodeExists says that`, "TryLock 把“没有权限”这个错误当成了“锁在别人手里”：只有 zk.ErrNodeExists 才表示锁在别人手里")
		w.False(ok, "TryLock without permission returns true", "没有权限，TryLock 却返回 true")
		for _, err := range []error{err, w.Result(w.Lock(l), i18n.Textf("Lock without permission", "没有权限时的 Lock"))} {
			w.ErrorIs(err, zk.ErrNoAuth,
				"Lock and TryLock without permission must return an error that wraps the client's", "没有权限时，Lock 和 TryLock 返回的错误必须包装客户端的错误")
			w.namesTheLock(err)
		}
		w.NotLocked(l, i18n.Textf("Unlock after a Lock that failed", "Lock 失败之后的 Unlock"))
	}
}
