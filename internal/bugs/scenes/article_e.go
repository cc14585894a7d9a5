package scenes

import (
	"example.com/zklock/internal/explore"
)

var articleE = []Bug{
	{
		ID: "E1", Step: fifth, Cure: (&stock{fenced: true}).under(timeout),
		Title: Text{En: "a paused holder writes after the next one has started", Zh: "暂停过的持有者在后来者开始之后才写入"},
		World: one(new(stock).under(predecessor), explore.Stop), Kinds: []explore.Kind{explore.LostAddition}, Search: atRandom, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is step 3's, which is the article's chain without a mistake. Each holder reads a number from /stock, and writes it back with one added.",
			Zh: "这里的锁是第 3 步的，也就是文章里的链条，而且没有写错。每个持有者从 /stock 读一个数，加一后写回。",
		},
		Level: Level{
			Name:  Text{En: "The late writer", Zh: "迟到的写入"},
			Intro: Text{En: "The lock is step 3's, and right. Each holder reads a number from /stock, and writes it back with one added when it unlocks. Once you may stop a client until its session is over; then it runs on.", Zh: "锁是第 3 步的，没有写错。每个持有者从 /stock 读一个数，释放时加一写回。你可以让一个客户端停顿一次，直到会话过期，然后它恢复运行。"},
			Hints: []Text{
				{En: "A client that is stopped cannot notice that it has lost the lock. What will it do when it runs on?", Zh: "停顿的客户端无从得知自己丢了锁。恢复运行之后，会做什么？"},
				{En: "Stop A when it has read the number. Let B come and go. Then wake A.", Zh: "等 A 读到数之后让它停顿。让 B 进来、离开。然后唤醒 A。"},
				{En: "B is about to write, and A still has the old number. Let B finish, and then let A go on.", Zh: "B 正要写入，A 手里还是旧数。让 B 做完，再让 A 继续。"},
			},
			Victory: Text{En: "The holder that was stopped wrote what it had computed from an old number, after the next holder: one addition is lost, although the lock made no mistake. No lock can stop a holder that sleeps. Rule: give each holder a token that grows, and let what is protected refuse a token lower than one it has seen.", Zh: "停顿过的持有者在后来者之后写入了根据旧数算出的结果，有一次加一丢失了，而锁没有任何错误。再好的锁也拦不住睡着的持有者。要点：给每个持有者一个递增的令牌，让受保护的资源拒绝比见过的更小的令牌。"},
		},
		Stops: []Stop{
			{At: 950 * ms, Text: Text{En: "A holds the lock, and has read the number in /stock: 0.", Zh: "A 持有锁，读到 /stock 里的数是 0。"}, States: "holds waits", Nodes: "A"},
			{At: 1150 * ms, Text: Text{En: "A is stopped, as by a long garbage collection, until its session has expired. The server has deleted its node.", Zh: "A 停顿了，就像遇到一次很长的垃圾回收，直到会话过期。服务器删除了它的节点。"}, States: "holds waits"},
			{At: 2050 * ms, Quote: "后头监督前面,就不怕中间截断吗?", Text: Text{En: "B holds the lock, and has read 0, too. The chain continues, as the article says; but A has not noticed that it has lost the lock.", Zh: "B 持有锁，读到的也是 0。链条没有断，正如文章所说；可是 A 不知道自己已失去锁。"}, States: "holds holds", Nodes: "B", Broken: true},
			{At: 2450 * ms, Text: Text{En: "B has added one: /stock is 1. B is about to delete its node.", Zh: "B 加了一：/stock 现在是 1。B 接着要删除自己的节点。"}, States: "holds unlocks", Nodes: "B", Broken: true},
			{At: 3100 * ms, Text: Text{En: "A runs on. It goes on at the line where it was, and does not notice how much time has passed.", Zh: "A 恢复运行，从原来那一行接着执行，不知道过去了多久。"}, States: "holds done", Broken: true},
			{At: 5850 * ms, Text: Text{En: "A writes what it has computed from the old number: 1. Two have added one each, and /stock is 1.", Zh: "A 写入根据旧数算出的结果：1。两个持有者各加了一，/stock 却是 1。"}, States: "unlocks done", Broken: true},
			{At: 6300 * ms, Text: Text{En: "Unlock reports to A that the lock was lost. That is too late, and no lock can prevent it; /stock can: with step 5's tokens it refuses the write of A.", Zh: "Unlock 告诉 A 锁已丢失，但为时已晚。任何锁都防不住这种情况，/stock 却可以：有了第 5 步的令牌，它会拒绝 A 的写入。"}, States: "done done", Broken: true},
		},
	},
	{
		ID: "E2", Step: fifth, Cure: (&stock{fenced: true}).under(timeout),
		Title: Text{En: "compare and delete protects the key, not the resource", Zh: "先比较再删除，保护的是键，不是资源"},
		World: one(new(stock).under(naive), explore.Stop), Kinds: []explore.Kind{explore.LostAddition}, Search: atRandom, Goal: lostAddition,
		// The late holder's Unlock finds the node of the next one, compares, and does
		// not delete it. By then both have held the lock at once, and have written.
		Like: func(tr *explore.Trace) bool {
			return tr.Knows(explore.Outlived) && compares(tr)
		},
		Substitute: Text{
			En: "The lock is step 1's, in place of the article's on Redis: its Unlock compares and deletes, too. Each holder reads a number from /stock, and writes it back with one added.",
			Zh: "这里的锁是第 1 步的，代替文章里 Redis 上的锁：它的 Unlock 同样先比较再删除。每个持有者从 /stock 读一个数，加一后写回。",
		},
		Level: Level{
			Name:  Text{En: "Compared, and still too late", Zh: "比较过了，还是晚了"},
			Intro: Text{En: "The lock is step 1's: it compares before it deletes, as the article's script on Redis does. Each holder adds one to /stock. Once you may stop a client. Both are to write before either of them unlocks.", Zh: "锁是第 1 步的：先比较再删除，与文章里 Redis 的脚本一样。每个持有者给 /stock 加一。你可以让一个客户端停顿一次。要让两个都写入之后，才有一个释放。"},
			Hints: []Text{
				{En: "What does the comparison protect: the lock's node, or /stock?", Zh: "先比较再删除，保护的是锁的节点，还是 /stock？"},
				{En: "Stop A when it has read the number, let B's create succeed, and wake A. Now both are holders.", Zh: "等 A 读到数之后让它停顿，让 B 创建成功，再唤醒 A。现在两个都是持有者。"},
				{En: "Both have written. Let A look at the node.", Zh: "两个都写入了。让 A 去看节点。"},
			},
			Victory: Text{En: "The late holder compared, found another id in the node, and rightly deleted nothing. But it had written to /stock before that. To compare protects the key, not the resource. Rule: the resource must compare, too: with tokens that grow it refuses the late write.", Zh: "迟到的持有者作了比较，发现节点里是别的 ID，于是什么也没删，这没有错。可是在此之前，它已经写了 /stock。比较保护的是键，不是资源。要点：资源自己也要比较：有了递增的令牌，它就会拒绝那次迟到的写入。"},
			Else:    map[explore.Kind]Text{explore.LostAddition: {En: "An addition is lost, but the late holder's comparison is missing: it must look at the node after both have written.", Zh: "有一次加一丢失了，但还缺少那次比较：迟到的持有者要在两个都写入之后再去看节点。"}},
		},
		Stops: []Stop{
			{At: 650 * ms, Text: Text{En: "A holds the lock, and has read 0 from /stock. This lock compares before it deletes, as the article's script on Redis does.", Zh: "A 持有锁，从 /stock 读到 0。这个锁先比较再删除，与文章里 Redis 的脚本一样。"}, States: "holds waits", Nodes: "A"},
			{At: 850 * ms, Text: Text{En: "A is stopped until its session has expired. Its node is gone.", Zh: "A 停顿，直到会话过期，节点已删除。"}, States: "holds waits"},
			{At: 1050 * ms, Text: Text{En: "B's create has succeeded at the server: the node has B's id in it.", Zh: "B 的 create 在服务器上成功了：节点里是 B 的 ID。"}, States: "holds waits", Nodes: "B"},
			{At: 2850 * ms, Text: Text{En: "B holds the lock, and has read 0, too. A runs on, and takes itself for the holder.", Zh: "B 持有锁，读到的也是 0。A 已恢复运行，还以为自己是持有者。"}, States: "holds holds", Nodes: "B", Broken: true},
			{At: 4650 * ms, Text: Text{En: "B has written 1 to /stock. A's write is on its way.", Zh: "B 把 1 写入了 /stock。A 的写请求正在路上。"}, States: "unlocks unlocks", Nodes: "B", Broken: true},
			{At: 5250 * ms, Text: Text{En: "A has written 1, too: it has added one to the old number. One addition is lost.", Zh: "A 也写入了 1：是在旧数上加的一。有一次加一丢失了。"}, States: "unlocks unlocks", Nodes: "B", Broken: true},
			{At: 5650 * ms, Quote: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])", Text: Text{En: "A's Unlock compares: the node has another id, and so it deletes nothing. B's lock is safe, and the stock is wrong.", Zh: "A 的 Unlock 作了比较：节点里是别的 ID，所以什么也没有删除。B 的锁安然无恙，库存却错了。"}, States: "done unlocks", Nodes: "B", Broken: true},
			{At: 6000 * ms, Text: Text{En: "The protected resource must compare, too. With tokens that grow, /stock refuses the write of A.", Zh: "受保护的资源也必须比较。有了递增的令牌，/stock 就会拒绝 A 的写入。"}, States: "done done", Broken: true},
		},
	},
}
