package locktest

import (
	"errors"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// owners is the world of one case about owners.
type owners struct {
	*World
	subject OwnersSubject
}

// mutex makes one Mutex in a session of its own. open makes a new owner of it.
func (w *owners) mutex() (open func(name string) Lock, s *Session) {
	w.Helper()
	s = w.Session()
	return w.subject.Open(s.Conn, w.Path), s
}

// times fails unless an owner holds the lock n times, where the subject can tell.
func (w *owners) times(n int, l Lock, when i18n.Text) {
	w.Helper()
	if w.subject.Holds != nil {
		w.Equal(n, w.subject.Holds(l), "Holds is wrong, %s", "Holds 的结果不对，%s", when)
	}
}

// tryLock fails unless TryLock returns at once, and returns want.
func (w *owners) tryLock(want bool, l Lock, name i18n.Text) {
	w.Helper()
	ok, err := w.Try(l, i18n.Textf("TryLock of %s", "%s的 TryLock", name))
	w.NoError(err, "TryLock of %s fails", "%s的 TryLock 失败", name)
	if want {
		w.True(ok, "TryLock of %s returns false, and no other owner holds the lock", "没有别的所有者持有锁，%s的 TryLock 却返回 false", name)
	} else {
		w.False(ok, "TryLock of %s returns true, and it does not get the lock: two holders", "%s的 TryLock 返回 true，其实并没有拿到锁：出现两个持有者", name)
	}
}

// notOwner fails if Unlock is anything but ErrNotOwner.
func (w *owners) notOwner(l Lock, name i18n.Text) {
	w.Helper()
	err := w.UnlockErr(l, i18n.Textf("Unlock by %s", "%s的 Unlock", name))
	w.HasError(err, "Unlock by %s returns no error, though it does not hold the lock: return ErrNotOwner", "%s的 Unlock 没有返回错误，可它并没有持有锁：请返回 ErrNotOwner", name)
	if w.subject.ErrNotOwner != nil {
		w.ErrorIs(err, w.subject.ErrNotOwner, "Unlock by %s returns another error than ErrNotOwner", "%s的 Unlock 返回的错误不是 ErrNotOwner", name)
	}
}

// queues calls Lock in a goroutine of its own, and waits until the queue has n nodes and the caller waits. If
// owners share a node, there may be one fewer.
func (w *owners) queues(l Lock, s *Session, n int, name i18n.Text) <-chan error {
	w.Helper()
	result := w.Lock(l)
	look := w.Session()
	w.Eventually(i18n.Textf("%s is in the queue", "%s在队列里", name), func() bool {
		if len(result) > 0 {
			w.NoError(<-result, "%s must wait its turn in the queue, and Lock fails at once", "%s应该排队等待，Lock 却立即失败了", name)
			w.Failf("%s has got the lock while another owner holds it: two holders", "别的所有者还持有锁，%s又拿到了锁：出现两个持有者", name)
		}
		nodes, _, err := look.Children(w.Path)
		require.NoError(w, err)
		return len(nodes) == n || w.subject.Shared && len(nodes) == n-1
	})
	w.Waits(result, s, name)
	return result
}

func lockAgain(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	w.Eventually(i18n.Textf("all requests of Lock are answered", "Lock 的请求都有了响应"), func() bool { return s.Tap.Pending() == 0 })
	before := len(stage.RequestsOf(s))
	w.MustLock(owner, i18n.Textf("the owner, which holds the lock already,", "已经持有锁的所有者"))
	w.tryLock(true, owner, i18n.Textf("the owner, which holds the lock already,", "已经持有锁的所有者"))
	w.times(3, owner, i18n.Textf("after a Lock, a Lock and a TryLock", "在 Lock、Lock、TryLock 各一次之后"))
	w.Unlock(owner, i18n.Textf("the owner, which has locked three times,", "已加锁三次的所有者"))
	w.Unlock(owner, i18n.Textf("the owner, which has locked three times and unlocked once,", "加锁三次、释放一次的所有者"))
	w.times(1, owner, i18n.Textf("after three Locks and two Unlocks", "在三次 Lock、两次 Unlock 之后"))
	w.Len(stage.RequestsOf(s), before, "an owner that holds the lock locks again, and asks the server: count in memory", "所有者已经持有锁，再次加锁时却去问服务器：请在内存里计数")
	w.unlockLast(owner, i18n.Textf("the owner", "所有者"))
}

func lastUnlock(w *owners) {
	open, _ := w.mutex()
	owner, another := open("owner"), open("another")
	stranger, _ := w.Contender()
	for range 2 { // the second time all must be as if there had been no first
		w.MustLock(owner, i18n.Textf("the owner", "所有者"))
		nodes := w.Nodes()
		w.Len(nodes, 1, "an owner that holds the lock must have one node", "持有锁的所有者应当有一个节点")
		w.MustLock(owner, i18n.Textf("the owner, for the second time", "所有者（第二次加锁）"))
		w.MustLock(owner, i18n.Textf("the owner, for the third time", "所有者（第三次加锁）"))
		w.Equal(nodes, w.Nodes(), "an owner that locks three times must have one node, the one that it has made first", "加锁三次的所有者只应有一个节点，就是第一次创建的那个")
		for i := range 2 {
			w.Unlock(owner, i18n.Textf("the owner", "所有者"))
			w.Equal(nodes, w.Nodes(), "after 3 Locks and %d Unlocks the owner still holds the lock, and its node has gone, so that the next contender gets in: two holders; delete it with the last Unlock", "3 次 Lock、%d 次 Unlock 之后，所有者还持有锁，节点却被删除了，下一个竞争者就能拿到锁：出现两个持有者；最后一次 Unlock 才删除节点", i+1)
			w.tryLock(false, another, i18n.Textf("another owner, after too few Unlocks,", "另一个所有者（Unlock 次数还不够）"))
			w.tryLock(false, stranger, i18n.Textf("a stranger, after too few Unlocks,", "外来者（Unlock 次数还不够）"))
		}
		w.Unlock(owner, i18n.Textf("the owner, for the last time,", "所有者（最后一次释放）"))
		w.NoNodes(i18n.Textf(
			"the owner has unlocked as often as it has locked, and its node is still there: delete it with the last Unlock", "所有者释放的次数与加锁的次数相同，节点却还在：最后一次 Unlock 请删除节点"))
		w.times(0, owner, i18n.Textf("after the last Unlock", "在最后一次 Unlock 之后"))
		w.tryLock(true, another, i18n.Textf("another owner, after the last Unlock,", "另一个所有者（最后一次 Unlock 之后）"))
		w.Unlock(another, i18n.Textf("the other owner", "另一个所有者"))
	}

	const many = 70_000 // more than 16 bits can count
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	for _, call := range []func() error{owner.Lock, owner.Unlock} {
		for range many {
			w.Step() // a call that sends nothing is none to the watchdog
			w.NoError(call(), "one of %d Locks of an owner, or of as many Unlocks, fails", "所有者连续加锁、释放各 %d 次，其中一次失败", many)
		}
	}
	w.tryLock(false, another, i18n.Textf("another owner, before the last of %d Unlocks,", "另一个所有者（%d 次 Unlock 的最后一次之前）", many))
	w.unlockLast(owner, i18n.Textf("the owner, for the last time,", "所有者（最后一次释放）"))
}

func anotherOwner(w *owners) {
	open, s := w.mutex()
	a, b, c := open("a"), open("b"), open("c")
	stranger, strangerSession := w.Contender()
	w.MustLock(a, i18n.Textf("the first owner", "第一个所有者"))
	resultB := w.queues(b, s, 2, i18n.Textf("the second owner", "第二个所有者"))
	resultS := w.queues(stranger, strangerSession, 3, i18n.Textf("a stranger", "某个外来者"))
	resultC := w.queues(c, s, 4, i18n.Textf("the third owner", "第三个所有者"))
	w.times(0, b, i18n.Textf("while it waits", "等待期间"))
	w.MustLock(a, i18n.Textf("the first owner, while others wait,", "第一个所有者（别人在等待）"))
	w.Unlock(a, i18n.Textf("the first owner, which has locked twice,", "已加锁两次的第一个所有者"))
	w.Len(w.Nodes(), 4, "an owner has locked twice and unlocked once, and its node has gone: the next contender gets in while it holds the lock: two holders; count, and delete the node with the last Unlock", "所有者加锁两次、释放一次，节点就被删除了：所有者还持有锁，下一个竞争者就能拿到锁，出现两个持有者；请计数，最后一次 Unlock 才删除节点")
	w.Waits(resultB, s, i18n.Textf("the second owner", "第二个所有者"))
	w.Unlock(a, i18n.Textf("the first owner", "第一个所有者"))
	w.Holds(resultB, i18n.Textf("the second owner, whose turn it is,", "轮到的第二个所有者"))
	w.times(1, b, i18n.Textf("after its turn has come", "轮到之后"))
	w.Waits(resultS, strangerSession, i18n.Textf("a stranger that came after the second owner", "排在第二个所有者后面的外来者"))
	w.Waits(resultC, s, i18n.Textf("the third owner", "第三个所有者"))
	w.Unlock(b, i18n.Textf("the second owner", "第二个所有者"))
	w.Holds(resultS, i18n.Textf("a stranger, whose turn it is,", "轮到的外来者"))
	w.Waits(resultC, s, i18n.Textf("the third owner, which came after a stranger,", "排在外来者后面的第三个所有者"))
	w.Unlock(stranger, i18n.Textf("the stranger", "外来者"))
	w.Holds(resultC, i18n.Textf("the third owner", "第三个所有者"))
	w.unlockLast(c, i18n.Textf("the third owner", "第三个所有者"))
}

func equalNames(w *owners) {
	open, s := w.mutex()
	a, b := open("worker"), open("worker")
	w.MustLock(a, i18n.Textf("the first of two owners with one name", "两个同名所有者中的第一个"))
	w.tryLock(false, b, i18n.Textf("the second of two owners with one name", "两个同名所有者中的第二个"))
	w.notOwner(b, i18n.Textf("the second of two owners with one name", "两个同名所有者中的第二个"))
	result := w.queues(b, s, 2, i18n.Textf("the second of two owners with one name", "两个同名所有者中的第二个"))
	w.Unlock(a, i18n.Textf("the first", "第一个所有者"))
	w.Holds(result, i18n.Textf("the second", "第二个所有者"))
	w.notOwner(a, i18n.Textf("the first, which has let go,", "已释放锁的第一个所有者"))
	w.unlockLast(b, i18n.Textf("the second", "第二个所有者"))
}

// A doubleLock locks and unlocks two times in place of once.
type doubleLock struct{ once Lock }

func (l doubleLock) Lock() error            { return errors.Join(l.once.Lock(), l.once.Lock()) }
func (l doubleLock) TryLock() (bool, error) { return l.once.TryLock() }
func (l doubleLock) Unlock() error          { return errors.Join(l.once.Unlock(), l.once.Unlock()) }

func manyOwners(w *owners) {
	open, _ := w.mutex()
	var contenders []Lock
	for i := range 16 {
		contenders = append(contenders, doubleLock{open(fmt.Sprint("owner ", i))})
	}
	exclusion(w.World, contenders, true)
}

// manyGoroutines has goroutines of one owner hold the lock together, and never those of two owners. They
// sleep nowhere, and so meet at all points of Lock and Unlock; the race detector finds the faults in the books.
func manyGoroutines(w *owners) {
	const ownerCount, goroutines, rounds = 4, 4, 25
	open, _ := w.mutex()
	var mu sync.Mutex
	inside := make(map[int]int)                        // how many goroutines hold the lock, by owner
	count := func(owner, change int) (oneOwner bool) { // one owner at most is inside
		mu.Lock()
		defer mu.Unlock()
		if inside[owner] += change; inside[owner] == 0 {
			delete(inside, owner)
		}
		return len(inside) <= 1
	}

	var results []<-chan error
	for owner := range ownerCount {
		l := open(fmt.Sprint("owner ", owner))
		for range goroutines {
			results = append(results, w.Aside("Lock, Unlock", func() (err error) {
				for i := 0; i < rounds && err == nil; i++ {
					if err = l.Lock(); err != nil {
						break
					}
					oneOwner := count(owner, 1)
					count(owner, -1)
					err = l.Unlock()
					if err == nil && !oneOwner {
						err = i18n.Errorf("an owner has got the lock while another one holds it: two holders", "别的所有者还持有锁，又有一个所有者拿到了锁：出现两个持有者")
					}
				}
				return err
			}))
		}
	}
	for _, result := range results {
		w.NoError(w.Result(result, i18n.Textf("Lock or Unlock of one of four goroutines of an owner", "同一所有者的四个 goroutine 之一的 Lock 或 Unlock")),
			"one of four goroutines of an owner that lock and unlock at once", "同一所有者的四个 goroutine 同时加锁、释放，其中一个失败")
	}
	w.NothingLeft()
}

// queueNode makes the parent of the queue, so that the next create is that of a contender's node.
func (w *owners) queueNode(l Lock) {
	w.Helper()
	w.lockOnce(l, i18n.Textf("a first owner", "第一个来的所有者"))
	time.Sleep(w.Keeps)
}

func lockAtOnce(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.queueNode(owner)
	held := w.Server.Hold(stage.Creates(s))
	first := w.Lock(owner)
	w.Hit(held, i18n.Textf("the request is sent", "请求已发出"))
	second, third := w.Lock(owner), w.Lock(owner)
	synctest.Wait()
	w.times(0, owner, i18n.Textf("while its first Lock is under way", "第一次 Lock 还在进行时"))
	held.Release()
	w.Holds(first, i18n.Textf("the first goroutine", "第一个 goroutine"))
	w.Holds(second, i18n.Textf("the second goroutine of the same owner", "同一所有者的第二个 goroutine"))
	w.Holds(third, i18n.Textf("the third goroutine of the same owner", "同一所有者的第三个 goroutine"))
	w.Len(w.Nodes(), 1, "two goroutines of one owner that lock at once make two nodes: it waits for itself", "同一所有者的两个 goroutine 同时加锁，创建了两个节点：所有者在等自己")
	w.times(3, owner, i18n.Textf("after its goroutines have locked", "各个 goroutine 都加锁之后"))
	w.Unlock(owner, i18n.Textf("one goroutine", "一个 goroutine"))
	w.Unlock(owner, i18n.Textf("one goroutine", "一个 goroutine"))
	w.Len(w.Nodes(), 1, "one goroutine of two has unlocked, and the node has gone, so that the next contender gets in: two holders", "两个 goroutine 中的一个释放锁，节点就被删除了，下一个竞争者就能拿到锁：出现两个持有者")
	w.unlockLast(owner, i18n.Textf("the other goroutine", "另一个 goroutine"))

	// Two goroutines of each of two owners wait: the first that gets the lock wakes the other one of its owner.
	another := open("another")
	holder, _ := w.holder()
	var results []<-chan error
	for _, l := range []Lock{owner, another, another, owner} {
		results = append(results, w.Lock(l))
		w.Rest()
	}
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	for _, pair := range [][2]int{{0, 3}, {1, 2}} {
		l := []Lock{owner, another}[pair[0]]
		for _, i := range pair {
			w.Holds(results[i], i18n.Textf("a goroutine of the owner whose turn it is", "轮到的所有者的一个 goroutine"))
		}
		w.Unlock(l, it)
		w.Unlock(l, it)
	}

	// A goroutine locks while another one of its owner only tries, which finds that the lock is held.
	w.MustLock(another, i18n.Textf("another owner", "另一个所有者"))
	time.AfterFunc(time.Second, w.Server.Hold(stage.Creates(s)).Release)
	tried := w.Aside("TryLock", func() error { _, err := owner.TryLock(); return err })
	synctest.Wait()
	waits := w.Lock(owner)
	w.NoError(w.Result(tried, i18n.Same("TryLock")), "TryLock fails", "TryLock 失败")
	w.Unlock(another, it)
	w.Holds(waits, i18n.Textf("a goroutine that locked while another one of its owner tried in vain,", "同一所有者的另一个 goroutine 尝试未果，其间加锁的 goroutine"))
	w.Unlock(owner, it)
	w.NothingLeft()
}

func lockFailsForOne(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	holder, _ := w.holder()
	first := w.queues(owner, s, 2, i18n.Textf("one goroutine", "一个 goroutine"))
	second := w.Lock(owner)
	synctest.Wait()
	fault := w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(s, jute.OpGetChildren2)) // when it looks again
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	locked := 0
	for _, result := range []<-chan error{first, second} {
		if w.Result(result, i18n.Textf("Lock of one of two goroutines", "两个 goroutine 之一的 Lock")) == nil {
			locked++
		}
	}
	fault.Release()
	// A Lock that tries again gets in as well.
	w.True(locked > 0, "a request of one goroutine fails, and none of the owner's two goroutines gets the lock: a failure must fail only the goroutine that it happened to", "一个 goroutine 的请求失败，这个所有者的两个 goroutine 就都拿不到锁：谁的请求失败，就只应当让谁失败")
	w.False(w.subject.Requeues && locked < 2, "a request of one goroutine has failed, and it has not tried again", "一个 goroutine 的请求失败之后，没有重试")
	w.times(locked, owner, i18n.Textf("after one of two Locks has failed, or has tried again", "在两次 Lock 中的一次失败或重试之后"))
	for range locked {
		w.Unlock(owner, i18n.Textf("the owner", "所有者"))
	}
	w.notOwner(owner, i18n.Textf("the owner, which has unlocked as often as it has locked,", "释放次数与加锁次数相同的所有者"))
	w.NothingLeft()
}

