package scenes

import (
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
)

// The bugs of article B: a lock on ZooKeeper, one in a database, and two in Redis. See Bug in scenes.go.
var articleB = []Bug{
	{
		ID: "B1", Step: step3, Cure: predecessor,
		Title:   "the sequence number is taken for the number of children",
		Listing: listings.NewCountingLock, World: player.World{Lock: queue, Contenders: 3}, Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "B2", Step: step5, Kinds: []player.Kind{player.TwoHolders}, Cure: timeout,
		Title: "anybody may delete the row, and it has no expiry",
		NoScene: &NoScene{Folder: "sqlrow", Near: "A2",
			Why: "the server in the lab is a ZooKeeper, and this lock is a row in a database"},
	},
	{
		ID: "B3", Step: step5, Kinds: []player.Kind{player.Hang}, Cure: timeout,
		Title: "after a crash, a key without a time to live stays",
		NoScene: &NoScene{Folder: "redis",
			Why: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that nothing " +
				"deletes when its client ends"},
	},
	{
		ID: "B4", Step: step5, Kinds: []player.Kind{player.TwoHolders}, Cure: timeout,
		Title: "a slow holder deletes its successor's key",
		NoScene: &NoScene{Folder: "redis", Near: "A2",
			Why: "the server in the lab is a ZooKeeper, and this lock is a key in Redis that expires by a clock of its own"},
	},
}
