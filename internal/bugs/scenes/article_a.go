package scenes

import (
	"strings"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
)

var articleA = []Bug{
	{
		// The article's lock tries without end. Ours is right to return the error.
		ID: "A1", Step: first, Cure: mayFail(naive),
		Title:   Text{En: "every error means held, and the stack grows", Zh: "任何错误都被当成“锁被占用”，调用栈越来越深"},
		Listing: listings.NewZookeeperLock, World: explore.World{Lock: explore.Subject{Path: "/private/lock"}, Contenders: 1, Forbidden: true}, Kinds: []explore.Kind{explore.Endless},
		Level: Level{
			Name:    Text{En: "Try, and try again", Zh: "不停重试"},
			Intro:   Text{En: "A wants the lock /private/lock, but no client may create a node below /private. There is nothing to choose here: watch what the code does with an error that is not about the lock.", Zh: "A 要的锁是 /private/lock，但任何客户端都没有权限在 /private 下面创建节点。这一关不用选择：看看代码怎样对待一个与锁无关的错误。"},
			Victory: Text{En: "The server refused the create, and the code took that for a lock that is held. It waited for nobody, called lock() again within lock(), and so on without end. Rule: only the error NodeExists means that the lock is held. Every other error belongs to the caller.", Zh: "服务器拒绝了 create，代码却以为锁被占用。要等的持有者并不存在，于是立刻在 lock() 里又调用 lock()，永无休止。要点：只有 NodeExists 才表示锁被占用，其他错误都应当返回给调用者。"},
		},
		Stops: []Stop{
			{At: 50 * ms, Text: Text{En: "A calls lock(), and its request to create /private/lock is on its way. The node /private exists, but no client may create a child of it.", Zh: "A 调用了 lock()，创建 /private/lock 的请求正在路上。/private 存在，但任何客户端都没有权限在它下面创建子节点。"}, States: "waits"},
			{At: 250 * ms, Text: Text{En: "The server has refused the request: A has no permission. The reply with this error is on its way.", Zh: "服务器拒绝了请求：A 没有权限。带有这个错误的响应正在路上。"}, States: "waits"},
			{At: 400 * ms, Quote: "3、创建失败,则证明节点已存在", Text: Text{En: "The listing catches every exception, and tryLock() returns false. For lock(), false means that another client holds the lock.", Zh: "文章的代码捕获所有异常，tryLock() 返回 false。在 lock() 看来，false 就是锁在别的客户端手里。"}, States: "waits"},
			{At: 600 * ms, Text: Text{En: "So A waits for a release. Its exists request is on its way, to look for the node and to set a watch.", Zh: "于是 A 去等锁释放，exists 请求正在路上，要查看节点，同时设置监听。"}, States: "waits"},
			{At: 750 * ms, Text: Text{En: "The node does not exist: no client holds the lock, and A has no release to wait for. The watch is set all the same.", Zh: "节点不存在：锁没有持有者，A 不必等待，但监听照样设置上了。"}, States: "waits", Watchers: "A"},
			{At: 900 * ms, Text: Text{En: "waitForRelease() has called lock() at once, within the first call: two calls of lock() are on the stack. The second create is on its way.", Zh: "waitForRelease() 立即又调用 lock()，而第一次调用还没有返回：栈上有两层 lock()。第二个 create 正在路上。"}, States: "waits", Watchers: "A"},
			{At: 1050 * ms, Text: Text{En: "The second create is refused like the first one: A's permission has not changed.", Zh: "第二个 create 同样遭到拒绝：A 的权限并没有变。"}, States: "waits", Watchers: "A"},
			{At: 1700 * ms, Text: Text{En: "The third create is on its way, and three calls of lock() are on the stack. The listing does not pause between two attempts.", Zh: "第三个 create 正在路上，栈上有三层 lock()。两次尝试之间，代码没有任何停顿。"}, States: "waits", Watchers: "A"},
			{At: 2500 * ms, Text: Text{En: "So it goes on, one call deeper after each refusal. The cure, step 1: only the error NodeExists means that the lock is held, and TryLock returns every other error to its caller.", Zh: "就这样继续下去，每遭到一次拒绝，调用就深一层。解决办法见第 1 步：只有错误 NodeExists 才表示锁已有持有者，其他错误 TryLock 一律返回给调用者。"}, States: "waits", Watchers: "A"},
			{At: 106750 * ms, Text: Text{En: "More than a hundred creates were refused, each with one more call of lock() on the stack, and the explorer ends the run. In Java the stack overflows in the end. A gets no sign that it has no permission.", Zh: "一百多个 create 都遭到拒绝，栈上的 lock() 也有一百多层，探索器到这里结束运行。在 Java 里，栈最终会溢出，而 A 始终不知道自己没有权限。"}, States: "waits", Watchers: "A", Broken: true},
		},
	},
	{
		ID: "A2", Step: first, Cure: naive,
		Title:   Text{En: "unlock deletes its successor's node", Zh: "unlock 删除了后来者的节点"},
		Listing: listings.NewZookeeperLock, World: one(bare, explore.Stop), Kinds: []explore.Kind{explore.ForeignDelete},
		// Both have made the node and hold the lock, and the next holder works on.
		Like: func(tr *explore.Trace) bool {
			made := count(tr, func(e explore.Entry) bool { return e.Kind == "reply" && e.Op == "create" && e.Err == "" })
			return made == 2 && tr.Knows(explore.Outlived) && count(tr, func(e explore.Entry) bool { return e.Text.En == "unlocks" }) == 1
		},
		Level: Level{
			Name:  Text{En: "Whose node is it?", Zh: "删的是谁的节点"},
			Intro: Text{En: "A and B share a lock made of one node, /lock: the client that creates it holds the lock, and deletes it to release the lock. The delete names only the path. You decide when each packet arrives, and once you may stop a client: it sleeps until its session is over, and then runs on as if nothing had happened.", Zh: "A 和 B 共用一把锁，锁就是一个节点 /lock：谁创建成功，谁持有锁，释放锁就是删除它。删除请求里只写了路径。每个数据包何时到达由你决定；你还可以让一个客户端停顿一次：它一觉睡到会话过期，醒来后照常往下执行。"},
			Hints: []Text{
				{En: "To delete, a client must believe that it holds the lock. How does a holder learn that its session is over?", Zh: "要删除，先得相信自己持有锁。会话结束了，持有者怎样才会知道？"},
				{En: "Give A the lock, and stop A. Its node goes with its session. Then wake A, and let B create the node.", Zh: "让 A 拿到锁，再让它停顿：它的节点会随会话消失。然后唤醒 A，再让 B 创建节点。"},
				{En: "A has slept, and B has created the node. Let A unlock, while B works.", Zh: "A 停顿过，B 已创建节点。让 A 释放锁，而 B 还在干活。"},
			},
			Victory: Text{En: "The first holder's session was over and its node gone, and /lock was the next one's. The first did not know it, and unlocked: delete(path, -1) asks nobody whose node it is. The next client that comes creates /lock and works beside the second. Rule: a lock that is released must prove that it is one's own. Put an id into the node, or give each contender a node with a name of its own, and compare before you delete.", Zh: "前一个持有者的会话已结束，节点随之消失，/lock 已经是后一个的。前一个并不知道，照样释放锁：delete(path, -1) 从不过问节点是谁的。再来一个客户端就能创建 /lock，与后一个同时干活。要点：释放锁之前，先证明锁是自己的。在节点里写入 ID，或者让每个竞争者的节点各有各的名字，核对之后再删除。"},
			Else: map[explore.Kind]Text{
				explore.Outlived:      {En: "Two take themselves for the holder: you are close. The one whose session is over does not know it; now let it unlock.", Zh: "已经有两个以为自己是持有者了，就差一步：会话已结束的那个并不知情，让它释放锁吧。"},
				explore.ForeignDelete: {En: "It deleted another's node, but not like this: let both create the node, one after the other, and let the first unlock while the second works.", Zh: "确实删了别人的节点，但不是这一种：要让两个先后创建节点，并在后一个干活时，让前一个释放锁。"},
			},
		},
		Stops: []Stop{
			{At: 150 * ms, Text: Text{En: "A and B have called lock(). Both creates are on their way to the server.", Zh: "A 和 B 都调用了 lock()，两个 create 正在去服务器的路上。"}, States: "waits waits"},
			{At: 400 * ms, Text: Text{En: "A's create has succeeded: A holds the lock.", Zh: "A 的 create 成功了，A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 550 * ms, Text: Text{En: "A is stopped, as by a long garbage collection, until its session has expired. The server has deleted its node.", Zh: "A 停顿了，就像遇到一次很长的垃圾回收，直到会话过期。服务器删除了它的节点。"}, States: "holds waits"},
			{At: 2000 * ms, Text: Text{En: "A has run on, and its client knows that the session has expired. The listing does not react to that: A goes on as the holder.", Zh: "A 恢复运行，它的客户端已得知会话过期。文章的代码不理会这个消息：A 照常以持有者的身份执行。"}, States: "holds waits"},
			{At: 2150 * ms, Text: Text{En: "B's create arrives, and succeeds: the node at the path is B's.", Zh: "B 的 create 到了，而且成功了：路径上的节点是 B 的。"}, States: "holds waits", Nodes: "B"},
			{At: 2300 * ms, Text: Text{En: "B holds the lock. A takes itself for the holder, too.", Zh: "B 持有锁。A 也以为自己是持有者。"}, States: "holds holds", Nodes: "B", Broken: true},
			{At: 3700 * ms, Text: Text{En: "A unlocks: its request to delete the node is on its way. It has only the path in it, and the version -1, which stands for any version.", Zh: "A 释放锁：删除节点的请求正在路上。请求里只有路径，以及版本 -1，表示不论什么版本。"}, States: "unlocks holds", Nodes: "B", Broken: true},
			{At: 3850 * ms, Quote: "我们把锁的数据节点删除之后,就释放了锁", Text: Text{En: "The server has deleted B's node, and B holds the lock as before. The next contender that creates the node holds the lock beside B.", Zh: "服务器删除了 B 的节点，而 B 仍然持有锁。下一个创建节点成功的竞争者，就会与 B 同时持有锁。"}, States: "unlocks holds", Broken: true},
			{At: 4000 * ms, Text: Text{En: "The cure, step 1: the node carries an id, and Unlock deletes the node only if it finds its own id. From step 2 on, each node has a name of its own.", Zh: "解决办法见第 1 步：节点里存有一个 ID，Unlock 看到是自己的 ID 才删除节点。从第 2 步起，每个节点都有自己的名字。"}, States: "done holds", Broken: true},
		},
	},
	{
		ID: "A3", Step: first, Cure: checked(naive, "(*Lock).Lock"),
		Title:   Text{En: "each lost race adds a frame to the stack", Zh: "每抢输一次，调用栈就多一层"},
		Listing: listings.NewZookeeperLock, World: explore.World{Lock: checked(bare, "(*zookeeperLock).Lock"), Scripts: again}, Kinds: []explore.Kind{explore.StackGrows}, Search: atRandom,
		Goal: Text{En: "Make the calls of lock() pile up on the stack.", Zh: "让 lock() 的调用在栈上越堆越深。"},
		Level: Level{
			Name:  Text{En: "Deeper and deeper", Zh: "越陷越深"},
			Intro: Text{En: "A locks and unlocks four times, B once. A contender that finds the node there waits for its deletion, and then calls lock() again, from inside lock(). Each lost race adds a call to the stack.", Zh: "A 要加锁、释放四次，B 只有一次。发现节点已存在，就等它被删除，然后再调用 lock()，而且是在 lock() 里面调用。每抢输一次，栈上就多一层。"},
			Hints: []Text{
				{En: "A call is added when B has waited and finds the lock taken once more. Who can take it again so fast?", Zh: "B 等到了释放，却又没抢到，栈上就多一层。谁能这么快又抢到？"},
				{En: "Let B wait with its watch set. Let A unlock and lock again before B's next create arrives, and then let B try.", Zh: "先让 B 设好监听等待。再让 A 释放，并赶在 B 的下一个 create 到达之前重新加锁，然后放行 B。"},
				{En: "B waits with its watch set. Let A release and lock again first, and then B; and once more.", Zh: "B 已设好监听，正在等待。让 A 释放并抢先重新加锁，再放行 B；然后再来一次。"},
			},
			Victory: Text{En: "The waiter lost one race after another, and each of them left a call of lock() on the stack: none returns before the last one does. In Java, a busy lock ends with a StackOverflowError. Rule: a wait that may have to be repeated is a loop, not a call of itself.", Zh: "等待者一次次抢输，每次都在栈上留下一层 lock()，最里面的一层不返回，外面的都不返回。在 Java 里，繁忙的锁最终会抛出 StackOverflowError。要点：可能要重复的等待应当写成循环，而不是自己调用自己。"},
		},
		Stops: []Stop{
			{At: 400 * ms, Text: Text{En: "A's create has succeeded: A holds the lock.", Zh: "A 的 create 成功了，A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 700 * ms, Quote: "失败后调用waitForRelease方法等待", Text: Text{En: "B's create was refused: B has lost its first race. Its lock() calls waitForRelease().", Zh: "B 的 create 失败了，第一次没有抢到锁，lock() 于是调用 waitForRelease()。"}, States: "holds waits", Nodes: "A"},
			{At: 1200 * ms, Text: Text{En: "B has set a watch, and waits at its latch. Its first call of lock() has not returned.", Zh: "B 设置了监听，正在 latch 上等待。第一次调用的 lock() 还没有返回。"}, States: "holds waits", Nodes: "A", Watchers: "B"},
			{At: 1600 * ms, Text: Text{En: "A unlocks, and the node is gone. The event is on its way to B.", Zh: "A 释放锁，节点已删除。事件正在去 B 的路上。"}, States: "unlocks waits"},
			{At: 1800 * ms, Text: Text{En: "B is awake, and waitForRelease() has called lock() again: two calls are on B's stack. A calls Lock again, too, and both creates are on their way.", Zh: "B 醒来，waitForRelease() 又调用 lock()：B 的栈上有两层 lock()。A 也再次加锁，两个 create 都在路上。"}, States: "waits waits"},
			{At: 2100 * ms, Text: Text{En: "A's create was first at the server, and A holds the lock again. B's create is on its way, and will be refused.", Zh: "A 的 create 先到服务器，A 又持有锁。B 的 create 还在路上，必然失败。"}, States: "holds waits", Nodes: "A"},
			{At: 2900 * ms, Text: Text{En: "B has lost its second race, and waits at a second latch. The first call of lock() waits for the second one to return.", Zh: "B 第二次也没有抢到，在另一个 latch 上等待。第一层 lock() 要等第二层返回。"}, States: "holds waits", Nodes: "A", Watchers: "B"},
			{At: 3300 * ms, Text: Text{En: "A unlocks again, and the next event is on its way to B.", Zh: "A 再次释放锁，又一个事件正在去 B 的路上。"}, States: "unlocks waits"},
			{At: 3450 * ms, Text: Text{En: "B is awake, and calls lock() a third time, within the second call. Three calls are on B's stack; with that of A there are four.", Zh: "B 醒来，在第二层里第三次调用 lock()。B 的栈上有三层，加上 A 的一层，一共四层。"}, States: "waits waits", Broken: true},
			{At: 3550 * ms, Text: Text{En: "A waiter that loses 20 races is 21 calls deep, and returns from all of them only when it holds the lock. The cure, step 1: Lock is a loop.", Zh: "抢输 20 次的等待者，调用有 21 层，拿到锁之后才一层层返回。解决办法见第 1 步：Lock 是一个循环。"}, States: "waits waits", Broken: true},
		},
	},
	{
		ID: "A4", Step: first, Cure: naive,
		Title:   Text{En: "a waiter whose session is gone never wakes", Zh: "会话已失效的等待者永远不会被唤醒"},
		Listing: listings.NewZookeeperLock, World: one(bare, explore.Expire), Kinds: []explore.Kind{explore.Hang},
		Level: Level{
			Name:  Text{En: "The watch that died", Zh: "随会话而去的监听"},
			Intro: Text{En: "B waits for A's node to go. It has set a watch, and a latch opens when the event comes. Once you may end a session: the server forgets all that belonged to it.", Zh: "B 在等 A 的节点消失，设置了监听，事件一到，latch 就打开。你可以让一个会话过期一次：属于它的一切，服务器都会忘掉。"},
			Hints: []Text{
				{En: "What belongs to a session, apart from its nodes?", Zh: "除了节点，还有什么属于会话？"},
				{En: "Let A hold the lock, and let B wait with its watch set. Then take from B what it needs to be woken.", Zh: "让 A 持有锁，让 B 设好监听等待。然后夺走 B 赖以醒来的东西。"},
				{En: "B waits with its watch set. One choice decides, and it is about B.", Zh: "B 已设好监听，正在等待。关键的一步，要对 B 下手。"},
			},
			Victory: Text{En: "The waiter's session ended, and its watch ended with it. The client was notified of that, but the code opens the latch for NodeDeleted only, so it waits for an event that nobody sends. Rule: a watch lives no longer than its session. Each waiter must also wake when the session ends, and then queue again or return an error.", Zh: "等待者的会话过期，监听也随之消失。客户端得到了通知，可是代码只在收到 NodeDeleted 时打开 latch，于是它等的是一个永远不会发出的事件。要点：监听与会话同生共死。会话结束时，等待者也必须醒来，重新排队，或者返回错误。"},
		},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's create has succeeded: A holds the lock.", Zh: "A 的 create 成功了，A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 1050 * ms, Text: Text{En: "B's create was refused. B has asked for the node with exists, has left a watch, and waits at its latch.", Zh: "B 的 create 失败了。B 用 exists 查看了节点，同时设置了监听，正在 latch 上等待。"}, States: "holds waits", Nodes: "A", Watchers: "B"},
			{At: 1350 * ms, Text: Text{En: "B's session expires. A watch lives as long as its session: the server has forgotten B's.", Zh: "B 的会话过期。监听与会话同生共死：服务器上已没有 B 的监听。"}, States: "holds waits", Nodes: "A"},
			{At: 2600 * ms, Quote: "触发NodeDeleted事件,跳过await方法", Text: Text{En: "B's client gets the event that its session has ended. The listing's watcher opens the latch only for NodeDeleted, and this event is of another type.", Zh: "B 的客户端得知会话已结束。文章的监听器只在收到 NodeDeleted 时打开 latch，而这个事件是另一种类型。"}, States: "holds waits", Nodes: "A"},
			{At: 3800 * ms, Text: Text{En: "B's client has a new session. Nothing sets the watch again.", Zh: "B 的客户端有了新会话，却没有代码重新设置监听。"}, States: "holds waits", Nodes: "A"},
			{At: 4150 * ms, Text: Text{En: "A unlocks, and the node is gone. The server has no watch, and sends no event.", Zh: "A 释放锁，节点已删除。服务器上没有监听，也就不发送事件。"}, States: "unlocks waits"},
			{At: 64300 * ms, Text: Text{En: "A minute later B is waiting for a lock that nobody holds. The cure, step 1: an event with an error ends the wait.", Zh: "一分钟后，B 还在等一个没有持有者的锁。解决办法见第 1 步：收到带错误的事件，就结束等待。"}, States: "done waits", Broken: true},
		},
	},
	{
		ID: "A5", Step: first, Cure: complete,
		Title:   Text{En: "the reply to create is lost: the client waits for itself", Zh: "create 的响应丢失：客户端在等自己"},
		Listing: listings.NewZookeeperLock, World: among(1, bare, explore.LoseReply), Kinds: []explore.Kind{explore.Hang},
		Level: Level{
			Name:  Text{En: "Waiting for oneself", Zh: "等的就是自己"},
			Intro: Text{En: "A is alone, and asks for a free lock. What could go wrong? Once you may lose a reply: the server has done what it was asked for, and the client does not learn of it.", Zh: "只有 A 一个竞争者，锁也是空闲的，还能出什么错？你可以丢失一个响应：服务器已经照办，客户端却不知道。"},
			Hints: []Text{
				{En: "Of which request does A need the answer most?", Zh: "哪个请求的响应，对 A 最要紧？"},
				{En: "If the create has succeeded and A cannot see that, whose node will A find at the path?", Zh: "如果 create 已经成功，A 却不知道，那么它在路径上看到的会是谁的节点？"},
				{En: "The first choice decides: lose the reply to the create.", Zh: "第一个选择就是关键：丢掉 create 的响应。"},
			},
			Victory: Text{En: "The node exists, and the client that created it waits until it is deleted: it waits for itself. The session lives on, because the client sends its pings. Rule: after a lost reply a client does not know whether its request was carried out. It has to look, and it must be able to recognize its own node: by an id in the node's data or name.", Zh: "节点已经存在，创建它的客户端却在等它被删除：等的是自己。客户端照常发送心跳，会话不会过期。要点：响应丢失之后，客户端并不知道请求有没有执行，必须去查看，而且要认得出自己的节点：在节点的数据或名字里放一个 ID。"},
		},
		Stops: []Stop{
			{At: 100 * ms, Text: Text{En: "A calls lock(), and its create is on its way. A is the only contender.", Zh: "A 调用了 lock()，create 正在路上。竞争者只有 A 一个。"}, States: "waits"},
			{At: 300 * ms, Text: Text{En: "The server has created the node. The connection has broken, and the reply is lost with it: A has no sign that it has a node.", Zh: "服务器创建了节点。连接断了，响应随之丢失：A 不知道自己已经有了节点。"}, States: "waits", Nodes: "A"},
			{At: 800 * ms, Text: Text{En: "For the listing, a broken connection is an exception like any other. tryLock() returns false, which means that another client holds the lock.", Zh: "在文章的代码看来，连接断开与其他异常没有区别。tryLock() 返回 false，意思是锁在别的客户端手里。"}, States: "waits", Nodes: "A"},
			{At: 1700 * ms, Text: Text{En: "A's client is connected again. Its session has lived on, and so has the node. The exists request is on its way.", Zh: "A 的客户端重新连上了。会话还在，节点也就还在。exists 请求正在路上。"}, States: "waits", Nodes: "A"},
			{At: 1850 * ms, Quote: "这里先判断一次锁的数据节点是否还存在", Text: Text{En: "The node exists, and the server has set the watch. It is A's own node.", Zh: "节点存在，服务器设置了监听。而这正是 A 自己的节点。"}, States: "waits", Nodes: "A", Watchers: "A"},
			{At: 2000 * ms, Text: Text{En: "A waits at its latch until its own node is deleted. A's client keeps the session alive with pings, so the server does not delete the node.", Zh: "A 在 latch 上等待，要等到自己的节点被删除。可是 A 的客户端用心跳维持着会话，服务器就不会删除这个节点。"}, States: "waits", Nodes: "A", Watchers: "A"},
			{At: 62000 * ms, Text: Text{En: "A minute later A is waiting for itself. All other contenders would wait with it, until A's session ends.", Zh: "一分钟后，A 还在等自己。如果有别的竞争者，也都要跟着等，直到 A 的会话结束。"}, States: "waits", Nodes: "A", Watchers: "A", Broken: true},
			{At: 62050 * ms, Text: Text{En: "The cure is in zklock: the node carries an id, and after a create without a reply Lock looks for that id. Steps 1 to 5 return an error, and the node stays until the session ends.", Zh: "解决办法见 zklock：节点带有一个 ID，create 没有等到响应，Lock 就去找这个 ID。第 1 步到第 5 步只返回错误，节点一直留到会话结束。"}, States: "waits", Nodes: "A", Watchers: "A", Broken: true},
		},
	},
	{
		ID: "A6", Step: first, Cure: herd,
		Title:   Text{En: "waiters have no order: a slow one starves", Zh: "等待者没有次序：慢的那个会陷入饥饿"},
		Listing: listings.NewZookeeperLock, World: explore.World{Lock: explore.Subject{Bypass: cycles - 1}, Scripts: again}, Kinds: []explore.Kind{explore.Starves}, Search: atRandom,
		Goal: Text{En: "Let A get in three times while B waits.", Zh: "让 A 在 B 等待期间连续三次拿到锁。"},
		Level: Level{
			Name:  Text{En: "First come, last served", Zh: "先来后到？"},
			Intro: Text{En: "A wants the lock four times in a row, B once. Both want the same node, and the client whose create comes first has it. Nobody fails, nothing is lost.", Zh: "A 要连续加锁四次，B 只要一次。两个抢的是同一个节点，谁的 create 先到，谁就拿到锁。没有故障，什么也不丢失。"},
			Hints: []Text{
				{En: "Does the server know how long B has waited?", Zh: "B 等了多久，服务器知道吗？"},
				{En: "Let B be refused once, and then leave its next packet where it is. A can do everything else.", Zh: "让 B 失败一次，然后就把它的下一个包一直扣住。其余的事，都交给 A。"},
				{En: "Go on with A alone.", Zh: "接下来只让 A 走。"},
			},
			Victory: Text{En: "One contender was let in three times while another waited. One node with one name does not record which contender came first: at each release all start over, and the fastest wins. Rule: fairness needs an order that the server keeps. Sequential nodes are such an order: a contender that comes again is the last in the queue.", Zh: "有一个还在等，另一个却进去了三次。只有一个名字的节点，看不出谁先来：每次释放，大家都从头再抢，快者得胜。要点：公平需要一个由服务器维护的次序。顺序节点就是这样的次序：再来一次，就排到队尾。"},
		},
		Stops: []Stop{
			{At: 350 * ms, Text: Text{En: "A's create has succeeded: A holds the lock.", Zh: "A 的 create 成功了，A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 950 * ms, Text: Text{En: "B's create was refused. Its next request, which is to set a watch, is on its way and will be slow.", Zh: "B 的 create 失败了，下一个请求要去设置监听，已经在路上，但会很慢。"}, States: "holds waits", Nodes: "A"},
			{At: 1250 * ms, Text: Text{En: "A unlocks. The lock is free, and B has no watch yet.", Zh: "A 释放锁。锁空闲了，而 B 还没有监听。"}, States: "unlocks waits"},
			{At: 1650 * ms, Quote: "4、监听到数据节点被删除后,证明锁已被释放。重复步骤1", Text: Text{En: "A calls Lock again, later than B, and holds the lock: all start over together, in no order.", Zh: "A 再次调用 Lock，比 B 晚，却拿到了锁：大家一起从头再来，不分先后。"}, States: "holds waits", Nodes: "A"},
			{At: 2450 * ms, Text: Text{En: "The same again. B has waited since the start.", Zh: "再来一次，还是一样。B 从一开始就在等待。"}, States: "holds waits", Nodes: "A"},
			{At: 3300 * ms, Text: Text{En: "Three times A was let in before B, though B called Lock first. The cure is step 2: a queue, in which a contender that locks again is the last.", Zh: "B 先调用 Lock，A 却三次抢在它前面。解决办法见第 2 步：排队，再次加锁的竞争者排到队尾。"}, States: "holds waits", Nodes: "A", Broken: true},
		},
	},
	{
		ID: "A7", Step: third, Cure: predecessor,
		Title:   Text{En: "a release before the latch exists is lost", Zh: "latch 创建之前的释放通知会丢失"},
		Listing: listings.NewZkClientLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Hang},
		Level: Level{
			Name:  Text{En: "Nobody was listening", Zh: "通知来得太早"},
			Intro: Text{En: "A queue of two, no faults. B subscribes to A's node, looks whether it is still there, and only then makes the latch on which it will wait. The listener opens the latch when the event comes.", Zh: "两个竞争者排队，没有故障。B 订阅 A 的节点，看看它还在不在，然后才创建自己要等待的 latch。事件到来时，监听器会打开 latch。"},
			Hints: []Text{
				{En: "What does the listener do if there is no latch yet?", Zh: "如果 latch 还没有创建，监听器会做什么？"},
				{En: "A must release while B stands between its look at the node and its latch. So let A's delete be on its way early, and keep it back.", Zh: "要让 A 的释放恰好落在 B 查看节点与创建 latch 之间。所以，让 A 的删除请求早早发出，然后扣住它。"},
				{En: "A's delete is on its way, and B stands between its look and its latch. Deliver the delete now.", Zh: "A 的删除请求正在路上，B 正好在查看节点与创建 latch 之间。现在就放行删除请求。"},
			},
			Victory: Text{En: "The event came, the listener found no latch, and did nothing. Each watch fires once, so the waiter waits forever for a lock that is free. Rule: create what the event is to wake before you ask for the event. In Go, a channel does that: it keeps the event until somebody looks.", Zh: "事件来了，监听器没有找到 latch，什么也没做。监听只触发一次，所以锁已空闲，等待者却永远等下去。要点：先准备好要被唤醒的东西，再去设置监听。Go 的 channel 就能做到：事件会留在里面，直到被取走。"},
		},
		Stops: []Stop{
			{At: 250 * ms, Text: Text{En: "A's node is in the queue, and it is the only one.", Zh: "队列里只有 A 的节点。"}, States: "waits waits", Nodes: "A"},
			{At: 650 * ms, Text: Text{En: "A has read the list and holds the lock. B asks for it, too.", Zh: "A 读取了列表，A 持有锁。B 也要加锁。"}, States: "holds waits", Nodes: "A"},
			{At: 850 * ms, Text: Text{En: "A unlocks: its request to delete the node is on its way, and will be slow.", Zh: "A 释放锁：删除节点的请求已经发出，但路上会很慢。"}, States: "unlocks waits", Nodes: "A"},
			{At: 1650 * ms, Text: Text{En: "B has queued behind A and subscribed to A's node: the server will send it an event for the deletion. After this, B makes the latch on which it waits.", Zh: "B 排在 A 后面，在 A 的节点上设置了监听：节点删除时，服务器会通知 B。在这之后，B 才创建它要等待的 latch。"}, States: "unlocks waits", Nodes: "A B", Watchers: "B"},
			{At: 2250 * ms, Text: Text{En: "A's delete arrives. The event is on its way to B, and B's latch does not exist yet.", Zh: "A 的删除请求到了。事件正在去 B 的路上，而 B 的 latch 还没有创建。"}, States: "unlocks waits", Nodes: "B"},
			{At: 2450 * ms, Quote: "if (countDownLatch != null) {", Text: Text{En: "The event has reached B's listener. It found no latch to open, and did nothing. The event was the only one.", Zh: "事件到了 B 的监听器。监听器没有找到可以打开的 latch，什么也没做。而事件只有这一个。"}, States: "done waits", Nodes: "B"},
			{At: 62600 * ms, Text: Text{En: "A minute later B still waits, for a lock that nobody holds. Nothing will wake it: a release before the latch exists is lost.", Zh: "一分钟后，B 还在等待，而锁并没有持有者。再也不会有事件唤醒它：latch 创建之前的释放通知丢失了。"}, States: "done waits", Nodes: "B", Broken: true},
		},
	},
	{
		ID: "A8", Step: third, Cure: predecessor,
		Title:   Text{En: "a waiter whose own node is gone panics", Zh: "自己的节点被删除后，等待者会崩溃"},
		Listing: listings.NewZkClientLock, World: among(3, queue, explore.Expire), Kinds: []explore.Kind{explore.Crash},
		Like: func(tr *explore.Trace) bool { return strings.Contains(tr.Violation.What.En, "out of range [-") },
		Level: Level{
			Name:  Text{En: "Not on the list", Zh: "名单上没有自己"},
			Intro: Text{En: "Three contenders in a queue. A waiter that is woken reads the list, looks for its own name, and takes the name before it as the next to wait for. Once you may end a session.", Zh: "三个竞争者排队。等待者醒来后读取列表，找到自己的名字，把前面那个名字当作下一个等待对象。你可以让一个会话过期一次。"},
			Hints: []Text{
				{En: "What does a search return for a name that is not in the list?", Zh: "要找的名字不在列表里，查找会返回什么？"},
				{En: "End the session of the waiter in the middle. Its client connects again, and the library sets its watch again; nobody makes its node again. Then let it be woken, while another waits behind it.", Zh: "让中间那个等待者的会话过期。客户端会重连，库会重新设置监听，但不会重新创建节点。再让这个等待者醒来，而后面还有别的等待者。"},
				{En: "B's session is over, and it waits as before. Let A go, so that B wakes, reads the list, and is not in it.", Zh: "B 的会话已过期，B 还在等。让 A 离开：B 会醒来读取列表，而列表里没有它。"},
			},
			Victory: Text{En: "The waiter's node had gone with its session, so its name was not in the list, the search returned a negative number, and get(i − 1) threw in the middle of lock(). Rule: one's own node may be gone at every look. Look for it, and return an error, or queue again, if it is not there.", Zh: "等待者的节点已随会话消失，列表里没有它的名字，查找返回负数，get(i − 1) 就在 lock() 里抛出异常。要点：每次查看，自己的节点都可能已经不在。先确认它还在；不在，就返回错误，或者重新排队。"},
			Else:    map[explore.Kind]Text{explore.Crash: {En: "Broken, but not like this: the panic must be that of a waiter whose own node is gone.", Zh: "出错了，但不是这一种：要让自己的节点已消失的等待者崩溃。"}},
			Route:   strings.Split("A: request,B: request,A: request,B: request,C: request,B: request,B: request,C: request,B: expire,B: reconnect,A: unlock,C: request,B: reconnect,C: request,B: request,gap A7: go on,A: request,B: request", ","),
		},
		Stops: []Stop{
			{At: 950 * ms, Text: Text{En: "B holds the lock. C's node is behind B's.", Zh: "B 持有锁。C 的节点排在 B 后面。"}, States: "waits holds waits", Nodes: "B C"},
			{At: 1750 * ms, Text: Text{En: "C watches B's node, and A has queued behind C.", Zh: "C 监听 B 的节点，A 又排在 C 后面。"}, States: "waits holds waits", Nodes: "B C A", Watchers: "C"},
			{At: 2700 * ms, Text: Text{En: "C's session expires while C waits, and the server deletes C's node.", Zh: "C 正在等待，会话却过期了。服务器删除了 C 的节点。"}, States: "waits holds waits", Nodes: "B A"},
			{At: 5600 * ms, Text: Text{En: "C's client has a new session. ZkClient sets C's watch again, but nothing makes C's node again.", Zh: "C 的客户端有了新会话。ZkClient 会重新设置 C 的监听，但没有代码重新创建 C 的节点。"}, States: "waits unlocks waits", Nodes: "B A", Watchers: "A"},
			{At: 6550 * ms, Text: Text{En: "B's node is gone, and the event is on its way to C.", Zh: "B 的节点已删除，事件正在去 C 的路上。"}, States: "waits unlocks waits", Nodes: "A", Watchers: "A"},
			{At: 6750 * ms, Text: Text{En: "C is awake, and asks for the list once more. Its own node will not be in it.", Zh: "C 醒来，再次读取列表。列表里不会有它自己的节点。"}, States: "waits done waits", Nodes: "A", Watchers: "A"},
			{At: 7100 * ms, Quote: "int i = Collections.binarySearch(children, sequenceNodeName);", Text: Text{En: "The search returns a negative number for a name that is not in the list, and get(i − 1) throws in the middle of lock(). Step 3 returns an error here.", Zh: "要找的名字不在列表里，查找返回负数，get(i − 1) 就在 lock() 里抛出异常。第 3 步在这里返回错误。"}, States: "waits done failed", Nodes: "A", Watchers: "A", Broken: true},
		},
	},
	{
		ID: "A9", Step: third, Cure: predecessor,
		Title:   Text{En: "the second lock() on the same object panics", Zh: "同一对象第二次 lock() 会崩溃"},
		Listing: listings.NewZkClientLock, World: explore.World{Lock: queue, Scripts: [][]explore.Op{times(2)}}, Kinds: []explore.Kind{explore.Crash},
		Level: Level{
			Name:  Text{En: "Once is enough", Zh: "只能用一次"},
			Intro: Text{En: "A locks, unlocks, and locks again with the same object. B locks once. No faults: it is enough that A gets its turn.", Zh: "A 用同一个对象加锁、释放，再加锁。B 只加锁一次。没有故障：让 A 走下去就够了。"},
			Hints: []Text{
				{En: "What does A's object remember after unlock()?", Zh: "unlock() 之后，A 的对象还记着什么？"},
				{En: "Let A go on until it calls lock() for the second time.", Zh: "让 A 一直走，直到它第二次调用 lock()。"},
				{En: "Choose A, and A again.", Zh: "选 A，一直选 A。"},
			},
			Victory: Text{En: "The object still had the path of the node that it had deleted, so the second lock() created none, did not find its name in the list, and threw. Rule: what belongs to one acquisition must go with it: each Lock creates its node, and Unlock forgets it.", Zh: "对象里还留着已删除节点的路径，于是第二次 lock() 没有创建节点，在列表里也找不到自己的名字，抛出了异常。要点：一次加锁的状态，要随这次加锁一起结束：每次 Lock 都创建节点，Unlock 就把它忘掉。"},
		},
		Stops: []Stop{
			{At: 100 * ms, Text: Text{En: "A and B have called lock(), and their creates are on their way. B's will be slow.", Zh: "A 和 B 都调用了 lock()，两个 create 正在路上。B 的会很慢。"}, States: "waits waits"},
			{At: 400 * ms, Text: Text{En: "A's node is in the queue, and A's object keeps its path in currentPath.", Zh: "A 的节点已在队列里，A 的对象把它的路径存入 currentPath。"}, States: "waits waits", Nodes: "A"},
			{At: 700 * ms, Text: Text{En: "A's node is the first in the list: A holds the lock.", Zh: "A 的节点在列表里排第一：A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 900 * ms, Text: Text{En: "A unlocks: the request to delete its node is on its way.", Zh: "A 释放锁：删除节点的请求正在路上。"}, States: "unlocks waits", Nodes: "A"},
			{At: 1050 * ms, Text: Text{En: "A's node is gone. unlock() clears nothing: the path of the deleted node stays in currentPath.", Zh: "A 的节点已删除。unlock() 什么也不清空：currentPath 里还是这个节点的路径。"}, States: "unlocks waits"},
			{At: 1200 * ms, Quote: "if (currentPath==null", Text: Text{En: "A calls lock() again on the same object. There is a path in currentPath, so A creates no node, and asks for the list at once.", Zh: "A 在同一个对象上再次调用 lock()。currentPath 里有路径，所以 A 不创建节点，直接去读取列表。"}, States: "waits waits"},
			{At: 1350 * ms, Text: Text{En: "The list on its way to A is empty. A's node is deleted, and B's create has not arrived.", Zh: "正在发给 A 的列表是空的：A 的节点已删除，B 的 create 还没有到。"}, States: "waits waits"},
			{At: 1450 * ms, Text: Text{En: "A compares its path with the first name in the list. There is none, and get(0) throws in the middle of lock(). If B's node were in the list, get(i − 1) would throw, as in A8.", Zh: "A 拿自己的路径与列表里的第一个名字比较。列表是空的，get(0) 就在 lock() 里抛出异常。如果列表里有 B 的节点，抛出异常的就是 get(i − 1)，与 A8 一样。"}, States: "failed waits", Broken: true},
			{At: 1550 * ms, Text: Text{En: "The cure, step 3: each Lock creates a node, and Unlock forgets it.", Zh: "解决办法见第 3 步：每次 Lock 都创建一个节点，Unlock 会清掉节点的记录。"}, States: "failed waits", Broken: true},
		},
	},
	{
		ID: "A10", Step: third, Cure: predecessor,
		Title:   Text{En: "lock() throws if the parent does not exist", Zh: "父节点不存在时，lock() 抛出异常"},
		Listing: listings.NewZkClientLock, World: explore.World{Missing: true}, Kinds: []explore.Kind{explore.Crash},
		Level: Level{
			Name:  Text{En: "Nowhere to stand", Zh: "无处可站"},
			Intro: Text{En: "The server is new: there is not one node on it. A and B each ask for a place in the queue below /lock.", Zh: "服务器是新的，上面一个节点也没有。A 和 B 都要在 /lock 下面的队列里占一个位置。"},
			Hints: []Text{
				{En: "Who creates /lock?", Zh: "/lock 由谁来创建？"},
				{En: "Nobody does.", Zh: "没有代码创建它。"},
				{En: "Let either of them send its first request.", Zh: "放行任何一个的第一个请求就行。"},
			},
			Victory: Text{En: "The server creates a node only if its parent exists, no line of the code creates the parent, and the exception is caught nowhere. Rule: a lock creates the parent of its queue itself when the server says NoNode, and then tries again.", Zh: "父节点存在，才能创建子节点；可是没有一行代码创建父节点，也没有代码捕获异常。要点：服务器回答 NoNode 时，锁应当自己创建父节点，然后再试一次。"},
		},
		Stops: []Stop{
			{At: 50 * ms, Text: Text{En: "A and B have called lock(). The server is new, and has no node /lock.", Zh: "A 和 B 都调用了 lock()。服务器是新的，还没有 /lock 节点。"}, States: "waits waits"},
			{At: 150 * ms, Text: Text{En: "A's create is on its way. It asks for an ephemeral sequential node in /lock, and no line of the listing creates /lock.", Zh: "A 的 create 正在路上，要在 /lock 下面创建临时顺序节点。而文章的代码里，没有一行会创建 /lock。"}, States: "waits waits"},
			{At: 250 * ms, Quote: "private String lock_path = \"/lock\";", Text: Text{En: "The server has refused the request: a node can be created only if its parent exists. The error NoNode is on its way to A.", Zh: "服务器拒绝了请求：父节点存在，才能创建子节点。错误 NoNode 正在去 A 的路上。"}, States: "waits waits"},
			{At: 350 * ms, Text: Text{En: "The listing does not catch this exception: A's lock() throws.", Zh: "文章的代码没有捕获这个异常，A 的 lock() 就此抛出异常。"}, States: "failed waits", Broken: true},
			{At: 400 * ms, Text: Text{En: "B's create is on its way, and /lock is still missing. Each lock() will throw until /lock is created by other means.", Zh: "B 的 create 还在路上，/lock 依然不存在。除非另外创建 /lock，否则每次 lock() 都会抛出异常。"}, States: "failed waits", Broken: true},
			{At: 450 * ms, Text: Text{En: "The cure, step 3: if the create says that the parent is missing, Lock creates it and tries again. Steps 1 and 2 do so, too.", Zh: "解决办法见第 3 步：如果 create 报告父节点不存在，Lock 就先创建父节点，再试一次。第 1 步和第 2 步也是如此。"}, States: "failed waits", Broken: true},
		},
	},
	{
		ID: "A11", Step: first, Cure: naive,
		Title:   Text{En: "an exception while it waits: lock() just returns", Zh: "等待时发生异常：lock() 直接返回"},
		Listing: listings.NewZookeeperLock, World: one(bare, explore.LoseRequest), Kinds: []explore.Kind{explore.TwoHolders},
		Level: Level{
			Name:  Text{En: "It only printed a line", Zh: "只打印了一行"},
			Intro: Text{En: "The lock of one node again. B finds it taken, and asks for the node and a watch. Once you may lose a request: the server never sees it, and the connection breaks.", Zh: "又是一个节点的锁。B 发现锁被占用，就去查看节点并设置监听。你可以丢失一个请求：服务器收不到它，连接也断了。"},
			Hints: []Text{
				{En: "lock() has no return value. How can it report that its wait has failed?", Zh: "lock() 没有返回值。等待失败了，怎么告诉调用者？"},
				{En: "Let A hold the lock, let B be refused, and lose the request with which B wants to begin its wait.", Zh: "让 A 持有锁，让 B 创建失败，然后丢掉 B 准备开始等待的那个请求。"},
				{En: "B is about to ask for A's node. Lose that request.", Zh: "B 正要查看 A 的节点。丢掉这个请求。"},
			},
			Victory: Text{En: "exists failed, the code printed the exception, and lock() returned, as it does when it has the lock: the caller works beside the holder. Rule: a lock call has two ways to end, the lock or an error. If an exception is only printed, the failure becomes a success.", Zh: "exists 失败，代码打印异常，lock() 就返回了，与拿到锁时一模一样：调用者和持有者同时干活。要点：加锁调用只有两种结局：拿到锁，或者返回错误。只打印不上报的异常，就成了“成功”。"},
		},
		Stops: []Stop{
			{At: 100 * ms, Text: Text{En: "A and B have called lock(), and both creates are on their way.", Zh: "A 和 B 都调用了 lock()，两个 create 正在路上。"}, States: "waits waits"},
			{At: 400 * ms, Text: Text{En: "A's create has succeeded: A holds the lock.", Zh: "A 的 create 成功了，A 持有锁。"}, States: "holds waits", Nodes: "A"},
			{At: 700 * ms, Text: Text{En: "B's create was refused, because the node exists. That is right: B has to wait, and lock() calls waitForRelease().", Zh: "B 的 create 失败了，因为节点已存在。到这里都没有错：B 必须等待，lock() 调用 waitForRelease()。"}, States: "holds waits", Nodes: "A"},
			{At: 900 * ms, Quote: "这里先判断一次锁的数据节点是否还存在", Text: Text{En: "B's exists request is on its way, to look for the node and to set a watch.", Zh: "B 的 exists 请求正在路上，要查看节点，同时设置监听。"}, States: "holds waits", Nodes: "A"},
			{At: 1050 * ms, Quote: "e.printStackTrace();", Text: Text{En: "B's connection has broken, and the request is lost. exists throws; the listing prints the exception, and waitForRelease() ends.", Zh: "B 的连接断了，请求丢失。exists 抛出异常，代码把它打印出来，waitForRelease() 就此结束。"}, States: "holds holds", Nodes: "A", Broken: true},
			{At: 1100 * ms, Text: Text{En: "lock() has returned as it does after a success, so B's caller takes itself for the holder. A's node exists, and A holds the lock, too.", Zh: "lock() 像成功时一样返回，B 的调用者以为自己拿到了锁。而 A 的节点还在，A 也持有锁。"}, States: "holds holds", Nodes: "A", Broken: true},
			{At: 1150 * ms, Text: Text{En: "The cure, step 1: waitForRelease returns the error, and Lock returns it to its caller, which does not hold the lock then.", Zh: "解决办法见第 1 步：waitForRelease 返回错误，Lock 再把它返回给调用者，调用者就知道自己没有拿到锁。"}, States: "holds holds", Nodes: "A", Broken: true},
		},
	},
}
