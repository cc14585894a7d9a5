package examples_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
)

// Article D says of its first version: 此实现方式还可能存在死锁问题, a holder that
// crashes or loses its network blocks the whole lock. It does not: its node is
// ephemeral. The next contender gets the lock when the session has expired, in
// the article's lock as in ours.
func TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires(t *testing.T) {
	bugs.NeedsEmbedded(t)
	d := scenes.Get("D2") // a bug of the first version
	for _, w := range []player.World{d.World, d.Ours} {
		t.Run(w.Name, func(t *testing.T) {
			w := d.Only(w) // a hang
			w.Kinds, w.Faults = []player.Fault{player.Expire}, 1
			queued := []string{"A: request", "A: request", "A: request", "B: request", "B: request", "B: request", "B: request", "gap D2: go on"}
			tr := bugs.Played(t, w, append(queued, "A: expire", "B: request"))
			require.Nil(t, tr.Violation, "%v", tr)
			watches := func(e player.Entry) bool { return e.Who == "B" && e.Kind == "reply" && e.Watch }
			requireInOrder(t, tr, noteIs("A holds the lock"), watches, noteIs("A is cut off until its session has expired"),
				noteIs("B holds the lock"), noteIs("A unlocks"))
		})
	}
}

// E1 and E2 end with a write that comes late. Under step 5's lock more requests are sent, so the schedule
// is one of its own: A is stopped while it holds the lock, B adds one and unlocks, and A goes on. It
// reads the token at /stock, and does not write.
func TestAStockThatComparesTokensRefusesTheLateWrite(t *testing.T) {
	bugs.NeedsEmbedded(t)
	request := func(who string, n int) []string { return slices.Repeat([]string{who + ": request"}, n) }
	for _, id := range []string{"E1", "E2"} {
		t.Run(id, func(t *testing.T) {
			choices := slices.Concat(request("A", 5), []string{"A: stop"}, request("B", 5), []string{"B: unlock"}, request("B", 3),
				[]string{"A: run on", "A: reconnect", "A: reconnect", "A: unlock"}, request("A", 3))
			tr := bugs.Played(t, scenes.Get(id).Ours, choices)
			require.Nil(t, tr.Violation, "%v", tr)
			reads := func(e player.Entry) bool {
				return e.Who == "A" && e.Kind == "reply" && e.Op == "getData" && e.Path == "/stock"
			}
			at := requireInOrder(t, tr, noteIs("A holds the lock"), noteIs("A is stopped; its session expires meanwhile"),
				noteIs("B holds the lock"), noteIs("B has unlocked"), noteIs("A unlocks"), reads, noteIs("A finds that the lock was lost"))
			require.False(t, slices.ContainsFunc(tr.Log[at[1]:], func(e player.Entry) bool { return e.Who == "A" && e.Op == "setData" }), "%v", tr)
		})
	}
}

// noteIs is true of a note of a contender.
func noteIs(note string) func(e player.Entry) bool {
	return func(e player.Entry) bool { return e.Kind == "note" && e.Who+" "+e.Text.En == note }
}

// requireInOrder asserts that a trace has such entries in this order, and returns their places.
func requireInOrder(t *testing.T, tr *player.Trace, entries ...func(e player.Entry) bool) (at []int) {
	t.Helper()
	next := 0
	for n, entry := range entries {
		i := slices.IndexFunc(tr.Log[next:], entry)
		require.GreaterOrEqual(t, i, 0, "entry %d is not there\n%v", n+1, tr)
		at = append(at, next+i)
		next += i + 1
	}
	return at
}