// lockDuringUnlock calls Lock or TryLock while the answer to the last Unlock is late, and at last lost.
func lockDuringUnlock(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	lock := func() (bool, error) { return true, owner.Lock() }
	for i, call := range []func() (bool, error){lock, owner.TryLock, lock} {
		w.MustLock(owner, i18n.Textf("the owner", "所有者"))
		nodes := w.Nodes()
		held := w.Server.HoldReply(stage.Sent(s, jute.OpDelete))
		unlocked := w.Aside("Unlock", owner.Unlock)
		w.Hit(held, i18n.Textf("the request is sent", "请求已发出"))
		ok := false
		result := w.Aside("Lock", func() (err error) {
			ok, err = call()
			return err
		})
		synctest.Wait()
		if i == 2 {
			require.True(w, w.Server.Cut(s.ID))
		}
		held.Release()
		failed := w.Result(unlocked, i18n.Textf("the last Unlock", "最后一次 Unlock")) != nil
		err := w.Result(result, i18n.Textf("Lock of an owner during its last Unlock", "最后一次 Unlock 期间，同一所有者的 Lock"))
		if !ok || failed && err != nil {
			continue // TryLock does not wait, and an Unlock that has failed must be called again
		}
		w.NoError(err, "Lock of an owner during its last Unlock fails", "最后一次 Unlock 期间，同一所有者的 Lock 失败")
		now := w.Nodes()
		w.NotEmpty(now, "an owner that locks during its last Unlock holds the lock without a node, so that the next contender gets in: two holders", "最后一次 Unlock 期间又加锁的所有者没有节点却持有锁，下一个竞争者就能拿到锁：出现两个持有者")
		w.Len(now, 1, "an owner that locks during its last Unlock leaves a node behind", "最后一次 Unlock 期间又加锁的所有者留下了节点")
		w.NotEqual(nodes, now, "the node must be a new one", "应当是一个新节点")
		w.Unlock(owner, i18n.Textf("the owner, once more,", "再次加锁的所有者"))
		if failed {
			w.UnlockErr(owner, i18n.Textf("Unlock, called again,", "再次调用的 Unlock")) // which may have been counted, or not
		}
		w.NothingLeft()
	}
}

