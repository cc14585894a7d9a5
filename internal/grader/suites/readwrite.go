package suites

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A ReadWriteLock is one contender, used by one goroutine at a time, that asks
// for the lock for reading or for writing.
type ReadWriteLock = locks.ReadWrite

// A ReadWriteSubject is a fair queue of readers and writers: the recipe for shared
// locks of ZooKeeper's documentation, with nodes named read-… and write-…. Its suite
// has the cases of locktest.Subject for contenders, too.
type ReadWriteSubject struct {
	// New makes a contender for the lock at path, the parent of its nodes.
	New func(conn *zk.Conn, path string) ReadWriteLock
	// ErrNotLocked is what Unlock and RUnlock return, or wrap, if the lock is not
	// held for writing or for reading.
	ErrNotLocked error
	// Requests predicts how many requests the contenders send in all, if each locks
	// and releases once, and they wait this number of times in all. Nil: they are not
	// counted.
	Requests func(contenders, waits int) int
	// Level says how much is asked of the lock. The zero Level is Full.
	Level locktest.Level
}

// Plan has the cases of a read/write lock.
func (s ReadWriteSubject) Plan() locktest.Plan {
	asLock := locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return oneSidedLock{s.New(conn, path), false} },
		ErrNotLocked: s.ErrNotLocked,
		Queue:        true,
		WakeUps:      func(int) int { return 1 },
	}
	return locktest.NewPlan(readWriteCases, stage.Of[*readWrite](s.Level), asLock,
		func(w *locktest.World) *readWrite { return &readWrite{w, s} }).
		Needs(s.New != nil, "ReadWriteSubject.New is nil: it must make a contender")
}

// as makes a case of one for locks. Of the contenders, which are numbered from 0, those read for
// which reads is true.
func as(reads func(n int) bool, run func(w *locktest.World)) func(w *readWrite) {
	return func(w *readWrite) {
		next := 0
		w.World.Subject.New = func(conn *zk.Conn, path string) locktest.Lock {
			n := next
			next++
			return oneSidedLock{w.subject.New(conn, path), reads(n)}
		}
		run(w.World)
	}
}

// A oneSidedLock is the lock of a contender that is always a reader, or always a writer.
type oneSidedLock struct {
	locks.ReadWrite
	reads bool
}

func (a oneSidedLock) Lock() error {
	if a.reads {
		return a.RLock()
	}
	return a.ReadWrite.Lock()
}

func (a oneSidedLock) Unlock() error {
	if a.reads {
		return a.RUnlock()
	}
	return a.ReadWrite.Unlock()
}

func (oneSidedLock) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Which contenders read, by their number. With all of these but always, neighbours exclude each other.
var (
	always      = func(int) bool { return true }
	never       = func(int) bool { return false }
	writerFirst = func(n int) bool { return n%2 == 1 }
	readerFirst = func(n int) bool { return n%2 == 0 }
	readerLast  = func(n int) bool { return n == 2 }
)

