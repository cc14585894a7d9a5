package scenes

import (
	"slices"
	"strings"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
)

var articleD = []Bug{
	{
		ID: "D1", Step: third, Cure: predecessor,
		Title: Text{En: "a watch on a deleted node never fires", Zh: "对已删除节点的监听永远不会触发"},
		// D2 hangs, too. Here the node to watch has gone, there it has not.
		Listing: listings.NewZkLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Hang}, Like: noNode,
		Level: Level{
			Name:  Text{En: "Waiting for nobody", Zh: "等一个不会来的人"},
			Intro: Text{En: "Two contenders in a queue, no faults at all. The second reads the list, sees who is before it, and only then asks for a watch on that node. Between the two there is a moment.", Zh: "两个竞争者排队，没有任何故障。后面的先读取列表，看到前面是谁，然后才去监听那个节点。这两步之间有一个空隙。"},
			Hints: []Text{
				{En: "A list is old as soon as it has been read.", Zh: "列表一读到手，就已经旧了。"},
				{En: "A holds. Let B create its node and read the list, and not one packet more. What may A do now?", Zh: "A 持有锁。让 B 创建节点、读取列表，然后一个包也别再放行。这时 A 能做什么？"},
				{En: "B has its list, and A's name is in it. Let A unlock, all the way. Then let B ask for its watch.", Zh: "B 手里的列表上还有 A。让 A 释放锁，彻底完成，然后再让 B 去设置监听。"},
			},
			Victory: Text{En: "The waiter watches a node that has gone, with a number that never comes again, so the event never comes. exists answered “no node”, and the code did not read the answer. No session ended and nothing was lost: only the order was unlucky. Rule: check and watch in one request, and look at its answer. getData fails on a node that is gone and leaves no watch; then read the list again.", Zh: "等待者监听的节点已经不在了，这个序号也不会再出现，事件永远不会来。exists 明明回答了“节点不存在”，代码却没有看。没有会话结束，也没有数据包丢失，只是次序不巧。要点：检查和监听要用同一个请求完成，并且要看它的回答：节点不存在时，getData 会报错，也不留下监听；这时重新读取列表即可。"},
			Else:    map[explore.Kind]Text{explore.Hang: {En: "It hangs, but by another mistake: the watch was set in time, and the event came before wait(). That is a level of its own.", Zh: "确实卡住了，不过原因是另一个错误：监听设得及时，事件却先于 wait() 到达。那是另外一关。"}},
			Route:   strings.Split("A: request,A: request,A: request,B: request,B: request,B: request,A: unlock,A: request,A: request,B: request,gap D2: go on", ","),
		},
		Stops: []Stop{
			{At: 950 * ms, Text: Text{En: "B's node is the first in the list, and B holds the lock.", Zh: "B 的节点在列表里排第一，B 持有锁。"}, States: "waits holds", Nodes: "B"},
			{At: 1450 * ms, Text: Text{En: "B unlocks, by closing its client: that ends the session, and its node goes with it. The request is on its way.", Zh: "B 释放锁的办法是关闭客户端：会话结束，节点随之删除。请求正在路上。"}, States: "waits unlocks", Nodes: "B"},
			{At: 1650 * ms, Text: Text{En: "A has queued behind B. It will read the list now, and B's node is in it.", Zh: "A 排在 B 后面，接着读取列表，B 的节点还在里面。"}, States: "waits unlocks", Nodes: "B A"},
			{At: 2250 * ms, Text: Text{En: "B's node is gone. A has only the old list, and no watch yet.", Zh: "B 的节点已删除。A 手里是旧列表，也还没有监听。"}, States: "waits unlocks", Nodes: "A"},
			{At: 2550 * ms, Quote: "zookeeper.exists(\"/\"+businesscode+\"/\"+lastnode,true);", Text: Text{En: "A asks with exists for B's node, and leaves a watch. The node does not exist, and the listing ignores this answer. The watch waits for a node of that name, which the server never makes again.", Zh: "A 用 exists 查看 B 的节点，同时设置了监听。节点不存在，而代码没有理会这个结果。监听等待的是同名节点，服务器再也不会创建它。"}, States: "waits unlocks", Nodes: "A", Watchers: "A"},
			{At: 3200 * ms, Text: Text{En: "A's node is the first and the only one, and A waits.", Zh: "A 的节点排第一，也是唯一的节点，而 A 在等待。"}, States: "waits done", Nodes: "A", Watchers: "A"},
			{At: 68400 * ms, Text: Text{En: "A minute later A is waiting for an event that cannot come. The cure is getData in the place of exists: it fails on a node that is gone, leaves no watch, and A reads the list again.", Zh: "一分钟后，A 还在等一个不可能到来的事件。解决办法是用 getData 代替 exists：节点不存在时它会报错，也不留下监听，A 就会再读一次列表。"}, States: "waits done", Nodes: "A", Watchers: "A", Broken: true},
		},
	},
	{
		ID: "D2", Step: third, Cure: predecessor,
		Title:   Text{En: "a notify that comes before the wait is lost", Zh: "先于 wait 的 notify 会丢失"},
		Listing: listings.NewZkLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Hang}, Like: func(tr *explore.Trace) bool { return !noNode(tr) },
		Level: Level{
			Name:  Text{En: "A bell rung too early", Zh: "铃响得太早"},
			Intro: Text{En: "The same code as in “Waiting for nobody”. This time B's watch is to be in time. An event calls notify(), and B calls wait() after it has set the watch: between two lines.", Zh: "代码与“等一个不会来的人”那一关相同。这一次，要让 B 及时设好监听。事件到来时会调用 notify()，而 B 设好监听之后才调用 wait()：中间隔着一行。"},
			Hints: []Text{
				{En: "What does notify() do if nobody waits?", Zh: "如果没有线程在 wait()，notify() 会做什么？"},
				{En: "Keep A's delete back until B has set its watch and stands between the two lines.", Zh: "扣住 A 的删除请求，直到 B 设好监听、停在那两行之间。"},
				{En: "B's watch is set, and B has not come to wait() yet. Let A's delete arrive now.", Zh: "B 的监听已设好，还没有走到 wait()。现在就让 A 的删除请求到达。"},
			},
			Victory: Text{En: "The event came in time, notify() woke nobody, and the waiter went on to wait(). No notify is kept for later. Rule: under one mutex, test a condition before you wait, and set it before you notify. Or let the event go through a channel, which keeps it.", Zh: "事件及时到了，notify() 却没有唤醒谁，随后等待者才走到 wait()。notify 不会留到以后。要点：在同一把互斥锁下，等待之前先检查条件，通知之前先设置条件；或者让事件走 channel，它会一直留在里面。"},
			Else:    map[explore.Kind]Text{explore.Hang: {En: "It hangs, but because the node had gone before the waiter asked for it. Here the watch must be in time.", Zh: "确实卡住了，不过是因为等待者去监听时节点已经不在。这一关要让监听及时设好。"}},
		},
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
		ID: "D3", Step: third, Cure: predecessor,
		Title:   Text{En: "a waiter that is woken does not read the list again", Zh: "等待者被唤醒后不再重新读取列表"},
		Listing: listings.NewZkLock, World: among(3, queue, explore.Expire), Kinds: []explore.Kind{explore.TwoHolders, explore.Overtaken, explore.NodeMissing}, Search: atRandom,
		Level: Level{
			Name:  Text{En: "The bell is not the door", Zh: "铃响不等于开门"},
			Intro: Text{En: "Three contenders stand in a queue. Each watches only the one before it, and is woken when that one's node goes. It is step 3 of this course, except for one line. Once you may end a session: its node goes, as if its owner had crashed.", Zh: "三个竞争者排成一队，各自只监听前一个节点，那个节点一消失就会醒来。听上去就是本教程的第 3 步，只差一行。你可以让一个会话过期一次：节点随之消失，就像主人崩溃了一样。"},
			Hints: []Text{
				{En: "Why can a node go? Its owner has unlocked. Is that the only reason?", Zh: "节点为什么会消失？因为主人释放了锁。只有这一个原因吗？"},
				{En: "Let all three queue up, so that the first holds the lock and the others wait. Whose end would wake somebody too early?", Zh: "让三个都排好队：第一个持有锁，另外两个等待。谁出事，会让人醒得太早？"},
				{En: "A holds, B waits for A, C waits for B. One choice is left, and it is in the middle.", Zh: "A 持有锁，B 等 A，C 等 B。只差一步，就在中间。"},
			},
			Victory: Text{En: "The session of a waiter ended, its node went, and the next one in the queue was woken. That one took the wake-up for its turn: after wait() the code says return true. But an event says only that something has changed, not that it is your turn. Rule: after each wake-up read the list again, and go in only if yours is the first. The article's own text says so; its code does not.", Zh: "有一个等待者的会话结束，节点随之消失，排在它后面的被唤醒，把“醒来”当成了“轮到我”：wait() 返回之后，Lock 就直接返回 true。可是事件只说明有了变化，并不说明轮到你。要点：每次醒来都要重新读取列表，只有自己排第一才能进入。文章的文字正是这样写的：“当前一个子节点被删除时，重新执行第四步”，代码却没有照做。"},
			Else:    map[explore.Kind]Text{explore.Overtaken: {En: "It came in before its turn, but not beside a holder. Do it while the first one still holds.", Zh: "确实插队了，但当时没有别的持有者。要趁第一个还持有锁的时候下手。"}},
			Route:   strings.Split("A: request,A: request,A: request,B: request,B: request,B: request,B: request,gap D2: go on,C: request,C: request,C: request,C: request,gap D2: go on,B: expire", ","),
		},
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
		ID: "D4", Step: third, Cure: predecessor,
		Title:   Text{En: "two clients create the parent at once: one gets false", Zh: "两个客户端同时创建父节点：其中一个得到 false"},
		Listing: listings.NewZkLock, World: explore.World{Missing: true}, Kinds: []explore.Kind{explore.Failure},
		Level: Level{
			Name:  Text{En: "Two founders", Zh: "两个创建者"},
			Intro: Text{En: "Nobody has used this lock before, so its parent /lock does not exist. Each contender asks whether it exists, and creates it if not. No faults.", Zh: "这把锁还没有用过，父节点 /lock 不存在。每个竞争者先问它在不在，不在就创建。没有故障。"},
			Hints: []Text{
				{En: "Two ask before either creates. What does the server answer to the second create?", Zh: "两个都先问了，谁也还没创建。第二个 create 会得到什么回答？"},
				{En: "Let both be told that /lock is not there.", Zh: "让两个都得知 /lock 不存在。"},
				{En: "A knows that /lock is not there. Let B ask before A creates it.", Zh: "A 已得知 /lock 不存在。趁 A 还没创建，让 B 也来问。"},
			},
			Victory: Text{En: "Both wanted to create the parent, and the one that came second got NodeExists. What it wanted was there; the code took the answer for a failure, and lock() returned false on a free lock. Rule: if you create something only to have it there, NodeExists is a success.", Zh: "两个都要创建父节点，后到的得到 NodeExists。要的东西其实已经在了，代码却当成失败，锁明明空闲，lock() 却返回 false。要点：创建只是为了让它存在，那么 NodeExists 就是成功。"},
		},
		Stops: []Stop{
			{At: 100 * ms, Text: Text{En: "No client has used this lock before, so its parent /lock does not exist. A and B have each asked for it with exists.", Zh: "还没有客户端用过这个锁，父节点 /lock 不存在。A 和 B 各自用 exists 查看它，请求正在路上。"}, States: "waits waits"},
			{At: 400 * ms, Text: Text{En: "A has the reply that the parent does not exist, and has sent a create. This request will be slow.", Zh: "A 得知父节点不存在，发出了 create。这个请求在路上会很慢。"}, States: "waits waits"},
			{At: 700 * ms, Quote: "stat stat = zookeeper.exists(\"/\" + businesscode, false);", Text: Text{En: "B was given the same reply, and has sent a create, too. Only one of the two creates can succeed.", Zh: "B 得到同样的响应，也发出了 create。两个 create 只能成功一个。"}, States: "waits waits"},
			{At: 850 * ms, Text: Text{En: "B's create arrives first, and the parent exists. A cannot see that: A's create is on its way.", Zh: "B 的 create 先到，父节点已经存在。A 无法得知，自己的 create 还在路上。"}, States: "waits waits"},
			{At: 1150 * ms, Text: Text{En: "B creates its own node below the parent.", Zh: "B 在父节点下创建了自己的节点。"}, States: "waits waits", Nodes: "B"},
			{At: 1600 * ms, Text: Text{En: "B's node is the only one in the list, and B holds the lock.", Zh: "列表里只有 B 的节点，B 持有锁。"}, States: "waits holds", Nodes: "B"},
			{At: 2500 * ms, Text: Text{En: "B has unlocked, and has closed its client. The queue is empty, and the lock is free.", Zh: "B 释放了锁，也关闭了客户端。队列空了，锁是空闲的。"}, States: "waits done"},
			{At: 7750 * ms, Text: Text{En: "A's create arrives at last, and the server refuses it: the node exists. In getLock one catch handles all errors alike.", Zh: "A 的 create 终于到了，服务器拒绝了它：节点已存在。而 getLock 用同一个 catch 处理所有错误。"}, States: "waits done"},
			{At: 7850 * ms, Text: Text{En: "getLock returns false, although the lock is free and its parent exists.", Zh: "getLock 返回 false，其实锁是空闲的，父节点也已经存在。"}, States: "done done", Broken: true},
			{At: 7950 * ms, Text: Text{En: "The cure, step 3: if the create of a parent fails because the node exists, that is a success. Lock goes on to create its own node.", Zh: "解决办法见第 3 步：创建父节点时，如果错误是节点已存在，就算作成功，Lock 接着创建自己的节点。"}, States: "done done", Broken: true},
		},
	},
	{
		ID: "D5", Step: third, Cure: predecessor,
		Title:   Text{En: "a missing session is taken for a held lock", Zh: "没有会话，却当成锁被占用"},
		Listing: listings.NewZkLock,
		World: explore.World{
			Lock: queue, Contenders: 1, Scripts: [][]explore.Op{{explore.TryLockOp, explore.UnlockOp}}, // false means held
			Unconnected: true, Kinds: []explore.Fault{explore.Refuse}, Faults: 1,
		},
		Kinds: []explore.Kind{explore.Failure},
		Level: Level{
			Name:  Text{En: "Nobody home", Zh: "还没连上"},
			Intro: Text{En: "A makes a client and asks for the lock at once, without waiting for the connection. Nobody else is there. Once you may refuse a connection; the client tries again after a second.", Zh: "A 创建了客户端，不等连接建立，马上就要加锁。除了 A，没有别人。你可以拒绝一次连接；一秒后客户端会再试。"},
			Hints: []Text{
				{En: "false means that the lock is held. What else does this code answer with false?", Zh: "false 的意思是锁被占用。这段代码还会在什么情况下回答 false？"},
				{En: "Let the client's first attempt fail.", Zh: "让客户端的第一次连接失败。"},
				{En: "Refuse A's first connection.", Zh: "拒绝 A 的第一次连接。"},
			},
			Victory: Text{En: "The library failed the request because there was no connection, the catch swallowed the error, and false said “held” of a lock that nobody has ever held. Rule: “held” is an answer of the server. No answer is an error, and the caller must see the difference.", Zh: "没有连接，客户端库让请求失败，catch 吞掉错误，返回 false：一把从未被持有过的锁，就这样成了“被占用”。要点：“被占用”只能是服务器的回答。没有回答就是错误，调用者必须分得清。"},
		},
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
		ID: "D6", Step: third, Cure: predecessor,
		Title:   Text{En: "a waiter that is woken queues again, behind its own node", Zh: "等待者被唤醒后再次排队，排到了自己的节点后面"},
		Listing: listings.NewDistributedLock, World: explore.World{Lock: deep}, Kinds: []explore.Kind{explore.Failure, explore.NodeLeft},
		Level: Level{
			Name:  Text{En: "Queueing behind oneself", Zh: "排在自己后面"},
			Intro: Text{En: "A queue of two, and a wait of at most five seconds. A waiter that is woken calls lock() again, and lock() begins with a create. No faults.", Zh: "两个竞争者排队，最多等五秒。等待者醒来后再次调用 lock()，而 lock() 一上来就是 create。没有故障。"},
			Hints: []Text{
				{En: "How many nodes does B have after it was woken?", Zh: "B 醒来之后，有几个节点？"},
				{En: "It has two. Which node is before the second one?", Zh: "两个。第二个节点前面的，是谁的节点？"},
				{En: "Let A hold the lock, and B wait behind it. Then let A release, and B go on.", Zh: "让 A 持有锁，B 在后面等待。然后让 A 释放，让 B 继续。"},
			},
			Victory: Text{En: "The waiter was woken, its node was the first, and it queued once more, behind its own node. It waited for itself, gave up, and deleted the second node only. The first one keeps everybody out. Rule: one acquisition has one node. After a wake-up read the list again, and create nothing.", Zh: "等待者醒来时，自己的节点已排第一，却又排了一次队，排在自己后面。它等的是自己，等不到就放弃，只删了第二个节点，第一个还挡着所有人。要点：一次加锁只有一个节点。醒来后重新读取列表，什么也不要创建。"},
		},
		Stops: []Stop{
			{At: 550 * ms, Text: Text{En: "Two nodes are in the queue: A's is the first, and B's is the second.", Zh: "队列里有两个节点：A 的第一，B 的第二。"}, States: "waits waits", Nodes: "A B"},
			{At: 1300 * ms, Text: Text{En: "B watches A's node, and waits at a latch for at most five seconds.", Zh: "B 监听 A 的节点，在 latch 上等待，最多等五秒。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 1600 * ms, Text: Text{En: "A has read the list, too, and holds the lock.", Zh: "A 也读取了列表，A 持有锁。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 1950 * ms, Text: Text{En: "A unlocks: its node is gone, and the event is on its way to B. B's node is the first now.", Zh: "A 释放锁：节点已删除，事件正在去 B 的路上。现在 B 的节点排第一。"}, States: "unlocks waits", Nodes: "B"},
			{At: 2200 * ms, Quote: "// 等待成功,重新执行获取锁操作", Text: Text{En: "B is awake. To read the list again would be enough, but the listing calls lock again, and lock begins with a create. This request is on its way.", Zh: "B 醒来。其实再读一次列表就够了，文章的代码却又调用 lock，而 lock 一开头就创建节点。请求正在路上。"}, States: "unlocks waits", Nodes: "B"},
			{At: 8250 * ms, Text: Text{En: "B has two nodes in the queue, and has read the list. The node before its second one is its own first one.", Zh: "B 在队列里有了两个节点，又读取了列表：排在第二个节点前面的，是 B 自己的第一个节点。"}, States: "done waits", Nodes: "B B"},
			{At: 8600 * ms, Text: Text{En: "B watches its own first node: it waits for itself.", Zh: "B 监听自己的第一个节点：B 在等自己。"}, States: "done waits", Nodes: "B B", Watchers: "B"},
			{At: 13600 * ms, Quote: "// 超时未等到通知,主动删除自己的临时节点,放弃获取锁", Text: Text{En: "The five seconds are over, and B gives up. Its request deletes the second node, because the lock has kept the path of the last create only.", Zh: "五秒到了，B 放弃等待，请求删除的却是第二个节点，因为 lock 只记得后一次 create 的路径。"}, States: "done waits", Nodes: "B B", Watchers: "B"},
			{At: 13850 * ms, Text: Text{En: "B's lock fails, though the lock was free from A's release on. B's first node is left, and blocks all contenders until B's session ends.", Zh: "B 的 lock 失败了，而从 A 释放时起，锁一直是空闲的。B 的第一个节点留了下来，会挡住所有竞争者，直到 B 的会话结束。"}, States: "done done", Nodes: "B", Watchers: "B", Broken: true},
			{At: 13950 * ms, Text: Text{En: "The cure, step 3: Lock creates one node. After an event it reads the list again, in a loop.", Zh: "解决办法见第 3 步：Lock 只创建一个节点，收到事件后，在循环里再读一次列表。"}, States: "done done", Nodes: "B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D7", Step: third, Cure: predecessor,
		Title:   Text{En: "the node before is gone: the waiter takes the lock", Zh: "前驱节点一消失，等待者就当作拿到了锁"},
		Listing: listings.NewDistributedLock, World: among(3, deep, explore.Expire), Kinds: []explore.Kind{explore.TwoHolders}, Search: atRandom,
		Level: Level{
			Name:  Text{En: "The missing else", Zh: "少了一个 else"},
			Intro: Text{En: "Three in a queue. Each reads the list, and asks for the node before its own: if it exists, wait. Once you may end a session.", Zh: "三个竞争者排队。各自读取列表，再查看前一个节点：如果存在，就等待。你可以让一个会话过期一次。"},
			Hints: []Text{
				{En: "And if it does not exist?", Zh: "如果不存在呢？"},
				{En: "A holds, B is in the middle, and C has read the list but not asked for B's node yet. B must go just then.", Zh: "A 持有锁，B 在中间，C 已读取列表，还没有查看 B 的节点。B 要恰好在这时消失。"},
				{En: "C has read the list, and B's node has gone since. Let C ask for it.", Zh: "C 已读取列表，B 的节点随后消失了。让 C 去查看它。"},
			},
			Victory: Text{En: "The waiter asked for the node before its own, which had gone, and the code went on as if the waiter had the lock, beside the holder. “The one before me has gone” is not “I am the first”. Rule: whenever the queue may have changed, read the list again; only the first place is the lock.", Zh: "等待者去查看前一个节点，节点已经不在，代码就当它拿到了锁，与持有者同时持有。“前一个走了”不等于“我排第一”。要点：只要队列可能变了，就重新读取列表；排第一，才算拿到锁。"},
			Route:   strings.Split("A: request,A: request,B: request,C: request,C: request,B: expire,B: reconnect,B: reconnect,C: request", ","),
		},
		Stops: []Stop{
			{At: 250 * ms, Text: Text{En: "C's node is the first in the queue.", Zh: "C 的节点在队列里排第一。"}, States: "waits waits waits", Nodes: "C"},
			{At: 650 * ms, Text: Text{En: "C has read the list, and holds the lock.", Zh: "C 读取了列表，C 持有锁。"}, States: "waits waits holds", Nodes: "C"},
			{At: 1450 * ms, Text: Text{En: "A and B have queued behind C. B has read the list: A's node is before its own. It is about to ask for that node.", Zh: "A 和 B 排在 C 后面。B 读取了列表：前一个节点是 A 的。B 正要去查看它。"}, States: "waits waits holds", Nodes: "C A B"},
			{At: 1750 * ms, Text: Text{En: "A's session expires just now, and A's node is gone. B's request is still on its way.", Zh: "就在这时，A 的会话过期，A 的节点已被删除。B 的请求还在路上。"}, States: "done waits holds", Nodes: "C B"},
			{At: 4310 * ms, Text: Text{En: "B's request arrives: the node does not exist. Here the list must be read again, because C's node is still before B's.", Zh: "B 的请求到了：节点不存在。这时必须重新读取列表，因为 C 的节点仍排在 B 前面。"}, States: "done waits holds", Nodes: "C B", Watchers: "B"},
			{At: 4401 * ms, Quote: "if (stat != null) {", Text: Text{En: "The listing waits only if the node exists, and has no else: B goes on as if it had the lock. B and C hold it at once.", Zh: "文章的代码只在节点存在时才等待，没有 else：于是 B 当作自己拿到了锁。B 和 C 同时持有锁。"}, States: "done holds holds", Nodes: "C B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D8", Step: third, Cure: patient(),
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
		Level: Level{
			Name:  Text{En: "Five seconds, again and again", Zh: "又一个五秒"},
			Intro: Text{En: "Three contenders, and lock() is to give up after five seconds. A waiter that is woken calls lock() again, with the whole five seconds. Twice you may let time pass.", Zh: "三个竞争者，lock() 应当在五秒后放弃。等待者醒来后再次调用 lock()，又是完整的五秒。你可以让时间流逝两次。"},
			Hints: []Text{
				{En: "When does the clock of a wait start again?", Zh: "等待的计时，在什么时候重新开始？"},
				{En: "As in “Queueing behind oneself”, a contender that is woken waits once more. Two waits of five seconds are more than five.", Zh: "与“排在自己后面”一样，醒来的竞争者会再等一次。两个五秒，就超过五秒了。"},
				{En: "Only B is left before C. Let B go, and C will wait twice.", Zh: "C 前面只剩 B 了。让 B 离开，C 就会等两次。"},
			},
			Victory: Text{En: "Each wake-up began a new wait with the whole time, so there is no bound at all. Rule: a wait has one end, which is computed once, at the start. Hand a ctx with a deadline down, and never begin it again.", Zh: "每次醒来都重新等满五秒，所以根本没有上限。要点：等待只有一个终点，一开始就算好。带截止时间的 ctx 一路传下去，从不重来。"},
		},
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
			{At: 10050 * ms, Text: Text{En: "Each event that wakes B starts the wait time again, so there is no bound. The cure, step 5: a ctx has one end, whatever happens meanwhile.", Zh: "每个唤醒 B 的事件都让它重新计时，等待就没有上限。解决办法见第 5 步：不管中间发生什么，ctx 的截止时间只有一个。"}, States: "done waits", Nodes: "B B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D9", Step: third, Cure: predecessor,
		Title:   Text{En: "lock b waits for lock a", Zh: "锁 b 在等锁 a"},
		Listing: listings.NewDistributedLock, World: explore.World{Lock: deep, Apart: true}, Kinds: []explore.Kind{explore.Hang},
		Level: Level{
			Name:  Text{En: "Somebody else's queue", Zh: "排错了队"},
			Intro: Text{En: "A wants the lock lockA, B wants lockB. Two locks that have nothing to do with each other; only their nodes lie below one parent. No faults.", Zh: "A 要的是 lockA，B 要的是 lockB。两把锁毫不相干，只是节点放在同一个父节点下面。没有故障。"},
			Hints: []Text{
				{En: "Which names does B look at when it looks for the one before it?", Zh: "B 找前一个节点时，看的是哪些名字？"},
				{En: "Let A's node be there first.", Zh: "让 A 的节点先创建。"},
				{En: "A's node is there. Now let B queue.", Zh: "A 的节点已经在了。现在让 B 来排队。"},
			},
			Victory: Text{En: "The waiter took the node of another lock for the one before its own, and waits for a lock that it does not want. Rule: each lock has a parent of its own, and a contender counts only names that are its lock's.", Zh: "等待者把另一把锁的节点当成了前驱节点，等的是一把它并不要的锁。要点：每把锁有自己的父节点，竞争者只认自己这把锁的节点名。"},
		},
		Stops: []Stop{
			{At: 100 * ms, Text: Text{En: "A asks for the lock lockA, and B asks for the lock lockB. The two locks are independent, but the listing puts the nodes of all locks below one parent.", Zh: "A 要的是锁 lockA，B 要的是锁 lockB。两个锁毫不相干，文章的代码却把所有锁的节点放在同一个父节点下。"}, States: "waits waits"},
			{At: 250 * ms, Text: Text{En: "A's node is made. Its name begins with the name of A's lock: lockA_0000000000.", Zh: "A 的节点已创建，名字以 A 的锁名开头：lockA_0000000000。"}, States: "waits waits", Nodes: "A"},
			{At: 550 * ms, Text: Text{En: "B's node is lockB_0000000001. No other contender asks for lockB, so this lock is free.", Zh: "B 的节点是 lockB_0000000001。没有别的竞争者要 lockB，这个锁是空闲的。"}, States: "waits waits", Nodes: "A B"},
			{At: 850 * ms, Quote: "private static final string root_node = \"/businesscode\";", Text: Text{En: "B has asked for the children of the parent. The reply has the nodes of both locks, and A's is the first.", Zh: "B 请求读取父节点的子节点列表。响应里有两个锁的节点，A 的排第一。"}, States: "waits waits", Nodes: "A B"},
			{At: 1000 * ms, Text: Text{En: "The listing looks only for the place of B's node in the list. It takes A's node for the predecessor, and asks for it with exists.", Zh: "代码只看 B 的节点在列表里排第几，于是把 A 的节点当作前驱节点，用 exists 查看它。"}, States: "waits waits", Nodes: "A B"},
			{At: 1150 * ms, Text: Text{En: "B has a watch on A's node.", Zh: "B 在 A 的节点上设置了监听。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 1250 * ms, Text: Text{En: "B waits for a lock that no other contender asks for. A does not even hold lockA yet.", Zh: "B 在等待，而它要的锁没有别的竞争者要。A 甚至还没有拿到 lockA。"}, States: "waits waits", Nodes: "A B", Watchers: "B", Broken: true},
			{At: 1350 * ms, Text: Text{En: "The cure, step 3: each lock has a parent of its own, and only the lock's own names count.", Zh: "解决办法见第 3 步：每个锁有自己的父节点，而且只有这个锁自己的节点名才算数。"}, States: "waits waits", Nodes: "A B", Watchers: "B", Broken: true},
		},
	},
	{
		ID: "D10", Step: third, Cure: closing(),
		Title:   Text{En: "close() after a failed lock() deletes path null", Zh: "lock() 失败后的 close() 删除路径 null"},
		Listing: listings.NewDistributedLock,
		World: explore.World{
			Lock: mayFail(explore.Subject{Path: "/private/lock", Closes: true}), Contenders: 1, Forbidden: true,
		},
		Kinds: []explore.Kind{explore.SessionLeft},
		// The scene has no choice, and a scene without choices is not a schedule.
		Play: &Play{Contenders: 1, Kinds: []explore.Fault{explore.Expire}, Faults: 1,
			Choices: []string{"A: request"}},
		Level: Level{
			Name:    Text{En: "The door stays open", Zh: "门没有关上"},
			Intro:   Text{En: "A's lock() must fail, because no client may create its node. That is not the bug. Java then calls close() at the end of the try block. There is nothing to choose here: watch what is left.", Zh: "A 的 lock() 必然失败，因为任何客户端都没有权限创建它的节点。这并不是 bug。随后，Java 在 try 块结束时调用 close()。这一关不用选择：看看会留下什么。"},
			Victory: Text{En: "close() wanted to delete the path null, which threw, and so the next line, which closes the client, was never reached: the session lives on. Rule: releasing must work after each way in which acquiring can fail, and each step of it must be tried even if the one before has failed.", Zh: "close() 要删除路径 null，抛出了异常，下一行关闭客户端就没有执行到：会话一直留着。要点：不管加锁以哪种方式失败，释放都要能进行；前一步失败了，后面的每一步也要照做。"},
		},
		Stops: []Stop{
			{At: 50 * ms, Text: Text{En: "A calls lock. Its first request is to create A's node below /private. The lock's path to this node is null until the reply comes.", Zh: "A 调用 lock。第一个请求是在 /private 下创建 A 的节点。收到响应之前，节点路径是 null。"}, States: "waits"},
			{At: 150 * ms, Text: Text{En: "In this scene no client is allowed to create a node there. So lock must fail, and that is not the bug.", Zh: "在这个场景里，任何客户端都没有权限在那里创建节点。lock 必然失败，这并不是 bug。"}, States: "waits"},
			{At: 250 * ms, Text: Text{En: "The server has refused the create. The reply is on its way to A.", Zh: "服务器拒绝了 create，响应正在去 A 的路上。"}, States: "waits"},
			{At: 320 * ms, Text: Text{En: "lock has thrown, and the path is null. Then close is called, as Java does at the end of a try block: delete(null, -1) throws before a request is sent.", Zh: "lock 抛出异常，路径还是 null。接着调用 close，就像 Java 在 try 块结束时那样：delete(null, -1) 还没有发出请求，就抛出了异常。"}, States: "done", Broken: true},
			{At: 380 * ms, Quote: "throw new runtimeexception(\"failed to release lock: \" + lockname, e);", Text: Text{En: "The exception ends close. Its next line, zkclient.close(), is not reached.", Zh: "close 因异常而结束，下一行 zkclient.close() 没有执行到。"}, States: "done", Broken: true},
			{At: 430 * ms, Text: Text{En: "A has finished, and its session exists at the server. The client goes on to send pings, so the session does not expire.", Zh: "A 已经结束，服务器上它的会话却还在。客户端会一直发送心跳，会话不会过期。"}, States: "done", Broken: true},
			{At: 480 * ms, Text: Text{En: "The cure, step 3: if the lock is not held, Unlock returns an error and sends nothing. The client belongs to the caller, which closes it.", Zh: "解决办法见第 3 步：没有持有锁时，Unlock 返回错误，不发送任何请求。客户端属于调用者，由调用者关闭。"}, States: "done", Broken: true},
		},
	},
	{
		ID: "D11", Step: fifth, Cure: timeout,
		Title:   Text{En: "the heartbeat outlives the lock, as a hot loop", Zh: "释放锁之后，心跳线程仍空转不停"},
		Listing: listings.NewHeartbeatLock, World: explore.World{Lock: deep, Contenders: 1}, Kinds: []explore.Kind{explore.Endless},
		// In the scene no heartbeat is sent.
		Play: &Play{Contenders: 1, Kinds: []explore.Fault{explore.Pause}, Faults: 1,
			Choices: []string{"A: request", "A: request", "all: time passes", "gap D11: go on", "A: request", "A: reconnect"}},
		Level: Level{
			Name:    Text{En: "The thread that never sleeps", Zh: "不睡觉的线程"},
			Intro:   Text{En: "A alone. Its lock starts a thread that writes into its node each second, a heartbeat, and no exception is to end it. There is nothing to choose here: watch what the thread does after unlock().", Zh: "只有 A 一个竞争者。A 的锁会启动一个线程，每秒往节点里写一次，作为心跳，任何异常都不能让它停下。这一关不用选择：看看 unlock() 之后这个线程在做什么。"},
			Victory: Text{En: "unlock() interrupted the thread, the catch printed a line, and the loop went on: each write fails at once now, and a processor is busy forever. Rule: a goroutine that is started must have an end that the one who started it can reach and await.", Zh: "unlock() 中断了线程，catch 打印一行，循环照旧：现在每次写入都立即失败，一个处理器就这样一直空转。要点：启动了 goroutine，就要让它有终点，而且启动它的一方能够到达并等到这个终点。"},
		},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's node is in the queue, and it is the only one.", Zh: "队列里只有 A 的节点。"}, States: "waits", Nodes: "A"},
			{At: 650 * ms, Text: Text{En: "A holds the lock. The listing starts a thread that sends heartbeats.", Zh: "A 持有锁。文章的代码启动了一个发送心跳的线程。"}, States: "holds", Nodes: "A"},
			{At: 950 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{En: "The first heartbeat has written empty data into A's node. The thread now sleeps for a second.", Zh: "第一次心跳把空数据写入了 A 的节点。线程接着休眠一秒。"}, States: "holds", Nodes: "A"},
			{At: 10000 * ms, Quote: "心跳线程的 while 循环不能被打断", Text: Text{En: "The thread sends a heartbeat each second. Its loop has no exit, and this is intended: an exception must not end the heartbeats.", Zh: "线程每秒发送一次心跳。循环没有出口，而且是有意的：出现异常，心跳也不能停。"}, States: "holds", Nodes: "A"},
			{At: 20900 * ms, Text: Text{En: "A unlocks. close deletes the node first, and stops the thread after that.", Zh: "A 释放锁。close 先删除节点，然后才停止线程。"}, States: "unlocks", Nodes: "A"},
			{At: 21200 * ms, Quote: "stopheartbeatthread(); // 停止心跳线程", Text: Text{En: "The node is gone, and close has interrupted the thread. The sleep throws, the catch prints a line, and the loop continues.", Zh: "节点已删除，close 也中断了线程。休眠抛出异常，catch 打印一行，循环继续。"}, States: "unlocks"},
			{At: 21400 * ms, Text: Text{En: "The thread has sent one more heartbeat, for a node that does not exist. It is behind the request that closes the session, and will be lost.", Zh: "线程又发出一次心跳，而节点已不存在。这次写入排在关闭会话的请求后面，会丢失。"}, States: "unlocks"},
			{At: 21700 * ms, Text: Text{En: "A has unlocked, and its session has ended. The thread has not.", Zh: "A 已释放锁，会话也已结束，线程却没有结束。"}, States: "done"},
			{At: 60000 * ms, Text: Text{En: "Each setdata fails at once, because the client is closed. So the loop never comes to its sleep, and keeps a processor busy. No time passes on A's clock; the film draws 0.2 s for each failure.", Zh: "客户端已关闭，setdata 每次都立即失败，循环走不到休眠，一直占着处理器。A 的时钟没有前进，画面上把每次失败画成 0.2 秒。"}, States: "done"},
			{At: 105300 * ms, Text: Text{En: "Nothing ends this loop before the process ends. The cure, step 5: the goroutine that reads the node also removes it, so its reads end before the node goes.", Zh: "进程不结束，这个循环就不会停。解决办法见第 5 步：读取节点的 goroutine 也负责删除节点，所以读取先停，节点后删。"}, States: "done", Broken: true},
		},
	},
	{
		ID: "D12", Step: fifth, Cure: timeout,
		Title: Text{En: "the heartbeat writes, and does not keep the lock", Zh: "心跳只是不停地写，保不住锁"},
		// It is reported apart, and does not end a search.
		Listing: listings.NewHeartbeatLock, World: one(deep, explore.Expire), Kinds: []explore.Kind{explore.Outlived}, Search: explore.Search{Seed: 1, Limit: 50},
		// In the scene no heartbeat is sent. A client that is cut off connects again after a
		// second, and meanwhile the clock of the heartbeat goes on.
		Play: &Play{Contenders: 2, Kinds: []explore.Fault{explore.Cut, explore.Expire}, Faults: 2,
			Choices: []string{"A: request", "A: request", "A: cut", "A: reconnect", "A: request", "B: request", "B: request", "B: request", "A: expire", "B: request"}},
		Level: Level{
			Name:  Text{En: "A heart that beats for nothing", Zh: "徒劳的心跳"},
			Intro: Text{En: "A's lock sends heartbeats, so that it is not lost. locked is true since A has got it. Once you may end a session.", Zh: "A 的锁会发送心跳，为的是不丢锁。A 拿到锁之后，locked 就是 true。你可以让一个会话过期一次。"},
			Hints: []Text{
				{En: "Which line sets locked to false?", Zh: "哪一行会把 locked 改回 false？"},
				{En: "Let A hold the lock, and end its session. Then let B in.", Zh: "让 A 持有锁，再让它的会话过期。然后让 B 进去。"},
				{En: "A's session is over, and A does not know it. Let B in.", Zh: "A 的会话已结束，A 却不知道。让 B 进去。"},
			},
			Victory: Text{En: "The holder's session ended, its node went, and the next one got in. The first still takes itself for the holder: no heartbeat can bring a session back, or notice that it has gone. Rule: a holder needs a clock of its own, which ends its lease before the server gives the lock to another.", Zh: "持有者的会话结束，节点消失，下一个进来了。前一个还以为自己是持有者：心跳既恢复不了会话，也发觉不了会话已经结束。要点：持有者要有自己的时钟，赶在服务器把锁交给别人之前，结束自己的租约。"},
		},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's node is the only one in the queue.", Zh: "队列里只有 A 的节点。"}, States: "waits waits", Nodes: "A"},
			{At: 650 * ms, Quote: "if (currentnodeindex == 0) {", Text: Text{En: "A holds the lock. The listing sets locked to true, and starts a thread that is to send a heartbeat each second.", Zh: "A 持有锁。文章的代码把 locked 设为 true，启动了一个线程，要每秒发送一次心跳。"}, States: "holds waits", Nodes: "A"},
			{At: 1000 * ms, Text: Text{En: "A's connection breaks. The session does not end with it, and A holds the lock as before.", Zh: "A 的连接断开。会话没有随之结束，A 仍然持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 2100 * ms, Text: Text{En: "The client library has connected again by itself, in the same session. A's first heartbeat is only now on its way.", Zh: "客户端库自己重新连上了，会话还是原来的。A 的第一次心跳这时才在路上。"}, States: "holds waits", Nodes: "A"},
			{At: 2250 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{En: "The heartbeat has arrived. It is a write, which every server of an ensemble must store. The pings of the library keep the session alive, and write nothing.", Zh: "心跳到了：这是一次写入，集群的每台服务器都要存下来。而客户端库用 ping 就能维持会话，什么也不用写。"}, States: "holds waits", Nodes: "A"},
			{At: 3250 * ms, Text: Text{En: "B has queued behind A, and watches A's node.", Zh: "B 排在 A 后面，监听 A 的节点。"}, States: "holds waits", Nodes: "A B", Watchers: "B"},
			{At: 3450 * ms, Text: Text{En: "A is cut off until its session has expired. The server has deleted A's node, and the event is on its way to B.", Zh: "A 断线，直到会话过期。服务器删除了 A 的节点，事件正在去 B 的路上。"}, States: "holds waits", Nodes: "B"},
			{At: 3600 * ms, Text: Text{En: "B is awake, and reads the list again. No heartbeat of A can bring the expired session back, and nothing sets locked to false.", Zh: "B 醒来，再次读取列表。会话已经过期，A 再发心跳也恢复不了；也没有代码把 locked 改回 false。"}, States: "holds waits", Nodes: "B"},
			{At: 3850 * ms, Text: Text{En: "B holds the lock. A's locked is true, so A goes on as the holder: there are two.", Zh: "B 持有锁。A 的 locked 还是 true，A 仍以持有者的身份继续执行：出现了两个持有者。"}, States: "holds holds", Nodes: "B", Broken: true},
			{At: 3950 * ms, Text: Text{En: "The cure, step 5: the holder reads its node three times per session timeout. If no reply comes, its own clock ends the lease before B gets the lock.", Zh: "解决办法见第 5 步：持有者在每个会话超时时间里读三次自己的节点。如果等不到响应，凭自己的时钟就能赶在 B 拿到锁之前得知锁已丢失。"}, States: "holds holds", Nodes: "B", Broken: true},
		},
	},
	{
		ID: "D13", Step: fifth, Cure: timeout,
		Title:   Text{En: "a heartbeat uses up the waiter's watch", Zh: "心跳用掉了等待者的监听"},
		Listing: listings.NewHeartbeatLock, World: one(deep, explore.Pause), Kinds: []explore.Kind{explore.Hang}, Search: atRandom,
		// A contender waits before time passes.
		Like: func(tr *explore.Trace) bool {
			timePasses := slices.IndexFunc(tr.Log, func(e explore.Entry) bool { return e.Kind == "note" && e.Who == "" })
			watches := slices.IndexFunc(tr.Log, func(e explore.Entry) bool { return e.Kind == "reply" && e.Watch })
			return 0 <= watches && watches < timePasses
		},
		Level: Level{
			Name:  Text{En: "The wrong news", Zh: "来的不是那条消息"},
			Intro: Text{En: "A queue of two. The holder's thread writes into the holder's node once a second, a heartbeat. The waiter asks the server for one event of that node, and acts on it only if the node was deleted. Once you may let time pass.", Zh: "两个竞争者排队。持有者的线程每秒往自己的节点里写一次，作为心跳。等待者请服务器在这个节点变化时通知一次，而且只理会节点删除的通知。你可以让时间流逝一次。"},
			Hints: []Text{
				{En: "How many events does one watch send, and of which changes?", Zh: "一个监听会通知几次？哪些变化会通知？"},
				{En: "Let both queue up, and let B set its watch on A's node before A sends a heartbeat.", Zh: "让两个都排好队，让 B 在 A 发送心跳之前监听 A 的节点。"},
				{En: "B watches A's node. Let time pass.", Zh: "B 已监听 A 的节点。让时间流逝。"},
			},
			Victory: Text{En: "The watch fired for the heartbeat, which is not a deletion, and the waiter went on to wait. Each watch fires once: nothing was left that could report the release. Rule: after each event look again, whatever it says, and set the watch again with that look. And do not write into a node that others watch.", Zh: "监听因心跳而触发，而心跳不是删除，等待者于是继续等待。监听只触发一次：持有者释放锁时，已经没有监听可以通知它了。要点：不管收到什么事件，都要再看一次，并在查看的同时重新设置监听。别人监听的节点，不要去写。"},
			Else: map[explore.Kind]Text{
				explore.Hang:    {En: "One contender waits in vain: you are close. Let it set its watch before time passes.", Zh: "有竞争者白等了，就差一步：要让它在时间流逝之前设好监听。"},
				explore.Endless: {En: "The thread of the heartbeat loops without end: that is a level of its own. Here a contender must wait in vain.", Zh: "心跳线程空转不停，那是另外一关。这一关要让一个竞争者白等。"},
			},
		},
		Stops: []Stop{
			{At: 600 * ms, Text: Text{En: "A's node is the first in the queue, and B's is the second.", Zh: "队列里 A 的节点第一，B 的第二。"}, States: "waits waits", Nodes: "A B"},
			{At: 1200 * ms, Text: Text{En: "B watches A's node, and waits for its deletion. A watch sends one event, for any change of the node.", Zh: "B 监听 A 的节点，等它被删除。一个监听只通知一次，而且节点的任何变化都算。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 1450 * ms, Text: Text{En: "Time passes. A finds its node first in the list; its thread is about to send the first heartbeat.", Zh: "时间流逝。A 发现自己的节点排第一，心跳线程就要发出第一次心跳。"}, States: "waits waits", Nodes: "A B", Watchers: "B"},
			{At: 2000 * ms, Quote: "zkclient.setdata(currentlocknodepath, null, -1);", Text: Text{En: "The heartbeat has changed A's node: B gets an event, and its watch is used up. The event is not a deletion, so the watcher does nothing, and sets no other watch.", Zh: "心跳修改了 A 的节点：B 收到一个事件，监听就用掉了。这个事件不是删除，回调什么也不做，也不再设置监听。"}, States: "holds waits", Nodes: "A B"},
			{At: 15000 * ms, Text: Text{En: "A sends a heartbeat each second. B waits, and none of its watches is left at the server.", Zh: "A 每秒发送一次心跳。B 还在等待，而它在服务器上已经没有监听了。"}, States: "holds waits", Nodes: "A B"},
			{At: 21700 * ms, Text: Text{En: "A unlocks: its request to delete the node is on its way.", Zh: "A 释放锁：删除节点的请求正在路上。"}, States: "unlocks waits", Nodes: "A B"},
			{At: 21900 * ms, Text: Text{En: "A's node is gone. The server has nobody to notify.", Zh: "A 的节点已删除，服务器没有谁可以通知。"}, States: "unlocks waits", Nodes: "B"},
			{At: 22300 * ms, Text: Text{En: "A is done. B's node is the first and the only one, and B waits.", Zh: "A 结束了。B 的节点排第一，也是唯一的节点，而 B 还在等待。"}, States: "done waits", Nodes: "B"},
			{At: 105700 * ms, Text: Text{En: "Nothing wakes B any more. The cure, step 5: the holder only reads its node, and a waiter reads the list again after each event.", Zh: "再也没有什么会唤醒 B。解决办法见第 5 步：持有者只读自己的节点；等待者每收到一个事件，都重新读取列表。"}, States: "done waits", Nodes: "B", Broken: true},
		},
	},
}