func tryLockOwners(w *owners) {
	open, _ := w.mutex()
	owner, another := open("owner"), open("another")
	w.tryLock(true, owner, i18n.Textf("an owner, on a free lock,", "所有者（锁空闲时）"))
	w.tryLock(true, owner, i18n.Textf("the owner that holds the lock", "持有锁的所有者"))
	nodes := w.Nodes()
	w.Len(nodes, 1, "an owner that locks twice has one node", "加锁两次的所有者只有一个节点")
	w.tryLock(false, another, i18n.Textf("another owner of the same Mutex", "同一 Mutex 的另一个所有者"))
	w.times(0, another, i18n.Textf("after TryLock has returned false", "在 TryLock 返回 false 之后"))
	w.Unlock(owner, i18n.Textf("the owner, which has locked twice,", "已加锁两次的所有者"))
	w.tryLock(false, another, i18n.Textf("another owner, after one of two Unlocks,", "另一个所有者（两次 Unlock 只做了一次）"))
	w.times(1, owner, i18n.Textf("after two TryLocks and one Unlock", "在两次 TryLock、一次 Unlock 之后"))
	w.Equal(nodes, w.Nodes(), "TryLock has returned false, and it has left a node behind, or the holder's has gone", "TryLock 返回 false，却留下了节点，或者持有者的节点不见了")
	w.Unlock(owner, i18n.Textf("the owner", "所有者"))
	w.tryLock(true, another, i18n.Textf("another owner, on a free lock,", "另一个所有者（锁空闲时）"))
	w.unlockLast(another, i18n.Textf("the other owner", "另一个所有者"))
}

