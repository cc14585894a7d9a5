package locks

import (
	"time"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

// A Story explains a scene at a few instants of its film.
type Story struct {
	Scene Scene  `json:"scene"` // with Choices, and for a listing, it is a schedule
	Stops []Stop `json:"stops"`
}

// A Stop is an instant, and what is to be seen there. Quote is what an article
// says, if its words are at stake. The rest is what the caption claims of the film:
// a test compares it.
type Stop struct {
	At time.Duration `json:"at_ns"`
	Text
	Quote    string            `json:"quote,omitempty"`
	States   map[string]string `json:"-"` // of contenders
	Nodes    string            `json:"-"` // the owners of the nodes, in the order of their names
	Watchers string            `json:"-"` // the clients with a watch, in order
	Broken   bool              `json:"-"` // a violation has happened
}

// states of three contenders, or two.
func states(of ...string) map[string]string {
	all := make(map[string]string)
	for i, s := range of {
		all[string(rune('A'+i))] = s
	}
	return all
}

func three(lock string) Scene {
	return Scene{Lock: lock, Contenders: 3, LatencyMs: 20, Seed: 1}
}

// twice is step 4's scene: A locks twice, and unlocks twice.
var twice = Scene{
	Lock: "reentrant", Contenders: 2, Seed: 1,
	Scripts: [][]explore.Op{{explore.LockOp, explore.LockOp, explore.UnlockOp, explore.UnlockOp}, {explore.LockOp, explore.UnlockOp}},
	Choices: []string{"A: request", "B: request", "A: request", "B: request", "B: request"},
}

// changed is the scene of three contenders with changes.
func changed(lock string, changes ...film.Change) Scene {
	s := three(lock)
	s.Changes = changes
	return s
}

// chosen is a scene with a schedule in which faults of these kinds may happen.
func chosen(lock string, contenders, faults int, kinds []explore.Fault, choices ...string) Scene {
	return Scene{Lock: lock, Contenders: contenders, Seed: 1, Kinds: kinds, Faults: faults, Choices: choices}
}

var (
	leased    = changed("timeout", film.Change{At: 200 * ms, Who: "B", Do: explore.EndContext}, film.Change{At: 250 * ms, Who: "A", Do: explore.Stop})
	replyLost = changed("zklock", film.Change{At: 60 * ms, Who: "A", Do: explore.LoseReply})
)

// Schedules for stories of which the bug's own scene shows too little: in D8 no
// waiter is woken, in D11 and D12 no heartbeat is sent. D10's has no choice, and a
// scene without choices is not a schedule. A client that is cut off connects again
// after a second, and meanwhile the clock of a wait or of a heartbeat goes on.
var (
	woken = chosen("D8", 2, 1, []explore.Fault{explore.Cut}, "A: request", "A: request", "B: request", "B: request", "B: request",
		"A: cut", "A: reconnect", "B: request", "B: request", "B: request")
	forbidden = chosen("D10", 1, 1, []explore.Fault{explore.Expire}, "A: request")
	beating   = chosen("D11", 1, 1, []explore.Fault{explore.Pause}, "A: request", "A: request", "all: time passes", "gap D11: go on", "A: request", "A: reconnect")
	outlived  = chosen("D12", 2, 2, []explore.Fault{explore.Cut, explore.Expire}, "A: request", "A: request", "A: cut", "A: reconnect", "A: request",
		"B: request", "B: request", "B: request", "A: expire", "B: request")
)

const (
	failed                       = "failed"
	out, wait, hold, frees, over = "outside", "waits", "holds", "unlocks", "done"
	ms                           = time.Millisecond
)

// stories are by the name of a lock. The instants are those of its film.
var stories = map[string]Story{
	"naive": {three("naive"), []Stop{
		{At: 15 * ms, Text: Text{"A calls Lock. Its request to create the node /lab/lock is on its way to the server. B and C have not called Lock yet.", "A 调用了 Lock：创建节点 /lab/lock 的请求正在去服务器的路上。B 和 C 还没有调用 Lock。"}, States: states(wait, out, out)},
		{At: 67 * ms, Text: Text{"The server has created the node, and A has the reply: A holds the lock. Of all creates of one name only one succeeds, so the server decides who holds it.", "服务器已经创建节点，A 也收到了应答：A 持有锁。同名的节点只能创建成功一次，所以锁归谁，由服务器决定。"}, States: states(hold, wait, wait), Nodes: "A"},
		{At: 113 * ms, Text: Text{"B and C have the reply that the node exists. Each has read it and left a watch: the server will send both one event, when the node changes.", "B 和 C 得知节点已存在。它们都读取了节点，同时设置了监听：节点变化时，服务器会各通知它们一次。"}, States: states(hold, wait, wait), Nodes: "A", Watchers: "B C"},
		{At: 234 * ms, Text: Text{"A unlocks: it deletes the node. Both watches fire at once, and two events are on their way.", "A 释放锁：它删除了节点。两个监听同时触发，两个事件正在路上。"}, States: states(frees, wait, wait)},
		{At: 255 * ms, Text: Text{"B and C are awake, and both ask for the node at once. One of them will wake for nothing. With n contenders it is n − 1 of them, at each release.", "B 和 C 都醒了，同时请求创建节点，其中一个必然白醒一场。如果有 n 个竞争者在等待，每次释放都有 n − 1 个白醒。"}, States: states(frees, wait, wait)},
		{At: 294 * ms, Text: Text{"B was first at the server and holds the lock. C's event came earlier: the order of waiting does not count here.", "B 的请求先到服务器，B 持有锁。C 的事件其实到得更早：在这里，等待的先后不起作用。"}, States: states(over, hold, wait), Nodes: "B"},
		{At: 563 * ms, Text: Text{"C holds the lock at last. Each had it once, never two at a time: the naive lock excludes. Its cost is the subject of the next step.", "C 终于持有锁。每个竞争者各拿到一次，从来没有两个持有者：最朴素的锁也做到了互斥。它的代价，下一步再讲。"}, States: states(over, over, hold), Nodes: "C"},
	}},
	"herd": {three("herd"), []Stop{
		{At: 46 * ms, Text: Text{"Each contender creates a node of its own in the queue, and the server numbers them. A came first, B second.", "每个竞争者都在队列里创建自己的节点，序号由服务器给出。A 第一，B 第二。"}, States: states(wait, wait, wait), Nodes: "A B"},
		{At: 90 * ms, Text: Text{"A has read the list of nodes. Its own is the first one, so A holds the lock. B and C will find that theirs are not.", "A 读取了节点列表，自己的节点排第一，所以 A 持有锁。B 和 C 会发现自己的不是。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "A B"},
		{At: 113 * ms, Text: Text{"The watch of each waiter is on the parent: any change of the list wakes it.", "每个等待者监听的都是父节点：列表一变，就会醒来。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "A B C"},
		{At: 234 * ms, Text: Text{"A deletes its node. All watches on the parent fire: B's, C's, and the one that A had left itself.", "A 删除自己的节点。父节点上的监听全部触发：B 的、C 的，还有 A 自己留下的。"}, States: states(frees, wait, wait), Nodes: "B C"},
		{At: 280 * ms, Quote: "有个专业名词:惊群效应", Text: Text{"Everybody has woken and reads the whole list again. Only B's node is the first. C must wait again, and has asked for the next change: this is the herd effect.", "等待者全都醒来，又把整个列表读了一遍。只有 B 的节点排第一；C 只好继续等，重新设置监听：这就是惊群效应，又称羊群效应。"}, States: states(over, wait, wait), Nodes: "B C", Watchers: "B C"},
		{At: 294 * ms, Text: Text{"B holds the lock: the queue is fair. But each release costs a request and an event of every waiter.", "B 持有锁：队列是公平的。但是每次释放，每个等待者都要花费一个请求和一个事件。"}, States: states(over, hold, wait), Nodes: "B C", Watchers: "B C"},
		{At: 505 * ms, Text: Text{"C holds the lock. Among three nobody minds; among a hundred, nearly all of what is sent wakes somebody for nothing.", "C 持有锁。只有三个竞争者时无所谓；有一百个时，发出的几乎全是无谓的唤醒。"}, States: states(over, over, hold), Nodes: "C", Watchers: "C"},
	}},
	"predecessor": {three("predecessor"), []Stop{
		{At: 73 * ms, Text: Text{"Three nodes are in the queue, as in step 2. Only the node that a waiter watches differs.", "队列里有三个节点，与第 2 步一样。不同的是等待者监听什么。"}, States: states(wait, wait, wait), Nodes: "A B C"},
		{At: 107 * ms, Text: Text{"A holds the lock. B watches one node only: A's, the one before its own.", "A 持有锁。B 只监听一个节点，也就是前驱节点：A 的节点。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B"},
		{At: 148 * ms, Text: Text{"C watches B's node. The watches form a chain, one link for each waiter.", "C 监听 B 的节点。监听连成一条链，每个等待者是一环。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B C"},
		{At: 234 * ms, Quote: "伐鼓传花似的依次向后", Text: Text{"A deletes its node. One watch fires: B's. C is not disturbed.", "A 删除自己的节点。像击鼓传花一样，只触发一个监听：B 的。C 不受打扰。"}, States: states(frees, wait, wait), Nodes: "B C", Watchers: "C"},
		{At: 260 * ms, Quote: "就举办再一次判定", Text: Text{"B is awake, and reads the list again. The node before it may have gone because its owner gave up, and then it would not be B's turn.", "B 醒了，再读一次列表。前一个节点消失，也可能是因为它的所有者放弃了等待，那样就还没轮到 B。"}, States: states(frees, wait, wait), Nodes: "B C", Watchers: "C"},
		{At: 308 * ms, Text: Text{"B's node is the first: B holds the lock.", "B 的节点排第一：B 持有锁。"}, States: states(over, hold, wait), Nodes: "B C", Watchers: "C"},
		{At: 514 * ms, Text: Text{"C holds the lock. Each release has cost one event, however many wait: n − 1 events for n contenders.", "C 持有锁。等待者再多，每次释放也只有一个事件：n 个竞争者总共 n − 1 个。"}, States: states(over, over, hold), Nodes: "C"},
	}},
	"reentrant": {twice, []Stop{
		{At: 250 * ms, Quote: "private final ConcurrentMap<Thread, InterProcessMutex.LockData> threadData;", Text: Text{"A calls Lock for the first time. The book has no entry of A, so A queues as in step 3.", "A 第一次调用 Lock。登记簿里没有 A，所以它像第 3 步那样排队。"}, States: states(wait, wait), Nodes: "A"},
		{At: 950 * ms, Quote: "//当前线程有锁的信息,锁次数加1,返回", Text: Text{"A's node is the first, and A holds the lock. A has called Lock a second time at once: the count is 2, and no request was sent for it.", "A 的节点排第一，A 持有锁。它随即又调用了一次 Lock：重入次数变成 2，没有为此发送任何请求。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 1450 * ms, Text: Text{"B watches A's node. The server does not see how many times A holds the lock: there is one node.", "B 监听 A 的节点。A 持有几次，服务器并不知道：节点只有一个。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 1750 * ms, Quote: "(1)减少重入锁的计数,如果最终的值不是0,直接返回", Text: Text{"A unlocks once. The count falls to 1, nothing is sent, and A holds the lock as before.", "A 释放一次。重入次数减为 1，不发送任何请求，A 仍然持有锁。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 1950 * ms, Quote: "(2)如果计数器为0,移除Watchers监听器,并且删除创建的Znode临时节点。", Text: Text{"A unlocks a second time. The count is 0, so the request to delete the node is on its way.", "A 第二次释放。重入次数归零，删除节点的请求这才发出。"}, States: states(frees, wait), Nodes: "A B", Watchers: "B"},
		{At: 2150 * ms, Text: Text{"A's node is gone, and the event is on its way to B.", "A 的节点已删除，事件正在去 B 的路上。"}, States: states(frees, wait), Nodes: "B"},
		{At: 2650 * ms, Text: Text{"B has read the list again, and holds the lock. To lock twice has cost a number in A's memory, and nothing at the server.", "B 再次读取列表，持有锁。多加一次锁，只多用了 A 内存里的一个数，服务器上没有任何代价。"}, States: states(over, hold), Nodes: "B"},
	}},
	"timeout": {leased, []Stop{
		{At: 100 * ms, Text: Text{"A's node is the first in the queue. Before A takes the lock it reads this node: the number of its create, the czxid, is A's fencing token.", "A 的节点在队列里排第一。A 拿锁之前先读取这个节点：创建时的编号 czxid 就是 A 的隔离令牌。"}, States: states(wait, wait, wait), Nodes: "A B C"},
		{At: 150 * ms, Text: Text{"A holds the lock as a lease. If no read of its node is answered for a session timeout, A's own clock closes Lost.", "A 持有锁，这是一份租约。如果在一个会话超时时间内读不到自己的节点，A 就凭自己的时钟关闭 Lost。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B C"},
		{At: 205 * ms, Quote: "引入超时机制", Text: Text{"B's caller stops waiting: the ctx ends, and Lock returns an error at once. The delete of B's node is on its way.", "B 的调用者不愿再等：ctx 结束，Lock 立即返回错误。删除 B 节点的请求正在路上。"}, States: states(hold, over, wait), Nodes: "A B C", Watchers: "B C"},
		{At: 245 * ms, Text: Text{"B's node is gone, and C is woken. The lock was not released: C must read the list again, and finds A's node before its own.", "B 的节点已删除，C 醒来。但锁并没有释放：C 必须再读一次列表，这时排在它前面的是 A 的节点。"}, States: states(hold, over, wait), Nodes: "A C", Watchers: "B"},
		{At: 320 * ms, Text: Text{"C watches A's node now. A is stopped, as by a long garbage collection: its client sends no pings.", "C 转而监听 A 的节点。A 这时停顿了，就像遇到一次很长的垃圾回收：它的客户端不再发送心跳。"}, States: states(hold, over, wait), Nodes: "A C", Watchers: "B C"},
		{At: 4260 * ms, Text: Text{"A's session has expired, and the server has deleted A's node. A cannot notice: it is stopped.", "A 的会话过期，服务器删除了 A 的节点。A 正在停顿，无法得知。"}, States: states(hold, over, wait), Nodes: "C"},
		{At: 4335 * ms, Text: Text{"A runs on. Its clock has passed the end of the lease, so Lost is closed, and Unlock returns ErrLost.", "A 恢复运行。它的时钟已越过租约的终点，所以 Lost 已关闭，Unlock 返回 ErrLost。"}, States: states(over, over, wait), Nodes: "C"},
		{At: 4360 * ms, Text: Text{"C holds the lock, with a higher token than A. If a write of A is on its way, what the lock protects can refuse it.", "C 持有锁，它的令牌比 A 的大。如果 A 还有写请求在路上，受保护的资源可以凭令牌拒绝它。"}, States: states(over, over, hold), Nodes: "C"},
	}},
	"zklock": {replyLost, []Stop{
		{At: 50 * ms, Quote: "withProtection().", Text: Text{"Two nodes are in the queue. Before the number, each name has an id that no other node has. The reply to A's create is on its way.", "队列里有两个节点。每个名字的序号前面都有一个唯一的 ID。A 的 create 应答正在路上。"}, States: states(wait, wait, wait), Nodes: "A B"},
		{At: 70 * ms, Text: Text{"The reply is lost with A's connection. A's node exists, and A has no reply that says so. In steps 1 to 5, Lock would return an error now, and the node would keep all others out until the session ends.", "应答随 A 的连接一起丢失。A 的节点已经存在，A 却不知道。在第 1 到第 5 步，Lock 会返回错误，而这个节点会一直挡住别人，直到会话结束。"}, States: states(wait, wait, wait), Nodes: "A B"},
		{At: 240 * ms, Text: Text{"B and C watch their own nodes and those before them. So events alone will show them when they are first.", "B 和 C 既监听自己的节点，也监听前面的节点。这样单凭事件，就能知道何时轮到自己。"}, States: states(wait, wait, wait), Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1120 * ms, Text: Text{"A's client has connected again, and its session has lived on.", "A 的客户端重新连上了，会话还在。"}, States: states(wait, wait, wait), Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1195 * ms, Text: Text{"A has sent a sync, so that its server is not behind, and has read the list. The name with A's id is in it: A makes no second node.", "A 先发送 sync，确保服务器的数据不落后，再读取列表。列表里有带着 A 的 ID 的名字，所以不会创建第二个节点。"}, States: states(wait, wait, wait), Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1325 * ms, Text: Text{"A has proved that its session lives, and holds the lock with the node that it had lost.", "A 证明了自己的会话还在，用找回的节点持有锁。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B B C C C"},
		{At: 1470 * ms, Text: Text{"A has unlocked. The events are on their way to B and C.", "A 释放了锁。事件正在去 B 和 C 的路上。"}, States: states(frees, wait, wait), Nodes: "B C", Watchers: "B C C"},
		{At: 1482 * ms, Text: Text{"B holds the lock in the instant in which its event arrives. It sends nothing first, where step 3 reads the list again.", "事件一到，B 就持有锁，不必先发送任何请求；第 3 步在这里还要再读一次列表。"}, States: states(frees, hold, wait), Nodes: "B C", Watchers: "B C C"},
		{At: 1640 * ms, Text: Text{"C gets the lock in the same way. Nothing of the lost reply is left.", "C 也这样拿到锁。丢失应答的影响已完全消除。"}, States: states(over, frees, hold), Nodes: "C", Watchers: "C"},
	}},
	"D3": {Scene{}, []Stop{
		{At: 1750 * ms, Text: Text{"C, A and B have their nodes in the queue, in this order. C will hold the lock first, then A, then B.", "C、A、B 依次在队列里创建了节点。应当先由 C 持有锁，然后是 A，最后是 B。"}, States: states(wait, wait, wait), Nodes: "C A B"},
		{At: 2350 * ms, Text: Text{"B's predecessor is A. B watches A's node, and is about to wait.", "B 的前驱节点是 A 的。B 已监听这个节点，正要开始等待。"}, States: states(wait, wait, wait), Nodes: "C A B", Watchers: "B"},
		{At: 2750 * ms, Text: Text{"C finds its node first in the list, and holds the lock. Nothing is wrong yet: whatever the order of the rest, it ends well without a fault.", "C 发现自己的节点排第一，C 持有锁。到现在一切正常：只要不出故障，后面不论什么次序，都能顺利结束。"}, States: states(wait, wait, hold), Nodes: "C A B", Watchers: "B"},
		{At: 3100 * ms, Text: Text{"A's session expires while A waits. The server deletes A's node, and so B's watch fires. But it is C that holds the lock.", "A 还在等待，会话就过期了。服务器删除 A 的节点，B 的监听随之触发。可是持有锁的是 C。"}, States: states(wait, wait, hold), Nodes: "C B"},
		{At: 3200 * ms, Quote: "当前一个子节点被删除时,重新执行第四步", Text: Text{"B is woken and returns true. The article's text says that it must look again; its code does not. B and C hold the lock at once.", "B 醒来，直接返回 true。文章的文字说要再次检查，代码却没有这样做。B 和 C 同时持有锁。"}, States: states(over, hold, hold), Nodes: "C B", Broken: true},
		{At: 3400 * ms, Text: Text{"The cure is to read the list again after waking: then B sees C's node before its own, and watches that. Press “The same with the lock that cures it”.", "解决办法是醒来后再读一次列表：这样 B 会看到自己前面是 C 的节点，转而监听它。请按“换成已修复的锁”。"}, States: states(over, hold, hold), Nodes: "C B", Broken: true},
	}},
	"D7": {Scene{}, []Stop{
		{At: 250 * ms, Text: Text{"C's node is the first in the queue.", "C 的节点在队列里排第一。"}, States: states(wait, wait, wait), Nodes: "C"},
		{At: 650 * ms, Text: Text{"C has read the list, and holds the lock.", "C 读取了列表，C 持有锁。"}, States: states(wait, wait, hold), Nodes: "C"},
		{At: 1450 * ms, Text: Text{"A and B have queued behind C. B has read the list: A's node is before its own. It is about to ask for that node.", "A 和 B 排在 C 后面。B 读取了列表：前一个节点是 A 的。B 正要去查看它。"}, States: states(wait, wait, hold), Nodes: "C A B"},
		{At: 1750 * ms, Text: Text{"A's session expires just now, and A's node is gone. B's request is still on its way.", "就在这时，A 的会话过期，A 的节点已被删除。B 的请求还在路上。"}, States: states(over, wait, hold), Nodes: "C B"},
		{At: 4310 * ms, Text: Text{"B's request arrives: the node does not exist. A lock must now read the list again, because C's node is still before B's.", "B 的请求到了：节点不存在。这时必须重新读取列表，因为 C 的节点仍排在 B 前面。"}, States: states(over, wait, hold), Nodes: "C B", Watchers: "B"},
		{At: 4401 * ms, Quote: "if (stat != null) {", Text: Text{"The listing waits only if the node exists, and has no else: B goes on as if it had the lock. B and C hold it at once.", "文章的代码只在节点存在时才等待，没有 else：于是 B 当作自己拿到了锁。B 和 C 同时持有锁。"}, States: states(over, hold, hold), Nodes: "C B", Watchers: "B", Broken: true},
	}},
	"A7": {Scene{}, []Stop{
		{At: 250 * ms, Text: Text{"A's node is in the queue, and it is the only one.", "队列里只有 A 的节点。"}, States: states(wait, wait), Nodes: "A"},
		{At: 650 * ms, Text: Text{"A has read the list and holds the lock. B asks for it, too.", "A 读取了列表，A 持有锁。B 也要加锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 850 * ms, Text: Text{"A unlocks: its request to delete the node is on its way, and will be slow.", "A 释放锁：删除节点的请求已经发出，但路上会很慢。"}, States: states(frees, wait), Nodes: "A"},
		{At: 1650 * ms, Text: Text{"B has queued behind A and subscribed to A's node: the server will send it an event for the deletion. After this, B makes the latch on which it waits.", "B 排在 A 后面，在 A 的节点上设置了监听：节点删除时，服务器会通知 B。在这之后，B 才创建它要等待的 latch。"}, States: states(frees, wait), Nodes: "A B", Watchers: "B"},
		{At: 2250 * ms, Text: Text{"A's delete arrives. The event is on its way to B, and B's latch does not exist yet.", "A 的删除请求到了。事件正在去 B 的路上，而 B 的 latch 还没有创建。"}, States: states(frees, wait), Nodes: "B"},
		{At: 2450 * ms, Quote: "if (countDownLatch != null) {", Text: Text{"The event has reached B's listener. It found no latch to open, and did nothing. The event was the only one.", "事件到了 B 的监听器。监听器没有找到可以打开的 latch，什么也没做。而事件只有这一个。"}, States: states(over, wait), Nodes: "B"},
		{At: 62600 * ms, Text: Text{"A minute later B still waits, for a lock that nobody holds. Nothing will wake it: a release before the latch exists is lost.", "一分钟后，B 还在等待，而锁并没有持有者。再也不会有事件唤醒它：latch 创建之前的释放通知丢失了。"}, States: states(over, wait), Nodes: "B", Broken: true},
	}},
	"A1": {Scene{}, []Stop{
		{At: 50 * ms, Text: Text{"A calls lock(), and its request to create /private/lock is on its way. The node /private exists, but no client may create a child of it.", "A 调用了 lock()，创建 /private/lock 的请求正在路上。/private 存在，但任何客户端都没有权限在它下面创建子节点。"}, States: states(wait)},
		{At: 250 * ms, Text: Text{"The server has refused the request: A has no permission. The reply with this error is on its way.", "服务器拒绝了请求：A 没有权限。带有这个错误的应答正在路上。"}, States: states(wait)},
		{At: 400 * ms, Quote: "3、创建失败,则证明节点已存在", Text: Text{"The listing catches every exception, and tryLock() returns false. For lock(), false means that another client holds the lock.", "文章的代码捕获所有异常，tryLock() 返回 false。在 lock() 看来，false 就是锁在别的客户端手里。"}, States: states(wait)},
		{At: 600 * ms, Text: Text{"So A waits for a release. Its exists request is on its way, to look for the node and to set a watch.", "于是 A 去等锁释放。它的 exists 请求正在路上，要查看节点，同时设置监听。"}, States: states(wait)},
		{At: 750 * ms, Text: Text{"The node does not exist: no client holds the lock, and there is no release to wait for. The watch is set all the same.", "节点不存在：锁没有持有者，A 也就没有什么可等的。但监听照样设置上了。"}, States: states(wait), Watchers: "A"},
		{At: 900 * ms, Text: Text{"waitForRelease() has called lock() at once, within the first call: two calls of lock() are on the stack. The second create is on its way.", "waitForRelease() 立即又调用 lock()，而第一次调用还没有返回：栈上有两层 lock()。第二个 create 正在路上。"}, States: states(wait), Watchers: "A"},
		{At: 1050 * ms, Text: Text{"The second create is refused like the first one: A's permission has not changed.", "第二个 create 同样遭到拒绝：A 的权限并没有变。"}, States: states(wait), Watchers: "A"},
		{At: 1700 * ms, Text: Text{"The third create is on its way, and three calls of lock() are on the stack. The listing does not pause between two attempts.", "第三个 create 正在路上，栈上有三层 lock()。两次尝试之间，代码没有任何停顿。"}, States: states(wait), Watchers: "A"},
		{At: 2500 * ms, Text: Text{"So it goes on, one call deeper after each refusal. The cure, step 1: only the error NodeExists means that the lock is held, and TryLock returns every other error to its caller.", "就这样继续下去，每遭到一次拒绝，调用就深一层。解决办法见第 1 步：只有错误 NodeExists 才表示锁已有持有者，其他错误 TryLock 一律返回给调用者。"}, States: states(wait), Watchers: "A"},
		{At: 106750 * ms, Text: Text{"More than a hundred creates were refused, each with one more call of lock() on the stack, and the explorer ends the run. In Java the stack overflows in the end. A gets no sign that it has no permission.", "一百多个 create 都遭到拒绝，栈上的 lock() 也有一百多层，探索器到这里结束运行。在 Java 里，栈最终会溢出，而 A 始终不知道自己没有权限。"}, States: states(wait), Watchers: "A", Broken: true},
	}},
	"A2": {Scene{}, []Stop{
		{At: 400 * ms, Text: Text{"A's create has succeeded: A holds the lock.", "A 的 create 成功了，A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 700 * ms, Text: Text{"B's create was refused. Next, B asks for the node with exists, and sets a watch.", "B 的 create 失败了。它接着要用 exists 查看节点，同时设置监听。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1100 * ms, Text: Text{"B is stopped, as by a long garbage collection, until its session has expired. Its exists request is lost.", "B 停顿了，就像遇到一次很长的垃圾回收，直到会话过期。它的 exists 请求丢失了。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1300 * ms, Text: Text{"B runs on. Its connection has broken, and exists throws. The listing prints the exception, and lock() returns: B's caller takes itself for the holder, which is bug A11.", "B 恢复运行。连接已断，exists 抛出异常。代码只把异常打印出来，lock() 就返回了：B 的调用者以为自己拿到了锁，这就是 A11。"}, States: states(hold, hold), Nodes: "A", Broken: true},
		{At: 2500 * ms, Text: Text{"B's client gets the event that its session has expired. The listing does not react to that, and B's caller goes on.", "B 的客户端得知会话已过期。文章的代码不理会这个消息，B 的调用者照常执行。"}, States: states(hold, hold), Nodes: "A", Broken: true},
		{At: 3700 * ms, Text: Text{"B's client has a new session. The node at the path is A's: A has held the lock all the time.", "B 的客户端有了新会话。路径上的节点是 A 的：A 一直持有锁。"}, States: states(hold, hold), Nodes: "A", Broken: true},
		{At: 3900 * ms, Quote: "我们把锁的数据节点删除之后,就释放了锁", Text: Text{"B unlocks: its request to delete the node is on its way. It has only the path in it, and the version -1, which stands for any version.", "B 释放锁：删除节点的请求正在路上。请求里只有路径，以及版本 -1，表示不论什么版本。"}, States: states(hold, frees), Nodes: "A", Broken: true},
		{At: 4050 * ms, Text: Text{"The server has deleted A's node, and A holds the lock as before. The next contender that creates the node holds the lock beside A.", "服务器删除了 A 的节点，而 A 仍然持有锁。下一个创建节点成功的竞争者，就会与 A 同时持有锁。"}, States: states(hold, frees), Broken: true},
		{At: 4200 * ms, Text: Text{"The cure, step 1: the node carries an id, and Unlock deletes the node only if it finds its own id. From step 2 on, each node has a name of its own.", "解决办法见第 1 步：节点里存有一个 ID，Unlock 看到是自己的 ID 才删除节点。从第 2 步起，每个节点都有自己的名字。"}, States: states(hold, over), Broken: true},
	}},
	"A3": {Scene{}, []Stop{
		{At: 400 * ms, Text: Text{"A's create has succeeded: A holds the lock.", "A 的 create 成功了，A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 700 * ms, Quote: "失败后调用waitForRelease方法等待", Text: Text{"B's create was refused: B has lost its first race. Its lock() calls waitForRelease().", "B 的 create 失败了，第一次没有抢到锁。它的 lock() 调用 waitForRelease()。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1200 * ms, Text: Text{"B has set a watch, and waits at its latch. Its first call of lock() has not returned.", "B 设置了监听，正在 latch 上等待。第一次调用的 lock() 还没有返回。"}, States: states(hold, wait), Nodes: "A", Watchers: "B"},
		{At: 1600 * ms, Text: Text{"A unlocks, and the node is gone. The event is on its way to B.", "A 释放锁，节点已删除。事件正在去 B 的路上。"}, States: states(frees, wait)},
		{At: 1800 * ms, Text: Text{"B is awake, and waitForRelease() has called lock() again: two calls are on B's stack. A calls Lock again, too, and both creates are on their way.", "B 醒来，waitForRelease() 又调用 lock()：B 的栈上有两层 lock()。A 也再次加锁，两个 create 都在路上。"}, States: states(wait, wait)},
		{At: 2100 * ms, Text: Text{"A's create was first at the server, and A holds the lock again. B's create is on its way, and will be refused.", "A 的 create 先到服务器，A 又持有锁。B 的 create 还在路上，必然失败。"}, States: states(hold, wait), Nodes: "A"},
		{At: 2900 * ms, Text: Text{"B has lost its second race, and waits at a second latch. The first call of lock() waits for the second one to return.", "B 第二次也没有抢到，在另一个 latch 上等待。第一层 lock() 要等第二层返回。"}, States: states(hold, wait), Nodes: "A", Watchers: "B"},
		{At: 3300 * ms, Text: Text{"A unlocks again, and the next event is on its way to B.", "A 再次释放锁，又一个事件正在去 B 的路上。"}, States: states(frees, wait)},
		{At: 3450 * ms, Text: Text{"B is awake, and calls lock() a third time, within the second call. Three calls are on B's stack; with that of A there are four.", "B 醒来，在第二层里第三次调用 lock()。B 的栈上有三层，加上 A 的一层，一共四层。"}, States: states(wait, wait), Broken: true},
		{At: 3550 * ms, Text: Text{"A waiter that loses 20 races is 21 calls deep, and returns from all of them only when it holds the lock. The cure, step 1: Lock is a loop.", "抢输 20 次的等待者，调用有 21 层，拿到锁之后才一层层返回。解决办法见第 1 步：Lock 是一个循环。"}, States: states(wait, wait), Broken: true},
	}},
	"A4": {Scene{}, []Stop{
		{At: 350 * ms, Text: Text{"A's create has succeeded: A holds the lock.", "A 的 create 成功了，A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1050 * ms, Text: Text{"B's create was refused. B has asked for the node with exists, has left a watch, and waits at its latch.", "B 的 create 失败了。B 用 exists 查看了节点，同时设置了监听，正在 latch 上等待。"}, States: states(hold, wait), Nodes: "A", Watchers: "B"},
		{At: 1350 * ms, Text: Text{"B's session expires. A watch lives as long as its session: the server has forgotten B's.", "B 的会话过期。监听与会话同生共死：服务器上已没有 B 的监听。"}, States: states(hold, wait), Nodes: "A"},
		{At: 2600 * ms, Quote: "触发NodeDeleted事件,跳过await方法", Text: Text{"B's client gets the event that its session has ended. The listing's watcher opens the latch only for NodeDeleted, and this event is of another type.", "B 的客户端得知会话已结束。文章的监听器只在收到 NodeDeleted 时打开 latch，而这个事件是另一种类型。"}, States: states(hold, wait), Nodes: "A"},
		{At: 3800 * ms, Text: Text{"B's client has a new session. Nothing sets the watch again.", "B 的客户端有了新会话，却没有代码重新设置监听。"}, States: states(hold, wait), Nodes: "A"},
		{At: 4150 * ms, Text: Text{"A unlocks, and the node is gone. The server has no watch, and sends no event.", "A 释放锁，节点已删除。服务器上没有监听，也就不发送事件。"}, States: states(frees, wait)},
		{At: 64300 * ms, Text: Text{"A minute later B is waiting for a lock that nobody holds. The cure, step 1: an event with an error ends the wait.", "一分钟后，B 还在等一个没有持有者的锁。解决办法见第 1 步：收到带错误的事件，就结束等待。"}, States: states(over, wait), Broken: true},
	}},
	"A5": {Scene{}, []Stop{
		{At: 100 * ms, Text: Text{"A calls lock(), and its create is on its way. A is the only contender.", "A 调用了 lock()，它的 create 正在路上。竞争者只有 A 一个。"}, States: states(wait)},
		{At: 300 * ms, Text: Text{"The server has created the node. The connection has broken, and the reply is lost with it: A has no sign that it has a node.", "服务器创建了节点。连接断了，应答随之丢失：A 不知道自己已经有了节点。"}, States: states(wait), Nodes: "A"},
		{At: 800 * ms, Quote: "创建临时节点,创建成功则加锁成功,返回true", Text: Text{"For the listing, a broken connection is an exception like any other. tryLock() returns false, which means that another client holds the lock.", "在文章的代码看来，连接断开与其他异常没有区别。tryLock() 返回 false，意思是锁在别的客户端手里。"}, States: states(wait), Nodes: "A"},
		{At: 1700 * ms, Text: Text{"A's client is connected again. Its session has lived on, and so has the node. The exists request is on its way.", "A 的客户端重新连上了。会话还在，节点也就还在。exists 请求正在路上。"}, States: states(wait), Nodes: "A"},
		{At: 1850 * ms, Quote: "这里先判断一次锁的数据节点是否还存在", Text: Text{"The node exists, and the server has set the watch. It is A's own node.", "节点存在，服务器设置了监听。而这正是 A 自己的节点。"}, States: states(wait), Nodes: "A", Watchers: "A"},
		{At: 2000 * ms, Text: Text{"A waits at its latch until its own node is deleted. A's client keeps the session alive with pings, so the server does not delete the node.", "A 在 latch 上等待，要等到自己的节点被删除。可是 A 的客户端用心跳维持着会话，服务器就不会删除这个节点。"}, States: states(wait), Nodes: "A", Watchers: "A"},
		{At: 62000 * ms, Text: Text{"A minute later A is waiting for itself. All other contenders would wait with it, until A's session ends.", "一分钟后，A 还在等自己。如果有别的竞争者，也都要跟着等，直到 A 的会话结束。"}, States: states(wait), Nodes: "A", Watchers: "A", Broken: true},
		{At: 62050 * ms, Text: Text{"The cure is in zklock: the node carries an id, and after a create without a reply Lock looks for that id. Steps 1 to 5 return an error, and the node stays until the session ends.", "解决办法见 zklock：节点带有一个 ID，create 没有等到应答，Lock 就去找这个 ID。第 1 步到第 5 步只返回错误，节点一直留到会话结束。"}, States: states(wait), Nodes: "A", Watchers: "A", Broken: true},
	}},
	"A6": {Scene{}, []Stop{
		{At: 350 * ms, Text: Text{"A's create has succeeded: A holds the lock.", "A 的 create 成功了，A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 950 * ms, Text: Text{"B's create was refused. Its next request, which is to set a watch, is on its way and will be slow.", "B 的 create 失败了。它的下一个请求要去设置监听，已经在路上，但会很慢。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1250 * ms, Text: Text{"A unlocks. The lock is free, and B has no watch yet.", "A 释放锁。锁空闲了，而 B 还没有监听。"}, States: states(frees, wait)},
		{At: 1650 * ms, Quote: "4、监听到数据节点被删除后,证明锁已被释放。重复步骤1", Text: Text{"A calls Lock again, later than B, and holds the lock: all start over together, in no order.", "A 再次调用 Lock，比 B 晚，却拿到了锁：大家一起从头再来，不分先后。"}, States: states(hold, wait), Nodes: "A"},
		{At: 2450 * ms, Text: Text{"The same again. B has waited since the start.", "再来一次，还是一样。B 从一开始就在等待。"}, States: states(hold, wait), Nodes: "A"},
		{At: 3300 * ms, Text: Text{"Three times A was let in before B, though B called Lock first. The cure is step 2: a queue, in which a contender that locks again is the last.", "B 先调用 Lock，A 却三次抢在它前面。解决办法见第 2 步：排队，再次加锁的竞争者排到队尾。"}, States: states(hold, wait), Nodes: "A", Broken: true},
	}},
	"A8": {Scene{}, []Stop{
		{At: 950 * ms, Text: Text{"B holds the lock. C's node is behind B's.", "B 持有锁。C 的节点排在 B 后面。"}, States: states(wait, hold, wait), Nodes: "B C"},
		{At: 1750 * ms, Text: Text{"C watches B's node, and A has queued behind C.", "C 监听 B 的节点，A 又排在 C 后面。"}, States: states(wait, hold, wait), Nodes: "B C A", Watchers: "C"},
		{At: 2700 * ms, Text: Text{"C's session expires while C waits, and the server deletes C's node.", "C 正在等待，会话却过期了。服务器删除了 C 的节点。"}, States: states(wait, hold, wait), Nodes: "B A"},
		{At: 5600 * ms, Text: Text{"C's client has a new session. ZkClient sets C's watch again, but nothing makes C's node again.", "C 的客户端有了新会话。ZkClient 会重新设置 C 的监听，但没有代码重新创建 C 的节点。"}, States: states(wait, frees, wait), Nodes: "B A", Watchers: "A"},
		{At: 6550 * ms, Text: Text{"B's node is gone, and the event is on its way to C.", "B 的节点已删除，事件正在去 C 的路上。"}, States: states(wait, frees, wait), Nodes: "A", Watchers: "A"},
		{At: 6750 * ms, Text: Text{"C is awake, and asks for the list once more. Its own node will not be in it.", "C 醒来，再次读取列表。列表里不会有它自己的节点。"}, States: states(wait, over, wait), Nodes: "A", Watchers: "A"},
		{At: 7100 * ms, Quote: "int i = Collections.binarySearch(children, sequenceNodeName);", Text: Text{"The search returns a negative number for a name that is not in the list, and get(i − 1) throws in the middle of lock(). Step 3 returns an error here.", "要找的名字不在列表里，查找返回负数，get(i − 1) 就在 lock() 里抛出异常。第 3 步在这里返回错误。"}, States: states(wait, over, failed), Nodes: "A", Watchers: "A", Broken: true},
	}},
	"A9": {Scene{}, []Stop{
		{At: 100 * ms, Text: Text{"A and B have called lock(), and their creates are on their way. B's will be slow.", "A 和 B 都调用了 lock()，两个 create 正在路上。B 的会很慢。"}, States: states(wait, wait)},
		{At: 400 * ms, Text: Text{"A's node is in the queue, and A's object keeps its path in currentPath.", "A 的节点已在队列里，A 的对象把它的路径存入 currentPath。"}, States: states(wait, wait), Nodes: "A"},
		{At: 700 * ms, Text: Text{"A's node is the first in the list: A holds the lock.", "A 的节点在列表里排第一：A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 900 * ms, Text: Text{"A unlocks: the request to delete its node is on its way.", "A 释放锁：删除节点的请求正在路上。"}, States: states(frees, wait), Nodes: "A"},
		{At: 1050 * ms, Text: Text{"A's node is gone. unlock() clears nothing: the path of the deleted node stays in currentPath.", "A 的节点已删除。unlock() 什么也不清空：currentPath 里还是这个节点的路径。"}, States: states(frees, wait)},
		{At: 1200 * ms, Quote: "if (currentPath==null", Text: Text{"A calls lock() again on the same object. There is a path in currentPath, so A creates no node, and asks for the list at once.", "A 在同一个对象上再次调用 lock()。currentPath 里有路径，所以 A 不创建节点，直接去读取列表。"}, States: states(wait, wait)},
		{At: 1350 * ms, Text: Text{"The list on its way to A is empty. A's node is deleted, and B's create has not arrived.", "正在发给 A 的列表是空的：A 的节点已删除，B 的 create 还没有到。"}, States: states(wait, wait)},
		{At: 1450 * ms, Text: Text{"A compares its path with the first name in the list. There is none, and get(0) throws in the middle of lock(). If B's node were in the list, get(i − 1) would throw, as in A8.", "A 拿自己的路径与列表里的第一个名字比较。列表是空的，get(0) 就在 lock() 里抛出异常。如果列表里有 B 的节点，抛出异常的就是 get(i − 1)，与 A8 一样。"}, States: states(failed, wait), Broken: true},
		{At: 1550 * ms, Text: Text{"The cure, step 3: each Lock creates a node, and Unlock forgets it.", "解决办法见第 3 步：每次 Lock 都创建一个节点，Unlock 会清掉节点的记录。"}, States: states(failed, wait), Broken: true},
	}},
	"A10": {Scene{}, []Stop{
		{At: 50 * ms, Text: Text{"A and B have called lock(). The server is new, and has no node /lock.", "A 和 B 都调用了 lock()。服务器是新的，还没有 /lock 节点。"}, States: states(wait, wait)},
		{At: 150 * ms, Quote: "private String lock_path = \"/lock\";", Text: Text{"A's create is on its way. It asks for an ephemeral sequential node in /lock, and no line of the listing creates /lock.", "A 的 create 正在路上，要在 /lock 下面创建临时顺序节点。而文章的代码里，没有一行会创建 /lock。"}, States: states(wait, wait)},
		{At: 250 * ms, Text: Text{"The server has refused the request: a node can be created only if its parent exists. The error NoNode is on its way to A.", "服务器拒绝了请求：父节点存在，才能创建子节点。错误 NoNode 正在去 A 的路上。"}, States: states(wait, wait)},
		{At: 350 * ms, Text: Text{"The listing does not catch this exception: A's lock() throws.", "文章的代码没有捕获这个异常，A 的 lock() 就此抛出异常。"}, States: states(failed, wait), Broken: true},
		{At: 400 * ms, Text: Text{"B's create is on its way, and /lock is still missing. Each lock() will throw until /lock is created by other means.", "B 的 create 还在路上，/lock 依然不存在。除非另外创建 /lock，否则每次 lock() 都会抛出异常。"}, States: states(failed, wait), Broken: true},
		{At: 450 * ms, Text: Text{"The cure, step 3: if the create says that the parent is missing, Lock creates it and tries again. Steps 1 and 2 do so, too.", "解决办法见第 3 步：如果 create 报告父节点不存在，Lock 就先创建父节点，再试一次。第 1 步和第 2 步也是如此。"}, States: states(failed, wait), Broken: true},
	}},
	"A11": {Scene{}, []Stop{
		{At: 100 * ms, Text: Text{"A and B have called lock(), and both creates are on their way.", "A 和 B 都调用了 lock()，两个 create 正在路上。"}, States: states(wait, wait)},
		{At: 400 * ms, Text: Text{"A's create has succeeded: A holds the lock.", "A 的 create 成功了，A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 700 * ms, Text: Text{"B's create was refused, because the node exists. That is right: B has to wait, and lock() calls waitForRelease().", "B 的 create 失败了，因为节点已存在。到这里都没有错：B 必须等待，lock() 调用 waitForRelease()。"}, States: states(hold, wait), Nodes: "A"},
		{At: 900 * ms, Quote: "这里先判断一次锁的数据节点是否还存在", Text: Text{"B's exists request is on its way, to look for the node and to set a watch.", "B 的 exists 请求正在路上，要查看节点，同时设置监听。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1050 * ms, Quote: "e.printStackTrace();", Text: Text{"B's connection has broken, and the request is lost. exists throws; the listing prints the exception, and waitForRelease() ends.", "B 的连接断了，请求丢失。exists 抛出异常，代码把它打印出来，waitForRelease() 就此结束。"}, States: states(hold, hold), Nodes: "A", Broken: true},
		{At: 1100 * ms, Text: Text{"lock() has returned as it does after a success, so B's caller takes itself for the holder. A's node exists, and A holds the lock, too.", "lock() 像成功时一样返回，B 的调用者以为自己拿到了锁。而 A 的节点还在，A 也持有锁。"}, States: states(hold, hold), Nodes: "A", Broken: true},
		{At: 1150 * ms, Text: Text{"The cure, step 1: waitForRelease returns the error, and Lock returns it to its caller, which does not hold the lock then.", "解决办法见第 1 步：waitForRelease 返回错误，Lock 再把它返回给调用者，调用者就知道自己没有拿到锁。"}, States: states(hold, hold), Nodes: "A", Broken: true},
	}},
	"B1": {Scene{}, []Stop{
		{At: 650 * ms, Text: Text{"A's node has the number 0: no contender is before A, and A holds the lock.", "A 的节点序号是 0：前面没有别的竞争者，A 持有锁。"}, States: states(hold, wait, wait), Nodes: "A", Watchers: "A"},
		{At: 1050 * ms, Text: Text{"A unlocks, and its node is gone. Nobody is in the queue.", "A 释放锁，它的节点已删除。队列空了。"}, States: states(frees, wait, wait)},
		{At: 1350 * ms, Quote: "会根据当前的子节点数量自动添加整数序号", Text: Text{"B's node is the only one, and its number is 1: the server counts the children ever created. The listing takes the number for the length of the queue.", "队列里只有 B 的节点，序号却是 1：服务器数的是创建过的子节点。文章的代码却把序号当作队列的长度。"}, States: states(over, wait, wait), Nodes: "B"},
		{At: 1650 * ms, Text: Text{"B watches the list, and waits for one release. It happened before B came.", "B 监听列表，要等一次释放。而那次释放在 B 到来之前就发生了。"}, States: states(over, wait, wait), Nodes: "B", Watchers: "B"},
		{At: 1950 * ms, Text: Text{"C's node has the number 2. C will wait for two releases.", "C 的节点序号是 2。C 要等两次释放。"}, States: states(over, wait, wait), Nodes: "B C"},
		{At: 2650 * ms, Text: Text{"B has looked again: the list has become longer, so it counts no release. B's node is the first, and B does not look at that.", "B 又看了一次：列表变长了，所以没有算到释放。B 的节点其实排第一，代码却不看这一点。"}, States: states(over, wait, wait), Nodes: "B C", Watchers: "B C"},
		{At: 62800 * ms, Text: Text{"A minute later both wait, and the lock is free. The cure, step 3: only the list of children says which contender is before which.", "一分钟后两个都还在等待，锁却是空闲的。解决办法见第 3 步：谁在谁前面，只有子节点列表说了算。"}, States: states(over, wait, wait), Nodes: "B C", Watchers: "B C", Broken: true},
	}},
	"C1": {Scene{}, []Stop{
		{At: 250 * ms, Text: Text{"A's node is in the queue, and it is the only one.", "队列里只有 A 的节点。"}, States: states(wait, wait), Nodes: "A"},
		{At: 650 * ms, Text: Text{"A holds the lock.", "A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 700 * ms, Quote: "thread = Thread.currentThread(); lockCount.incrementAndGet();", Text: Text{"B's thread called lock() at the start, and the count of B's lock is 1 since then: it counts before it holds.", "B 的线程一开始就调用了 lock()，从那时起，它的计数就是 1：还没有持有锁，就先计了数。"}, States: states(hold, wait), Nodes: "A"},
		{At: 850 * ms, Text: Text{"B's node is in the queue, behind A's.", "B 的节点在队列里，排在 A 后面。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 1150 * ms, Text: Text{"The list is on its way to B. A's node is the first in it, so this lock() will return false.", "列表正在发给 B。排第一的是 A 的节点，所以这次 lock() 会返回 false。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 1250 * ms, Text: Text{"B's lock() has failed, and its count is 1 all the same. B calls lock() once more: the thread is known, the count becomes 2, and it returns true without a request. A and B hold the lock at once.", "B 的 lock() 失败了，计数却还是 1。B 再调用一次 lock()：线程对得上，计数变成 2，不发请求就返回 true。A 和 B 同时持有锁。"}, States: states(hold, hold), Nodes: "A B", Broken: true},
		{At: 1350 * ms, Text: Text{"The cure, step 4: only a holder has a count in the book. If Lock fails, its entry goes.", "解决办法见第 4 步：只有持有者才有计数。Lock 一旦失败，就删除它的登记。"}, States: states(hold, hold), Nodes: "A B", Broken: true},
	}},
	"C2": {Scene{}, []Stop{
		{At: 250 * ms, Text: Text{"A's node is in the queue.", "A 的节点已在队列里。"}, States: states(wait, wait), Nodes: "A"},
		{At: 550 * ms, Text: Text{"B's node is in the queue, behind A's.", "B 的节点也在队列里，排在 A 后面。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 850 * ms, Text: Text{"The list is on its way to B. Both nodes are in it, so B's predecessor is A's node.", "列表正在发给 B。两个节点都在里面，所以 B 的前驱节点是 A 的。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 1000 * ms, Quote: "client.getData().usingWatcher(w).forPath(prior_path);", Text: Text{"B asks for A's node with getData, which also sets a watch. The request is on its way, and it is slow.", "B 用 getData 读取 A 的节点，同时设置监听。请求正在路上，会很慢。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 1300 * ms, Text: Text{"A has found its node first in the list, and holds the lock.", "A 看到自己的节点在列表里排第一，A 持有锁。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 1500 * ms, Text: Text{"A unlocks: the request to delete its node is on its way. B's request has not arrived, so B has no watch.", "A 释放锁：删除节点的请求正在路上。B 的请求还没有到，也就没有设置监听。"}, States: states(frees, wait), Nodes: "A B"},
		{At: 1650 * ms, Text: Text{"A's node is gone, and B's node is the first in the queue.", "A 的节点已删除，B 的节点在队列里排第一。"}, States: states(frees, wait), Nodes: "B"},
		{At: 1950 * ms, Text: Text{"B's request has arrived, and the reply NoNode is on its way. It means only that the queue has changed since B read the list.", "B 的请求到了，应答 NoNode 正在路上。这个错误只说明，B 读取列表之后队列变了。"}, States: states(over, wait), Nodes: "B"},
		{At: 2050 * ms, Text: Text{"For the listing, NoNode is an exception like any other. forPath throws, and lock() fails at the moment when B's node is the first.", "在文章的代码看来，NoNode 与其他异常没有区别。forPath 抛出异常：B 的节点刚排到第一，lock() 却失败了。"}, States: states(over, over), Nodes: "B", Broken: true},
		{At: 2150 * ms, Text: Text{"B's node stays in the queue, and keeps out later contenders until B's session ends. The cure, step 3: after NoNode, Lock lists the children again.", "B 的节点留在队列里，会一直挡住后来的竞争者，直到 B 的会话结束。解决办法见第 3 步：遇到 NoNode，Lock 就重新列出子节点。"}, States: states(over, over), Nodes: "B", Broken: true},
	}},
	"D1": {Scene{}, []Stop{
		{At: 950 * ms, Text: Text{"B's node is the first in the list, and B holds the lock.", "B 的节点在列表里排第一，B 持有锁。"}, States: states(wait, hold), Nodes: "B"},
		{At: 1450 * ms, Text: Text{"B unlocks, by closing its client: that ends the session, and its node goes with it. The request is on its way.", "B 释放锁的办法是关闭客户端：会话结束，节点随之删除。请求正在路上。"}, States: states(wait, frees), Nodes: "B"},
		{At: 1650 * ms, Text: Text{"A has queued behind B. It will read the list now, and B's node is in it.", "A 排在 B 后面。它接着读取列表，B 的节点还在里面。"}, States: states(wait, frees), Nodes: "B A"},
		{At: 2250 * ms, Text: Text{"B's node is gone. A has only the old list, and no watch yet.", "B 的节点已删除。A 手里是旧列表，也还没有监听。"}, States: states(wait, frees), Nodes: "A"},
		{At: 2550 * ms, Quote: "zookeeper.exists(\"/\"+businesscode+\"/\"+lastnode,true);", Text: Text{"A asks with exists for B's node, and leaves a watch. The node does not exist, and the listing ignores this answer. The watch waits for a node of that name, which the server never makes again.", "A 用 exists 查看 B 的节点，同时设置了监听。节点不存在，而代码没有理会这个结果。监听等待的是同名节点，服务器再也不会创建它。"}, States: states(wait, frees), Nodes: "A", Watchers: "A"},
		{At: 3200 * ms, Text: Text{"A's node is the first and the only one, and A waits.", "A 的节点排第一，也是唯一的节点，而 A 在等待。"}, States: states(wait, over), Nodes: "A", Watchers: "A"},
		{At: 68400 * ms, Text: Text{"A minute later A is waiting for an event that cannot come. The cure is getData in the place of exists: it fails on a node that is gone, leaves no watch, and A reads the list again.", "一分钟后，A 还在等一个不可能到来的事件。解决办法是用 getData 代替 exists：节点不存在时它会报错，也不留下监听，A 就会再读一次列表。"}, States: states(wait, over), Nodes: "A", Watchers: "A", Broken: true},
	}},
	"D2": {Scene{}, []Stop{
		{At: 1250 * ms, Text: Text{"A holds the lock.", "A 持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1450 * ms, Text: Text{"B has queued behind A.", "B 排在 A 后面。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 2050 * ms, Text: Text{"A unlocks: the request to end its session is on its way.", "A 释放锁：结束会话的请求正在路上。"}, States: states(frees, wait), Nodes: "A B"},
		{At: 2250 * ms, Text: Text{"B has set a watch on A's node. The next line of its code is wait(), and B is not there yet.", "B 在 A 的节点上设置了监听。下一行代码才是 wait()，B 还没有执行到那里。"}, States: states(frees, wait), Nodes: "A B", Watchers: "B"},
		{At: 2550 * ms, Text: Text{"A's node is gone, and the event is on its way to B.", "A 的节点已删除，事件正在去 B 的路上。"}, States: states(frees, wait), Nodes: "B"},
		{At: 2750 * ms, Quote: "synchronized (this){", Text: Text{"The event has arrived, and the watcher calls notify(). No thread waits at this moment, so the call wakes none, and it is not repeated.", "事件到了，监听器调用 notify()。此刻没有线程在 wait()，这次调用没有唤醒任何线程，以后也不会重来。"}, States: states(frees, wait), Nodes: "B"},
		{At: 68500 * ms, Text: Text{"B has gone on to wait(), and waits a minute later. Its node is the first in the queue. The cure: the event waits in a channel until the contender takes it.", "B 接着执行 wait()，一分钟后还在等待，尽管它的节点排第一。解决办法：事件留在 channel 里，直到竞争者来取。"}, States: states(over, wait), Nodes: "B", Broken: true},
	}},
	"D4": {Scene{}, []Stop{
		{At: 100 * ms, Quote: "stat stat = zookeeper.exists(\"/\" + businesscode, false);", Text: Text{"No client has used this lock before, so its parent /lock does not exist. A and B have each asked for it with exists.", "还没有客户端用过这个锁，父节点 /lock 不存在。A 和 B 各自用 exists 查看它，请求正在路上。"}, States: states(wait, wait)},
		{At: 400 * ms, Text: Text{"A has the reply that the parent does not exist, and has sent a create. This request will be slow.", "A 得知父节点不存在，发出了 create。这个请求在路上会很慢。"}, States: states(wait, wait)},
		{At: 700 * ms, Text: Text{"B was given the same reply, and has sent a create, too. Only one of the two creates can succeed.", "B 得到同样的应答，也发出了 create。两个 create 只能成功一个。"}, States: states(wait, wait)},
		{At: 850 * ms, Text: Text{"B's create arrives first, and the parent exists. A cannot see that: A's create is on its way.", "B 的 create 先到，父节点已经存在。A 无法得知，它的 create 还在路上。"}, States: states(wait, wait)},
		{At: 1150 * ms, Text: Text{"B creates its own node below the parent.", "B 在父节点下创建了自己的节点。"}, States: states(wait, wait), Nodes: "B"},
		{At: 1600 * ms, Text: Text{"B's node is the only one in the list, and B holds the lock.", "列表里只有 B 的节点，B 持有锁。"}, States: states(wait, hold), Nodes: "B"},
		{At: 2500 * ms, Text: Text{"B has unlocked, and has closed its client. The queue is empty, and the lock is free.", "B 释放了锁，也关闭了客户端。队列空了，锁是空闲的。"}, States: states(wait, over)},
		{At: 7750 * ms, Text: Text{"A's create arrives at last, and the server refuses it: the node exists. In getLock one catch handles all errors alike.", "A 的 create 终于到了，服务器拒绝了它：节点已存在。而 getLock 用同一个 catch 处理所有错误。"}, States: states(wait, over)},
		{At: 7850 * ms, Text: Text{"getLock returns false, although the lock is free and its parent exists.", "getLock 返回 false，其实锁是空闲的，父节点也已经存在。"}, States: states(over, over), Broken: true},
		{At: 7950 * ms, Text: Text{"The cure, step 3: if the create of a parent fails because the node exists, that is a success. Lock goes on to create its own node.", "解决办法见第 3 步：创建父节点时，如果错误是节点已存在，就算作成功，Lock 接着创建自己的节点。"}, States: states(over, over), Broken: true},
	}},
	"D5": {Scene{}, []Stop{
		{At: 20 * ms, Quote: "this.zookeeper = new zookeeper(\"localhost:2181\",", Text: Text{"A has made its client, and calls getLock at once. The constructor has only begun to connect: it does not wait for the session.", "A 创建了客户端，随即调用 getLock。构造方法只是开始连接，并没有等会话建立。"}, States: states(wait)},
		{At: 70 * ms, Text: Text{"The first request of getLock is exists. It stays in the client, because there is no connection.", "getLock 的第一个请求是 exists。还没有连接，请求只能留在客户端里。"}, States: states(wait)},
		{At: 120 * ms, Text: Text{"The parent /lock exists, and it has no child: the lock is free.", "父节点 /lock 存在，下面没有子节点：锁是空闲的。"}, States: states(wait)},
		{At: 170 * ms, Text: Text{"A's first attempt to connect is refused. The client library will try again after a second.", "A 的第一次连接遭到拒绝。一秒后，客户端库会再试。"}, States: states(wait)},
		{At: 210 * ms, Text: Text{"The library does not keep the request for the next attempt: exists returns an error. The catch prints it, and getLock returns false.", "客户端库不会把请求留到下一次连接：exists 返回错误。catch 打印了错误，getLock 返回 false。"}, States: states(over), Broken: true},
		{At: 300 * ms, Text: Text{"To its caller, false means that the lock is held. But no client has ever held it, and none has reached the server.", "在调用者看来，false 就是锁被占用。其实没有客户端持有过锁，连服务器都没有客户端连上过。"}, States: states(over), Broken: true},
		{At: 390 * ms, Text: Text{"The cure, step 3: Lock and TryLock return the error, and the caller can distinguish it from a held lock. zklock tries again until its ctx ends.", "解决办法见第 3 步：Lock 和 TryLock 返回错误，调用者就能把它与锁被占用区分开。zklock 会不断重试，直到 ctx 结束。"}, States: states(over), Broken: true},
	}},
	"D6": {Scene{}, []Stop{
		{At: 550 * ms, Text: Text{"Two nodes are in the queue: A's is the first, and B's is the second.", "队列里有两个节点：A 的第一，B 的第二。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 1300 * ms, Text: Text{"B watches A's node, and waits at a latch for at most five seconds.", "B 监听 A 的节点，在 latch 上等待，最多等五秒。"}, States: states(wait, wait), Nodes: "A B", Watchers: "B"},
		{At: 1600 * ms, Text: Text{"A has read the list, too, and holds the lock.", "A 也读取了列表，A 持有锁。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 1950 * ms, Text: Text{"A unlocks: its node is gone, and the event is on its way to B. B's node is the first now.", "A 释放锁：节点已删除，事件正在去 B 的路上。现在 B 的节点排第一。"}, States: states(frees, wait), Nodes: "B"},
		{At: 2200 * ms, Quote: "// 等待成功,重新执行获取锁操作", Text: Text{"B is awake. To read the list again would be enough, but the listing calls lock again, and lock begins with a create. This request is on its way.", "B 醒来。其实再读一次列表就够了，文章的代码却又调用 lock，而 lock 一开头就创建节点。请求正在路上。"}, States: states(frees, wait), Nodes: "B"},
		{At: 8250 * ms, Text: Text{"B has two nodes in the queue, and has read the list. The node before its second one is its own first one.", "B 在队列里有了两个节点。它读取了列表：排在第二个节点前面的，是它自己的第一个节点。"}, States: states(over, wait), Nodes: "B B"},
		{At: 8600 * ms, Text: Text{"B watches its own first node: it waits for itself.", "B 监听自己的第一个节点：它在等自己。"}, States: states(over, wait), Nodes: "B B", Watchers: "B"},
		{At: 13600 * ms, Quote: "// 超时未等到通知,主动删除自己的临时节点,放弃获取锁", Text: Text{"The five seconds are over, and B gives up. Its request deletes the second node, because the lock has kept the path of the last create only.", "五秒到了，B 放弃等待。它请求删除的是第二个节点，因为 lock 只记得后一次 create 的路径。"}, States: states(over, wait), Nodes: "B B", Watchers: "B"},
		{At: 13850 * ms, Text: Text{"B's lock fails, though the lock was free from A's release on. B's first node is left, and blocks all contenders until B's session ends.", "B 的 lock 失败了，而从 A 释放时起，锁一直是空闲的。B 的第一个节点留了下来，会挡住所有竞争者，直到 B 的会话结束。"}, States: states(over, over), Nodes: "B", Watchers: "B", Broken: true},
		{At: 13950 * ms, Text: Text{"The cure, step 3: Lock creates one node. After an event it reads the list again, in a loop.", "解决办法见第 3 步：Lock 只创建一个节点，收到事件后，在循环里再读一次列表。"}, States: states(over, over), Nodes: "B", Watchers: "B", Broken: true},
	}},
	"D8": {woken, []Stop{
		{At: 850 * ms, Text: Text{"A holds the lock, and B's node is behind A's.", "A 持有锁，B 的节点排在 A 后面。"}, States: states(hold, wait), Nodes: "A B"},
		{At: 1550 * ms, Text: Text{"B watches A's node. From now on B waits, for at most five seconds.", "B 监听 A 的节点。从现在起，B 最多等五秒。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 1900 * ms, Text: Text{"A's connection breaks. A's session lives on, so A holds the lock as before, and B waits.", "A 的连接断开。会话还在，所以 A 仍然持有锁，B 还在等待。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 2950 * ms, Text: Text{"A is connected again. One second has passed, and B has four left.", "A 重新连上了。过去了一秒，B 还剩四秒。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 3400 * ms, Text: Text{"A unlocks: its node is gone, and the event is on its way to B.", "A 释放锁：节点已删除，事件正在去 B 的路上。"}, States: states(frees, wait), Nodes: "B"},
		{At: 3600 * ms, Quote: "// 等待成功,重新执行获取锁操作", Text: Text{"B is awake, with four seconds left. The listing calls lock(waittime) again, with the whole wait time. lock begins with a create.", "B 醒来，还剩四秒。文章的代码又调用 lock(waittime)，传入的却是完整的等待时间。lock 一开头就创建节点。"}, States: states(frees, wait), Nodes: "B"},
		{At: 4200 * ms, Text: Text{"B's second node is behind its own first one: this is bug D6. So B will wait once more.", "B 的第二个节点排在自己的第一个节点后面：这就是 D6。所以 B 还要再等。"}, States: states(frees, wait), Nodes: "B B"},
		{At: 4450 * ms, Text: Text{"B waits at a new latch, for five seconds. The second that has passed does not count.", "B 在新的 latch 上等待，又是五秒。已经过去的那一秒没有算进去。"}, States: states(frees, wait), Nodes: "B B", Watchers: "B"},
		{At: 9950 * ms, Text: Text{"B has waited for six seconds, and lock was to give up after five. The film draws the ways of packets, too; they take no time on B's clock.", "B 等了六秒，而 lock 应当在五秒时放弃。画面上还画出了数据包在路上的时间，B 的时钟不计这部分。"}, States: states(over, wait), Nodes: "B B", Watchers: "B", Broken: true},
		{At: 10050 * ms, Text: Text{"Each event that wakes B starts the wait time again, so there is no bound. The cure, step 5: a ctx has one end, whatever happens meanwhile.", "每次唤醒都重新计时，等待就没有上限。解决办法见第 5 步：不管中间发生什么，ctx 的截止时间只有一个。"}, States: states(over, wait), Nodes: "B B", Watchers: "B", Broken: true},
	}},
	"D9": {Scene{}, []Stop{
		{At: 100 * ms, Quote: "private static final string root_node = \"/businesscode\";", Text: Text{"A asks for the lock lockA, and B asks for the lock lockB. The two locks are independent, but the listing puts the nodes of all locks below one parent.", "A 要的是锁 lockA，B 要的是锁 lockB。两个锁毫不相干，文章的代码却把所有锁的节点放在同一个父节点下。"}, States: states(wait, wait)},
		{At: 250 * ms, Text: Text{"A's node is made. Its name begins with the name of A's lock: lockA_0000000000.", "A 的节点已创建，名字以 A 的锁名开头：lockA_0000000000。"}, States: states(wait, wait), Nodes: "A"},
		{At: 550 * ms, Text: Text{"B's node is lockB_0000000001. No other contender asks for lockB, so this lock is free.", "B 的节点是 lockB_0000000001。没有别的竞争者要 lockB，这个锁是空闲的。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 850 * ms, Text: Text{"B has asked for the children of the parent. The reply has the nodes of both locks, and A's is the first.", "B 请求读取父节点的子节点列表。应答里有两个锁的节点，A 的排第一。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 1000 * ms, Text: Text{"The listing looks only for the place of B's node in the list. It takes A's node for the predecessor, and asks for it with exists.", "代码只看 B 的节点在列表里排第几，于是把 A 的节点当作前驱节点，用 exists 查看它。"}, States: states(wait, wait), Nodes: "A B"},
		{At: 1150 * ms, Text: Text{"B has a watch on A's node.", "B 在 A 的节点上设置了监听。"}, States: states(wait, wait), Nodes: "A B", Watchers: "B"},
		{At: 1250 * ms, Text: Text{"B waits for a lock that no other contender asks for. A does not even hold lockA yet.", "B 在等待，而它要的锁没有别的竞争者要。A 甚至还没有拿到 lockA。"}, States: states(wait, wait), Nodes: "A B", Watchers: "B", Broken: true},
		{At: 1350 * ms, Text: Text{"The cure, step 3: each lock has a parent of its own, and only the lock's own names count.", "解决办法见第 3 步：每个锁有自己的父节点，而且只有这个锁自己的节点名才算数。"}, States: states(wait, wait), Nodes: "A B", Watchers: "B", Broken: true},
	}},
	"D10": {forbidden, []Stop{
		{At: 50 * ms, Text: Text{"A calls lock. Its first request is to create A's node below /private. The lock's path to this node is null until the reply comes.", "A 调用 lock。第一个请求是在 /private 下创建 A 的节点。收到应答之前，节点路径是 null。"}, States: states(wait)},
		{At: 150 * ms, Text: Text{"In this scene no client is allowed to create a node there. So lock must fail, and that is not the bug.", "在这个场景里，任何客户端都没有权限在那里创建节点。lock 必然失败，这并不是 bug。"}, States: states(wait)},
		{At: 250 * ms, Text: Text{"The server has refused the create. The reply is on its way to A.", "服务器拒绝了 create，应答正在去 A 的路上。"}, States: states(wait)},
		{At: 320 * ms, Text: Text{"lock has thrown, and the path is null. Then close is called, as Java does at the end of a try block: delete(null, -1) throws before a request is sent.", "lock 抛出异常，路径还是 null。接着调用 close，就像 Java 在 try 块结束时那样：delete(null, -1) 还没有发出请求，就抛出了异常。"}, States: states(over), Broken: true},
		{At: 380 * ms, Quote: "throw new runtimeexception(\"failed to release lock: \" + lockname, e);", Text: Text{"The exception ends close. Its next line, zkclient.close(), is not reached.", "close 因异常而结束，下一行 zkclient.close() 没有执行到。"}, States: states(over), Broken: true},
		{At: 430 * ms, Text: Text{"A has finished, and its session exists at the server. The client goes on to send pings, so the session does not expire.", "A 已经结束，服务器上它的会话却还在。客户端会一直发送心跳，会话不会过期。"}, States: states(over), Broken: true},
		{At: 480 * ms, Text: Text{"The cure, step 3: if the lock is not held, Unlock returns an error and sends nothing. The client belongs to the caller, which closes it.", "解决办法见第 3 步：没有持有锁时，Unlock 返回错误，不发送任何请求。客户端属于调用者，由调用者关闭。"}, States: states(over), Broken: true},
	}},
	"D11": {beating, []Stop{
		{At: 350 * ms, Text: Text{"A's node is in the queue, and it is the only one.", "队列里只有 A 的节点。"}, States: states(wait), Nodes: "A"},
		{At: 650 * ms, Text: Text{"A holds the lock. The listing starts a thread that sends heartbeats.", "A 持有锁。文章的代码启动了一个发送心跳的线程。"}, States: states(hold), Nodes: "A"},
		{At: 950 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{"The first heartbeat has written empty data into A's node. The thread now sleeps for a second.", "第一次心跳把空数据写入了 A 的节点。线程接着休眠一秒。"}, States: states(hold), Nodes: "A"},
		{At: 10000 * ms, Quote: "心跳线程的 while 循环不能被打断", Text: Text{"The thread sends a heartbeat each second. Its loop has no exit, and this is intended: an exception must not end the heartbeats.", "线程每秒发送一次心跳。循环没有出口，而且是有意的：出现异常，心跳也不能停。"}, States: states(hold), Nodes: "A"},
		{At: 20900 * ms, Text: Text{"A unlocks. close deletes the node first, and stops the thread after that.", "A 释放锁。close 先删除节点，然后才停止线程。"}, States: states(frees), Nodes: "A"},
		{At: 21200 * ms, Quote: "stopheartbeatthread(); // 停止心跳线程", Text: Text{"The node is gone, and close has interrupted the thread. The sleep throws, the catch prints a line, and the loop continues.", "节点已删除，close 也中断了线程。休眠抛出异常，catch 打印一行，循环继续。"}, States: states(frees)},
		{At: 21400 * ms, Text: Text{"The thread has sent one more heartbeat, for a node that does not exist. It is behind the request that closes the session, and will be lost.", "线程又发出一次心跳，而节点已不存在。它排在关闭会话的请求后面，会丢失。"}, States: states(frees)},
		{At: 21700 * ms, Text: Text{"A has unlocked, and its session has ended. The thread has not.", "A 已释放锁，会话也已结束，线程却没有结束。"}, States: states(over)},
		{At: 60000 * ms, Text: Text{"Each setdata fails at once, because the client is closed. So the loop never comes to its sleep, and keeps a processor busy. No time passes on A's clock; the film draws 0.2 s for each failure.", "客户端已关闭，setdata 每次都立即失败，循环走不到休眠，一直占着处理器。A 的时钟没有前进，画面上把每次失败画成 0.2 秒。"}, States: states(over)},
		{At: 105300 * ms, Text: Text{"Nothing ends this loop before the process ends. The cure, step 5: the goroutine that reads the node also removes it, so its reads end before the node goes.", "进程不结束，这个循环就不会停。解决办法见第 5 步：读取节点的 goroutine 也负责删除节点，所以读取先停，节点后删。"}, States: states(over), Broken: true},
	}},
	"D12": {outlived, []Stop{
		{At: 350 * ms, Text: Text{"A's node is the only one in the queue.", "队列里只有 A 的节点。"}, States: states(wait, wait), Nodes: "A"},
		{At: 650 * ms, Quote: "if (currentnodeindex == 0) {", Text: Text{"A holds the lock. The listing sets locked to true, and starts a thread that is to send a heartbeat each second.", "A 持有锁。文章的代码把 locked 设为 true，启动了一个线程，要每秒发送一次心跳。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1000 * ms, Text: Text{"A's connection breaks. The session does not end with it, and A holds the lock as before.", "A 的连接断开。会话没有随之结束，A 仍然持有锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 2100 * ms, Text: Text{"The client library has connected again by itself, in the same session. A's first heartbeat is only now on its way.", "客户端库自己重新连上了，会话还是原来的。A 的第一次心跳这时才在路上。"}, States: states(hold, wait), Nodes: "A"},
		{At: 2250 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{"The heartbeat has arrived. It is a write, which every server of an ensemble must store. The pings of the library keep the session alive, and write nothing.", "心跳到了。它是一次写入，集群的每台服务器都要存下来。而客户端库用 ping 就能维持会话，什么也不用写。"}, States: states(hold, wait), Nodes: "A"},
		{At: 3250 * ms, Text: Text{"B has queued behind A, and watches A's node.", "B 排在 A 后面，监听 A 的节点。"}, States: states(hold, wait), Nodes: "A B", Watchers: "B"},
		{At: 3450 * ms, Text: Text{"A is cut off until its session has expired. The server has deleted A's node, and the event is on its way to B.", "A 断线，直到会话过期。服务器删除了 A 的节点，事件正在去 B 的路上。"}, States: states(hold, wait), Nodes: "B"},
		{At: 3600 * ms, Text: Text{"B is awake, and reads the list again. No heartbeat of A can bring the expired session back, and nothing sets locked to false.", "B 醒来，再次读取列表。会话已经过期，A 再发心跳也恢复不了；也没有代码把 locked 改回 false。"}, States: states(hold, wait), Nodes: "B"},
		{At: 3850 * ms, Text: Text{"B holds the lock. A's locked is true, so A goes on as the holder: there are two.", "B 持有锁。A 的 locked 还是 true，A 仍以持有者的身份继续执行：出现了两个持有者。"}, States: states(hold, hold), Nodes: "B", Broken: true},
		{At: 3950 * ms, Text: Text{"The cure, step 5: the holder reads its node three times per session timeout. If no reply comes, its own clock ends the lease before B gets the lock.", "解决办法见第 5 步：持有者在每个会话超时时间里读三次自己的节点。如果等不到应答，它凭自己的时钟，就能赶在 B 拿到锁之前得知锁已丢失。"}, States: states(hold, hold), Nodes: "B", Broken: true},
	}},
	"E1": {Scene{}, []Stop{
		{At: 950 * ms, Text: Text{"A holds the lock, and has read the number in /stock: 0.", "A 持有锁，读到 /stock 里的数是 0。"}, States: states(hold, wait), Nodes: "A"},
		{At: 1150 * ms, Text: Text{"A is stopped, as by a long garbage collection, until its session has expired. The server has deleted its node.", "A 停顿了，就像遇到一次很长的垃圾回收，直到会话过期。服务器删除了它的节点。"}, States: states(hold, wait)},
		{At: 2050 * ms, Quote: "后头监督前面,就不怕中间截断吗?", Text: Text{"B holds the lock, and has read 0, too. The chain continues, as the article says; but A has not noticed that it has lost the lock.", "B 持有锁，读到的也是 0。链条没有断，正如文章所说；可是 A 不知道自己已失去锁。"}, States: states(hold, hold), Nodes: "B", Broken: true},
		{At: 2450 * ms, Text: Text{"B has added one: /stock is 1. B is about to delete its node.", "B 加了一：/stock 现在是 1。B 接着要删除自己的节点。"}, States: states(hold, frees), Nodes: "B", Broken: true},
		{At: 3100 * ms, Text: Text{"A runs on. It goes on at the line where it was, and does not notice how much time has passed.", "A 恢复运行，从原来那一行接着执行，不知道过去了多久。"}, States: states(hold, over), Broken: true},
		{At: 5850 * ms, Text: Text{"A writes what it has computed from the old number: 1. Two have added one each, and /stock is 1.", "A 写入根据旧数算出的结果：1。两个持有者各加了一，/stock 却是 1。"}, States: states(frees, over), Broken: true},
		{At: 6300 * ms, Text: Text{"Unlock reports to A that the lock was lost. That is too late, and no lock can prevent it; /stock can: with step 5's tokens it refuses the write of A.", "Unlock 告诉 A 锁已丢失，但为时已晚。任何锁都防不住这种情况，/stock 却可以：有了第 5 步的令牌，它会拒绝 A 的写入。"}, States: states(over, over), Broken: true},
	}},
	"E2": {Scene{}, []Stop{
		{At: 650 * ms, Text: Text{"A holds the lock, and has read 0 from /stock. This lock compares before it deletes, as the article's script on Redis does.", "A 持有锁，从 /stock 读到 0。这个锁先比较再删除，与文章里 Redis 的脚本一样。"}, States: states(hold, wait), Nodes: "A"},
		{At: 850 * ms, Text: Text{"A is stopped until its session has expired. Its node is gone.", "A 停顿，直到会话过期。它的节点已删除。"}, States: states(hold, wait)},
		{At: 1050 * ms, Text: Text{"B's create has succeeded at the server: the node has B's id in it.", "B 的 create 在服务器上成功了：节点里是 B 的 ID。"}, States: states(hold, wait), Nodes: "B"},
		{At: 2850 * ms, Text: Text{"B holds the lock, and has read 0, too. A runs on, and takes itself for the holder.", "B 持有锁，读到的也是 0。A 已恢复运行，还以为自己是持有者。"}, States: states(hold, hold), Nodes: "B", Broken: true},
		{At: 4650 * ms, Text: Text{"B has written 1 to /stock. A's write is on its way.", "B 把 1 写入了 /stock。A 的写请求正在路上。"}, States: states(frees, frees), Nodes: "B", Broken: true},
		{At: 5250 * ms, Text: Text{"A has written 1, too: it has added one to the old number. One addition is lost.", "A 也写入了 1：它是在旧数上加的一。有一次加一丢失了。"}, States: states(frees, frees), Nodes: "B", Broken: true},
		{At: 5650 * ms, Quote: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])", Text: Text{"A's Unlock compares: the node has another id, and so it deletes nothing. B's lock is safe, and the stock is wrong.", "A 的 Unlock 作了比较：节点里是别的 ID，所以什么也没有删除。B 的锁安然无恙，库存却错了。"}, States: states(over, frees), Nodes: "B", Broken: true},
		{At: 6000 * ms, Text: Text{"The protected resource must compare, too. With tokens that grow, /stock refuses the write of A.", "受保护的资源也必须比较。有了递增的令牌，/stock 就会拒绝 A 的写入。"}, States: states(over, over), Broken: true},
	}},
}
