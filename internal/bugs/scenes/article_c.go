package scenes

import (
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
)

// The bugs of article C's lock: see Bug in scenes.go. Locks with a name, such as queue, are in worlds.go.
var articleC = []Bug{
	{
		ID: "C1", Step: step4, Cure: reentrant,
		Title:   "a thread that failed to lock is counted as the holder",
		Listing: listings.NewCountedLock,
		World: player.World{Lock: mayFail(player.Subject{Queue: true}), Scripts: [][]player.Op{nil, lockTimes(2)},
			Kinds: []player.Fault{player.LoseRequest}, Faults: 1},
		Kinds: []player.Kind{player.TwoHolders},
	},
	{
		ID: "C2", Step: step3, Cure: predecessor,
		Title:   "the lock call fails just when its node becomes the first",
		Listing: listings.NewAwaitLock, World: player.World{Lock: queue}, Kinds: []player.Kind{player.Failure, player.Crash},
	},
}