var readWriteCases = []locktest.TestCase[*readWrite]{
	{Name: "readers are inside together", Zh: "读者可以同时在里面", Group: locktest.Liveness, Run: readersTogether, Basic: true},
	{Name: "a reader behind a writer waits for it", Zh: "排在写者后面的读者要等这个写者", Group: locktest.Liveness, Run: readerBehindWriter, Basic: true},
	{Name: "a writer waits for every reader before it", Zh: "写者要等前面的每个读者", Group: locktest.Liveness, Run: writerBehindReaders, Basic: true},
	{Name: "a reader behind a waiting writer waits", Zh: "排在等待的写者后面的读者要等", Group: locktest.Liveness, Run: readerBehindWaitingWriter, Basic: true},
	{Name: "writers take turns in the order in which they came", Zh: "写者按到来的次序轮流进入", Group: locktest.Liveness, Run: as(never, locktest.QueueOrder), Basic: true},
	{Name: "readers and writers take turns in the order in which they came", Zh: "读者和写者按到来的次序轮流进入", Group: locktest.Liveness, Run: as(writerFirst, locktest.QueueOrder), Basic: true},
	{Name: "a waiter waits for as long as a writer writes, a day if need be", Zh: "写者写多久，等待者就等多久，哪怕一天", Group: locktest.Safety, Run: as(writerFirst, locktest.LongHold), Basic: true, Calm: true},
	{Name: "a waiter waits for as long as a reader reads, a day if need be", Zh: "读者读多久，等待者就等多久，哪怕一天", Group: locktest.Safety, Run: as(readerFirst, locktest.LongHold), Basic: true, Calm: true},
	{Name: "a writer's node is ephemeral and goes with Unlock", Zh: "写者的节点是临时节点，随 Unlock 删除", Group: locktest.Liveness, Run: as(never, locktest.EphemeralNode), Basic: true},
	{Name: "a reader's node is ephemeral and goes with RUnlock", Zh: "读者的节点是临时节点，随 RUnlock 删除", Group: locktest.Liveness, Run: as(always, locktest.EphemeralNode), Basic: true},
	{Name: "Unlock of a reader and RUnlock of a writer are ErrNotLocked and delete nothing", Zh: "读者调用 Unlock、写者调用 RUnlock，得到 ErrNotLocked，什么都不删除", Group: locktest.Liveness, Run: wrongRelease, Basic: true},
	{Name: "a waiting reader sleeps", Zh: "等待的读者在睡眠", Group: locktest.Liveness, Run: as(writerFirst, locktest.WaiterSleeps), Basic: true},
	{Name: "a waiting writer sleeps", Zh: "等待的写者在睡眠", Group: locktest.Liveness, Run: as(readerFirst, locktest.WaiterSleeps), Basic: true},
	{Name: "the session of a writer ends and the next get in", Zh: "写者的会话结束，后面的能进入", Group: locktest.Faults, Run: as(writerFirst, locktest.ExpiredHolder), Basic: true},
	{Name: "the session of a reader ends and the next get in", Zh: "读者的会话结束，后面的能进入", Group: locktest.Faults, Run: as(readerFirst, locktest.ExpiredHolder), Basic: true},
	{Name: "a waiter sends next to nothing while nothing changes", Zh: "没有变化时，等待者几乎不发请求", Group: locktest.Cost, Run: as(readerFirst, locktest.WaiterIsQuiet)},
	{Name: "no watch is left where nothing is left to wait for", Zh: "等待结束后，不遗留监听", Group: locktest.Cost, Run: as(writerFirst, locktest.WatchesLeft), Exact: true},
	{Name: "no goroutine is left when every contender has let go", Zh: "所有竞争者释放锁之后，不留下 goroutine", Group: locktest.Cost, Run: as(writerFirst, locktest.GoroutinesLeft), Exact: true},
	{Name: "a release wakes exactly the contenders that it concerns", Zh: "一次释放只唤醒与之有关的竞争者", Group: locktest.Cost, Run: wakesTheRightOnes, Exact: true},
	{Name: "each wait costs two requests", Zh: "每次等待多发两个请求", Group: locktest.Cost, Run: readWriteRequests, Exact: true},
	{Name: "a release wakes one contender where readers and writers take turns", Zh: "读者和写者交替排队时，一次释放只唤醒一个", Group: locktest.Cost, Run: as(writerFirst, locktest.WakeUps), Bare: true},
	{Name: "nodes of other programs that follow the recipe count", Zh: "其他程序遵循同一套约定，节点就也算数", Group: locktest.Liveness, Run: recipesNodes},
	{Name: "a child that is not a contender is ignored", Zh: "忽略不属于竞争者的子节点", Group: locktest.Liveness, Run: as(writerFirst, locktest.ForeignChild), Bare: true},
	{Name: "missing parents are made", Zh: "父节点不存在时会自动创建", Group: locktest.Liveness, Run: as(writerFirst, locktest.MissingParents), Bare: true},
	{Name: "an error is returned and not taken for held", Zh: "错误要返回，不当成锁在别人手里", Group: locktest.Faults, Run: as(writerFirst, locktest.NoPermission), Bare: true},
	{Name: "a waiter that goes lets no writer in before its turn", Zh: "等待者离开时，不会让写者提前进入", Group: locktest.Safety, Run: as(writerFirst, locktest.WaiterGoes), Bare: true},
	{Name: "a waiting writer that goes lets no reader in before its turn", Zh: "等待的写者离开时，不会让读者提前进入", Group: locktest.Safety, Run: as(readerLast, locktest.WaiterGoes), Bare: true},
	{Name: "a waiting writer that goes lets the readers behind it in to the others", Zh: "等待的写者离开时，后面的读者能进去与其他读者一起读", Group: locktest.Liveness, Run: writerGoes},
	{Name: "a release between the look and the watch is not missed", Zh: "查看之后、监听之前的释放不会漏掉", Group: locktest.Liveness, Run: as(writerFirst, locktest.ReleaseBeforeWatch), Exact: true},
	{Name: "a waiter that goes before it is watched lets nobody in", Zh: "等待者在别人监听它之前离开，不会让别人拿到锁", Group: locktest.Safety, Run: as(writerFirst, locktest.WaiterGoesBeforeWatch), Exact: true},
	{Name: "a waiter whose own node has gone does not take the lock", Zh: "等待者自己的节点消失之后，不会拿到锁", Group: locktest.Safety, Run: as(writerFirst, locktest.NodeGoes), Exact: true},
	{Name: "a release while a reader is cut off is not missed", Zh: "读者断线期间的释放不会漏掉", Group: locktest.Faults, Run: as(writerFirst, locktest.ReleaseWhileCutOff), Exact: true},
	{Name: "a release while a writer is cut off is not missed", Zh: "写者断线期间的释放不会漏掉", Group: locktest.Faults, Run: as(readerFirst, locktest.ReleaseWhileCutOff), Exact: true},
	{Name: "an expired session wakes a reader with an error", Zh: "会话过期时，读者醒来并得到错误", Group: locktest.Faults, Run: as(writerFirst, locktest.ExpiredWaiter)},
	{Name: "an expired session wakes a writer with an error", Zh: "会话过期时，写者醒来并得到错误", Group: locktest.Faults, Run: as(readerFirst, locktest.ExpiredWaiter)},
	{Name: "a closed session wakes a waiter with an error", Zh: "会话关闭时，等待者醒来并得到错误", Group: locktest.Faults, Run: as(readerFirst, locktest.ClosedWaiter)},
	{Name: "RUnlock after the session has ended is ErrNotLocked and deletes nothing", Zh: "会话结束之后，RUnlock 返回 ErrNotLocked，什么也不删除", Group: locktest.Faults, Run: as(readerFirst, locktest.UnlockAfterExpiry)},
	{Name: "Unlock after the session has ended is ErrNotLocked and deletes nothing", Zh: "会话结束之后，Unlock 返回 ErrNotLocked，什么也不删除", Group: locktest.Faults, Run: as(never, locktest.UnlockAfterExpiry)},
	{Name: "an error on the way of a reader leaves no node behind", Zh: "读者中途出错，不留下节点", Group: locktest.Faults, Run: as(writerFirst, locktest.ErrorOnTheWay), Exact: true},
	{Name: "an error on the way of a writer leaves no node behind", Zh: "写者中途出错，不留下节点", Group: locktest.Faults, Run: as(readerFirst, locktest.ErrorOnTheWay), Exact: true},
	{Name: "an Unlock that fails can be tried again", Zh: "失败的 Unlock 可以再试", Group: locktest.Faults, Run: as(never, locktest.UnlockAgain), Exact: true},
	{Name: "an RUnlock that fails can be tried again", Zh: "失败的 RUnlock 可以再试", Group: locktest.Faults, Run: as(always, locktest.UnlockAgain), Exact: true},
}

