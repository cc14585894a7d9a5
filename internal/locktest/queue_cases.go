package locktest

import (
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// queue lines up n contenders, each in a session of its own: the first holds
// the lock, and each of the others waits before the next one comes.
func (w *World) queue(n int) (locks []Lock, results []<-chan error, sessions []*Session) {
	for range n {
		l, s := w.Contender()
		locks, sessions = append(locks, l), append(sessions, s)
	}
	w.Parent() // made in advance, so that no request is spent on it
	if w.Server != nil && w.Subject.Queue {
		w.Server.SetSequence(w.Path, 1<<24-1) // the next numbers are too large for 16 bits, and for a float32
	}
	for i, l := range locks {
		result := w.Lock(l)
		results = append(results, result)
		if i == 0 {
			w.Holds(result, i18n.Textf("the first", "第一个"))
		} else {
			w.Waits(result, sessions[i], stage.Contender(i))
		}
	}
	return locks, results, sessions
}

// next returns the contender that gets the lock after a release.
func (w *World) next(results []<-chan error) (holder int) {
	w.Helper()
	w.Await(func() bool { holder = firstIn(results); return holder >= 0 }, "a release wakes no contender%s", "锁释放了，没有唤醒任何竞争者%s")
	w.NoError(<-results[holder], "Lock of %s fails", "%s 的 Lock 失败", stage.Contender(holder))
	return holder
}

// firstIn returns the index of the first contender whose Lock has returned and whose result has
// not been received, -1 if there is none.
func firstIn(results []<-chan error) int {
	return slices.IndexFunc(results, func(result <-chan error) bool { return len(result) > 0 })
}

// QueueOrder requires that each release lets in the contender that came next.
func QueueOrder(w *World) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		for j := i + 1; j < len(locks); j++ {
			w.Waits(results[j], sessions[j], stage.Contender(j))
		}
		if i+1 == len(locks) {
			w.Unlock(l, stage.Contender(i))
			break
		}
		// The requests of the next one are held: in a queue the others wait for it, and in a
		// race one of them wins.
		release := func() {}
		if w.Server != nil {
			release = w.Server.Hold(func(r zkserver.Request) bool { return r.Session == sessions[i+1].ID && !stage.ByClient(r.Op) }).Release
		}
		w.Unlock(l, stage.Contender(i))
		if w.Server != nil {
			time.Sleep(time.Second)
		}
		if firstIn(results) < 0 { // none was faster, as in a queue
			release()
		}
		next := w.next(results)
		release()
		how := i18n.Textf("the contender whose node has the smallest number is the next", "下一个应该是序号最小的节点所属的竞争者")
		if len(w.Nodes()) < len(locks)-1-i {
			how = i18n.Textf(
				"those that wait have no nodes of their own, and a race for one node keeps no order; each contender makes a node with zk.FlagEphemeralSequential when it comes, and the smallest number is the next", "等待者没有自己的节点，大家抢着创建同一个节点，就没有先后次序；请让每个竞争者一来就用 zk.FlagEphemeralSequential 创建节点，下一个就是序号最小的")
		}
		w.Equal(i+1, next, "%s gets in before %s, which came earlier: %s", "%s 抢在先来的%s 之前拿到了锁：%s", stage.Contender(next), stage.Contender(i+1), how)
	}
	w.NothingLeft()
}

// WaiterGoes ends the sessions of the waiters between the holder and the last one, from the back to the front. Each end
// may wake the last waiter. They are many where no real server has to carry them, and the race detector does not count
// what each goroutine has seen of each other.
func WaiterGoes(w *World) {
	n := 3
	if w.Server != nil && !testenv.Raced {
		n = 50
	}

	locks, results, sessions := w.queue(n)
	last := n - 1
	for i := last - 1; i > 0; i-- {
		w.Goes(sessions[i])
		if len(stage.RequestsOf(sessions[last])) < 3000 { // else it polls, and has looked often enough
			w.staysBehind(results[last])
		}
	}
	after := i18n.Textf("the waiter after the one that has gone", "排在离开者后面的等待者")
	w.Waits(results[last], sessions[last], after)
	w.Unlock(locks[0], i18n.Textf("the holder", "持有者"))
	w.Holds(results[last], after)
	w.unlockLast(locks[last], it)
}

// staysBehind checks that the last waiter goes on waiting when one before it has gone.
func (w *World) staysBehind(result <-chan error) {
	w.Helper()
	select {
	case err := <-result:
		w.NoError(err, "the last waiter must go on waiting, and Lock fails", "最后一个等待者应该继续等待，Lock 却失败了")
		w.Failf(
			"the waiter before it has gone, the holder still holds the lock, and the last waiter has got it: two holders; the node that went need not have been the holder's, so look again at the whole queue after each event", "排在前面的等待者离开了，持有者还持有锁，最后一个等待者却拿到了锁：出现两个持有者；消失的节点不一定是持有者的，所以每次收到事件都要重新看整个队列")
	case <-time.After(time.Second): // every event has come by then
	}
}

