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
	},
	{
		ID: "C2", Step: third, Cure: predecessor,
		Title:   Text{En: "the lock call fails just when its node becomes the first", Zh: "节点刚排到第一，加锁调用却失败了"},
		Listing: listings.NewAwaitLock, World: explore.World{Lock: queue}, Kinds: []explore.Kind{explore.Failure, explore.Crash},
	},
}