type readWrite struct {
	*locktest.World
	subject ReadWriteSubject
}

// A participant is one contender of a case.
type participant struct {
	oneSidedLock
	s      *locktest.Session
	name   i18n.Text    // in messages
	result <-chan error // of its lock call
}

// participant makes a contender in a session, a new one if none is given.
func (w *readWrite) participant(reads bool, name i18n.Text, in ...*locktest.Session) *participant {
	w.Helper()
	if len(in) == 0 {
		in = []*locktest.Session{w.Session()}
	}
	return &participant{oneSidedLock{w.subject.New(in[0].Conn, w.Path), reads}, in[0], name, nil}
}

func (w *readWrite) reader(name i18n.Text, in ...*locktest.Session) *participant {
	return w.participant(true, name, in...)
}

func (w *readWrite) writer(name i18n.Text, in ...*locktest.Session) *participant {
	return w.participant(false, name, in...)
}

// enters calls a contender's lock, which must not have to wait.
func (w *readWrite) enters(p *participant, where i18n.Text) {
	w.Helper()
	p.result = w.Lock(p)
	w.getsIn(p, where)
}

// getsIn waits until a contender holds the lock whose turn has come.
func (w *readWrite) getsIn(p *participant, where i18n.Text) {
	w.Helper()
	w.Eventually(i18n.Textf("%s gets in %s", "%s进入（%s）", p.name, where), func() bool { return len(p.result) > 0 })
	w.NoError(<-p.result, "the lock of %s, %s, fails", "%s的锁（%s）失败", p.name, where)
}