func tryLockWhileWaiting(w *owners) {
	open, s := w.mutex()
	holder, owner := open("holder"), open("owner")
	w.MustLock(holder, i18n.Textf("the holder", "持有者"))
	result := w.queues(owner, s, 2, i18n.Textf("the owner", "所有者"))
	nodes := w.Nodes()
	w.tryLock(false, owner, i18n.Textf("an owner whose Lock waits", "Lock 还在等待的所有者"))
	w.Equal(nodes, w.Nodes(), "TryLock has returned false, and it has left a node behind, or the waiter's has gone", "TryLock 返回 false，却留下了节点，或者等待者的节点不见了")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Holds(result, i18n.Textf("the owner", "所有者"))
	w.tryLock(true, owner, i18n.Textf("an owner whose Lock has got in", "Lock 已成功的所有者"))
	w.Unlock(owner, i18n.Textf("it, for the first time,", "所有者（第一次释放）"))
	w.unlockLast(owner, i18n.Textf("it, for the second time,", "所有者（第二次释放）"))
}

func unlockByAnother(w *owners) {
	open, s := w.mutex()
	holder, waiter, idle := open("holder"), open("waiter"), open("idle")
	w.MustLock(holder, i18n.Textf("the holder", "持有者"))
	result := w.queues(waiter, s, 2, i18n.Textf("the waiter", "等待者"))
	nodes := w.Nodes()
	w.notOwner(idle, i18n.Textf("an owner that has never locked", "从未加锁的所有者"))
	w.notOwner(waiter, i18n.Textf("an owner whose Lock waits", "Lock 还在等待的所有者"))
	w.Equal(nodes, w.Nodes(), "Unlock by an owner that does not hold the lock has deleted another contender's node", "没有持有锁的所有者调用 Unlock，删除了别人的节点")
	w.times(1, holder, i18n.Textf("after another owner's Unlock", "在别的所有者 Unlock 之后"))
	w.Waits(result, s, i18n.Textf("the waiter", "等待者"))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Holds(result, i18n.Textf("the waiter", "等待者"))
	w.notOwner(holder, i18n.Textf("an owner that has let go", "已释放锁的所有者"))
	w.tryLock(false, idle, i18n.Textf("an owner that does not hold the lock", "没有持有锁的所有者"))
	w.unlockLast(waiter, it)
}

