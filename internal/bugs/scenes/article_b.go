package scenes

import (
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
)

var articleB = []Bug{
	{
		ID: "B1", Step: step3, Cure: predecessor,
		Title:   Text{En: "the sequence number is taken for the number of children", Zh: "把序号当成了子节点的个数"},
		Listing: listings.NewCountingLock, World: player.World{Lock: queue, Contenders: 3}, Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "B2", Step: step5, Kinds: []player.Kind{player.TwoHolders}, Cure: timeout,
		Title:   Text{En: "anybody may delete the row, and it has no expiry", Zh: "谁都能删除这一行，而且它永不过期"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a row in a database", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是数据库里的一行"}, Near: "A2"},
	},
	{
		ID: "B3", Step: step5, Kinds: []player.Kind{player.Hang}, Cure: timeout,
		Title:   Text{En: "after a crash, a key without a time to live stays", Zh: "崩溃之后，没有过期时间的键一直留着"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that nothing deletes when its client ends", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，客户端结束后它不会自动删除"}},
	},
	{
		ID: "B4", Step: step5, Kinds: []player.Kind{player.TwoHolders}, Cure: timeout,
		Title:   Text{En: "a slow holder deletes its successor's key", Zh: "动作慢的持有者删除了后来者的键"},
		NoScene: &NoScene{Why: Text{En: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that expires by a clock of its own", Zh: "实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，按 Redis 自己的时钟过期"}, Near: "A2"},
	},
}