// queues calls a contender's lock, which must wait.
func (w *readWrite) queues(p *participant, why i18n.Text) {
	w.Helper()
	p.result = w.Lock(p)
	w.stays(p, why)
}

// stays fails if a contender holds the lock that must wait, or does not sleep.
func (w *readWrite) stays(p *participant, why i18n.Text) {
	w.Helper()
	w.Sleeps(p.s, p.name, func() bool { return len(p.result) > 0 })
	if len(p.result) > 0 {
		w.NoError(<-p.result, "%s must wait (%s), and its lock fails", "%s应该等待（%s），加锁却失败了", p.name, why)
		if why == overtaken { // readers only are inside
			w.Failf("%s has got the lock and must wait: %s", "%s应该等待，却拿到了锁：%s", p.name, why)
		}
		w.Failf("%s has got the lock while another contender holds it: two holders; it must wait: %s", "别的竞争者还持有锁，%s又拿到了锁：出现两个持有者；本该等待：%s", p.name, why)
	}
}

// leaves releases a contender's lock.
func (w *readWrite) leaves(p *participant) {
	w.Helper()
	w.Unlock(p, p.name)
}

func readersTogether(w *readWrite) {
	a, b := w.reader(i18n.Textf("the first reader", "第一个读者")), w.reader(i18n.Textf("the second reader", "第二个读者"))
	c := w.reader(i18n.Textf("the third reader, of the second one's session,", "第三个读者，与第二个同一会话"), b.s)
	for _, p := range []*participant{a, b, c} {
		w.enters(p, i18n.Textf("while other readers are inside", "别的读者在里面时"))
	}
	w.Len(w.Nodes(), 3, "three readers hold the lock, and there are not three nodes: each contender makes a node of its own", "三个读者持有锁，应当有三个节点：每个竞争者都要创建自己的节点")
	w.leaves(b)
	d := w.reader(i18n.Textf("the last reader", "最后一个读者"))
	w.enters(d, i18n.Textf("while other readers are inside", "别的读者在里面时"))
	for _, p := range []*participant{d, a, c} {
		w.leaves(p)
	}
	w.NothingLeft()
}

var byNumber = i18n.Textf("the queue goes by the number at the end of the name, and not by the name: read-0000000001 sorts before write-0000000000 and comes after it", "排队看的是名字末尾的序号，不是名字本身：read-0000000001 按名字排在 write-0000000000 之前，其实来得更晚")

func readerBehindWriter(w *readWrite) {
	writer := w.writer(i18n.Textf("the writer", "写者"))
	before := &participant{oneSidedLock{writer.ReadWrite, true}, writer.s, i18n.Textf("the writer, which reads first,", "写者（先读）"), nil}
	w.enters(before, i18n.Textf("when the lock is free", "锁空闲时"))
	w.leaves(before)
	w.enters(writer, i18n.Textf("when the lock is free", "锁空闲时"))
	a, b := w.reader(i18n.Textf("a reader", "一个读者")), w.reader(i18n.Textf("another reader", "另一个读者"))
	w.queues(a, i18n.Textf("a writer holds the lock; %s", "一个写者持有锁；%s", byNumber))
	w.queues(b, i18n.Textf("a writer holds the lock; %s", "一个写者持有锁；%s", byNumber))
	w.leaves(writer)
	w.getsIn(a, i18n.Textf("after the writer before it", "在前面的写者之后"))
	w.getsIn(b, i18n.Textf("after the writer before it, together with the other reader: a reader waits for the nearest writer before it, not for the node just before its own", "在前面的写者之后，与另一个读者一起：读者等的是前面最近的写者，不是紧挨在自己前面的节点"))
	w.leaves(a)
	w.leaves(b)
	w.NothingLeft()
}