// alphabetic is how a contender's node may begin.
var alphabetic = regexp.MustCompile("^[a-z]+-")

// ForeignChild has children that are not contenders' nodes. Names that end in a number are among
// them only if the lock's own names have one of the usual prefixes: an exercise may leave the
// names to its author.
func ForeignChild(w *World) {
	if w.Server == nil { // a real server deletes a container that is empty
		w.Parent()
	}
	l, _ := w.Contender()
	w.MustLock(l, i18n.Textf("a first contender", "先来的竞争者"))
	prefixes := []string{alphabetic.FindString(slices.Concat(w.Nodes(), []string{""})[0])}
	w.Unlock(l, it)
	names := []string{"config", "minutes"}
	if slices.Contains([]string{"lock-", "read-", "write-"}, prefixes[0]) {
		prefixes = []string{"lock-", "read-", "write-"}
		names = append(names, "0", "0000000000", "lock",
			"LOCK-0000000000", "READ-0000000000", "Write-0000000000", "lockfile-0000000000", "reader-0000000000", "writers-0000000000",
			"clock-0000000000", "thread-0000000000", "rewrite-0000000000")
	}
	for _, prefix := range prefixes {
		if prefix != "" {
			names = append(names, prefix+"tmp", prefix+"1.bak")
		}
	}

	s := w.Session()
	for _, name := range names {
		_, err := s.Create(w.Path+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	w.MustLock(l, i18n.Textf("a contender beside %d nodes that are not contenders'", "竞争者（旁边有 %d 个非竞争者节点）", len(names)))
	// It sorts between the two that come, and its digits are not its end.
	own := slices.DeleteFunc(w.Nodes(), func(node string) bool { return slices.Contains(names, node) })
	names = append(names, own[0]+".bak")
	_, err := s.Create(w.Path+"/"+own[0]+".bak", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
	other, otherSession := w.Contender()
	result := w.Lock(other)
	w.Waits(result, otherSession, i18n.Textf("the second contender, beside %s, which is not a contender's,", "第二个竞争者（旁边的 %s 不是竞争者的节点）", own[0]+".bak"))
	w.Unlock(l, i18n.Textf("the first", "第一个"))
	w.Holds(result, i18n.Textf("the second contender", "第二个竞争者"))
	w.Unlock(other, it)
	w.WaitWhileKept(len(names))
	ok, err := w.Try(l, i18n.Textf("TryLock beside %d nodes that are not contenders'", "旁边有 %d 个非竞争者节点时的 TryLock", len(names)))
	if !errors.Is(err, errors.ErrUnsupported) {
		w.NoError(err, "TryLock beside nodes that are not contenders' fails", "旁边有非竞争者的节点，TryLock 失败了")
		w.True(ok, "TryLock returns false because of nodes that are not contenders', and nobody holds the lock", "没有人持有锁，TryLock 却因为非竞争者的节点而返回 false")
		w.Unlock(l, i18n.Textf("the contender that took the lock with TryLock", "用 TryLock 拿到锁的竞争者"))
	}
	w.WaitWhileKept(len(names))
	w.Len(w.Nodes(), len(names), "the nodes that are not contenders' must stay, and no other node", "不属于竞争者的节点必须留下，其他节点不能留下")
}

// A heldRead is a Lock whose n-th read is held back on its way to the server, or which waits
// because it sends fewer reads.
type heldRead struct {
	contender Lock
	session   *Session
	result    <-chan error // of Lock
	release   func()       // lets the read go on
	read      i18n.Text    // "read number n"
}

// atEachRead has a contender lock while another one holds the lock, again and again: the first
// time its first read is held back, then its second, and so on, until it waits before a read is.
// Each time f is called, and does what the case is about.
func (w *World) atEachRead(f func(heldRead)) {
	for n := 1; w.GoesOn(n); n++ {
		l, s := w.Contender()
		reads := 0
		held := w.Server.Hold(func(r zkserver.Request) bool {
			if r.Session == s.ID && (r.Op == jute.OpGetData || r.Op == jute.OpExists || r.Op == jute.OpGetChildren2) {
				reads++
				return reads == n
			}
			return false
		})
		result := w.Lock(l)
		met := w.Meets(held, s, i18n.Textf("the waiter's read is held back, or it waits", "等待者的读请求被扣住，或者等待者在等待"))
		f(heldRead{l, s, result, held.Release, i18n.Textf("read number %d", "第 %d 次读", n)})
		if !met {
			w.True(n > 1, "the waiter looks at nothing before it waits: it can wait for a release that has been", "等待者没有查看就开始等待，等的可能是早已发生过的释放")
			return
		}
	}
}

func ReleaseBeforeWatch(w *World) {
	holder, _ := w.holder()
	w.atEachRead(func(held heldRead) {
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		held.release()
		select {
		case err := <-held.result:
			w.NoError(err,
				"the lock was let go while the waiter was about to wait (its %s came after the release), and Lock fails", "等待者正要等待时锁释放了（等待者的%s在释放之后到达），Lock 失败", held.read)
		case <-time.After(stage.Patience):
			w.Failf(
				"the holder has let go between the waiter's look and its watch (its %s came after the release), and the waiter sleeps on: the event is lost; one request must look and set the watch, and a node that it does not find is a release%s", "持有者恰好在等待者查看之后、设置监听之前释放了锁（等待者的%s在释放之后到达），等待者却一直睡下去：这个事件丢了；请用同一个请求查看并设置监听，节点不存在就说明已经释放%s", held.read, w.Why())
		}
		holder = held.contender
	})
	w.unlockLast(holder, i18n.Textf("the last", "最后一个"))
}

func WaiterGoesBeforeWatch(w *World) {
	holder, _ := w.holder()
	middle, middleSession := w.Contender()
	w.Waits(w.Lock(middle), middleSession, i18n.Textf("the waiter", "等待者"))
	w.atEachRead(func(held heldRead) {
		w.Goes(middleSession)
		held.release()
		select {
		case err := <-held.result:
			w.NoError(err, "the waiter before it has gone, and Lock fails (its %s came afterwards)", "前一个等待者离开了，后一个的 Lock 却失败了（后者的%s在这之后到达）", held.read)
			w.Failf(
				"the waiter before it has gone before it was watched (the %s came afterwards), and a waiter has got the lock: two holders; the node that is missing need not have been the holder's, so look again at the whole queue", "监听还没有设置，前一个等待者就离开了（%s在这之后到达），后一个却拿到了锁：出现两个持有者；不存在的节点不一定是持有者的，所以要重新看整个队列", held.read)
		case <-time.After(time.Second): // every event has come by then
		}
		w.Waits(held.result, held.session, i18n.Textf("a waiter whose %s came after the waiter before it had gone", "等待者（%s在前一个等待者离开之后到达）", held.read))
		middleSession = held.session // it is in the middle for the next one
	})
	w.Goes(middleSession)
	w.unlockLast(holder, i18n.Textf("the holder", "持有者"))
}

func NodeGoes(w *World) {
	admin := w.Session()
	holder, _ := w.holder()
	before := w.Nodes()
	w.atEachRead(func(held heldRead) {
		for _, node := range w.Nodes() {
			if !slices.Contains(before, node) {
				require.NoError(w, admin.Delete(w.Path+"/"+node, -1))
			}
		}
		held.release()
		without := i18n.Textf(
			"a waiter's own node had gone before its %s, and it takes the lock without a node, so that the next contender gets in, too: two holders; look for the own node in each list of children", "等待者自己的节点在%s之前就已消失，没有节点却拿到了锁，下一个竞争者也会拿到锁：出现两个持有者；每次拿到子节点列表，都要先找自己的节点", held.read)
		if !w.goesOn(held.result, held.session) {
			w.HasError(w.Result(held.result, i18n.Textf("Lock of a waiter whose node has gone", "节点已消失的等待者的 Lock")), "%s", "%s", without)
			w.NotLocked(held.contender, i18n.Textf("Unlock after a Lock that failed", "Lock 失败之后的 Unlock"))
			return
		}

		// It has made another node, or it watches the holder's and notices the loss at the release.
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		if err := w.Result(held.result, i18n.Textf("Lock of a waiter whose node has gone", "节点已消失的等待者的 Lock")); err == nil {
			w.NotEmpty(w.Nodes(), "%s", "%s", without)
			w.Unlock(held.contender, i18n.Textf("a waiter whose node had gone, and that has queued again,", "节点消失后又重新排队的等待者"))
		} else {
			w.False(w.Subject.Requeues, "a waiter's own node had gone before its %s, and it does not queue again", "等待者自己的节点在%s之前就已消失，等待者却没有重新排队", held.read)
		}
		w.NothingLeft()
		w.MustLock(holder, i18n.Textf("the holder, once more", "再次加锁的持有者"))
		before = w.Nodes()
	})
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.NoNodes(i18n.Textf("every contender has let go, and a node is left", "所有竞争者都已释放锁，却还有节点留着"))
}

func ReleaseWhileCutOff(w *World) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.Hit(back, i18n.Textf("the waiter's client connects again", "等待者的客户端重连"))
	time.Sleep(time.Second) // of virtual time, in which it may not give up
	back.Release()
	w.Holds(result, i18n.Textf("a waiter that was cut off when the lock was let go", "锁释放时正好断线的等待者"))
	w.Equal(s.ID, s.SessionID(),
		"the waiter's client has another session, though it was cut off for less than the session timeout", "等待者的断线时间不到会话超时时间，客户端却换了会话")
	w.unlockLast(waiter, it)
}
