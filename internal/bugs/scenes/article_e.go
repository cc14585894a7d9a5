package scenes

import "example.com/zklock/internal/explore/player"

// The bugs of article E: a holder that was paused writes late to the resource, the stock of stock.go.
var articleE = []Bug{
	{
		ID: "E1", Step: step5, Cure: (&stock{fenced: true}).protectedBy(timeout),
		Title: "a paused holder writes after the next one has started",
		World: oneFault(new(stock).protectedBy(predecessor), player.Stop),
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom,
		Substitute: "The lock is step 3's, which is the article's chain without a mistake. " +
			"Each holder reads a number from /stock, and writes it back with one added.",
	},
	{
		ID: "E2", Step: step5, Cure: (&stock{fenced: true}).protectedBy(timeout),
		Title: "compare and delete protects the key, not the resource",
		World: oneFault(new(stock).protectedBy(naive), player.Stop),
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom,
		// The late holder's Unlock finds the node of the next one, and does not delete it. By then both have written.
		Like: func(tr *player.Trace) bool { return tr.Knows(player.Outlived) && comparesLate(tr) },
		Substitute: "The lock is step 1's, in place of the article's on Redis: its Unlock compares and deletes, too. " +
			"Each holder reads a number from /stock, and writes it back with one added.",
	},
}