func writerBehindReaders(w *readWrite) {
	var readers []*participant
	n := 3
	if w.Server != nil {
		n = 50 // many, where no real server has to carry them
	}
	for i := range n {
		p := w.reader(i18n.Textf("reader %s", "读者 %s", i18n.Letter(i)))
		w.enters(p, i18n.Textf("while no writer is there", "没有写者时"))
		readers = append(readers, p)
	}
	writer := w.writer(i18n.Textf("the writer", "写者"))
	w.queues(writer, i18n.Textf("readers hold the lock", "读者持有锁"))
	last := readers[1]
	for _, p := range slices.Backward(readers) { // the one just before the writer first
		if p == last {
			continue
		}
		w.leaves(p)
		w.Rest()
		w.stays(writer, i18n.Textf("one reader has left and another one is still inside: look again at the whole queue after each event", "一个读者离开了，还有一个在里面：每次收到事件都要重新看整个队列"))
	}
	w.leaves(last)
	w.getsIn(writer, i18n.Textf("after the last reader", "在最后一个读者之后"))
	w.leaves(writer)
	w.NothingLeft()
}

var overtaken = i18n.Textf("a writer that came before waits already: a reader waits for the nearest writer before it, also for one that does not hold the lock yet; else writers starve", "先来的写者已经在等待：读者要等前面最近的写者，哪怕它还没有拿到锁，否则写者会饥饿")

func readerBehindWaitingWriter(w *readWrite) {
	first := w.reader(i18n.Textf("the first reader", "第一个读者"))
	w.enters(first, i18n.Textf("when the lock is free", "锁空闲时"))
	writer := w.writer(i18n.Textf("the writer", "写者"))
	w.queues(writer, i18n.Textf("a reader holds the lock", "一个读者持有锁"))
	late := w.reader(i18n.Textf("the late reader", "后来的读者"))
	w.queues(late, overtaken)
	w.leaves(first)
	w.getsIn(writer, i18n.Textf("after the reader before it", "在前面的读者之后"))
	w.stays(late, i18n.Textf("a writer holds the lock", "一个写者持有锁"))
	w.leaves(writer)
	w.getsIn(late, i18n.Textf("after the writer before it", "在前面的写者之后"))
	w.leaves(late)
	w.NothingLeft()
}

func wrongRelease(w *readWrite) {
	neither := w.reader(i18n.Textf("a contender that holds nothing", "没有持有任何锁的竞争者"))
	reader, writer := w.reader(i18n.Textf("the reader", "读者")), w.writer(i18n.Textf("the writer", "写者"))
	try := func(release func() error, name i18n.Text) {
		before := w.Nodes()
		err := w.Result(w.Aside("Unlock", release), name)
		w.Equal(before, w.Nodes(), "%s deletes a node", "%s删除了一个节点", name)
		w.IsNotLocked(err, name)
	}
	try(neither.ReadWrite.Unlock, i18n.Textf("Unlock of a contender that holds nothing", "没有持有任何锁的竞争者调用 Unlock"))
	w.enters(reader, i18n.Textf("when the lock is free", "锁空闲时"))
	try(reader.ReadWrite.Unlock, i18n.Textf("Unlock of a contender that holds the lock for reading", "持有读锁的竞争者调用 Unlock"))
	try(neither.ReadWrite.RUnlock, i18n.Textf("RUnlock of a contender that holds nothing", "没有持有任何锁的竞争者调用 RUnlock"))
	w.leaves(reader)
	w.enters(writer, i18n.Textf("when the lock is free", "锁空闲时"))
	try(writer.ReadWrite.RUnlock, i18n.Textf("RUnlock of a contender that holds the lock for writing", "持有写锁的竞争者调用 RUnlock"))
	w.leaves(writer)
	try(writer.ReadWrite.Unlock, i18n.Textf("the second Unlock", "第二次 Unlock"))
	try(reader.ReadWrite.RUnlock, i18n.Textf("the second RUnlock", "第二次 RUnlock"))
	w.NothingLeft()
}

