package scenes

import (
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
)

var articleC = []Bug{
	{
		ID: "C1", Step: fourth, Cure: reentrant,
		Title:   Text{En: "a thread that failed to lock is counted as the holder", Zh: "加锁失败的线程被记为持有者"},
		Listing: listings.NewCountedLock,
		World: explore.World{
			Lock: mayFail(explore.Subject{Queue: true}), Scripts: [][]explore.Op{nil, times(2)},
			Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1,
		},
		Kinds: []explore.Kind{explore.TwoHolders},
		Level: Level{
			Name:  Text{En: "Counted too early", Zh: "数得太早"},
			Intro: Text{En: "This lock lets a thread lock again without asking the server: it counts. A locks once. B calls lock(), and if it fails, calls it again. You may lose one request, but you need not.", Zh: "这把锁允许同一线程再次加锁，不必询问服务器：它只数次数。A 加锁一次。B 调用 lock()，失败了就再调用一次。你可以丢失一个请求，但并非必须。"},
			Hints: []Text{
				{En: "When does the code count: before it has the lock, or after?", Zh: "代码在什么时候计数：拿到锁之前，还是之后？"},
				{En: "Let A hold the lock. Let B's lock() find A's node first in the list, and fail. B will call it once more.", Zh: "让 A 持有锁。让 B 的 lock() 发现 A 的节点排第一，于是失败。B 会再调用一次。"},
				{En: "A holds the lock. Now carry out both requests of B.", Zh: "A 持有锁。现在执行 B 的两个请求。"},
			},
			Victory: Text{En: "The first lock() failed, but had counted already. The second call saw a count of 1 and its own thread, made it 2, and returned true without a request, beside the real holder. Rule: write into the book only what the server has granted, and take it out again if a call fails.", Zh: "第一次 lock() 失败了，次数却已经记上。第二次看到次数是 1、线程又是自己，就加成 2，一个请求也没发，返回 true，与真正的持有者同时持有。要点：服务器给了锁，才能记账；调用失败，就要把账销掉。"},
		},
		Stops: []Stop{
			{At: 250 * ms, Text: Text{En: "A's node is in the queue, and it is the only one.", Zh: "队列里只有 A 的节点。"}, States: "waits waits", Nodes: "A"},
			{At: 650 * ms, Text: Text{En: "A holds the lock.", Zh: "A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 700 * ms, Quote: "thread = Thread.currentThread(); lockCount.incrementAndGet();", Text: Text{En: "B's thread called lock() at the start, and the count of B's lock is 1 since then: it counts before it holds.", Zh: "B 的线程一开始就调用了 lock()，从那时起，计数就是 1：还没有持有锁，就先计了数。"}, States: "holds waits", Nodes: "A"},
			{At: 850 * ms, Text: Text{En: "B's node is in the queue, behind A's.", Zh: "B 的节点在队列里，排在 A 后面。"}, States: "holds waits", Nodes: "A B"},
			{At: 1150 * ms, Text: Text{En: "The list is on its way to B. A's node is the first in it, so this lock() will return false.", Zh: "列表正在发给 B。排第一的是 A 的节点，所以这次 lock() 会返回 false。"}, States: "holds waits", Nodes: "A B"},
			{At: 1250 * ms, Text: Text{En: "B's lock() has failed, and its count is 1 all the same. B calls lock() once more: the thread is known, the count becomes 2, and it returns true without a request. A and B hold the lock at once.", Zh: "B 的 lock() 失败了，计数却还是 1。B 再调用一次 lock()：线程对得上，计数变成 2，不发请求就返回 true。A 和 B 同时持有锁。"}, States: "holds holds", Nodes: "A B", Broken: true},
			{At: 1350 * ms, Text: Text{En: "The cure, step 4: only a holder has a count in the book. If Lock fails, its entry goes.", Zh: "解决办法见第 4 步：只有持有者才有计数。Lock 一旦失败，就删除它的登记。"}, States: "holds holds", Nodes: "A B", Broken: true},
		},
	},
	{
		ID: "C2", Step: third, Cure: predecessor,
		Title:   Text{En: "the lock call fails just when its node becomes the first", Zh: "节点刚排到第一，加锁调用却失败了"},
		Listing: listings.NewAwaitLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Failure, explore.Crash},
		Level: Level{
			Name:  Text{En: "Bad luck at the door", Zh: "临门一脚"},
			Intro: Text{En: "A fair queue of two. The second reads the list, and asks for the node before its own with getData, which sets a watch. No faults.", Zh: "两个竞争者排成公平队列。后面的读取列表，然后用 getData 查看前一个节点，同时设置监听。没有故障。"},
			Hints: []Text{
				{En: "getData of a node that has gone is an error. Is it bad news for the waiter?", Zh: "节点已消失，getData 就会报错。对等待者来说，这是坏消息吗？"},
				{En: "Let B read the list while A's node is in it. Then keep B's next request back, and let A get in and out.", Zh: "趁 A 的节点还在，让 B 读取列表。然后扣住 B 的下一个请求，让 A 进去再出来。"},
				{En: "B has read the list, and A is about to delete its node. Let A be faster.", Zh: "B 已读取列表，A 正要删除自己的节点。让 A 快一步。"},
			},
			Victory: Text{En: "The node before it had gone: the waiter was the first. The error said so, and the code took it for a failure. The waiter's own node stays, and keeps everybody out. Rule: NoNode from the node that you want to watch means that the queue has moved. Read the list again.", Zh: "前一个节点已消失，等待者正好排第一。错误说的就是这件事，代码却当成了失败。它自己的节点还留着，谁也进不去。要点：要监听的节点返回 NoNode，只表示队伍向前动了。重新读取列表就行。"},
		},
		Stops: []Stop{
			{At: 250 * ms, Text: Text{En: "A's node is in the queue.", Zh: "A 的节点已在队列里。"}, States: "waits waits", Nodes: "A"},
			{At: 550 * ms, Text: Text{En: "B's node is in the queue, behind A's.", Zh: "B 的节点也在队列里，排在 A 后面。"}, States: "waits waits", Nodes: "A B"},
			{At: 850 * ms, Text: Text{En: "The list is on its way to B. Both nodes are in it, so B's predecessor is A's node.", Zh: "列表正在发给 B。两个节点都在里面，所以 B 的前驱节点是 A 的。"}, States: "waits waits", Nodes: "A B"},
			{At: 1000 * ms, Text: Text{En: "B asks for A's node with getData, which also sets a watch. The request is on its way, and it is slow.", Zh: "B 用 getData 读取 A 的节点，同时设置监听。请求正在路上，会很慢。"}, States: "waits waits", Nodes: "A B"},
			{At: 1300 * ms, Text: Text{En: "A has found its node first in the list, and holds the lock.", Zh: "A 看到自己的节点在列表里排第一，A 持有锁。"}, States: "holds waits", Nodes: "A B"},
			{At: 1500 * ms, Text: Text{En: "A unlocks: the request to delete its node is on its way. B's request has not arrived, so B has no watch.", Zh: "A 释放锁：删除节点的请求正在路上。B 的请求还没有到，也就没有设置监听。"}, States: "unlocks waits", Nodes: "A B"},
			{At: 1650 * ms, Text: Text{En: "A's node is gone, and B's node is the first in the queue.", Zh: "A 的节点已删除，B 的节点在队列里排第一。"}, States: "unlocks waits", Nodes: "B"},
			{At: 1950 * ms, Quote: "client.getData().usingWatcher(w).forPath(prior_path);", Text: Text{En: "B's request has arrived, and the reply NoNode is on its way. It means only that the queue has changed since B read the list.", Zh: "B 的请求到了，响应 NoNode 正在路上。这个错误只说明，B 读取列表之后队列变了。"}, States: "done waits", Nodes: "B"},
			{At: 2050 * ms, Text: Text{En: "For the listing, NoNode is an exception like any other. forPath throws, and lock() fails at the moment when B's node is the first.", Zh: "在文章的代码看来，NoNode 与其他异常没有区别。forPath 抛出异常：B 的节点刚排到第一，lock() 却失败了。"}, States: "done done", Nodes: "B", Broken: true},
			{At: 2150 * ms, Text: Text{En: "B's node stays in the queue, and keeps out later contenders until B's session ends. The cure, step 3: after NoNode, Lock lists the children again.", Zh: "B 的节点留在队列里，会一直挡住后来的竞争者，直到 B 的会话结束。解决办法见第 3 步：遇到 NoNode，Lock 就重新列出子节点。"}, States: "done done", Nodes: "B", Broken: true},
		},
	},
}