func unlockTooMany(w *owners) {
	open, _ := w.mutex()
	owner, next := open("owner"), open("next")
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	w.MustLock(owner, i18n.Textf("the owner, for the second time,", "所有者（第二次加锁）"))
	w.Unlock(owner, i18n.Textf("the owner", "所有者"))
	w.Unlock(owner, i18n.Textf("the owner, for the second time,", "所有者（第二次释放）"))
	w.notOwner(owner, i18n.Textf("an owner, two Locks and three Unlocks,", "所有者（两次 Lock、三次 Unlock 之后）"))
	w.MustLock(next, i18n.Textf("the next owner", "下一个所有者"))
	w.notOwner(owner, i18n.Textf("an owner, two Locks and four Unlocks,", "所有者（两次 Lock、四次 Unlock 之后）"))
	w.tryLock(false, owner, i18n.Textf("an owner that has unlocked too often", "释放次数过多的所有者"))
	w.Unlock(next, i18n.Textf("the next owner", "下一个所有者"))
	w.MustLock(owner, i18n.Textf("an owner that has unlocked too often", "释放次数过多的所有者"))
	w.times(1, owner, i18n.Textf("after Unlocks too many, and one Lock", "在多余的 Unlock 和一次 Lock 之后"))
	w.Unlock(owner, it)
	w.NoNodes(i18n.Textf("an Unlock too many is still in the count: the node stays after the next Unlock", "多余的 Unlock 还留在计数里：下一次 Unlock 之后，节点还在"))
	w.NothingLeft()
}