// wakes fails unless the act has this number of watch events sent to each of the waiters.
func (w *readWrite) wakes(what i18n.Text, act func(), waiting []*participant, want ...int64) {
	w.Helper()
	var before []int64
	for _, p := range waiting {
		before = append(before, p.s.Tap.Counts().Events)
	}
	act()
	w.Rest()
	for i, p := range waiting {
		sent := p.s.Tap.Counts().Events - before[i]
		w.Equal(want[i], sent, "%s, and %s is sent another number of watch events than it needs (wanted %d): a reader watches the nearest writer before it, a writer the node just before its own, and nobody the list", "%s，%s收到的监听事件数不对（应为 %d）：读者监听前面最近的写者，写者监听紧挨在自己前面的节点，谁也不监听列表", what, p.name, want[i])
	}
}

func wakesTheRightOnes(w *readWrite) {
	holder, a, b := w.writer(i18n.Textf("the first writer", "第一个写者")), w.reader(i18n.Textf("a reader", "一个读者")), w.reader(i18n.Textf("another reader", "另一个读者"))
	next, last := w.writer(i18n.Textf("the second writer", "第二个写者")), w.reader(i18n.Textf("the last reader", "最后一个读者"))
	w.enters(holder, i18n.Textf("when the lock is free", "锁空闲时"))
	waiting := []*participant{a, b, next, last}
	for _, p := range waiting {
		w.queues(p, i18n.Textf("a writer holds the lock", "一个写者持有锁"))
	}
	w.wakes(i18n.Textf("the writer before two readers lets go", "两个读者前面的写者释放锁"), func() { w.leaves(holder) }, waiting, 1, 1, 0, 0)
	w.getsIn(a, i18n.Textf("after the writer before it", "在前面的写者之后"))
	w.getsIn(b, i18n.Textf("after the writer before it", "在前面的写者之后"))
	w.wakes(i18n.Textf("one of two readers leaves, and not the one just before the writer", "两个读者中离开了一个，不是紧挨在写者前面的那个"), func() { w.leaves(a) }, waiting, 0, 0, 0, 0)
	w.stays(next, i18n.Textf("a reader holds the lock", "一个读者持有锁"))
	w.wakes(i18n.Textf("the last of two readers leaves", "两个读者中的最后一个离开"), func() { w.leaves(b) }, waiting, 0, 0, 1, 0)
	w.getsIn(next, i18n.Textf("after the readers before it", "在前面的读者之后"))
	w.wakes(i18n.Textf("the second writer lets go", "第二个写者释放锁"), func() { w.leaves(next) }, waiting, 0, 0, 0, 1)
	w.getsIn(last, i18n.Textf("after the writer before it", "在前面的写者之后"))
	w.leaves(last)
	w.NothingLeft()
}

func readWriteRequests(w *readWrite) {
	if w.subject.Requests == nil {
		w.Skip(i18n.Textf("ReadWriteSubject.Requests is nil: there is no prediction to compare with", "ReadWriteSubject.Requests 为 nil：没有可供比较的请求数"))
	}
	for _, c := range []struct {
		queue string // in the order of arrival: r or w
		leave []int  // in this order
		waits int
	}{
		{"w", []int{0}, 0},
		{"rrr", []int{0, 1, 2}, 0},
		{"wrr", []int{0, 1, 2}, 2},
		{"rrrw", []int{0, 1, 2, 3}, 1},
		{"rrrw", []int{2, 1, 0, 3}, 3}, // each reader that leaves is the one just before the writer
		{"wrrwrrw", []int{0, 1, 2, 3, 4, 5, 6}, 6},
	} {
		var all []*participant
		var sessions []*locktest.Session
		for i, kind := range c.queue {
			p := w.participant(kind == 'r', i18n.Textf("%s of %s", "%[2]s 里的%[1]s", stage.Contender(i), c.queue))
			p.result = w.Lock(p)
			w.Eventually(i18n.Textf("%s is in, or waits", "%s进入，或者在等待", p.name), func() bool { return len(p.result) > 0 || p.s.Sleeps() })
			all, sessions = append(all, p), append(sessions, p.s)
		}
		for _, i := range c.leave {
			w.getsIn(all[i], i18n.Textf("when its turn has come", "轮到它时"))
			w.leaves(all[i])
			w.Rest()
		}
		requests := stage.RequestsOf(sessions...)
		w.Equal(w.subject.Requests(len(all), c.waits), len(requests), "the queue %s, which leaves in the order %v, sends %d requests and not what was predicted for %d waits (ReadWriteSubject.Requests): %s", "队列 %s 按 %v 的次序离开，发了 %d 个请求，与 %d 次等待的预测不同（ReadWriteSubject.Requests）：%s", c.queue, c.leave, len(requests), c.waits, locktest.ByKind(requests))
		w.NothingLeft()
	}
}

