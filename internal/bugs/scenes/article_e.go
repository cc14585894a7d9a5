package scenes

import "example.com/zklock/internal/explore/player"

var articleE = []Bug{
	{
		ID: "E1", Step: step5, Cure: (&stock{fenced: true}).under(timeout),
		Title: Text{En: "a paused holder writes after the next one has started", Zh: "暂停过的持有者在后来者开始之后才写入"},
		World: oneFault(new(stock).under(predecessor), player.Stop),
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is step 3's, which is the article's chain without a mistake. Each holder reads a number from /stock, and writes it back with one added.",
			Zh: "这里的锁是第 3 步的，也就是文章里的链条，而且没有写错。每个持有者从 /stock 读一个数，加一后写回。",
		},
	},
	{
		ID: "E2", Step: step5, Cure: (&stock{fenced: true}).under(timeout),
		Title: Text{En: "compare and delete protects the key, not the resource", Zh: "先比较再删除，保护的是键，不是资源"},
		World: oneFault(new(stock).under(naive), player.Stop),
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom, Goal: lostAddition,
		// The late holder's Unlock compares, finds the node of the next one, and does not
		// delete it. By then both have held the lock at once, and have written.
		Like: func(tr *player.Trace) bool {
			return tr.Knows(player.Outlived) && comparesLate(tr)
		},
		Substitute: Text{
			En: "The lock is step 1's, in place of the article's on Redis: its Unlock compares and deletes, too. Each holder reads a number from /stock, and writes it back with one added.",
			Zh: "这里的锁是第 1 步的，代替文章里 Redis 上的锁：它的 Unlock 同样先比较再删除。每个持有者从 /stock 读一个数，加一后写回。",
		},
	},
}