// lockFails spoils each request of an owner's Lock in turn, while a stranger holds the lock. Article C's
// lock sets its count and its owner before it asks for the lock: if that fails, both stay set.
func lockFails(w *owners) {
	var open func(name string) Lock
	w.spoilLock(i18n.Textf("the owner", "所有者"), func() (_ Lock, s *Session) {
		open, s = w.mutex()
		return open("owner"), s
	}, func(owner Lock) {
		w.times(1, owner, i18n.Textf("after a Lock", "在一次 Lock 之后"))
	}, func(call failedCall) { w.cleanBooks(call, open("another")) })
}

// tryLockFails spoils each request of TryLock on a free lock in turn.
func tryLockFails(w *owners) {
	first, _ := w.Contender()
	w.queueNode(first)
	var open func(name string) Lock
	w.spoilTryLock(i18n.Textf("the owner", "所有者"), func() (_ Lock, s *Session) {
		open, s = w.mutex()
		return open("owner"), s
	}, func(call failedCall) { w.cleanBooks(call, open("another")) })
}

// cleanBooks fails if an owner whose call has failed is taken for the holder, or for anything
// else than a new owner. another is an owner of the same Mutex.
func (w *owners) cleanBooks(call failedCall, another Lock) {
	w.Helper()
	owner, s, how := call.contender, call.session, call.how
	w.times(0, owner, i18n.Textf("after a Lock that failed: %s", "在一次失败的 Lock 之后：%s", how))
	w.Eventually(i18n.Textf("the owner's client is connected", "所有者的客户端已连接"), func() bool { return s.State() == zk.StateHasSession })
	if ok, _ := w.Try(owner, i18n.Textf("TryLock of an owner whose Lock has failed", "Lock 失败的所有者的 TryLock")); ok {
		w.True(len(w.NodesOf(s)) > 0, "the owner's Lock has failed (%s), and it is in the books: it locks again without a node, so that the next contender gets in: two holders", "所有者的 Lock 失败了（%s），记录里却仍算持有锁：再次加锁时没有节点，下一个竞争者就能拿到锁，出现两个持有者", how)
		w.Unlock(owner, it)
	}
	w.leavesNothing(call)
	result := w.Lock(another)
	call.unlockHolder()
	w.Holds(result, i18n.Textf("another owner, after one has failed to lock (%s),", "在一个所有者加锁失败（%s）之后，另一个所有者", how))
	w.tryLock(false, owner, i18n.Textf("an owner whose Lock has failed (%s) while another one holds the lock", "别的所有者持有锁时，Lock 失败（%s）的所有者", how))
	w.notOwner(owner, i18n.Textf("an owner whose Lock has failed (%s)", "Lock 失败（%s）的所有者", how))
	w.Unlock(another, i18n.Textf("the other owner", "另一个所有者"))
	w.MustLock(owner, i18n.Textf("the owner whose Lock has failed (%s), once more,", "Lock 失败（%s）后再次加锁的所有者", how))
	w.times(1, owner, i18n.Textf("after a Lock that failed and one that did not", "在一次失败、一次成功的 Lock 之后"))
	w.Unlock(owner, it)
	w.NoNodes(i18n.Textf("every owner has let go, and a node is left", "全部所有者都已释放锁，却还有节点留着"))
}