// recipesNodes has another program's contenders in the queue.
func recipesNodes(w *readWrite) {
	admin := w.Session()
	create := func(prefix string) string {
		node, err := admin.Create(w.Path+"/"+prefix, []byte("another program"), zk.FlagEphemeralSequential,
			zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
		return node
	}
	recipe := i18n.Textf("; the recipe names the nodes read- and write-, so that programs of different authors share a lock", "；约定的节点名是 read- 和 write-，这样不同作者的程序可以共用一个锁")
	theirs := create("read-")
	reader, writer := w.reader(i18n.Textf("a reader", "一个读者")), w.writer(i18n.Textf("a writer", "一个写者"))
	w.enters(reader, i18n.Textf("while another program's reader holds the lock%s", "另一个程序的读者持有锁时%s", recipe))
	w.queues(writer, i18n.Textf("readers hold the lock, one of which is another program's%s", "几个读者持有锁，其中一个属于另一个程序%s", recipe))
	w.leaves(reader)
	w.Rest()
	w.stays(writer, i18n.Textf("another program's reader holds the lock%s", "另一个程序的读者持有锁%s", recipe))
	require.NoError(w, admin.Delete(theirs, -1))
	w.getsIn(writer, i18n.Textf("after another program's reader", "在另一个程序的读者之后"))
	theirs = create("write-")
	late := w.reader(i18n.Textf("the late reader", "后来的读者"))
	w.queues(late, i18n.Textf("a writer holds the lock, and another program's writer waits", "一个写者持有锁，另一个程序的写者在等待"))
	w.leaves(writer)
	w.Rest()
	w.stays(late, i18n.Textf("another program's writer holds the lock%s", "另一个程序的写者持有锁%s", recipe))
	require.NoError(w, admin.Delete(theirs, -1))
	w.getsIn(late, i18n.Textf("after another program's writer", "在另一个程序的写者之后"))
	w.leaves(late)
	w.NothingLeft()
}

func writerGoes(w *readWrite) {
	first, writer := w.reader(i18n.Textf("the first reader", "第一个读者")), w.writer(i18n.Textf("the writer", "写者"))
	a, b := w.reader(i18n.Textf("a late reader", "一个后来的读者")), w.reader(i18n.Textf("another late reader", "又一个后来的读者"))
	w.enters(first, i18n.Textf("when the lock is free", "锁空闲时"))
	w.queues(writer, i18n.Textf("a reader holds the lock", "一个读者持有锁"))
	w.queues(a, overtaken)
	w.queues(b, overtaken)
	w.Expire(writer.s)
	w.HasError(w.Result(writer.result, i18n.Textf("the lock of a writer whose session has expired", "会话已过期的写者的锁")), "a writer's session has expired, and Lock returns no error", "写者的会话已经过期，Lock 却没有返回错误")
	w.getsIn(a, i18n.Textf("together with the first reader, once the writer before it has gone", "前面的写者消失之后，与第一个读者一起"))
	w.getsIn(b, i18n.Textf("together with the first reader, once the writer before it has gone", "前面的写者消失之后，与第一个读者一起"))
	for _, p := range []*participant{first, a, b} {
		w.leaves(p)
	}
	w.NothingLeft()
}
