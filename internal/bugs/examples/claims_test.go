package examples_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Each bug that has a scene happens with the article's lock, and not with the lock that cures it.
func TestBugByItsScene(t *testing.T) {
	for _, s := range scenes.WithScene {
		t.Run(s.ID, bugs.Example(s.ID).ByItsScene)
	}
}

// Article D says of its first version: 此实现方式还可能存在死锁问题, a holder that crashes or loses its network blocks the whole
// lock. It does not: its node is ephemeral. The next contender gets the lock when the session has expired, in the
// article's lock as in ours. A gets the lock with three requests, and B waits after four.
func TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires(t *testing.T) {
	testenv.Embedded(t, "the explorer brings its own server")
	scene := scenes.Get("D2") // a bug of the first version
	for _, world := range []player.World{scene.World, scene.Ours} {
		t.Run(world.Name, func(t *testing.T) {
			w := scene.Only(world) // only a hang is reported
			w.Kinds, w.Faults = []player.Fault{player.Expire}, 1
			choices := slices.Concat(requests("A", 3), requests("B", 4), []string{"gap D2: go on", "A: expire", "B: request"})
			tr := bugs.Follow(t, w, choices)
			require.Nil(t, tr.Violation, "%v", tr)
			watches := func(e player.Entry) bool { return e.Who == "B" && e.Kind == "reply" && e.Watch }
			requireInOrder(t, tr, noteIs("A holds the lock"), watches, noteIs("A is cut off until its session has expired"),
				noteIs("B holds the lock"), noteIs("A unlocks"))
		})
	}
}

// E1 and E2 end with a write that comes late. Step 5's lock sends more requests, so it has a schedule of its own here:
// A is stopped while it holds the lock, B adds one and unlocks, and A goes on. A reads the token, and does not write.
func TestAStockThatComparesTokensRefusesTheLateWrite(t *testing.T) {
	testenv.Embedded(t, "the explorer brings its own server")
	for _, id := range []string{"E1", "E2"} {
		t.Run(id, func(t *testing.T) {
			choices := slices.Concat(requests("A", 5), []string{"A: stop"}, requests("B", 5), []string{"B: unlock"},
				requests("B", 3), []string{"A: run on", "A: reconnect", "A: reconnect", "A: unlock"}, requests("A", 3))
			tr := bugs.Follow(t, scenes.Get(id).Ours, choices)
			require.Nil(t, tr.Violation, "%v", tr)
			readsStock := func(e player.Entry) bool {
				return e.Who == "A" && e.Kind == "reply" && e.Op == "getData" && e.Path == "/stock"
			}
			places := requireInOrder(t, tr, noteIs("A holds the lock"), noteIs("A is stopped; its session expires meanwhile"),
				noteIs("B holds the lock"), noteIs("B has unlocked"), noteIs("A unlocks"), readsStock,
				noteIs("A finds that the lock was lost"))
			writes := func(e player.Entry) bool { return e.Who == "A" && e.Op == "setData" }
			stopped := places[1] // where the log has the second of these
			require.False(t, slices.ContainsFunc(tr.Log[stopped:], writes), "A writes after it was stopped: %v", tr)
		})
	}
}

// requests are n choices that each let a request of a client be carried out.
func requests(client string, n int) []string { return slices.Repeat([]string{client + ": request"}, n) }

// noteIs reports for an entry whether it is this note: a contender, and what it does.
func noteIs(note string) func(e player.Entry) bool {
	return func(e player.Entry) bool { return e.Kind == "note" && e.Who+" "+e.Text.String() == note }
}

// requireInOrder asserts that a log has an entry for each condition, in this order, and returns where they are.
func requireInOrder(t *testing.T, tr *player.Trace, conditions ...func(e player.Entry) bool) (places []int) {
	t.Helper()
	next := 0
	for n, condition := range conditions {
		i := slices.IndexFunc(tr.Log[next:], condition)
		require.GreaterOrEqual(t, i, 0, "entry %d is not there\n%v", n+1, tr)
		places = append(places, next+i)
		next += i + 1
	}
	return places
}
