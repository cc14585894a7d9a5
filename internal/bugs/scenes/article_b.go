package scenes

import (
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
)

var articleB = []Bug{
	{
		ID: "B1", Step: third, Cure: predecessor,
		Title:   Text{En: "the sequence number is taken for the number of children", Zh: "把序号当成了子节点的个数"},
		Listing: listings.NewCountingLock, World: explore.World{Lock: queue, Contenders: 3}, Kinds: []explore.Kind{explore.Hang},
		Level: Level{
			Name:  Text{En: "A number is not a queue", Zh: "序号不是队伍"},
			Intro: Text{En: "The server numbers the nodes: 0, 1, 2. This lock takes its number for the count of contenders before it, and waits for as many releases. Three contenders, no faults.", Zh: "服务器给节点编号：0、1、2。这把锁把自己的序号当作前面的人数，然后等那么多次释放。三个竞争者，没有故障。"},
			Hints: []Text{
				{En: "The server never gives a number twice. What is the number of the second contender if the first has left long ago?", Zh: "服务器的序号从不重复。如果第一个早已离开，第二个的序号是几？"},
				{En: "Do not let them queue up. One after the other.", Zh: "别让它们排到一起，让它们一个一个来。"},
				{En: "Let A lock and unlock to the end. Only then let B create its node.", Zh: "让 A 加锁、释放，全部做完，然后才让 B 创建节点。"},
			},
			Victory: Text{En: "The waiter came when the first holder had gone. Its number was 1, so it waited for one release, and that one was over. The number counts the nodes that were ever created, not those that are there. Rule: only the list of children says which contenders are before yours.", Zh: "第一个持有者走了，等待者才来。它的序号是 1，就要等一次释放，而那一次早已过去。序号统计的是累计创建过的节点，不是现有的节点。要点：谁排在前面，只有子节点列表说了算。"},
		},
		Stops: []Stop{
			{At: 650 * ms, Text: Text{En: "A's node has the number 0: no contender is before A, and A holds the lock.", Zh: "A 的节点序号是 0：前面没有别的竞争者，A 持有锁。"}, States: "holds waits waits", Nodes: "A", Watchers: "A"},
			{At: 1050 * ms, Text: Text{En: "A unlocks, and its node is gone. Nobody is in the queue.", Zh: "A 释放锁，节点已删除。队列空了。"}, States: "unlocks waits waits"},
			{At: 1350 * ms, Quote: "会根据当前的子节点数量自动添加整数序号", Text: Text{En: "B's node is the only one, and its number is 1: the server counts the children ever created. The listing takes the number for the length of the queue.", Zh: "队列里只有 B 的节点，序号却是 1：服务器数的是创建过的子节点。文章的代码却把序号当作队列的长度。"}, States: "done waits waits", Nodes: "B"},
			{At: 1650 * ms, Text: Text{En: "B watches the list, and waits for one release. It happened before B came.", Zh: "B 监听列表，要等一次释放。而那次释放在 B 到来之前就发生了。"}, States: "done waits waits", Nodes: "B", Watchers: "B"},
			{At: 1950 * ms, Text: Text{En: "C's node has the number 2. C will wait for two releases.", Zh: "C 的节点序号是 2。C 要等两次释放。"}, States: "done waits waits", Nodes: "B C"},
			{At: 2650 * ms, Text: Text{En: "B has looked again: the list has become longer, so it counts no release. B's node is the first, and B does not look at that.", Zh: "B 又看了一次：列表变长了，所以没有算到释放。B 的节点其实排第一，代码却不看这一点。"}, States: "done waits waits", Nodes: "B C", Watchers: "B C"},
			{At: 62800 * ms, Text: Text{En: "A minute later both wait, and the lock is free. The cure, step 3: only the list of children says which contender is before which.", Zh: "一分钟后两个都还在等待，锁却是空闲的。解决办法见第 3 步：谁在谁前面，只有子节点列表说了算。"}, States: "done waits waits", Nodes: "B C", Watchers: "B C", Broken: true},
		},
	},
	{
		ID: "B2", Step: fifth, Kinds: []explore.Kind{explore.TwoHolders}, Cure: timeout,
		Title:   Text{En: "anybody may delete the row, and it has no expiry", Zh: "谁都能删除这一行，而且它永不过期"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a row in a database", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是数据库里的一行"}, Near: "A2"},
	},
	{
		ID: "B3", Step: fifth, Kinds: []explore.Kind{explore.Hang}, Cure: timeout,
		Title:   Text{En: "after a crash, a key without a time to live stays", Zh: "崩溃之后，没有过期时间的键一直留着"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that nothing deletes when its client ends", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，客户端结束后它不会自动删除"}},
	},
	{
		ID: "B4", Step: fifth, Kinds: []explore.Kind{explore.TwoHolders}, Cure: timeout,
		Title:   Text{En: "a slow holder deletes its successor's key", Zh: "动作慢的持有者删除了后来者的键"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that expires by a clock of its own", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，按 Redis 自己的时钟过期"}, Near: "A2"},
	},
}
