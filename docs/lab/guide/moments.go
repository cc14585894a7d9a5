package guide

import (
	"time"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

// A moment is what the reader shows for a phrase: lines of the code, and an instant of
// a run. TestMoments holds it to the films.
type moment struct {
	phrase string
	// scene is the name of a lock or of a bug, whose story is played, or of one of
	// ownScenes; "film NAME" is a recorded run of another lock; "" is an empty stage.
	scene string
	at    time.Duration // 0: at the stop of that story which quotes the phrase
	event string        // what happens just then, as the test reads it: "A delete", "B holds"
	code  []place
}

// A place is a function, a type, a constant or a variable of a Go file, the first block of
// code below a heading of a page, or, without a name, a section of a page or a picture.
type place struct {
	file, name string
	marks      []string // each a part of the line to mark, or "first … last" of several
}

func in(file, name string, marks ...string) place { return place{file, name, marks} }

func shows(figure string) place { return place{file: figure} }

const (
	step1 = "01-naive-ephemeral/lock.go"
	step2 = "02-herd-effect/lock.go"
	step3 = "03-sequential-predecessor/lock.go"
	step4 = "04-reentrant/lock.go"
	step5 = "05-timeout/lock.go"

	listings = "internal/museum/listings/"
	others   = "docs/other-locks/"

	us = time.Microsecond
	ms = time.Millisecond
)

// What many phrases show.
var (
	createEphemeral  = in(step1, "create", "zk.FlagEphemeral")
	createSequential = in(step2, "enqueue", "zk.FlagEphemeralSequential")
	enqueue          = in(step3, "enqueue", "zk.FlagEphemeralSequential")
	onlyIfExists     = in(step1, "TryLock", "case errors.Is(err, zk.ErrNodeExists) … return false, nil")
	waitForRelease   = in(step1, "waitForRelease", "l.conn.GetW(l.path)")
	watchParent      = in(step2, "Lock", "l.conn.ChildrenW(l.path)")
	watchBefore      = in(step3, "Lock", "l.conn.GetW(l.path + \"/\" + before)")
	lookAgain        = in(step3, "Lock", "for {", "before, err := l.predecessor(node)", "if event := <-changed")
	noNodeGoesOn     = in(step3, "Lock", "if errors.Is(err, zk.ErrNoNode) { … continue")
	first            = in(step3, "Lock", "if before == \"\" { … return nil")
	before           = in(step3, "predecessor", "case -1: … before = max(before, child)")
	notFound         = in(step3, "predecessor", "if !found { … zk.ErrNoNode")
	parents          = in(step3, "createParents", "zk.FlagPersistent", "return nil // another contender was faster")
	unlock           = in(step3, "Unlock", "l.conn.Delete(l.node, -1)")
	giveUp           = in(step3, "giveUp", "l.conn.Delete(node, -1)")
	findsItself      = in(step4, "Lock", "if h != nil { … return m.againLocked(h)")
	lockAgain        = in(step4, "againLocked", "h.times++")
	ctxEnds          = in(step5, "await", "case <-ctx.Done(): … return ctx.Err()")
	retry            = in(step5, "retry", "if !broken(err)", "time.Sleep")
	clock            = in(step5, "hold", "time.AfterFunc(time.Until(until), l.lose)", "clock.Reset")
	sequence         = in("zkserver/tree.go", "create", "path += fmt.Sprintf(\"%010d\", parent.creates)", "parent.creates++")
	sessionEnds      = in("zkserver/session.go", "endSessionLocked", "for _, path := range … t.remove(path)")
	oneEvent         = in("zkserver/watch.go", "fire", "case mode == oneShot: … w.remove(at, c)", "c.sendEventLocked(event, path)")
	readAndWatch     = in("zkserver/request.go", "executeRead", "s.childWatches.add", "n.encodeChildren(body)")
	grantedTimeout   = in("zkserver/session.go", "attachLocked", "timeout := min(max(")
	loopOfPolls      = in(others+"sqlrow/lock.go", "Lock", "held, err := l.attempt", "case <-time.After")
)

// changed is the scene of three contenders with changes.
func changed(lock string, changes ...film.Change) locks.Address {
	return locks.Address{Locks: []string{lock}, Mode: "watch", Scene: locks.Scene{Lock: lock, Contenders: 3, LatencyMs: 20, Seed: 1, Changes: changes}}
}

// ownScenes are the scenes without a lock's story.
var ownScenes = map[string]locks.Address{
	"herd beside chain": locks.Opening,
	// C's session ends while C waits.
	"zklock queues again": changed("zklock", film.Change{At: 180 * ms, Who: "C", Do: explore.Expire}),
	// The reply that B waits for is lost with its connection.
	"step 5 is cut off": changed("timeout", film.Change{At: 120 * ms, Who: "B", Do: explore.Cut}),
	// B's session ends while B waits.
	"D's first lock, and a session ends": changed("D2", film.Change{At: 180 * ms, Who: "B", Do: explore.Expire}),
}

// moments are in the order of the guide.
var moments = []moment{
	// A, 一
	{"每个节点称为数据节点znode", "predecessor", 73 * ms, "C create", []place{in("zkserver/tree.go", "node", "data  ", "children  ")}},
	{"Watcher(事件监听器)", "naive", 234 * ms, "A delete", []place{waitForRelease, oneEvent}},
	{"临时顺序节点(EPHEMERAL_SEQUENTIAL)", "herd", 46 * ms, "B create", []place{createEphemeral, createSequential}},
	{"临时节点,与客户端session绑定", "timeout", 4260 * ms, "A expired", []place{sessionEnds, in(step5, "enqueue", "zk.FlagEphemeralSequential")}},
	{"同一个znode下,节点的名称是唯一的", "naive", 71 * ms, "B create reply", []place{onlyIfExists, in("zkserver/tree.go", "create", "case t.s.nodes[path] != nil: … return \"\", jute.ErrNodeExists")}},
	// A, 二
	{"1、加锁,申请创建临时节点", "naive", 37 * ms, "A create", []place{createEphemeral}},
	{"2、创建成功,则加锁成功;完成自己的业务逻辑后,删除此节点,释放锁", "naive", 67 * ms, "A holds", []place{in(step1, "TryLock", "case err == nil: … return true, nil"), in(step1, "Unlock", "l.conn.Delete")}},
	{"3、创建失败,则证明节点已存在", "A1", 0, "", []place{onlyIfExists}},
	{"4、监听到数据节点被删除后,证明锁已被释放。重复步骤1", "A6", 0, "", []place{in(step1, "Lock", "held, err := l.TryLock()", "l.waitForRelease()"), createSequential}},
	{`private String root_path = "/zookeeper";`, "naive", 15 * ms, "A create sent", []place{in(step1, "New", "path: path")}},
	{"失败后调用waitForRelease方法等待", "A3", 0, "", []place{in(listings+"a_ephemeral.go", "Lock", "if !l.tryLock() { … l.waitForRelease()"), in(listings+"a_ephemeral.go", "waitForRelease", "[A3]"), in(step1, "Lock", "for {", "l.waitForRelease()")}},
	{"创建临时节点,创建成功则加锁成功,返回true", "naive", 0, "", []place{in(step1, "TryLock", "err := l.create(id)", "case err == nil: … return true, nil"), createEphemeral}},
	{"这里先判断一次锁的数据节点是否还存在", "A5", 0, "", []place{in(listings+"a_ephemeral.go", "waitForRelease", "l.zooKeeper.ExistsW(l.currentPath)", "if !exists { … l.Lock()               //"), in(step1, "waitForRelease", "l.conn.GetW(l.path)", "if errors.Is(err, zk.ErrNoNode) { … return nil")}},
	{"触发NodeDeleted事件,跳过await方法", "A4", 0, "", []place{in(step1, "waitForRelease", "if event := <-changed; event.Err != nil { … event.Err)")}},
	{"e.printStackTrace();", "A11", 0, "", []place{in(step1, "waitForRelease", "if err != nil { … watch %s"), in(step1, "Lock", "if err := l.waitForRelease(); err != nil { … return err")}},
	{"我们把锁的数据节点删除之后,就释放了锁", "A2", 0, "", []place{in(step1, "Unlock", "if err == nil && string(data) != l.id { … err = zk.ErrNoNode", "err = l.conn.Delete(l.path, stat.Version)")}},
	{"static final int thread_count = 100;", "", 0, "", []place{in("bench/race.go", "once", "c.contenders[i].Lock(ctx)", "c.count(ctx, i, turn)", "c.contenders[i].Unlock(ctx)"), in("docs/figures.md", "A real server", "naive         100 ")}},
	{"99999, watchedEvent", "timeout", 4260 * ms, "A expired", []place{grantedTimeout}},
	{"}finally {", "A2", 3900 * ms, "B delete sent", []place{in(step1, "Unlock", "if l.id == \"\" { … return ErrNotLocked")}},
	{"当请求数高了之后,会变得非常非常慢", "herd beside chain", 21300 * us, "", []place{in("docs/figures.md", "A real server", "naive         100 ", "naive         200 ", "naive         500 "), shows("docs/figures/real-elapsed.svg")}},
	{"共耗时:125062", "herd beside chain", 21300 * us, "", []place{in("docs/figures.md", "The embedded server", "naive ", "predecessor "), shows("docs/figures/real-elapsed.svg")}},
	// A, 三
	{"有个专业名词:惊群效应", "herd beside chain", 0, "", []place{in(step2, "Lock", "l.conn.ChildrenW(l.path)", "if event := <-changed"), watchBefore, shows("docs/figures/real-requests.svg")}},
	{"只有一个线程加锁成功,其余的线程继续阻塞", "naive", 280 * ms, "C create", []place{in(step1, "Lock", "for {", "l.TryLock()", "l.waitForRelease()"), onlyIfExists}},
	{"create -s -e /lock/test 1234", "herd", 46 * ms, "B create", []place{createSequential, sequence}},
	{"我们暂且不用管它怎么生成", "B1", 1350 * ms, "B create", []place{sequence}},
	{"1、加锁,在/lock锁节点下创建临时顺序节点并返回", "predecessor", 46 * ms, "B create", []place{enqueue}},
	{"3、判断当前线程创建的节点,是否在全部子节点中顺序最小", "predecessor", 90 * ms, "A holds", []place{before, first}},
	{"5、如果不是最小,找到比自己小一位的节点", "predecessor", 107 * ms, "B getData", []place{before, watchBefore}},
	{"6、当上一个节点删除后,证明前面的客户端已释放锁", "predecessor", 234 * ms, "A delete", []place{lookAgain}},
	{"public class ZkClientLock implements Lock {", "A8", 5600 * ms, "C connected", []place{in(listings+"a_queue.go", "zkClientLock"), in(listings+"a_queue.go", "waitForRelease", "l.client.subscribeDataChanges"), in(step3, "Lock", "_, _, changed, err := l.conn.GetW")}},
	{`private String lock_path = "/lock";`, "A10", 0, "", []place{in(step3, "enqueue", "if errors.Is(err, zk.ErrNoNode) { … l.createParents(l.path)"), in(step3, "createParents", "zk.FlagPersistent")}},
	{"如未成功获取锁,则等待锁释放后再次尝试加锁", "predecessor", 260 * ms, "B getChildren2 sent", []place{lookAgain}},
	{"if (currentPath==null", "A9", 0, "", []place{in(step3, "Lock", "node, err := l.enqueue()"), in(step3, "Unlock", "predecessor: unlock … l.node = \"\"")}},
	{"//当前节点如果排在第一位,返回成功", "predecessor", 90 * ms, "A holds", []place{in(listings+"a_queue.go", "tryLock", "if l.currentPath == l.lockPath … return true"), first}},
	{"int i = Collections.binarySearch(children, sequenceNodeName);", "A8", 0, "", []place{notFound}},
	{"这里就是对上一个节点进行监听,节点被删除后,方法返回", "predecessor", 107 * ms, "B getData", []place{in(listings+"a_queue.go", "waitForRelease", "subscribeDataChanges", "Await()"), in(step3, "Lock", "l.conn.GetW", "if event := <-changed")}},
	{"if (countDownLatch != null) {", "A7", 0, "", []place{in(step3, "Lock", "l.conn.GetW(l.path + \"/\" + before)", "if event := <-changed")}},
	{"client.delete(currentPath);", "predecessor", 234 * ms, "A delete", []place{unlock}},
	{"这种方式改进之后,性能会得到大幅度提升", "herd beside chain", 21300 * us, "", []place{in("docs/figures.md", "A real server", "naive         500 ", "predecessor   500 "), shows("docs/figures/real-elapsed.svg")}},
	{"共耗时:5398", "herd beside chain", 21300 * us, "", []place{in("docs/figures.md", "The embedded server", "naive ", "predecessor "), shows("docs/figures/real-elapsed.svg")}},
	// A, 四
	{"比如锁的可重入性、锁超时", "reentrant", 950 * ms, "A holds", []place{lockAgain, ctxEnds}},
	{"new ExponentialBackoffRetry(1000, 3)", "step 5 is cut off", 1165 * ms, "B getData sent", []place{retry, in("zklock/internal/client/errors.go", "backoff")}},
	{"999999,", "timeout", 4260 * ms, "A expired", []place{grantedTimeout}},
	{"共耗时:606", "", 0, "", []place{in("docs/figures.md", "A real server", "curator       100 ", "predecessor   100 "), shows("docs/figures/real-elapsed.svg")}},
	{"Revocable<InterProcessMutex>", "", 0, "", []place{in("zklock/participants.go", "Revoke", "m.client.Set(left, p.Node, request, -1)")}},
	{"private final ConcurrentMap<Thread, InterProcessMutex.LockData> threadData;", "reentrant", 0, "", []place{in(step4, "Mutex", "book map"), in(step4, "hold", "times "), in(step4, "Owner")}},
	{`private static final String LOCK_NAME = "lock-";`, "predecessor", 73 * ms, "C create", []place{in(step3, "prefix"), enqueue, in("zklock/internal/record/record.go", "Prefix")}},
	{"这里的重点是threadData,它是一个ConcurrentMap对象", "reentrant", 950 * ms, "A holds", []place{in(step4, "Mutex", "book map"), in(step4, "hold", "times ")}},
	{"this.lockCount = new AtomicInteger(1);", "reentrant", 950 * ms, "A holds", []place{in(step4, "settle", "h.times = 1"), in(step4, "enterLocked")}},
	{"StandardLockInternalsDriver是锁的驱动类", "predecessor", 90 * ms, "A holds", []place{enqueue, before}},
	{"int maxLeases, LockInternalsDriver driver", "predecessor", 90 * ms, "A holds", []place{first}},
	{"lock.acquire(5000, TimeUnit.SECONDS);", "timeout", 205 * ms, "B done", []place{ctxEnds, in(step5, "contend", "case <-ctx.Done(): … err = ctx.Err()")}},
	{"//当前线程有锁的信息,锁次数加1,返回", "reentrant", 0, "", []place{findsItself, lockAgain}},
	{"如果,lockData不为空,说明当前线程是一个重入锁", "reentrant", 950 * ms, "A holds", []place{findsItself, lockAgain}},
	{"然后我们接着看 attemptLock方法", "zklock queues again", 5345 * ms, "C multi", []place{in("zklock/entry.go", "run", "for _, step := range"), in("zklock/entry.go", "leave", "case errors.Is(err, client.ErrGone)", "m.queueLocked()")}},
	{"ourPath = this.driver.createsTheLock", "predecessor", 73 * ms, "C create", []place{enqueue}},
	{"创建锁就是在zookeeper中创建临时顺序节点,返回锁的节点名称", "predecessor", 46 * ms, "B create", []place{enqueue}},
	{"creatingParentContainersIfNeeded().", "A10", 250 * ms, "A create", []place{in(step3, "createParents", "zk.FlagPersistent"), in("zklock/internal/client/node.go", "make"), in("zkserver/tree.go", "reapContainersLocked")}},
	{"withProtection().", "zklock", 0, "", []place{in("zklock/internal/record/record.go", "Prefix"), in("zklock/internal/client/node.go", "Create"), in("zklock/internal/client/node.go", "look")}},
	{"_c_d5815293-f5b1-484d-b789-9f11df69149c-lock-0000006168", "zklock", 50 * ms, "A create", []place{in("zklock/internal/record/record.go", "Sequence"), in("zklock/internal/record/record.go", "Order")}},
	{"不断的循环去加锁", "predecessor", 260 * ms, "B getChildren2 sent", []place{lookAgain}},
	{"while(this.client.getState() == CuratorFrameworkState.STARTED && !haveTheLock) {", "predecessor", 260 * ms, "B getChildren2 sent", []place{lookAgain}},
	{"this.client.getData().usingWatcher(this.watcher)", "predecessor", 107 * ms, "B getData", []place{watchBefore}},
	{"millisToWait = millisToWait - (System.currentTimeMillis() - startMillis);", "timeout", 205 * ms, "B done", []place{ctxEnds}},
	{"} catch (NoNodeException var19) {", "C2", 1950 * ms, "B getData", []place{noNodeGoesOn}},
	{"this.deleteOurPath(ourPath);", "timeout", 205 * ms, "B delete sent", []place{giveUp, in(step5, "remove", "conn.Delete(l.node, -1)")}},
	{"获取当前锁的节点名称,判断是否处于全部子节点的第1位", "predecessor", 90 * ms, "A holds", []place{before, first}},
	{"如果不是,则对上一个序列节点进行监听,并等待", "predecessor", 107 * ms, "B getData", []place{in(step3, "Lock", "l.conn.GetW", "if event := <-changed")}},
	{"反之等待millisToWait时间后,退出循环,并删除当前锁的节点", "timeout", 205 * ms, "B delete sent", []place{ctxEnds, in(step5, "run", "l.remove()")}},
	{"当次数为0时,删除zookeeper中的锁节点信息", "reentrant", 1950 * ms, "A delete sent", []place{in(step4, "Unlock", "err := h.lock.Unlock()"), unlock}},
	{"int newLockCount = lockData.lockCount.decrementAndGet();", "reentrant", 1750 * ms, "A holds", []place{in(step4, "Unlock", "h.times-- … last := h.times == 0", "if !last { … return nil")}},
	{"this.client.removeWatchers();", "timeout", 245 * ms, "B delete", []place{in(step5, "await", "l.lock.conn.GetW(before)", "case <-ctx.Done():"), in("zkserver/watch.go", "drop")}},
	{"基本上是相同的", "predecessor", 234 * ms, "A delete", []place{in(step3, "Lock", "node, err := l.enqueue()", "before, err :=", "l.conn.GetW", "if event := <-changed")}},

	// B, the database
	{"由JVM实现的synchronized 和 JDK 提供的 Lock", "", 0, "", []place{shows("docs/several-machines.md#three-machines")}},
	{"insert into myLock(method_name,desc) values", "film sqlrow", 130 * ms, "A INSERT reply", []place{in(others+"sqlrow/lock.go", "insertRow"), in(others+"sqlrow/lock.go", "insert",
		"l.db.Exec(ctx, insertRow", "case database.IsDuplicate"), shows(others + "exhibits.md#the-articles-statements-word-for-word")}},
	{"delete from myLock where method_name = 分布式", "film sqlrow", 6820 * ms, "A DELETE", []place{in(others+"sqlrow/lock.go", "Unlock", "DELETE FROM zklock_row"), shows(others + "exhibits.md#the-articles-statements-word-for-word")}},
	{"1.数据库实现依赖可用性。数据库是单点", "", 0, "", []place{in("docs/figures.md", "An ensemble of three", "ensemble of 3", "predecessor   100 ")}},
	{"2.该锁不是阻塞的", "film sqlrow", 3570 * ms, "B INSERT", []place{in(others+"sqlrow/lock.go", "insert", "case database.IsDuplicate … return false, nil")}},
	{"想要获取锁,只能继续insert", "film sqlrow", 3570 * ms, "B INSERT", []place{loopOfPolls}},
	{"该锁没有失效时间", "film sqlrow", 4120 * ms, "A lost", []place{in(others+"sqlrow/lock.go", "insertRow", "expires"), shows("docs/bugs.md#b2-anybody-may-delete-the-row-and-it-has-no-expiry")}},
	{"4.该锁不是可重入锁。", "reentrant", 950 * ms, "A holds", []place{in(others+"sqlrow/lock.go", "again", "times = times + 1"), lockAgain}},
	{"搞两个数据库,数据之前双向同步", "", 0, "", []place{in(others+"sqlrow/lock_test.go", "TestTwoDatabasesThatCopyToEachOtherGiveTwoHolders")}},
	{"只要做一个定时任务", "film sqlrow", 4370 * ms, "B DELETE", []place{in(others+"sqlrow/lock.go", "Sweep", "DELETE FROM zklock_row")}},
	{"非阻塞的?搞一个while循环", "film sqlrow", 3870 * ms, "B INSERT", []place{loopOfPolls}},
	{"记录当前获得锁的机器的主机信息和线程信息", "reentrant", 950 * ms, "A holds", []place{in(others+"sqlrow/lock.go", "again", "AND owner = ?"), in(step4, "Mutex", "book map")}},
	// B, 2
	{"大多数是基于数据版本(version)的记录机制实现的", "", 0, "", []place{in(others+"sqlversion/lock.go", "Take", "version = version + 1"), in("zkserver/tree.go", "setData")}},
	{"uiq_idx_resource", "", 0, "", []place{in(others+"sqlversion/article_test.go", "TestTwoProductsCannotHaveTheSameStock")}},
	{"SET resource = resource -1", "", 0, "", []place{in(others+"sqlversion/lock.go", "Read", "SELECT resource, version"), in(others+"sqlversion/lock.go", "Take", "resource = resource - 1"), shows(others + "exhibits.md#o10-the-articles-update")}},
	{"最终会导致2个线程购买的商品却出现库存只减1的情况", "", 0, "", []place{in(others+"sqlversion/lock.go", "Buy", "if r.Resource < 1 { … return ErrSoldOut"), shows(others + "exhibits.md#o10-the-articles-update")}},
	{"借助更新时间戳(updated_at)也可以实现乐观锁", "", 0, "", []place{in(others+"sqlversion/lock_test.go", "TestATimestampForAVersionLosesUpdates")}},
	{"则会导致大量请求失败", "naive", 280 * ms, "C create", []place{in(others+"sqlversion/lock.go", "Buy", "s.attempts.Add(1)", "if taken, err := s.Take"), in("docs/figures.md", "The other locks", "sqlversion")}},
	// B, 3
	{"否则MySQL 将会执行表锁(将整个数据表单给锁住)", "", 0, "", []place{in(others+"sqlversion/article_test.go", "TestWhatIsCalledATableLockIsALockOnEveryRow")}},
	{"我们必须关闭MySQL数据库的自动提交属性", "", 0, "", []place{in(others+"sqlforupdate/lock_test.go", "TestWithAutocommitTheLockEndsWithItsStatement")}},
	{"SELECT * FROM database_lock WHERE id = 1 FOR UPDATE;", "", 0, "", []place{in(others+"sqlforupdate/lock.go", "begin", "FOR UPDATE"), shows(others + "exhibits.md#o1-a-lost-update-under-the-lock")}},
	{"ERROR 1205 (HY000): Lock wait timeout exceeded", "timeout", 205 * ms, "B done", []place{in(others+"sqlforupdate/lock.go", "attempt", "tx.Rollback()"), in(others+"sqlforupdate/lock.go", "Lock", "err = ctx.Err()"), ctxEnds}},
	{"如果查不到数据那么也就无从“锁”起", "", 0, "", []place{shows(others + "exhibits.md#o4-a-missing-row-at-repeatable-read-a-deadlock")}},
	{"SELECT * FROM database_lock WHERE id>0 FOR UPDATE;", "", 0, "", []place{in(others+"sqlversion/article_test.go", "TestWhatIsCalledATableLockIsALockOnEveryRow", "id>0")}},
	{"MySQL会对查询进行优化", "", 0, "", []place{in(others+"sqlforupdate/lock_test.go", "TestARowOrTheTable")}},
	{"悲观锁使用不当还可能产生死锁的情况", "", 0, "", nil},
	// B, Redis
	{"SETNX KEY VALUE", "film redis", 20 * ms, "A setAndCount", []place{in(others+"redis/lock.go", "TryLock", "Mode: \"NX\""), onlyIfExists}},
	{"则原地自旋请求至成功或超时退出", "film redis", 10570 * ms, "B setAndCount", []place{in(others+"redis/lock.go", "poll", "try(ctx)", "case <-time.After")}},
	{"这样就导致了死锁问题", "", 0, "", []place{in(others+"redis/lock.go", "TryLock", "TTL: l.ttl", "l.held.renew"), shows("docs/bugs.md#b3-after-a-crash-a-key-without-a-time-to-live-stays")}},
	{"可重入性是指线程在持有锁的情况下再次请求加锁", "reentrant", 950 * ms, "A holds", []place{findsItself, lockAgain}},
	{"使用线程的Threadlocal变量存储当前持有锁的计数", "", 0, "", []place{in(others+"redis/reentrant.go", "lockAgain"), lockAgain, shows("docs/bugs.md#b4-a-slow-holder-deletes-its-successors-key")}},
	{`return jedis.set(key, "", "nx", "ex", 5L) != null;`, "film redis", 22020 * ms, "A compareAndDelete", []place{
		in(others+"redis/lock.go", "TryLock", "value := rand.Text()", "Mode: \"NX\""), in(others+"redis/lock.go", "Unlock", "compareAndDelete"), shows("docs/bugs.md#b4-a-slow-holder-deletes-its-successors-key")}},
	// B, ZooKeeper
	{"每个节点的存放数据上限为1M", "", 0, "", []place{in("internal/jute/frame.go", "MaxFrame")}},
	{"只要集群中大部分机器是可用的", "timeout", 4335 * ms, "A done", []place{clock, in("docs/figures.md", "An ensemble of three", "ensemble of 3")}},
	{"客户端使用这个TCP链接来发送请求、获取结果、获取监听事件以及发送心跳包", "zklock", 1120 * ms, "A connected", []place{in("zkserver/conn.go", "read"), in("zkserver/conn.go", "write")}},
	{"读请求可以被集群中的任意一台机器处理", "zklock", 1195 * ms, "A getChildren2 reply", []place{in("zklock/internal/client/node.go", "find"), in("zklock/internal/client/node.go", "look"), in("zkserver/request.go", "executeSync")}},
	{"读请求的吞吐会提高但是写请求的吞吐会下降", "", 0, "", []place{in("docs/figures.md", "An ensemble of three", "predecessor   100 "), in("docs/figures.md", "A real server", "predecessor   100 ")}},
	{"这个时间戳称为zxid", "timeout", 100 * ms, "A getData sent", []place{in(step5, "look", "l.token = stat.Czxid"), in("zkserver/tree.go", "begin")}},
	{"会根据当前的子节点数量自动添加整数序号", "B1", 0, "", []place{in(listings+"b_counting.go", "Lock", "[B1]"), before, sequence}},
	{"zookeeper会自动删除该节点", "timeout", 4260 * ms, "A expired", []place{sessionEnds}},
	{"(1)节点创建;(2)节点删除;(3)节点数据修改;(4)子节点变更。", "herd", 234 * ms, "A delete", []place{
		in("zkserver/tree.go", "create", "jute.EventCreated", "jute.EventChildrenChanged"), in("zkserver/tree.go", "remove", "jute.EventDeleted", "jute.EventChildrenChanged"),
		in("zkserver/tree.go", "setData", "jute.EventDataChanged")}},
	{"并在/lock下创建临时的且有序的子节点", "herd", 46 * ms, "B create", []place{createSequential}},
	{"如果是则认为获得锁", "herd", 90 * ms, "A holds", []place{in(step2, "isFirst", "case -1: … first = false"), in(step2, "Lock", "if first { … return nil")}},
	{"否则监听/lock的子节点变更消息", "herd", 113 * ms, "C getChildren2", []place{watchParent}},
	{"完成业务流程后,删除对应的子节点释放锁", "herd", 234 * ms, "A delete", []place{in(step2, "Unlock", "l.conn.Delete(l.node, -1)")}},
	{"步骤1中创建的临时节点能够保证在故障的情况下锁也能被释放", "timeout", 4260 * ms, "A expired", []place{sessionEnds}},
	{"客户端宕机后,过了一定时间zookeeper没有收到客户端的心跳包判断会话失效", "timeout", 4260 * ms, "A expired", []place{in("zkserver/server.go", "clock"), in("zkserver/session.go", "touchLocked", "ss.deadline ="), sessionEnds}},
	{"获取子节点列表与设置监听这两步操作的原子性问题", "herd", 113 * ms, "C getChildren2", []place{watchParent, readAndWatch}},
	{"设置监听器的操作与读操作是原子执行的", "herd", 113 * ms, "C getChildren2", []place{watchParent, readAndWatch}},
	{"这种情况称为“羊群效应”", "herd beside chain", 4620 * us, "", []place{in(step2, "Lock", "l.conn.ChildrenW(l.path)", "if event := <-changed"), watchBefore, shows("docs/figures/real-requests.svg")}},
	{"每个客户端应该对刚好在它之前的子节点设置事件监听", "predecessor", 148 * ms, "C getData", []place{before, watchBefore}},
	{"否则监听刚好在自己之前一位的子节点删除消息", "predecessor", 148 * ms, "C getData", []place{watchBefore, before}},
	// B, Curator
	{"关键的核心操作就只有mutex.acquire()和mutex.release()", "reentrant", 250 * ms, "A create", []place{in(step4, "Lock", "h.lock.Lock()"), in(step4, "Unlock", "h.lock.Unlock()")}},
	{`throw new IOException("Lost connection while trying to acquire lock: "`, "step 5 is cut off", 125 * ms, "B cut off", []place{in(step5, "broken"), retry}},
	{"acquire会直接抛出异常, 需要使用者自身做重试策略", "zklock", 1120 * ms, "A connected", []place{in("zklock/lock.go", "acquire", "for ctx.Err() == nil {"), in("zklock/internal/client/client.go", "insist"), retry}},
	{"参数表明在锁被占", "predecessor", 148 * ms, "C getData", []place{in(step3, "Lock", "if event := <-changed"), ctxEnds}},
	{"这里处理同线程的可重入性", "reentrant", 950 * ms, "A holds", []place{findsItself, lockAgain}},
	{"代码中确保了只有发生session过期才会在这里抛出NoNodeException", "zklock queues again", 5345 * ms, "C multi", []place{in("zklock/entry.go", "leave", "case errors.Is(err, client.ErrGone)", "m.queueLocked()"), notFound}},
	{"(4)EPHEMERAL_SEQUENTIAL(临时且有序)。", "herd", 46 * ms, "B create", []place{createSequential}},
	{"//如果为最小子节点则认为获得锁", "predecessor", 90 * ms, "A holds", []place{first, before}},
	{"这里使用对象监视器做线程同步", "D2", 2750 * ms, "B event", []place{in(step3, "Lock", "if event := <-changed")}},
	{"这个监听器其实永远不会触发,对于zookeeper来说属于资源泄露", "D1", 2550 * ms, "A exists", []place{in(step3, "Lock", "// GetW and not ExistsW … continue")}},
	{"doDelete = true; // 等待时间到达,删除对应的子节点", "timeout", 205 * ms, "B delete sent", []place{ctxEnds, in(step5, "run", "l.remove()")}},
	{"只需要自旋一次即可,无需额外处理", "C2", 1950 * ms, "B getData", []place{noNodeGoesOn}},
	{"只是简单的notifyAll唤醒当前线程以重新自旋判断", "predecessor", 260 * ms, "B event", []place{lookAgain}},

	// C
	{"//节点按照编号,升序排列 Collections.sort(waiters);", "predecessor", 90 * ms, "A holds", []place{in(listings+"c_await.go", "checkLocked", "slices.Sort(waiters)", "waiters[0]"), before}},
	{"也就是后Znode路径的10位数字,因为前缀都是一样的", "zklock", 50 * ms, "A create", []place{in("zkserver/tree.go", "create", "%010d"), in("zklock/internal/record/record.go", "Sequence"), in("zklock/internal/record/record.go", "Order")}},
	{"编号位置排在第一个", "predecessor", 90 * ms, "A holds", []place{in(listings+"c_await.go", "checkLocked", "waiters[0] … return true"), first}},
	{"就是监听前一个ZNode节点(prior_path成员)的删除事件", "predecessor", 107 * ms, "B getData", []place{in(listings+"c_await.go", "await", "GetW(l.priorPath)"), watchBefore}},
	{"client.getData().usingWatcher(w).forPath(prior_path);", "C2", 0, "", []place{in(step3, "Lock", "l.conn.GetW(l.path + \"/\" + before)", "if errors.Is(err, zk.ErrNoNode) { … continue")}},
	{"latch.await(WAIT_TIME, TimeUnit.SECONDS);", "timeout", 205 * ms, "B done", []place{in(listings+"c_await.go", "await", "<-w"), ctxEnds}},
	{"仅仅去监听自己前一个节点的变动", "predecessor", 148 * ms, "C getData", []place{watchBefore}},
	{"或者等待超时", "timeout", 205 * ms, "B done", []place{in(step5, "await", "select { … return ctx.Err()")}},
	{"只需要监听一次即可,不需要反复监听", "predecessor", 234 * ms, "A delete", []place{in(step3, "Lock", "if event := <-changed"), oneEvent}},
	{"TreeCache 订阅的代码在源码工程中已经被注释", "", 0, "", nil},
	{"重新一轮的锁的争夺", "predecessor", 260 * ms, "B getChildren2 sent", []place{lookAgain}},
	{"只需要保障同一个线程进入加锁的代码,可以重复加锁成功即可", "reentrant", 950 * ms, "A holds", []place{findsItself, lockAgain}},
	{"thread = Thread.currentThread(); lockCount.incrementAndGet();", "C1", 0, "", []place{in(step4, "settle", "if holds { … delete(m.book, owner)")}},
	{"在代码中增加了一个加锁的计数器lockCount", "reentrant", 950 * ms, "A holds", []place{in(step4, "hold", "times "), lockAgain, in(step4, "Holds", "return h.times")}},
	{"(1)减少重入锁的计数,如果最终的值不是0,直接返回", "reentrant", 0, "", []place{in(step4, "Unlock", "h.times--", "if !last { … return nil")}},
	{"(2)如果计数器为0,移除Watchers监听器,并且删除创建的Znode临时节点。", "reentrant", 0, "", []place{in(step4, "Unlock", "err := h.lock.Unlock()"), unlock}},

	// D, the first version
	{"当client与zookeeper连接和session断掉时", "timeout", 4260 * ms, "A expired", []place{sessionEnds, in("zkserver/server_test.go", "TestACutConnectionKeepsItsSessionAndEphemerals")}},
	{"瞬时节点不可以有子节点", "", 0, "", []place{in("zkserver/tree.go", "create", "case parent.owner != 0: … ErrNoChildrenForEphemeral"), in(step3, "createParents", "zk.FlagPersistent")}},
	{"会话结束之后瞬时节点就会消失", "timeout", 4260 * ms, "A expired", []place{sessionEnds}},
	{"序号最小的线程可以获得锁", "predecessor", 90 * ms, "A holds", []place{before, first}},
	{"其他的线程监听自己序号的前一个序号", "predecessor", 107 * ms, "B getData", []place{watchBefore}},
	{"前一个线程执行结束之后删除自己序号的节点", "predecessor", 234 * ms, "A delete", []place{unlock}},
	{"下一个序号的线程得到通知,继续执行", "predecessor", 260 * ms, "B event", []place{lookAgain}},
	{"zk 的观察器只可以监控一次", "herd", 280 * ms, "C getChildren2", []place{oneEvent, in(step2, "Lock", "for {", "l.conn.ChildrenW(l.path)", "if event := <-changed")}},
	{"exists、create、getchildren三个方法都可以添加watcher", "predecessor", 107 * ms, "B getData", []place{
		in("zkserver/request.go", "executeRead", "s.dataWatches.add(r.Path, c, oneShot) // also", "case jute.OpGetData: … s.dataWatches.add", "s.childWatches.add"),
		in("internal/museum/bugs/claim_d_test.go", "TestACreateSetsNoWatch")}},
	{"public class zklock implements autocloseable, watcher", "D2", 2550 * ms, "A delete", []place{in(listings+"d_first.go", "Unlock"), in(listings+"d_first.go", "process"), in("zklock/lock.go", "Do", "defer func() {", "l.Unlock(unlockCtx)")}},
	{`this.zookeeper = new zookeeper("localhost:2181",`, "D5", 0, "", []place{in(step3, "enqueue", "if err != nil { … lock %s")}},
	{`stat stat = zookeeper.exists("/" + businesscode, false);`, "D4", 0, "", []place{in(listings+"d_first.go", "getLock", "found, err := l.exists", "[D4]"), parents}},
	{"//创建瞬时有序节点 /order/order_00000001", "D's first lock, and a session ends", 81 * ms, "B create", []place{in(listings+"d_first.go", "getLock", "zk.FlagEphemeralSequential"), enqueue}},
	{"//如果创建的节点是第一个子节点,则获得锁", "D's first lock, and a session ends", 142 * ms, "A holds", []place{in(listings+"d_first.go", "getLock", "slices.Sort(childrenNodes) … return true"), first}},
	{"//如果不是第一个子节点,则监听前一个节点", "D's first lock, and a session ends", 150 * ms, "B exists", []place{in(listings+"d_first.go", "getLock", "lastNode := firstNode … lastNode = node"), watchBefore}},
	{`zookeeper.exists("/"+businesscode+"/"+lastnode,true);`, "D1", 0, "", []place{in(step3, "Lock", "// GetW and not ExistsW … continue")}},
	{"synchronized (this){", "D2", 0, "", []place{in(listings+"d_first.go", "getLock", "java.Preemptible(\"D2\") … l.Wait()"), in(listings+"d_first.go", "process", "l.Notify()"), in(step3, "Lock", "if event := <-changed")}},
	{"if (event.gettype() == event.eventtype.nodedeleted){", "D's first lock, and a session ends", 4230 * ms, "B note", []place{in(listings+"d_first.go", "process"), in(step3, "Lock", "if event := <-changed")}},
	{"使用 zookeeper 的临时有序节点创建子节点", "predecessor", 73 * ms, "C create", []place{enqueue}},
	{"如果当前节点的名称是所有子节点中最小的,则获取分布式锁", "predecessor", 90 * ms, "A holds", []place{before, first}},
	{"如果当前节点不是所有子节点中最小的,则监听前一个子节点的删除事件", "predecessor", 107 * ms, "B getData", []place{in(listings+"d_first.go", "getLock", "[D1]"), watchBefore}},
	{"当前一个子节点被删除时,重新执行第四步", "D3", 0, "", []place{lookAgain}},
	{"业务操作完成后,执行 close() 方法释放锁,删除当前节点", "predecessor", 234 * ms, "A delete", []place{in(listings+"d_first.go", "Unlock"), unlock}},
	{"需要注意的是,此实现方式还可能存在死锁问题", "timeout", 4260 * ms, "A expired", []place{in("internal/museum/bugs/claim_d_test.go", "TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires"), sessionEnds}},
	// D, the wait time
	{"针对死锁chatgpt3.5的解决方案:", "timeout", 4260 * ms, "A expired", []place{in("zkserver/server.go", "clock"), in("zkserver/session.go", "touchLocked", "ss.deadline ="), sessionEnds}},
	{"引入超时机制", "timeout", 0, "", []place{ctxEnds}},
	{"则当前节点主动删除自己的临时节点,释放锁", "timeout", 205 * ms, "B delete sent", []place{in(step5, "run", "l.remove()"), in(step5, "remove", "conn.Delete(l.node, -1)")}},
	{"可以在一定时间间隔内向 zookeeper 发送心跳消息", "D12", 2250 * ms, "A setData", []place{in(listings+"d_heartbeat.go", "startHeartbeatThread", "l.zkClient.Set"), in("zkserver/session.go", "touchLocked", "ss.deadline =")}},
	{"表示等待前一个节点释放锁的最长时间", "timeout", 205 * ms, "B done", []place{ctxEnds, in(step5, "contend", "case <-ctx.Done(): … err = ctx.Err()")}},
	{"主动删除自己的临时节点,重新尝试获取锁", "D6", 13600 * ms, "B delete sent", []place{in(listings+"d_wait.go", "lock", "l.zkClient.Delete(l.currentLockNodePath, -1) … return ErrWaitTime"), giveUp}},
	{`private static final string root_node = "/businesscode";`, "D9", 0, "", []place{
		in(listings+"d_wait.go", "NewDistributedLock", "rootNode: path.Dir(p)"), in(listings+"d_wait.go", "lock", "l.zkClient.Children(l.rootNode)"),
		in(step3, "predecessor", "l.conn.Children(l.path)", "if !strings.HasPrefix(child, prefix)")}},
	{"if (zkclient.exists(root_node, false) == null) {", "D4", 700 * ms, "B create sent", []place{in(listings+"d_wait.go", "NewDistributedLock", "conn.Exists(l.rootNode) … conn.Create(l.rootNode"), parents}},
	{"if (stat != null) {", "D7", 0, "", []place{in(listings+"d_wait.go", "lock", "[D7]", "if stat {"), noNodeGoesOn}},
	{"// 等待成功,重新执行获取锁操作", "D6", 0, "", []place{in(listings+"d_wait.go", "lock", "if latch.AwaitFor(waitTime) { … [D6, D8]"), lookAgain}},
	{"// 超时未等到通知,主动删除自己的临时节点,放弃获取锁", "D6", 0, "", []place{in(listings+"d_wait.go", "lock", "l.zkClient.Delete(l.currentLockNodePath, -1) … return ErrWaitTime"), giveUp, ctxEnds}},
	{`throw new runtimeexception("failed to release lock: " + lockname, e);`, "D10", 0, "", []place{in(step3, "Unlock", "if l.node == \"\" { … return ErrNotLocked")}},
	{"需要确保所有节点设置的 waittime 值是一致的", "timeout", 245 * ms, "B delete", []place{ctxEnds}},
	{"通过 thread.currentthread().isinterrupted() 判断线程是否被打断", "timeout", 205 * ms, "B done", []place{in(step5, "await", "select { … return ctx.Err()")}},
	// D, the heartbeat
	{"下面是使用心跳检测机制的代码实例", "D12", 2250 * ms, "A setData", []place{in(listings+"d_heartbeat.go", "startHeartbeatThread", "for { … t.Sleep(HeartbeatRate)"), clock}},
	{"if (currentnodeindex == 0) {", "D12", 0, "", []place{in(step5, "Lost"), clock}},
	{"stopheartbeatthread(); // 停止心跳线程", "D11", 0, "", []place{in(listings+"d_heartbeat.go", "Unlock", "l.zkClient.Delete … l.stopHeartbeatThread()"), in(listings+"d_heartbeat.go", "startHeartbeatThread", "[D11]"), in(step5, "hold", "case <-l.over.Done(): … return nil")}},
	{"zkclient.setdata(currentlocknodepath, null, -1);", "D12", 0, "", []place{in(listings+"d_heartbeat.go", "startHeartbeatThread", "l.zkClient.Set(l.currentLockNodePath"), in(step5, "look", "l.lock.conn.Get(l.node)")}},
	{"从而保证自己的临时节点不会过期", "D12", 3450 * ms, "A expired", []place{in(listings+"d_heartbeat.go", "Lock", "[D12]", "l.startHeartbeatThread()"), clock}},
	{"心跳线程的 while 循环不能被打断", "D11", 0, "", []place{in(listings+"d_heartbeat.go", "startHeartbeatThread", "for {", "[D11]"), in(step5, "hold", "case <-l.over.Done(): … return nil")}},

	// E
	{"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])", "E2", 0, "", []place{in(others+"redis/lock.go", "compareAndDelete", "compareAndDelete"), in(step1, "Unlock", "string(data) != l.id", "l.conn.Delete(l.path, stat.Version)")}},
	{"都是一个自然的次序发号器", "herd", 46 * ms, "B create", []place{sequence, createSequential}},
	{"这个序次编号,是上一个天生的序次编号加 1", "B1", 1350 * ms, "B create", []place{sequence}},
	{"划定节点编号最小的谁人得到锁", "predecessor", 90 * ms, "A holds", []place{before, first}},
	{"只管是耐久节点(PERSISTENT 范例)", "predecessor", 73 * ms, "C create", []place{in(step3, "createParents", "zk.FlagPersistent")}},
	{"划定排号最小的谁人得到锁", "herd", 90 * ms, "A holds", []place{in(step2, "isFirst", "case -1: … first = false"), in(step2, "Lock", "if first { … return nil")}},
	{"开释锁的时辰,就必要删除抢号的 Znode", "predecessor", 234 * ms, "A delete", []place{unlock}},
	{"伐鼓传花似的依次向后", "predecessor", 0, "", []place{in(step3, "Lock", "l.conn.GetW(l.path + \"/\" + before)", "if event := <-changed")}},
	{"只必要监听 linsten 可能 watch 监督排号在本身前面谁人", "predecessor", 107 * ms, "B getData", []place{watchBefore, before}},
	{"就举办再一次判定", "predecessor", 0, "", []place{lookAgain}},
	{"后头监督前面,就不怕中间截断吗?", "E1", 0, "", []place{in(step5, "Token"), clock}},
	{"Zookeeper 的内部机制,能担保", "timeout", 4260 * ms, "A expired", []place{sessionEnds, in("zkserver/tree.go", "remove", "t.s.dataWatches.fire"), shows("zkserver/README.md#how-it-works")}},
	{"集群处事器失去接洽,这个姑且 Znode 也将自动删除", "timeout", 4260 * ms, "A expired", []place{sessionEnds, in("zkserver/server.go", "clock")}},
	{"排在它后头的谁人节点,也能收到删除变乱,从而得到锁", "D3", 3200 * ms, "B event", []place{lookAgain}},
	{"可以停止羊群效应", "herd beside chain", 4620 * us, "", []place{watchBefore, in(step2, "Lock", "l.conn.ChildrenW(l.path)"), shows("docs/figures/real-requests.svg")}},
	{"// 这里行使@Test会报错", "", 0, "", nil},
	{"RetryPolicy policy = new ExponentialBackoffRetry(1000, 10);", "step 5 is cut off", 1165 * ms, "B getData sent", []place{retry}},
}

// nothing says why there is nothing to see.
var nothing = map[string]locks.Text{
	"悲观锁使用不当还可能产生死锁的情况":          {En: "Nothing is to be seen here: a scene of the lab has one lock, and a deadlock needs two.", Zh: "这里没有可看的：实验室的场景只有一个锁，而死锁需要两个。"},
	"TreeCache 订阅的代码在源码工程中已经被注释": {En: "Nothing is to be seen here: no lock of this project keeps a copy of the tree, and the article's own lines are a comment.", Zh: "这里没有可看的：本项目的锁都不保存整棵子树的副本，文章里的这几行本身也只是注释。"},
	"// 这里行使@Test会报错":            {En: "Nothing is to be seen here: the test ends the article's program, and the lock has no part in it.", Zh: "这里没有可看的：结束程序的是测试框架，与锁无关。"},
}