// unlockFails loses the reply to the last Unlock's delete: the node has gone, and the owner cannot find out.
func unlockFails(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	next, _ := w.Contender()
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	fault := w.Server.LoseReply(stage.Sent(s, jute.OpDelete))
	unlocked := w.Aside("Unlock", owner.Unlock)
	err := w.Result(unlocked, i18n.Textf("Unlock, when the reply to its delete is lost,", "delete 的响应丢失时的 Unlock"))
	require.NotEmpty(w, fault.Hit())
	w.NotErrorIs(err, w.subject.ErrNotOwner, "the owner's own delete has let go of the lock, and Unlock returns ErrNotOwner", "所有者自己的 delete 已经释放了锁，Unlock 却返回 ErrNotOwner")
	w.Eventually(i18n.Textf("the owner's client is connected again", "所有者的客户端已重连"), func() bool { return s.State() == zk.StateHasSession })
	w.MustLock(next, i18n.Textf("the next one", "下一个"))
	if err == nil { // it has asked again
		w.tryLock(false, owner, i18n.Textf("an owner that has let go", "已释放锁的所有者"))
	} else {
		ok, _ := w.Try(owner, i18n.Textf("TryLock of an owner whose Unlock has failed", "Unlock 失败的所有者的 TryLock"))
		w.False(ok, "an owner whose Unlock has failed counts up, and the next one holds the lock: two holders", "Unlock 失败的所有者增加了重入次数，锁却在下一个手里：出现两个持有者")
		result := w.Lock(owner)
		if w.goesOn(result, s) { // it has found out, and queues again
			w.notOwner(owner, i18n.Textf("an owner whose first Unlock let go of the lock after all, and that waits,", "所有者（第一次 Unlock 其实已释放锁，现在还在等待）"))
			w.Unlock(next, i18n.Textf("the next one", "下一个"))
			w.Holds(result, i18n.Textf("the owner, which has queued again,", "重新排队的所有者"))
			w.unlockLast(owner, it)
			return
		}
		w.HasError(<-result, "Lock of an owner whose Unlock has failed returns no error, and the next one holds the lock: two holders", "Unlock 失败的所有者再调用 Lock，没有返回错误，锁却在下一个手里：出现两个持有者")
	}
	w.notOwner(owner, i18n.Textf("an owner whose first Unlock let go of the lock after all", "所有者（第一次 Unlock 其实已释放锁）"))
	w.Unlock(next, i18n.Textf("the next one", "下一个"))
	w.lockOnce(owner, i18n.Textf("the owner, once more,", "再次加锁的所有者"))
	w.NothingLeft()
}

func expiredOwner(w *owners) {
	open, s := w.mutex()
	owner, another := open("owner"), open("another")
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	w.MustLock(owner, i18n.Textf("the owner, for the second time,", "所有者（第二次加锁）"))
	w.Expire(s)
	w.Renewed(s, i18n.Textf("the old owner's client has a new session", "原所有者的客户端有了新会话"))
	if !w.subject.Shared { // else it waits in memory for the first one's Unlock
		w.tryLock(true, another, i18n.Textf("another owner of a Mutex whose session has expired", "会话已过期的 Mutex 的另一个所有者"))
		w.Unlock(another, i18n.Textf("the other owner", "另一个所有者"))
	}
	next, _ := w.Contender()
	w.MustLock(next, i18n.Textf("the next one", "下一个"))
	before := w.Nodes()
	if err := w.UnlockErr(owner, i18n.Textf("Unlock after the session has expired", "会话过期之后的 Unlock")); err != nil && w.subject.ErrNotOwner != nil {
		w.ErrorIs(err, w.subject.ErrNotOwner, "the first of two Unlocks after the session has expired", "会话过期后两次 Unlock 中的第一次")
	}
	w.notOwner(owner, i18n.Textf("an owner whose session has expired, its last,", "所有者（会话已过期，最后一次释放）"))
	w.Equal(before, w.Nodes(), "an expired owner's Unlock has deleted another contender's node, the new holder's: two holders", "会话已过期的所有者调用 Unlock，删除了新持有者的节点，那是别人的节点：出现两个持有者")
	w.tryLock(false, owner, i18n.Textf("an owner whose session has expired, while the next one holds the lock,", "所有者（会话已过期，锁在下一个手里）"))
	w.tryLock(false, another, i18n.Textf("another owner of its Mutex, while the next one holds the lock,", "锁在下一个手里时，同一 Mutex 的另一个所有者"))
	w.times(0, owner, i18n.Textf("after Unlock has returned ErrNotOwner", "在 Unlock 返回 ErrNotOwner 之后"))
	w.Unlock(next, i18n.Textf("the next one", "下一个"))
	w.MustLock(owner, i18n.Textf("the owner, in its new session,", "处于新会话的所有者"))
	w.times(1, owner, i18n.Textf("in its new session", "在新会话里"))
	w.tryLock(false, another, i18n.Textf("another owner of its Mutex", "同一 Mutex 的另一个所有者"))

	if s.ID = s.SessionID(); w.Server != nil {
		w.Server.LoseReply(stage.Sent(s, jute.OpDelete))
	}
	if err := w.UnlockErr(owner, i18n.Same("Unlock")); err != nil {
		w.times(1, owner, i18n.Textf("after a last Unlock that failed, and that can be called again", "在最后一次 Unlock 失败之后（还可以再次调用）"))
	}
	w.NothingLeft()
}

