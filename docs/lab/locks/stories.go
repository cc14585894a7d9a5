package locks

import "time"

// A Story explains a scene at a few instants of its film.
type Story struct {
	Scene Scene  `json:"scene"` // with Choices it is a schedule
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

const (
	out, wait, hold, frees, over = "outside", "waits", "holds", "unlocks", "done"
	ms                           = time.Millisecond
)

// stories are by the name of a lock. The instants are those of its film.
var stories = map[string]Story{
	"naive": {three("naive"), []Stop{
		{At: 15 * ms, Text: Text{"A calls Lock. Its request to create the node /lab/lock is on its way to the server. B and C have not called Lock yet.", "A 调用了 Lock：创建节点 /lab/lock 的请求正在去服务器的路上。B 和 C 还没有调用 Lock。"}, States: states(wait, out, out)},
		{At: 67 * ms, Text: Text{"The server has created the node, and A has been told: A holds the lock. Of all creates of one name only one succeeds, so the server decides who holds it.", "服务器已经创建节点，A 也收到了应答：A 持有锁。同名的节点只能创建成功一次，所以锁归谁，由服务器决定。"}, States: states(hold, wait, wait), Nodes: "A"},
		{At: 113 * ms, Text: Text{"B and C were told that the node exists. Each has read it and left a watch: the server will tell both once, when the node changes.", "B 和 C 得知节点已存在。它们都读取了节点，同时设置了监听：节点变化时，服务器会各通知它们一次。"}, States: states(hold, wait, wait), Nodes: "A", Watchers: "B C"},
		{At: 234 * ms, Text: Text{"A unlocks: it deletes the node. Both watches fire at once, and two events are on their way.", "A 释放锁：它删除了节点。两个监听同时触发，两个事件正在路上。"}, States: states(frees, wait, wait)},
		{At: 255 * ms, Text: Text{"B and C are awake, and both ask for the node at once. One of them will wake for nothing. With n contenders it is n − 1 of them, at each release.", "B 和 C 都醒了，同时请求创建节点，其中一个注定白醒一场。如果有 n 个竞争者在等待，每次释放都有 n − 1 个白醒。"}, States: states(frees, wait, wait)},
		{At: 294 * ms, Text: Text{"B was first at the server and holds the lock. C's event came earlier: the order of waiting does not count here.", "B 的请求先到服务器，B 持有锁。C 的事件其实到得更早：在这里，等待的先后不起作用。"}, States: states(over, hold, wait), Nodes: "B"},
		{At: 563 * ms, Text: Text{"C holds the lock at last. Each had it once, never two at a time: the naive lock excludes. What it costs is the next step's subject.", "C 终于持有锁。每个竞争者各拿到一次，从来没有两个持有者：最朴素的锁也做到了互斥。它的代价，下一步再讲。"}, States: states(over, over, hold), Nodes: "C"},
	}},
	"herd": {three("herd"), []Stop{
		{At: 46 * ms, Text: Text{"Each contender creates a node of its own in the queue, and the server numbers them. A came first, B second.", "每个竞争者都在队列里创建自己的节点，序号由服务器给出。A 第一，B 第二。"}, States: states(wait, wait, wait), Nodes: "A B"},
		{At: 90 * ms, Text: Text{"A has read the list of nodes. Its own is the first one, so A holds the lock. B and C will find that theirs are not.", "A 读取了节点列表，自己的节点排第一，所以 A 持有锁。B 和 C 会发现自己的不是。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "A B"},
		{At: 113 * ms, Text: Text{"The watch of each waiter is on the parent: any change of the list wakes it.", "每个等待者监听的都是父节点：列表一变，就会醒来。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "A B C"},
		{At: 234 * ms, Text: Text{"A deletes its node. All watches on the parent fire: B's, C's, and the one that A had left itself.", "A 删除自己的节点。父节点上的监听全部触发：B 的、C 的，还有 A 自己留下的。"}, States: states(frees, wait, wait), Nodes: "B C"},
		{At: 280 * ms, Quote: "有个专业名词:惊群效应", Text: Text{"Everybody has woken and reads the whole list again. Only B's node is the first. C must wait again, and has asked for the next change: this is the herd effect.", "等待者全都醒来，又把整个列表读了一遍。只有 B 的节点排第一；C 只好继续等，重新设置监听：这就是惊群效应，又称羊群效应。"}, States: states(over, wait, wait), Nodes: "B C", Watchers: "B C"},
		{At: 294 * ms, Text: Text{"B holds the lock: the queue is fair. But each release costs a request and an event of every waiter.", "B 持有锁：队列是公平的。但是每次释放，每个等待者都要花费一个请求和一个事件。"}, States: states(over, hold, wait), Nodes: "B C", Watchers: "B C"},
		{At: 505 * ms, Text: Text{"C holds the lock. Among three nobody minds; among a hundred, nearly all of what is sent wakes somebody for nothing.", "C 持有锁。只有三个竞争者时无所谓；有一百个时，线路上传的几乎都是白白唤醒。"}, States: states(over, over, hold), Nodes: "C", Watchers: "C"},
	}},
	"predecessor": {three("predecessor"), []Stop{
		{At: 73 * ms, Text: Text{"Three nodes are in the queue, as in step 2. What differs is what a waiter watches.", "队列里有三个节点，与第 2 步一样。不同的是等待者监听什么。"}, States: states(wait, wait, wait), Nodes: "A B C"},
		{At: 107 * ms, Text: Text{"A holds the lock. B watches one node only: A's, the one before its own.", "A 持有锁。B 只监听一个节点，也就是前驱节点：A 的节点。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B"},
		{At: 148 * ms, Text: Text{"C watches B's node. The watches form a chain, one link for each waiter.", "C 监听 B 的节点。监听连成一条链，每个等待者是一环。"}, States: states(hold, wait, wait), Nodes: "A B C", Watchers: "B C"},
		{At: 234 * ms, Quote: "伐鼓传花似的依次向后", Text: Text{"A deletes its node. One watch fires: B's. C is not disturbed.", "A 删除自己的节点。像击鼓传花一样，只触发一个监听：B 的。C 不受打扰。"}, States: states(frees, wait, wait), Nodes: "B C", Watchers: "C"},
		{At: 260 * ms, Quote: "就举办再一次判定", Text: Text{"B is awake, and reads the list again. The node before it may have gone because its owner gave up, and then it would not be B's turn.", "B 醒了，再读一次列表。前一个节点消失，也可能是因为它的所有者放弃了等待，那样就还没轮到 B。"}, States: states(frees, wait, wait), Nodes: "B C", Watchers: "C"},
		{At: 308 * ms, Text: Text{"B's node is the first: B holds the lock.", "B 的节点排第一：B 持有锁。"}, States: states(over, hold, wait), Nodes: "B C", Watchers: "C"},
		{At: 514 * ms, Text: Text{"C holds the lock. Each release has cost one event, however many wait: n − 1 events for n contenders.", "C 持有锁。等待者再多，每次释放也只有一个事件：n 个竞争者总共 n − 1 个。"}, States: states(over, over, hold), Nodes: "C"},
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
		{At: 650 * ms, Text: Text{"A has read the list and holds the lock. B wants it, too.", "A 读取了列表，A 持有锁。B 也要加锁。"}, States: states(hold, wait), Nodes: "A"},
		{At: 850 * ms, Text: Text{"A unlocks: its request to delete the node is on its way, and will be slow.", "A 释放锁：删除节点的请求已经发出，但路上会很慢。"}, States: states(frees, wait), Nodes: "A"},
		{At: 1650 * ms, Text: Text{"B has queued behind A and subscribed to A's node: the server will tell it of the deletion. After this, B makes the latch on which it waits.", "B 排在 A 后面，并订阅了 A 的节点：节点删除时，服务器会通知 B。在这之后，B 才创建它要等待的 latch。"}, States: states(frees, wait), Nodes: "A B", Watchers: "B"},
		{At: 2250 * ms, Text: Text{"A's delete arrives. The event is on its way to B, and B's latch does not exist yet.", "A 的删除请求到了。事件正在去 B 的路上，而 B 的 latch 还没有创建。"}, States: states(frees, wait), Nodes: "B"},
		{At: 2450 * ms, Quote: "if (countDownLatch != null) {", Text: Text{"The event has reached B's listener. It found no latch to open, and did nothing. The event was the only one.", "事件到了 B 的监听器。监听器没有找到可以打开的 latch，什么也没做。而事件只有这一个。"}, States: states(over, wait), Nodes: "B"},
		{At: 62600 * ms, Text: Text{"A minute later B still waits, for a lock that nobody holds. Nothing will wake it: a release before the latch exists is lost.", "一分钟后，B 还在等待，而锁并没有持有者。再也不会有事件唤醒它：latch 创建之前的释放通知丢失了。"}, States: states(over, wait), Nodes: "B", Broken: true},
	}},
}
