package scenes

import (
	"slices"
	"time"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
)

// The bugs of article D's three versions: D1 to D5 of the first, D6 to D10 of the second, and the others of the third.
// See Bug in scenes.go. The locks and worlds with a name, such as queue, deep and oneFault, are in worlds.go.
var articleD = []Bug{
	{
		ID: "D1", Step: step3, Cure: predecessor,
		Title: "a watch on a deleted node never fires",
		// D2 hangs, too. Here the node to watch has gone; in D2 it has not.
		Listing: listings.NewZkLock, World: player.World{Lock: queue}, Kinds: []player.Kind{player.Hang}, Like: watchedGone,
		Level: Level{Route: route("A: request,A: request,A: request,B: request,B: request,B: request,A: unlock,A: " +
			"request,A: request,B: request,gap D2: go on")},
	},
	{
		ID: "D2", Step: step3, Cure: predecessor,
		Title:   "a notify that comes before the wait is lost",
		Listing: listings.NewZkLock, World: player.World{Lock: queue}, Kinds: []player.Kind{player.Hang},
		Like: func(tr *player.Trace) bool { return !watchedGone(tr) },
	},
	{
		ID: "D3", Step: step3, Cure: predecessor,
		Title:   "a waiter that is woken does not read the list again",
		Listing: listings.NewZkLock, World: oneFaultAmong(3, queue, player.Expire), Search: atRandom,
		Kinds: []player.Kind{player.TwoHolders, player.Overtaken, player.NodeMissing},
		Level: Level{Route: route("A: request,A: request,A: request,B: request,B: request,B: request,B: request,gap D2: " +
			"go on,C: request,C: request,C: request,C: request,gap D2: go on,B: expire")},
	},
	{
		ID: "D4", Step: step3, Cure: predecessor,
		Title:   "two clients create the parent at once: one gets false",
		Listing: listings.NewZkLock, World: player.World{Missing: true}, Kinds: []player.Kind{player.Failure},
	},
	{
		ID: "D5", Step: step3, Cure: predecessor,
		Title:   "a missing session is taken for a held lock",
		Listing: listings.NewZkLock,
		World: player.World{
			Lock: queue, Contenders: 1, Scripts: [][]player.Op{{player.TryLockOp, player.UnlockOp}}, // false means held
			Unconnected: true, Kinds: []player.Fault{player.Refuse}, Faults: 1,
		},
		Kinds: []player.Kind{player.Failure},
	},
	{
		ID: "D6", Step: step3, Cure: predecessor,
		Title:   "a waiter that is woken queues again, behind its own node",
		Listing: listings.NewDistributedLock, World: player.World{Lock: deep},
		Kinds: []player.Kind{player.Failure, player.NodeLeft},
	},
	{
		ID: "D7", Step: step3, Cure: predecessor,
		Title:   "the node before is gone: the waiter takes the lock",
		Listing: listings.NewDistributedLock, World: oneFaultAmong(3, deep, player.Expire), Search: atRandom,
		Kinds: []player.Kind{player.TwoHolders},
		Level: Level{Route: route("A: request,A: request,B: request,C: request,C: request,B: expire,B: reconnect,B: reconnect,C: request")},
	},
	{
		ID: "D8", Step: step3, Cure: withWaitTime(),
		Title:   "each wake-up starts the wait time again",
		Listing: listings.NewDistributedLock,
		World:   oneFaultAmong(2, player.Subject{Path: deep.Path, Within: listings.WaitTime}, player.Cut),
		Kinds:   []player.Kind{player.TooLong},
		// The contender that waits too long was woken a second after it had begun to wait, and has set a second watch. A
		// client that is cut off needs this second to connect again.
		Like: func(tr *player.Trace) bool {
			late := countEntries(tr, func(e player.Entry) bool { return e.Kind == "event" && e.At >= time.Second })
			watches := countEntries(tr, func(e player.Entry) bool { return e.Kind == "reply" && e.Watch })
			return late == 1 && watches == 2
		},
	},
	{
		ID: "D9", Step: step3, Cure: predecessor,
		Title:   "lock b waits for lock a",
		Listing: listings.NewDistributedLock, World: player.World{Lock: deep, Apart: true}, Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "D10", Step: step3, Cure: closesAfterUnlock(),
		Title:   "close() after a failed lock() deletes path null",
		Listing: listings.NewDistributedLock,
		World:   player.World{Lock: mayFail(player.Subject{Path: "/private/lock", Closes: true}), Contenders: 1, Forbidden: true},
		Kinds:   []player.Kind{player.SessionLeft},
	},
	{
		ID: "D11", Step: step5, Cure: timeout,
		Title:   "the heartbeat outlives the lock, as a hot loop",
		Listing: listings.NewHeartbeatLock, World: player.World{Lock: deep, Contenders: 1}, Kinds: []player.Kind{player.Endless},
		// The scene's schedule sends no heartbeat.
		Play: &Play{Contenders: 1, Kinds: []player.Fault{player.Pause}, Faults: 1,
			Choices: []string{"A: request", "A: request", "all: time passes", "A: request", "A: reconnect"}},
	},
	{
		ID: "D12", Step: step5, Cure: timeout,
		Title: "the heartbeat writes, and does not keep the lock",
		// A holder that outlives its session is a known fault, which ends no search.
		Listing: listings.NewHeartbeatLock, Kinds: []player.Kind{player.Outlived}, Search: explore.Search{Seed: 1, Limit: 50},
		World: oneFault(deep, player.Expire),
		// The scene's schedule sends no heartbeat. In the story a second passes, in which a client is cut off.
		Play: &Play{Contenders: 2, Kinds: []player.Fault{player.Cut, player.Expire}, Faults: 2,
			Choices: []string{"A: request", "A: request", "A: cut", "A: reconnect", "A: request", "B: request", "B: request", "B: request", "A: expire", "B: request"}},
	},
	{
		ID: "D13", Step: step5, Cure: timeout,
		Title:   "a heartbeat uses up the waiter's watch",
		Listing: listings.NewHeartbeatLock, World: oneFault(deep, player.Pause), Kinds: []player.Kind{player.Hang}, Search: atRandom,
		// A contender has set its watch before time passes.
		Like: func(tr *player.Trace) bool {
			timePasses := slices.IndexFunc(tr.Log, func(e player.Entry) bool { return e.Kind == "note" && e.Who == "" })
			watches := slices.IndexFunc(tr.Log, func(e player.Entry) bool { return e.Kind == "reply" && e.Watch })
			return 0 <= watches && watches < timePasses
		},
	},
}
