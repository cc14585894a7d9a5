package scenes

import (
	"strings"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
)

// The bugs of article A's two listings: see Bug in scenes.go. Locks and worlds with a name, such as bare: worlds.go.
var articleA = []Bug{
	{
		// The article's lock tries without end. Ours returns the error, as it should.
		ID: "A1", Step: step1, Cure: mayFail(naive),
		Title:   "every error means held, and the stack grows",
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.Endless},
		World: player.World{Lock: player.Subject{Path: "/private/lock"}, Contenders: 1, Forbidden: true},
	},
	{
		ID: "A2", Step: step1, Cure: naive,
		Title:   "unlock deletes its successor's node",
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.Stop), Kinds: []player.Kind{player.ForeignDelete},
		// Both have made the node and hold the lock. The next holder has not unlocked.
		Like: func(tr *player.Trace) bool {
			made := countEntries(tr, func(e player.Entry) bool { return e.Kind == "reply" && e.Op == "create" && e.Err == "" })
			unlocks := countEntries(tr, func(e player.Entry) bool { return e.Text.String() == "unlocks" })
			return made == 2 && unlocks == 1 && tr.Knows(player.Outlived)
		},
	},
	{
		ID: "A3", Step: step1, Cure: stackChecked(naive, "(*Lock).Lock"),
		Title:   "each lost race adds a frame to the stack",
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.StackGrows}, Search: atRandom,
		World: player.World{Lock: stackChecked(bare, "(*zookeeperLock).Lock"), Scripts: repeats},
		Goal:  "Make the calls of lock() pile up on the stack.",
	},
	{
		ID: "A4", Step: step1, Cure: naive,
		Title:   "a waiter whose session is gone never wakes",
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.Expire), Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A5", Step: step1, Cure: complete,
		Title:   "the reply to create is lost: the client waits for itself",
		Listing: listings.NewZookeeperLock, World: oneFaultAmong(1, bare, player.LoseReply), Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A6", Step: step1, Cure: herd,
		Title:   "waiters have no order: a slow one starves",
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.Starves}, Search: atRandom,
		World: player.World{Lock: player.Subject{Bypass: cycles - 1}, Scripts: repeats},
		Goal:  "Let A get in three times while B waits.",
	},
	{
		ID: "A7", Step: step3, Cure: predecessor,
		Title:   "a release before the latch exists is lost",
		Listing: listings.NewZkClientLock, World: player.World{Lock: queue}, Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A8", Step: step3, Cure: predecessor,
		Title:   "a waiter whose own node is gone panics",
		Listing: listings.NewZkClientLock, World: oneFaultAmong(3, queue, player.Expire), Kinds: []player.Kind{player.Crash},
		Like: func(tr *player.Trace) bool { return strings.Contains(tr.Violation.What.String(), "out of range [-") },
		Level: Level{Route: route("A: request,B: request,A: request,B: request,C: request,B: request,B: request,C: " +
			"request,B: expire,B: reconnect,A: unlock,C: request,B: reconnect,C: request,B: request,gap A7: go on,A: request,B: request")},
	},
	{
		ID: "A9", Step: step3, Cure: predecessor,
		Title:   "the second lock() on the same object panics",
		Listing: listings.NewZkClientLock, Kinds: []player.Kind{player.Crash},
		World: player.World{Lock: queue, Scripts: [][]player.Op{lockTimes(2)}},
	},
	{
		ID: "A10", Step: step3, Cure: predecessor,
		Title:   "lock() throws if the parent does not exist",
		Listing: listings.NewZkClientLock, World: player.World{Missing: true}, Kinds: []player.Kind{player.Crash},
	},
	{
		ID: "A11", Step: step1, Cure: naive,
		Title:   "an exception while it waits: lock() just returns",
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.LoseRequest), Kinds: []player.Kind{player.TwoHolders},
	},
}
