package scenes

import (
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/listings"
)

var articleD = []Bug{
	{
		ID: "D1", Step: third, Effect: Hang, Cure: predecessor,
		Title: Text{En: "a watch on a deleted node never fires", Zh: "对已删除节点的监听永远不会触发"},
		// D2 hangs, too. Here the node to watch has gone, there it has not.
		Listing: listings.NewZkLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Hang}, Like: noNode,
		Stops: []Stop{
			{At: 950 * ms, Text: Text{En: "B's node is the first in the list, and B holds the lock.", Zh: "B 的节点在列表里排第一，B 持有锁。"}, States: "waits holds", Nodes: "B"},
			{At: 1450 * ms, Text: Text{En: "B unlocks, by closing its client: that ends the session, and its node goes with it. The request is on its way.", Zh: "B 释放锁的办法是关闭客户端：会话结束，节点随之删除。请求正在路上。"}, States: "waits unlocks", Nodes: "B"},
			{At: 1650 * ms, Text: Text{En: "A has queued behind B. It will read the list now, and B's node is in it.", Zh: "A 排在 B 后面。它接着读取列表，B 的节点还在里面。"}, States: "waits unlocks", Nodes: "B A"},
			{At: 2250 * ms, Text: Text{En: "B's node is gone. A has only the old list, and no watch yet.", Zh: "B 的节点已删除。A 手里是旧列表，也还没有监听。"}, States: "waits unlocks", Nodes: "A"},
			{At: 2550 * ms, Quote: "zookeeper.exists(\"/\"+businesscode+\"/\"+lastnode,true);", Text: Text{En: "A asks with exists for B's node, and leaves a watch. The node does not exist, and the listing ignores this answer. The watch waits for a node of that name, which the server never makes again.", Zh: "A 用 exists 查看 B 的节点，同时设置了监听。节点不存在，而代码没有理会这个结果。监听等待的是同名节点，服务器再也不会创建它。"}, States: "waits unlocks", Nodes: "A", Watchers: "A"},
			{At: 3200 * ms, Text: Text{En: "A's node is the first and the only one, and A waits.", Zh: "A 的节点排第一，也是唯一的节点，而 A 在等待。"}, States: "waits done", Nodes: "A", Watchers: "A"},
			{At: 68400 * ms, Text: Text{En: "A minute later A is waiting for an event that cannot come. The cure is getData in the place of exists: it fails on a node that is gone, leaves no watch, and A reads the list again.", Zh: "一分钟后，A 还在等一个不可能到来的事件。解决办法是用 getData 代替 exists：节点不存在时它会报错，也不留下监听，A 就会再读一次列表。"}, States: "waits done", Nodes: "A", Watchers: "A", Broken: true},
		},
	},
	{
		ID: "D2", Step: third, Effect: Hang, Cure: predecessor,
		Title:   Text{En: "a notify that comes before the wait is lost", Zh: "先于 wait 的 notify 会丢失"},
		Listing: listings.NewZkLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Hang}, Like: func(tr *explore.Trace) bool { return !noNode(tr) },
		Stops: []Stop{
			{At: 1250 * ms, Text: Text{En: "A holds the lock.", Zh: "A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 1450 * ms, Text: Text{En: "B has queued behind A.", Zh: "B 排在 A 后面。"}, States: "holds waits", Nodes: "A B"},
			{At: 2050 * ms, Text: Text{En: "A unlocks: the request to end its session is on its way.", Zh: "A 释放锁：结束会话的请求正在路上。"}, States: "unlocks waits", Nodes: "A B"},
			{At: 2250 * ms, Text: Text{En: "B has set a watch on A's node. The next line of its code is wait(), and B is not there yet.", Zh: "B 在 A 的节点上设置了监听。下一行代码才是 wait()，B 还没有执行到那里。"}, States: "unlocks waits", Nodes: "A B", Watchers: "B"},
			{At: 2550 * ms, Text: Text{En: "A's node is gone, and the event is on its way to B.", Zh: "A 的节点已删除，事件正在去 B 的路上。"}, States: "unlocks waits", Nodes: "B"},
			{At: 2750 * ms, Quote: "synchronized (this){", Text: Text{En: "The event has arrived, and the watcher calls notify(). No thread waits at this moment, so the call wakes none, and it is not repeated.", Zh: "事件到了，监听器调用 notify()。此刻没有线程在 wait()，这次调用没有唤醒任何线程，以后也不会重来。"}, States: "unlocks waits", Nodes: "B"},
			{At: 68500 * ms, Text: Text{En: "B has gone on to wait(), and waits a minute later. Its node is the first in the queue. The cure: the event waits in a channel until the contender takes it.", Zh: "B 接着执行 wait()，一分钟后还在等待，尽管它的节点排第一。解决办法：事件留在 channel 里，直到竞争者来取。"}, States: "done waits", Nodes: "B", Broken: true},
		},
	},
	{
		ID: "D3", Step: third, Effect: TwoHolders, Cure: predecessor,
		Title:   Text{En: "a waiter that is woken does not read the list again", Zh: "等待者被唤醒后不再重新读取列表"},
		Listing: listings.NewZkLock, World: among(3, queue, explore.Expire), Kinds: []explore.Kind{explore.TwoHolders, explore.Overtaken, explore.NodeMissing}, Search: atRandom,
		Stops: []Stop{
			{At: 1750 * ms, Text: Text{En: "C, A and B have their nodes in the queue, in this order. C will hold the lock first, then A, then B.", Zh: "C、A、B 依次在队列里创建了节点。应当先由 C 持有锁，然后是 A，最后是 B。"}, States: "waits waits waits", Nodes: "C A B"},
			{At: 2350 * ms, Text: Text{En: "B's predecessor is A. B watches A's node, and is about to wait.", Zh: "B 的前驱节点是 A 的。B 已监听这个节点，正要开始等待。"}, States: "waits waits waits", Nodes: "C A B", Watchers: "B"},
			{At: 2750 * ms, Text: Text{En: "C finds its node first in the list, and holds the lock. Nothing is wrong yet: whatever the order of the rest, it ends well without a fault.", Zh: "C 发现自己的节点排第一，C 持有锁。到现在一切正常：只要不出故障，后面不论什么次序，都能顺利结束。"}, States: "waits waits holds", Nodes: "C A B", Watchers: "B"},
			{At: 3100 * ms, Text: Text{En: "A's session expires while A waits. The server deletes A's node, and so B's watch fires. But it is C that holds the lock.", Zh: "A 还在等待，会话就过期了。服务器删除 A 的节点，B 的监听随之触发。可是持有锁的是 C。"}, States: "waits waits holds", Nodes: "C B"},
			{At: 3200 * ms, Quote: "当前一个子节点被删除时,重新执行第四步", Text: Text{En: "B is woken and returns true. The article's text says that it must look again; its code does not. B and C hold the lock at once.", Zh: "B 醒来，直接返回 true。文章的文字说要再次检查，代码却没有这样做。B 和 C 同时持有锁。"}, States: "done holds holds", Nodes: "C B", Broken: true},
			{At: 3400 * ms, Text: Text{En: "The cure is to read the list again after waking: then B sees C's node before its own, and watches that. Press “The same with the lock that cures it”.", Zh: "解决办法是醒来后再读一次列表：这样 B 会看到自己前面是 C 的节点，转而监听它。请按“换成已修复的锁”。"}, States: "done holds holds", Nodes: "C B", Broken: true},
		},
	},
	{
		ID: "D4", Step: third, Effect: Crash, Cure: predecessor,
		Title:   Text{En: "two clients create the parent at once: one gets false", Zh: "两个客户端同时创建父节点：其中一个得到 false"},
		Listing: listings.NewZkLock, World: explore.World{Missing: true}, Kinds: []explore.Kind{explore.Failure},
		Stops: []Stop{
			{At: 100 * ms, Quote: "stat stat = zookeeper.exists(\"/\" + businesscode, false);", Text: Text{En: "No client has used this lock before, so its parent /lock does not exist. A and B have each asked for it with exists.", Zh: "还没有客户端用过这个锁，父节点 /lock 不存在。A 和 B 各自用 exists 查看它，请求正在路上。"}, States: "waits waits"},
			{At: 400 * ms, Text: Text{En: "A has the reply that the parent does not exist, and has sent a create. This request will be slow.", Zh: "A 得知父节点不存在，发出了 create。这个请求在路上会很慢。"}, States: "waits waits"},
			{At: 700 * ms, Text: Text{En: "B was given the same reply, and has sent a create, too. Only one of the two creates can succeed.", Zh: "B 得到同样的应答，也发出了 create。两个 create 只能成功一个。"}, States: "waits waits"},
			{At: 850 * ms, Text: Text{En: "B's create arrives first, and the parent exists. A cannot see that: A's create is on its way.", Zh: "B 的 create 先到，父节点已经存在。A 无法得知，它的 create 还在路上。"}, States: "waits waits"},
			{At: 1150 * ms, Text: Text{En: "B creates its own node below the parent.", Zh: "B 在父节点下创建了自己的节点。"}, States: "waits waits", Nodes: "B"},
			{At: 1600 * ms, Text: Text{En: "B's node is the only one in the list, and B holds the lock.", Zh: "列表里只有 B 的节点，B 持有锁。"}, States: "waits holds", Nodes: "B"},
			{At: 2500 * ms, Text: Text{En: "B has unlocked, and has closed its client. The queue is empty, and the lock is free.", Zh: "B 释放了锁，也关闭了客户端。队列空了，锁是空闲的。"}, States: "waits done"},
			{At: 7750 * ms, Text: Text{En: "A's create arrives at last, and the server refuses it: the node exists. In getLock one catch handles all errors alike.", Zh: "A 的 create 终于到了，服务器拒绝了它：节点已存在。而 getLock 用同一个 catch 处理所有错误。"}, States: "waits done"},
			{At: 7850 * ms, Text: Text{En: "getLock returns false, although the lock is free and its parent exists.", Zh: "getLock 返回 false，其实锁是空闲的，父节点也已经存在。"}, States: "done done", Broken: true},
			{At: 7950 * ms, Text: Text{En: "The cure, step 3: if the create of a parent fails because the node exists, that is a success. Lock goes on to create its own node.", Zh: "解决办法见第 3 步：创建父节点时，如果错误是节点已存在，就算作成功，Lock 接着创建自己的节点。"}, States: "done done", Broken: true},
		},
	},
	{
		ID: "D5", Step: third, Effect: Crash, Cure: predecessor,
		Title:   Text{En: "a missing session is taken for a held lock", Zh: "没有会话，却当成锁被占用"},
		Listing: listings.NewZkLock,
		World: explore.World{
			Lock: queue, Contenders: 1, Scripts: [][]explore.Op{{explore.TryLockOp, explore.UnlockOp}}, // false means held
			Unconnected: true, Kinds: []explore.Fault{explore.Refuse}, Faults: 1,
		},
		Kinds: []explore.Kind{explore.Failure},
		Stops: []Stop{
			{At: 20 * ms, Quote: "this.zookeeper = new zookeeper(\"localhost:2181\",", Text: Text{En: "A has made its client, and calls getLock at once. The constructor has only begun to connect: it does not wait for the session.", Zh: "A 创建了客户端，随即调用 getLock。构造方法只是开始连接，并没有等会话建立。"}, States: "waits"},
			{At: 70 * ms, Text: Text{En: "The first request of getLock is exists. It stays in the client, because there is no connection.", Zh: "getLock 的第一个请求是 exists。还没有连接，请求只能留在客户端里。"}, States: "waits"},
			{At: 120 * ms, Text: Text{En: "The parent /lock exists, and it has no child: the lock is free.", Zh: "父节点 /lock 存在，下面没有子节点：锁是空闲的。"}, States: "waits"},
			{At: 170 * ms, Text: Text{En: "A's first attempt to connect is refused. The client library will try again after a second.", Zh: "A 的第一次连接遭到拒绝。一秒后，客户端库会再试。"}, States: "waits"},
			{At: 210 * ms, Text: Text{En: "The library does not keep the request for the next attempt: exists returns an error. The catch prints it, and getLock returns false.", Zh: "客户端库不会把请求留到下一次连接：exists 返回错误。catch 打印了错误，getLock 返回 false。"}, States: "done", Broken: true},
			{At: 300 * ms, Text: Text{En: "To its caller, false means that the lock is held. But no client has ever held it, and none has reached the server.", Zh: "在调用者看来，false 就是锁被占用。其实没有客户端持有过锁，连服务器都没有客户端连上过。"}, States: "done", Broken: true},
			{At: 390 * ms, Text: Text{En: "The cure, step 3: Lock and TryLock return the error, and the caller can distinguish it from a held lock. zklock tries again until its ctx ends.", Zh: "解决办法见第 3 步：Lock 和 TryLock 返回错误，调用者就能把它与锁被占用区分开。zklock 会不断重试，直到 ctx 结束。"}, States: "done", Broken: true},
		},
	},
	{
		ID: "D6", Step: third, Effect: Leak, Cure: predecessor,
		Title:   Text{En: "a waiter that is woken queues again, behind its own node", Zh: "等待者被唤醒后再次排队，排到了自己的节点后面"},
		Listing: listings.NewDistributedLock, World: explore.World{Lock: deep}, Kinds: []explore.Kind{explore.Failure, explore.NodeLeft},
		Stops: []Stop{
			{At: 550 * ms, Text: Text{En: "Two nodes are in the queue: A's is the first, and B's is the second.", Zh: "队列里有两个节点：A 的第一，B 的第二。"}, States: "waits waits", Nodes: "A B"},
			{At: 1300 * ms, Text: Text{En: "B watches A's node, and waits at a latch for at most five seconds.", Zh: "B 监听 A 的节点，在 latch 上等待，最多等五秒。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 1600 * ms, Text: Text{En: "A has read the list, too, and holds the lock.", Zh: "A 也读取了列表，A 持有锁。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 1950 * ms, Text: Text{En: "A unlocks: its node is gone, and the event is on its way to B. B's node is the first now.", Zh: "A 释放锁：节点已删除，事件正在去 B 的路上。现在 B 的节点排第一。"}, States: "unlocks waits", Nodes: "B"},
			{At: 2200 * ms, Quote: "// 等待成功,重新执行获取锁操作", Text: Text{En: "B is awake. To read the list again would be enough, but the listing calls lock again, and lock begins with a create. This request is on its way.", Zh: "B 醒来。其实再读一次列表就够了，文章的代码却又调用 lock，而 lock 一开头就创建节点。请求正在路上。"}, States: "unlocks waits", Nodes: "B"},
			{At: 8250 * ms, Text: Text{En: "B has two nodes in the queue, and has read the list. The node before its second one is its own first one.", Zh: "B 在队列里有了两个节点。它读取了列表：排在第二个节点前面的，是它自己的第一个节点。"}, States: "done waits", Nodes: "B B"},
			{At: 8600 * ms, Text: Text{En: "B watches its own first node: it waits for itself.", Zh: "B 监听自己的第一个节点：它在等自己。"}, States: "done waits", Nodes: "B B", Watchers: "B"},
			{At: 13600 * ms, Quote: "// 超时未等到通知,主动删除自己的临时节点,放弃获取锁", Text: Text{En: "The five seconds are over, and B gives up. Its request deletes the second node, because the lock has kept the path of the last create only.", Zh: "五秒到了，B 放弃等待。它请求删除的是第二个节点，因为 lock 只记得后一次 create 的路径。"}, States: "done waits", Nodes: "B B", Watchers: "B"},
			{At: 13850 * ms, Text: Text{En: "B's lock fails, though the lock was free from A's release on. B's first node is left, and blocks all contenders until B's session ends.", Zh: "B 的 lock 失败了，而从 A 释放时起，锁一直是空闲的。B 的第一个节点留了下来，会挡住所有竞争者，直到 B 的会话结束。"}, States: "done done", Nodes: "B", Watchers: "B", Broken: true},
			{At: 13950 * ms, Text: Text{En: "The cure, step 3: Lock creates one node. After an event it reads the list again, in a loop.", Zh: "解决办法见第 3 步：Lock 只创建一个节点，收到事件后，在循环里再读一次列表。"}, States: "done done", Nodes: "B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D7", Step: third, Effect: TwoHolders, Cure: predecessor,
		Title:   Text{En: "the node before is gone: the waiter takes the lock", Zh: "前驱节点没了，等待者就当作拿到了锁"},
		Listing: listings.NewDistributedLock, World: among(3, deep, explore.Expire), Kinds: []explore.Kind{explore.TwoHolders}, Search: atRandom,
		Stops: []Stop{
			{At: 250 * ms, Text: Text{En: "C's node is the first in the queue.", Zh: "C 的节点在队列里排第一。"}, States: "waits waits waits", Nodes: "C"},
			{At: 650 * ms, Text: Text{En: "C has read the list, and holds the lock.", Zh: "C 读取了列表，C 持有锁。"}, States: "waits waits holds", Nodes: "C"},
			{At: 1450 * ms, Text: Text{En: "A and B have queued behind C. B has read the list: A's node is before its own. It is about to ask for that node.", Zh: "A 和 B 排在 C 后面。B 读取了列表：前一个节点是 A 的。B 正要去查看它。"}, States: "waits waits holds", Nodes: "C A B"},
			{At: 1750 * ms, Text: Text{En: "A's session expires just now, and A's node is gone. B's request is still on its way.", Zh: "就在这时，A 的会话过期，A 的节点已被删除。B 的请求还在路上。"}, States: "done waits holds", Nodes: "C B"},
			{At: 4310 * ms, Text: Text{En: "B's request arrives: the node does not exist. A lock must now read the list again, because C's node is still before B's.", Zh: "B 的请求到了：节点不存在。这时必须重新读取列表，因为 C 的节点仍排在 B 前面。"}, States: "done waits holds", Nodes: "C B", Watchers: "B"},
			{At: 4401 * ms, Quote: "if (stat != null) {", Text: Text{En: "The listing waits only if the node exists, and has no else: B goes on as if it had the lock. B and C hold it at once.", Zh: "文章的代码只在节点存在时才等待，没有 else：于是 B 当作自己拿到了锁。B 和 C 同时持有锁。"}, States: "done holds holds", Nodes: "C B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D8", Step: third, Effect: Hang, Cure: patient(),
		Title:   Text{En: "each wake-up starts the wait time again", Zh: "每次唤醒都重新计算等待时间"},
		Listing: listings.NewDistributedLock,
		World: explore.World{
			Lock: explore.Subject{Path: deep.Path, Within: listings.WaitTime}, Contenders: 3, Kinds: []explore.Fault{explore.Pause}, Faults: 2,
		},
		Kinds: []explore.Kind{explore.TooLong}, Search: atRandom,
		// In the scene no waiter is woken. A client that is cut off connects again after a
		// second, and meanwhile the clock of a wait goes on.
		Play: &Play{Contenders: 2, Kinds: []explore.Fault{explore.Cut}, Faults: 1,
			Choices: []string{"A: request", "A: request", "B: request", "B: request", "B: request", "A: cut", "A: reconnect", "B: request", "B: request", "B: request"}},
		Stops: []Stop{
			{At: 850 * ms, Text: Text{En: "A holds the lock, and B's node is behind A's.", Zh: "A 持有锁，B 的节点排在 A 后面。"}, States: "holds waits", Nodes: "A B"},
			{At: 1550 * ms, Text: Text{En: "B watches A's node. From now on B waits, for at most five seconds.", Zh: "B 监听 A 的节点。从现在起，B 最多等五秒。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 1900 * ms, Text: Text{En: "A's connection breaks. A's session lives on, so A holds the lock as before, and B waits.", Zh: "A 的连接断开。会话还在，所以 A 仍然持有锁，B 还在等待。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 2950 * ms, Text: Text{En: "A is connected again. One second has passed, and B has four left.", Zh: "A 重新连上了。过去了一秒，B 还剩四秒。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 3400 * ms, Text: Text{En: "A unlocks: its node is gone, and the event is on its way to B.", Zh: "A 释放锁：节点已删除，事件正在去 B 的路上。"}, States: "unlocks waits", Nodes: "B"},
			{At: 3600 * ms, Quote: "// 等待成功,重新执行获取锁操作", Text: Text{En: "B is awake, with four seconds left. The listing calls lock(waittime) again, with the whole wait time. lock begins with a create.", Zh: "B 醒来，还剩四秒。文章的代码又调用 lock(waittime)，传入的却是完整的等待时间。lock 一开头就创建节点。"}, States: "unlocks waits", Nodes: "B"},
			{At: 4200 * ms, Text: Text{En: "B's second node is behind its own first one: this is bug D6. So B will wait once more.", Zh: "B 的第二个节点排在自己的第一个节点后面：这就是 D6。所以 B 还要再等。"}, States: "unlocks waits", Nodes: "B B"},
			{At: 4450 * ms, Text: Text{En: "B waits at a new latch, for five seconds. The second that has passed does not count.", Zh: "B 在新的 latch 上等待，又是五秒。已经过去的那一秒没有算进去。"}, States: "unlocks waits", Nodes: "B B", Watchers: "B"},
			{At: 9950 * ms, Text: Text{En: "B has waited for six seconds, and lock was to give up after five. The film draws the ways of packets, too; they take no time on B's clock.", Zh: "B 等了六秒，而 lock 应当在五秒时放弃。画面上还画出了数据包在路上的时间，B 的时钟不计这部分。"}, States: "done waits", Nodes: "B B", Watchers: "B", Broken: true},
			{At: 10050 * ms, Text: Text{En: "Each event that wakes B starts the wait time again, so there is no bound. The cure, step 5: a ctx has one end, whatever happens meanwhile.", Zh: "每次唤醒都重新计时，等待就没有上限。解决办法见第 5 步：不管中间发生什么，ctx 的截止时间只有一个。"}, States: "done waits", Nodes: "B B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D9", Step: third, Effect: Hang, Cure: predecessor,
		Title:   Text{En: "lock b waits for lock a", Zh: "锁 b 在等锁 a"},
		Listing: listings.NewDistributedLock, World: explore.World{Lock: deep, Apart: true}, Kinds: []explore.Kind{explore.Hang},
		Stops: []Stop{
			{At: 100 * ms, Quote: "private static final string root_node = \"/businesscode\";", Text: Text{En: "A asks for the lock lockA, and B asks for the lock lockB. The two locks are independent, but the listing puts the nodes of all locks below one parent.", Zh: "A 要的是锁 lockA，B 要的是锁 lockB。两个锁毫不相干，文章的代码却把所有锁的节点放在同一个父节点下。"}, States: "waits waits"},
			{At: 250 * ms, Text: Text{En: "A's node is made. Its name begins with the name of A's lock: lockA_0000000000.", Zh: "A 的节点已创建，名字以 A 的锁名开头：lockA_0000000000。"}, States: "waits waits", Nodes: "A"},
			{At: 550 * ms, Text: Text{En: "B's node is lockB_0000000001. No other contender asks for lockB, so this lock is free.", Zh: "B 的节点是 lockB_0000000001。没有别的竞争者要 lockB，这个锁是空闲的。"}, States: "waits waits", Nodes: "A B"},
			{At: 850 * ms, Text: Text{En: "B has asked for the children of the parent. The reply has the nodes of both locks, and A's is the first.", Zh: "B 请求读取父节点的子节点列表。应答里有两个锁的节点，A 的排第一。"}, States: "waits waits", Nodes: "A B"},
			{At: 1000 * ms, Text: Text{En: "The listing looks only for the place of B's node in the list. It takes A's node for the predecessor, and asks for it with exists.", Zh: "代码只看 B 的节点在列表里排第几，于是把 A 的节点当作前驱节点，用 exists 查看它。"}, States: "waits waits", Nodes: "A B"},
			{At: 1150 * ms, Text: Text{En: "B has a watch on A's node.", Zh: "B 在 A 的节点上设置了监听。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 1250 * ms, Text: Text{En: "B waits for a lock that no other contender asks for. A does not even hold lockA yet.", Zh: "B 在等待，而它要的锁没有别的竞争者要。A 甚至还没有拿到 lockA。"}, States: "waits waits", Nodes: "A B", Watchers: "B", Broken: true},
			{At: 1350 * ms, Text: Text{En: "The cure, step 3: each lock has a parent of its own, and only the lock's own names count.", Zh: "解决办法见第 3 步：每个锁有自己的父节点，而且只有这个锁自己的节点名才算数。"}, States: "waits waits", Nodes: "A B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D10", Step: third, Effect: Leak, Cure: closing(),
		Title:   Text{En: "close() after a failed lock() deletes path null", Zh: "lock() 失败后的 close() 删除路径 null"},
		Listing: listings.NewDistributedLock,
		World: explore.World{
			Lock: mayFail(explore.Subject{Path: "/private/lock", Closes: true}), Contenders: 1, Forbidden: true,
		},
		Kinds: []explore.Kind{explore.SessionLeft},
		// The scene has no choice, and a scene without choices is not a schedule.
		Play: &Play{Contenders: 1, Kinds: []explore.Fault{explore.Expire}, Faults: 1,
			Choices: []string{"A: request"}},
		Stops: []Stop{
			{At: 50 * ms, Text: Text{En: "A calls lock. Its first request is to create A's node below /private. The lock's path to this node is null until the reply comes.", Zh: "A 调用 lock。第一个请求是在 /private 下创建 A 的节点。收到应答之前，节点路径是 null。"}, States: "waits"},
			{At: 150 * ms, Text: Text{En: "In this scene no client is allowed to create a node there. So lock must fail, and that is not the bug.", Zh: "在这个场景里，任何客户端都没有权限在那里创建节点。lock 必然失败，这并不是 bug。"}, States: "waits"},
			{At: 250 * ms, Text: Text{En: "The server has refused the create. The reply is on its way to A.", Zh: "服务器拒绝了 create，应答正在去 A 的路上。"}, States: "waits"},
			{At: 320 * ms, Text: Text{En: "lock has thrown, and the path is null. Then close is called, as Java does at the end of a try block: delete(null, -1) throws before a request is sent.", Zh: "lock 抛出异常，路径还是 null。接着调用 close，就像 Java 在 try 块结束时那样：delete(null, -1) 还没有发出请求，就抛出了异常。"}, States: "done", Broken: true},
			{At: 380 * ms, Quote: "throw new runtimeexception(\"failed to release lock: \" + lockname, e);", Text: Text{En: "The exception ends close. Its next line, zkclient.close(), is not reached.", Zh: "close 因异常而结束，下一行 zkclient.close() 没有执行到。"}, States: "done", Broken: true},
			{At: 430 * ms, Text: Text{En: "A has finished, and its session exists at the server. The client goes on to send pings, so the session does not expire.", Zh: "A 已经结束，服务器上它的会话却还在。客户端会一直发送心跳，会话不会过期。"}, States: "done", Broken: true},
			{At: 480 * ms, Text: Text{En: "The cure, step 3: if the lock is not held, Unlock returns an error and sends nothing. The client belongs to the caller, which closes it.", Zh: "解决办法见第 3 步：没有持有锁时，Unlock 返回错误，不发送任何请求。客户端属于调用者，由调用者关闭。"}, States: "done", Broken: true},
		},
	},
	{
		ID: "D11", Step: fifth, Effect: Leak, Cure: timeout,
		Title:   Text{En: "the heartbeat outlives the lock, as a hot loop", Zh: "释放锁之后，心跳线程仍空转不停"},
		Listing: listings.NewHeartbeatLock, World: explore.World{Lock: deep, Contenders: 1}, Kinds: []explore.Kind{explore.Endless},
		// In the scene no heartbeat is sent.
		Play: &Play{Contenders: 1, Kinds: []explore.Fault{explore.Pause}, Faults: 1,
			Choices: []string{"A: request", "A: request", "all: time passes", "gap D11: go on", "A: request", "A: reconnect"}},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's node is in the queue, and it is the only one.", Zh: "队列里只有 A 的节点。"}, States: "waits", Nodes: "A"},
			{At: 650 * ms, Text: Text{En: "A holds the lock. The listing starts a thread that sends heartbeats.", Zh: "A 持有锁。文章的代码启动了一个发送心跳的线程。"}, States: "holds", Nodes: "A"},
			{At: 950 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{En: "The first heartbeat has written empty data into A's node. The thread now sleeps for a second.", Zh: "第一次心跳把空数据写入了 A 的节点。线程接着休眠一秒。"}, States: "holds", Nodes: "A"},
			{At: 10000 * ms, Quote: "心跳线程的 while 循环不能被打断", Text: Text{En: "The thread sends a heartbeat each second. Its loop has no exit, and this is intended: an exception must not end the heartbeats.", Zh: "线程每秒发送一次心跳。循环没有出口，而且是有意的：出现异常，心跳也不能停。"}, States: "holds", Nodes: "A"},
			{At: 20900 * ms, Text: Text{En: "A unlocks. close deletes the node first, and stops the thread after that.", Zh: "A 释放锁。close 先删除节点，然后才停止线程。"}, States: "unlocks", Nodes: "A"},
			{At: 21200 * ms, Quote: "stopheartbeatthread(); // 停止心跳线程", Text: Text{En: "The node is gone, and close has interrupted the thread. The sleep throws, the catch prints a line, and the loop continues.", Zh: "节点已删除，close 也中断了线程。休眠抛出异常，catch 打印一行，循环继续。"}, States: "unlocks"},
			{At: 21400 * ms, Text: Text{En: "The thread has sent one more heartbeat, for a node that does not exist. It is behind the request that closes the session, and will be lost.", Zh: "线程又发出一次心跳，而节点已不存在。它排在关闭会话的请求后面，会丢失。"}, States: "unlocks"},
			{At: 21700 * ms, Text: Text{En: "A has unlocked, and its session has ended. The thread has not.", Zh: "A 已释放锁，会话也已结束，线程却没有结束。"}, States: "done"},
			{At: 60000 * ms, Text: Text{En: "Each setdata fails at once, because the client is closed. So the loop never comes to its sleep, and keeps a processor busy. No time passes on A's clock; the film draws 0.2 s for each failure.", Zh: "客户端已关闭，setdata 每次都立即失败，循环走不到休眠，一直占着处理器。A 的时钟没有前进，画面上把每次失败画成 0.2 秒。"}, States: "done"},
			{At: 105300 * ms, Text: Text{En: "Nothing ends this loop before the process ends. The cure, step 5: the goroutine that reads the node also removes it, so its reads end before the node goes.", Zh: "进程不结束，这个循环就不会停。解决办法见第 5 步：读取节点的 goroutine 也负责删除节点，所以读取先停，节点后删。"}, States: "done", Broken: true},
		},
	},
	{
		ID: "D12", Step: fifth, Effect: TwoHolders, Cure: timeout,
		Title: Text{En: "the heartbeat writes, and does not keep the lock", Zh: "心跳只是不停地写，保不住锁"},
		// It is reported apart, and does not end a search.
		Listing: listings.NewHeartbeatLock, World: one(deep, explore.Expire), Kinds: []explore.Kind{explore.Outlived}, Search: explore.Search{Seed: 1, Limit: 50},
		// In the scene no heartbeat is sent. A client that is cut off connects again after a
		// second, and meanwhile the clock of the heartbeat goes on.
		Play: &Play{Contenders: 2, Kinds: []explore.Fault{explore.Cut, explore.Expire}, Faults: 2,
			Choices: []string{"A: request", "A: request", "A: cut", "A: reconnect", "A: request", "B: request", "B: request", "B: request", "A: expire", "B: request"}},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's node is the only one in the queue.", Zh: "队列里只有 A 的节点。"}, States: "waits waits", Nodes: "A"},
			{At: 650 * ms, Quote: "if (currentnodeindex == 0) {", Text: Text{En: "A holds the lock. The listing sets locked to true, and starts a thread that is to send a heartbeat each second.", Zh: "A 持有锁。文章的代码把 locked 设为 true，启动了一个线程，要每秒发送一次心跳。"}, States: "holds waits", Nodes: "A"},
			{At: 1000 * ms, Text: Text{En: "A's connection breaks. The session does not end with it, and A holds the lock as before.", Zh: "A 的连接断开。会话没有随之结束，A 仍然持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 2100 * ms, Text: Text{En: "The client library has connected again by itself, in the same session. A's first heartbeat is only now on its way.", Zh: "客户端库自己重新连上了，会话还是原来的。A 的第一次心跳这时才在路上。"}, States: "holds waits", Nodes: "A"},
			{At: 2250 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{En: "The heartbeat has arrived. It is a write, which every server of an ensemble must store. The pings of the library keep the session alive, and write nothing.", Zh: "心跳到了。它是一次写入，集群的每台服务器都要存下来。而客户端库用 ping 就能维持会话，什么也不用写。"}, States: "holds waits", Nodes: "A"},
			{At: 3250 * ms, Text: Text{En: "B has queued behind A, and watches A's node.", Zh: "B 排在 A 后面，监听 A 的节点。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 3450 * ms, Text: Text{En: "A is cut off until its session has expired. The server has deleted A's node, and the event is on its way to B.", Zh: "A 断线，直到会话过期。服务器删除了 A 的节点，事件正在去 B 的路上。"}, States: "holds waits", Nodes: "B"},
			{At: 3600 * ms, Text: Text{En: "B is awake, and reads the list again. No heartbeat of A can bring the expired session back, and nothing sets locked to false.", Zh: "B 醒来，再次读取列表。会话已经过期，A 再发心跳也恢复不了；也没有代码把 locked 改回 false。"}, States: "holds waits", Nodes: "B"},
			{At: 3850 * ms, Text: Text{En: "B holds the lock. A's locked is true, so A goes on as the holder: there are two.", Zh: "B 持有锁。A 的 locked 还是 true，A 仍以持有者的身份继续执行：出现了两个持有者。"}, States: "holds holds", Nodes: "B", Broken: true},
			{At: 3950 * ms, Text: Text{En: "The cure, step 5: the holder reads its node three times per session timeout. If no reply comes, its own clock ends the lease before B gets the lock.", Zh: "解决办法见第 5 步：持有者在每个会话超时时间里读三次自己的节点。如果等不到应答，它凭自己的时钟，就能赶在 B 拿到锁之前得知锁已丢失。"}, States: "holds holds", Nodes: "B", Broken: true},
		},
	},
}