// otherMutex has an owner that holds one lock ask for another one.
func otherMutex(w *owners) {
	if w.subject.Other == nil {
		w.Skip(i18n.Textf("OwnersSubject.Other is nil: no owner uses two locks", "OwnersSubject.Other 为 nil：没有使用两个锁的所有者"))
	}
	open, s := w.mutex()
	owner, at := open("owner"), w.Path+"-2"
	w.MustLock(owner, i18n.Textf("the owner", "所有者"))
	other, stranger := w.subject.Other(owner, s.Conn, at), w.subject.Open(w.Session().Conn, at)("stranger")
	w.times(0, other, i18n.Textf("of a lock that its owner does not hold, though it holds another one", "所有者持有的是另一个锁"))
	w.notOwner(other, i18n.Textf("the holder of another lock", "另一个锁的持有者"))
	w.MustLock(other, i18n.Textf("the owner, which holds another lock,", "持有另一个锁的所有者"))
	for range 2 {
		w.tryLock(false, stranger, i18n.Textf("a stranger, at the second lock of an owner,", "外来者（向所有者的第二个锁加锁）"))
		if w.subject.Holds(owner) > 0 {
			w.Unlock(owner, i18n.Textf("the owner", "所有者"))
		}
	}
	w.Unlock(other, i18n.Textf("the owner, at its second lock,", "所有者（释放第二个锁）"))
	w.tryLock(true, stranger, i18n.Textf("a stranger, when the owner has let go,", "外来者（所有者已释放锁）"))
}

func nilOwner(w *owners) {
	s := w.Session()
	if w.subject.Nobody == nil {
		w.Skip(i18n.Textf("OwnersSubject.Nobody is nil: there is no Mutex to call without an owner", "OwnersSubject.Nobody 为 nil：没有可以不带所有者调用的 Mutex"))
	}
	nobody := w.subject.Nobody(s.Conn, w.Path)
	w.HasError(w.UnlockErr(nobody, i18n.Textf("Unlock without an owner", "不带所有者的 Unlock")), "Unlock without an owner, which has not locked, returns no error", "不带所有者，也没有加过锁，Unlock 却没有返回错误")
	if w.Result(w.Lock(nobody), i18n.Textf("Lock without an owner", "不带所有者的 Lock")) == nil {
		stranger, _ := w.Contender()
		ok, err := w.Try(stranger, i18n.Textf("TryLock while no owner holds the lock", "没有所有者持有锁时的 TryLock"))
		w.NoError(err, "TryLock while no owner holds the lock fails", "没有所有者持有锁时，TryLock 失败了")
		w.False(ok, "Lock without an owner returns no error, and another contender gets the lock: two holders", "不带所有者的 Lock 没有返回错误，另一个竞争者却拿到了锁：出现两个持有者")
		w.Unlock(nobody, i18n.Textf("no owner, which has locked,", "加了锁的空所有者"))
	}
	ok, err := w.Try(nobody, i18n.Textf("TryLock without an owner", "不带所有者的 TryLock"))
	w.Equal(ok, err == nil, "TryLock without an owner returns %v and the error %v, and no other owner holds the lock", "没有别的所有者持有锁，不带所有者的 TryLock 返回 %v 和错误 %v", ok, err)
	if ok {
		w.Unlock(nobody, i18n.Textf("no owner, which has locked,", "加了锁的空所有者"))
	}
	w.NoNodes(i18n.Textf("without an owner, Lock or TryLock leaves a node behind", "不带所有者时，Lock 或 TryLock 留下了节点"))
}
