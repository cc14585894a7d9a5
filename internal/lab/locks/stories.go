package locks

import (
	"slices"
	"time"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

// A Story explains a scene at a few instants of its film.
type Story struct {
	Scene Scene  `json:"scene"` // with Choices, and for a listing, it is a schedule
	Stops []Stop `json:"stops"`
}

// A Stop is an instant of a film, and what is to be seen there.
type Stop = scenes.Stop

func three(lock string) Scene {
	return Scene{Lock: lock, Contenders: 3, LatencyMs: 20, Seed: 1}
}

// twice is step 4's scene: A locks twice, and unlocks twice.
var twice = Scene{
	Lock: "reentrant", Contenders: 2, Seed: 1,
	Scripts: [][]explore.Op{{explore.LockOp, explore.LockOp, explore.UnlockOp, explore.UnlockOp}, {explore.LockOp, explore.UnlockOp}},
	Choices: []string{"A: request", "B: request", "A: request", "B: request", "B: request"},
}

// alone is a scene of two processes: A locks eight times before B's first request arrives.
var alone = Scene{
	Lock: "zklock-caching", Contenders: 2, Seed: 1,
	Scripts: [][]explore.Op{slices.Repeat([]explore.Op{explore.LockOp, explore.UnlockOp}, 8), {explore.LockOp, explore.UnlockOp}},
	Choices: slices.Concat(slices.Repeat([]string{"A: request", "A: request", "A: unlock"}, 4), slices.Repeat([]string{"A: request"}, 3),
		slices.Repeat([]string{"A: unlock"}, 4), []string{"B: request", "A: request"}),
}

// changed is the scene of three contenders with changes.
func changed(lock string, changes ...film.Change) Scene {
	s := three(lock)
	s.Changes = changes
	return s
}

var (
	leased    = changed("timeout", film.Change{At: 200 * ms, Who: "B", Do: explore.EndContext}, film.Change{At: 250 * ms, Who: "A", Do: explore.Stop})
	replyLost = changed("zklock", film.Change{At: 60 * ms, Who: "A", Do: explore.LoseReply})
)

const ms = time.Millisecond

// stories are those of the steps and of zklock, by name. The instants are those of the
// lock's film. The bugs have their stories in package scenes.
var stories = map[string]Story{
	"naive": {three("naive"), []Stop{
		{At: 15 * ms, Text: Text{En: "A calls Lock. Its request to create the node /lab/lock is on its way to the server. B and C have not called Lock yet.", Zh: "A 调用了 Lock：创建节点 /lab/lock 的请求正在去服务器的路上。B 和 C 还没有调用 Lock。"}, States: "waits outside outside"},
		{At: 67 * ms, Quote: "创建临时节点,创建成功则加锁成功,返回true", Text: Text{En: "The server has created the node, and A has the reply: A holds the lock. Of all creates of one name only one succeeds, so the server decides who holds it.", Zh: "服务器已经创建节点，A 也收到了响应：A 持有锁。同名的节点只能创建成功一次，所以锁归谁，由服务器决定。"}, States: "holds waits waits", Nodes: "A"},
		{At: 113 * ms, Text: Text{En: "B and C have the reply that the node exists. Each has read it and left a watch: the server will send each of them one event when the node changes.", Zh: "B 和 C 得知节点已存在。两者都读取了节点，同时设置了监听：节点变化时，服务器会各通知一次。"}, States: "holds waits waits", Nodes: "A", Watchers: "B C"},
		{At: 234 * ms, Text: Text{En: "A unlocks: it deletes the node. Both watches fire at once, and two events are on their way.", Zh: "A 释放锁，删除了节点。两个监听同时触发，两个事件正在路上。"}, States: "unlocks waits waits"},
		{At: 255 * ms, Text: Text{En: "B and C are awake, and both ask for the node at once. One of them will wake for nothing. With n contenders it is n − 1 of them, at each release.", Zh: "B 和 C 都醒了，同时请求创建节点，其中一个必然是无效唤醒。如果有 n 个竞争者在等待，每次释放就有 n − 1 次无效唤醒。"}, States: "unlocks waits waits"},
		{At: 294 * ms, Text: Text{En: "B was first at the server and holds the lock. C's event came earlier: the order of waiting does not count here.", Zh: "B 的请求先到服务器，B 持有锁。C 的事件其实到得更早：在这里，等待的先后不起作用。"}, States: "done holds waits", Nodes: "B"},
		{At: 563 * ms, Text: Text{En: "C holds the lock at last. Each had it once, never two at a time: the naive lock excludes. Its cost is the subject of the next step.", Zh: "C 终于持有锁。每个竞争者各拿到一次，从来没有两个持有者：最朴素的锁也做到了互斥。代价下一步再讲。"}, States: "done done holds", Nodes: "C"},
	}},
	"herd": {three("herd"), []Stop{
		{At: 46 * ms, Text: Text{En: "Each contender creates a node of its own in the queue, and the server numbers them. A came first, B second.", Zh: "每个竞争者都在队列里创建自己的节点，序号由服务器给出。A 第一，B 第二。"}, States: "waits waits waits", Nodes: "A B"},
		{At: 90 * ms, Text: Text{En: "A has read the list of nodes. Its own is the first one, so A holds the lock. B and C will find that theirs are not.", Zh: "A 读取了节点列表，自己的节点排第一，所以 A 持有锁。B 和 C 会发现自己的不是。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "A B"},
		{At: 113 * ms, Text: Text{En: "The watch of each waiter is on the parent: any change of the list wakes it.", Zh: "每个等待者监听的都是父节点：列表一变，就会醒来。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "A B C"},
		{At: 234 * ms, Text: Text{En: "A deletes its node. All watches on the parent fire: B's, C's, and the one that A had left itself.", Zh: "A 删除自己的节点。父节点上的监听全部触发：B 的、C 的，还有 A 自己留下的。"}, States: "unlocks waits waits", Nodes: "B C"},
		{At: 280 * ms, Quote: "有个专业名词:惊群效应", Text: Text{En: "Everybody has woken and reads the whole list again. Only B's node is the first. C must wait again, and has asked for the next change: this is the herd effect.", Zh: "等待者全都醒来，又把整个列表读了一遍。只有 B 的节点排第一；C 只好继续等，重新设置监听：这就是惊群效应，又称羊群效应。"}, States: "done waits waits", Nodes: "B C", Watchers: "B C"},
		{At: 294 * ms, Text: Text{En: "B holds the lock: the queue is fair. But each release costs a request and an event of every waiter.", Zh: "B 持有锁：队列是公平的。但是每次释放，每个等待者都要花费一个请求和一个事件。"}, States: "done holds waits", Nodes: "B C", Watchers: "B C"},
		{At: 505 * ms, Text: Text{En: "C holds the lock. Among three nobody minds; among a hundred, nearly all of what is sent wakes somebody for nothing.", Zh: "C 持有锁。只有三个竞争者时无所谓；有一百个时，发出的几乎全是无谓的唤醒。"}, States: "done done holds", Nodes: "C", Watchers: "C"},
	}},
	"predecessor": {three("predecessor"), []Stop{
		{At: 73 * ms, Text: Text{En: "Three nodes are in the queue, as in step 2. Only the node that a waiter watches differs.", Zh: "队列里有三个节点，与第 2 步一样。不同的是等待者监听什么。"}, States: "waits waits waits", Nodes: "A B C"},
		{At: 107 * ms, Text: Text{En: "A holds the lock. B watches one node only: A's, the one before its own.", Zh: "A 持有锁。B 只监听一个节点，也就是前驱节点：A 的节点。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "B"},
		{At: 148 * ms, Text: Text{En: "C watches B's node. The watches form a chain, one link for each waiter.", Zh: "C 监听 B 的节点。监听连成一条链，每个等待者是一环。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "B C"},
		{At: 234 * ms, Quote: "伐鼓传花似的依次向后", Text: Text{En: "A deletes its node. One watch fires: B's. C is not disturbed.", Zh: "A 删除自己的节点。像击鼓传花一样，只触发一个监听：B 的。C 不受打扰。"}, States: "unlocks waits waits", Nodes: "B C", Watchers: "C"},
		{At: 260 * ms, Quote: "就举办再一次判定", Text: Text{En: "B is awake, and reads the list again. The node before it may have gone because its owner gave up, and then it would not be B's turn.", Zh: "B 醒了，再读一次列表。前一个节点消失，也可能是因为它的所有者放弃了等待，那样就还没轮到 B。"}, States: "unlocks waits waits", Nodes: "B C", Watchers: "C"},
		{At: 308 * ms, Text: Text{En: "B's node is the first: B holds the lock.", Zh: "B 的节点排第一：B 持有锁。"}, States: "done holds waits", Nodes: "B C", Watchers: "C"},
		{At: 514 * ms, Text: Text{En: "C holds the lock. Each release has cost one event, however many wait: n − 1 events for n contenders.", Zh: "C 持有锁。等待者再多，每次释放也只有一个事件：n 个竞争者总共 n − 1 个。"}, States: "done done holds", Nodes: "C"},
	}},
	"reentrant": {twice, []Stop{
		{At: 250 * ms, Quote: "private final ConcurrentMap<Thread, InterProcessMutex.LockData> threadData;", Text: Text{En: "A calls Lock for the first time. The book has no entry of A, so A queues as in step 3.", Zh: "A 第一次调用 Lock。登记簿里没有 A，所以 A 像第 3 步那样排队。"}, States: "waits waits", Nodes: "A"},
		{At: 950 * ms, Quote: "//当前线程有锁的信息,锁次数加1,返回", Text: Text{En: "A's node is the first, and A holds the lock. A has called Lock a second time at once: the count is 2, and no request was sent for it.", Zh: "A 的节点排第一，A 持有锁。A 随即又调用了一次 Lock：重入次数变成 2，没有为此发送任何请求。"}, States: "holds waits", Nodes: "A B"},
		{At: 1450 * ms, Text: Text{En: "B watches A's node. The server does not see how many times A holds the lock: there is one node.", Zh: "B 监听 A 的节点。A 加锁几次，服务器并不知道：节点只有一个。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
		{At: 1750 * ms, Quote: "(1)减少重入锁的计数,如果最终的值不是0,直接返回", Text: Text{En: "A unlocks once. The count falls to 1, nothing is sent, and A holds the lock as before.", Zh: "A 释放一次。重入次数减为 1，不发送任何请求，A 仍然持有锁。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
		{At: 1950 * ms, Quote: "(2)如果计数器为0,移除Watchers监听器,并且删除创建的Znode临时节点。", Text: Text{En: "A unlocks a second time. The count is 0, so the request to delete the node is on its way.", Zh: "A 第二次释放。重入次数归零，删除节点的请求这才发出。"}, States: "unlocks waits", Nodes: "A B", Watchers: "B"},
		{At: 2150 * ms, Text: Text{En: "A's node is gone, and the event is on its way to B.", Zh: "A 的节点已删除，事件正在去 B 的路上。"}, States: "unlocks waits", Nodes: "B"},
		{At: 2650 * ms, Text: Text{En: "B has read the list again, and holds the lock. To lock twice has cost a number in A's memory, and nothing at the server.", Zh: "B 再次读取列表，持有锁。多加一次锁，只多用了 A 内存里的一个数，服务器上没有任何代价。"}, States: "done holds", Nodes: "B"},
	}},
	"timeout": {leased, []Stop{
		{At: 100 * ms, Text: Text{En: "A's node is the first in the queue. Before A takes the lock it reads this node: the number of its create, the czxid, is A's fencing token.", Zh: "A 的节点在队列里排第一。A 拿锁之前先读取这个节点：创建时的编号 czxid 就是 A 的 fencing token（隔离令牌）。"}, States: "waits waits waits", Nodes: "A B C"},
		{At: 150 * ms, Text: Text{En: "A holds the lock as a lease. If no read of its node is answered for a session timeout, A's own clock closes Lost.", Zh: "A 持有锁，这是一份租约。如果在一个会话超时时间内读不到自己的节点，A 就凭自己的时钟关闭 Lost。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "B C"},
		{At: 205 * ms, Quote: "引入超时机制", Text: Text{En: "B's caller stops waiting: the ctx ends, and Lock returns an error at once. The delete of B's node is on its way.", Zh: "B 的调用者不愿再等：ctx 结束，Lock 立即返回错误。删除 B 节点的请求正在路上。"}, States: "holds done waits", Nodes: "A B C", Watchers: "B C"},
		{At: 245 * ms, Text: Text{En: "B's node is gone, and C is woken. The lock was not released: C must read the list again, and finds A's node before its own.", Zh: "B 的节点已删除，C 醒来。但锁并没有释放：C 必须再读一次列表，这时排在它前面的是 A 的节点。"}, States: "holds done waits", Nodes: "A C", Watchers: "B"},
		{At: 320 * ms, Text: Text{En: "C watches A's node now. A is stopped, as by a long garbage collection: its client sends no pings.", Zh: "C 转而监听 A 的节点。A 这时停顿了，就像遇到一次很长的垃圾回收：客户端不再发送心跳。"}, States: "holds done waits", Nodes: "A C", Watchers: "B C"},
		{At: 4260 * ms, Text: Text{En: "A's session has expired, and the server has deleted A's node. A cannot notice: it is stopped.", Zh: "A 的会话过期，服务器删除了 A 的节点。A 正在停顿，无法得知。"}, States: "holds done waits", Nodes: "C"},
		{At: 4335 * ms, Text: Text{En: "A runs on. Its clock has passed the end of the lease, so Lost is closed, and Unlock returns ErrLost.", Zh: "A 恢复运行，自己的时钟已越过租约的终点，所以 Lost 已关闭，Unlock 返回 ErrLost。"}, States: "done done waits", Nodes: "C"},
		{At: 4360 * ms, Text: Text{En: "C holds the lock, with a higher token than A. If a write of A is on its way, what the lock protects can refuse it.", Zh: "C 持有锁，令牌比 A 的大。如果 A 还有写请求在路上，受保护的资源可以凭令牌拒绝它。"}, States: "done done holds", Nodes: "C"},
	}},
	"zklock": {replyLost, []Stop{
		{At: 50 * ms, Quote: "withProtection().", Text: Text{En: "Two nodes are in the queue. Before the number, each name has an id that no other node has. The reply to A's create is on its way.", Zh: "队列里有两个节点。每个名字的序号前面都有一个唯一的 ID。A 的 create 响应正在路上。"}, States: "waits waits waits", Nodes: "A B"},
		{At: 70 * ms, Text: Text{En: "The reply is lost with A's connection. A's node exists, and A has no reply that says so. In steps 1 to 5, Lock would return an error now, and the node would keep all others out until the session ends.", Zh: "响应随 A 的连接一起丢失。A 的节点已经存在，A 却不知道。在第 1 到第 5 步，Lock 会返回错误，而这个节点会一直挡住别人，直到会话结束。"}, States: "waits waits waits", Nodes: "A B"},
		{At: 240 * ms, Text: Text{En: "B and C watch their own nodes and those before them. So events alone will show them when they are first.", Zh: "B 和 C 既监听自己的节点，也监听前面的节点。这样单凭事件，就能知道何时轮到自己。"}, States: "waits waits waits", Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1120 * ms, Text: Text{En: "A's client has connected again, and its session has lived on.", Zh: "A 的客户端重新连上了，会话还在。"}, States: "waits waits waits", Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1195 * ms, Text: Text{En: "A has sent a sync, so that its server is not behind, and has read the list. The name with A's id is in it: A makes no second node.", Zh: "A 先发送 sync，确保服务器的数据不落后，再读取列表。列表里有带着 A 的 ID 的名字，所以不会创建第二个节点。"}, States: "waits waits waits", Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1325 * ms, Text: Text{En: "A has proved that its session lives, and holds the lock with the node that it had lost.", Zh: "A 证明了自己的会话还在，用找回的节点持有锁。"}, States: "holds waits waits", Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1470 * ms, Text: Text{En: "A has unlocked. The events are on their way to B and C.", Zh: "A 释放了锁。事件正在去 B 和 C 的路上。"}, States: "unlocks waits waits", Nodes: "B C", Watchers: "B C C"},
		{At: 1482 * ms, Text: Text{En: "B holds the lock in the instant in which its event arrives. It sends nothing first, where step 3 reads the list again.", Zh: "事件一到，B 就持有锁，不必先发送任何请求；第 3 步在这里还要再读一次列表。"}, States: "unlocks holds waits", Nodes: "B C", Watchers: "B C C"},
		{At: 1640 * ms, Text: Text{En: "C gets the lock in the same way. Nothing of the lost reply is left.", Zh: "C 也这样拿到锁。丢失响应的影响已完全消除。"}, States: "done unlocks holds", Nodes: "C", Watchers: "C"},
	}},
	"zklock-caching": {alone, []Stop{
		{At: 650 * ms, Text: Text{En: "A holds the lock. B has called Lock, too, but its request is on its way for long: as far as the server knows, A is alone.", Zh: "A 持有锁。B 也调用了 Lock，但请求在路上要走很久：在服务器看来，只有 A 一个。"}, States: "holds waits", Nodes: "A"},
		{At: 1050 * ms, Text: Text{En: "A has unlocked, and its node has gone, as without the option. For its next lock A makes a new node: two requests each time.", Zh: "A 释放了锁，节点已删除，与不用这个选项时一样。下一次加锁，A 又创建新节点：每次两个请求。"}, States: "unlocks waits", Nodes: ""},
		{At: 3900 * ms, Text: Text{En: "A's fifth node. The numbers of the five follow each other: nobody came in between. So A lists the queue, and watches the parent.", Zh: "A 的第五个节点。五个序号一个接着一个：中间没有别人来过。于是 A 列出队列，并且监听父节点。"}, States: "holds waits", Nodes: "A"},
		{At: 4750 * ms, Text: Text{En: "Only A's node is in the list, so the node stays. A has unlocked and locked three times since, and no packet was sent.", Zh: "列表里只有 A 的节点，所以节点留着不删。此后 A 释放、加锁各三次，一个包也没有发。"}, States: "holds waits", Nodes: "A", Watchers: "A"},
		{At: 4950 * ms, Text: Text{En: "A has unlocked for the last time, and its node is there: it is cached. Nobody holds the lock, but a TryLock of another process would fail now.", Zh: "A 最后一次释放了锁，节点却保留着。没有人持有锁，可是别的进程此刻调用 TryLock 会失败。"}, States: "done waits", Nodes: "A", Watchers: "A"},
		{At: 5150 * ms, Text: Text{En: "B's node is behind A's. It has changed the list, so A's watch fires: the event asks A for the lock.", Zh: "B 的节点排在 A 的后面。列表因此变了，A 的监听触发：这个事件就是来向 A 要锁的。"}, States: "done waits", Nodes: "A B"},
		{At: 5850 * ms, Text: Text{En: "A has deleted its node. B lists the queue, and will find its own node first.", Zh: "A 删除了自己的节点。B 列出队列，会发现自己的节点排第一。"}, States: "done waits", Nodes: "B"},
		{At: 6550 * ms, Text: Text{En: "B holds the lock. The way through A has cost it two or three round trips more than a free lock would: that is the price of A's locks without a packet.", Zh: "B 持有锁。与锁空闲时相比，向 A 要锁多花了两三次往返：A 加锁不用发包，代价就在这里。"}, States: "done holds", Nodes: "B", Watchers: "B"},
	}},
}
