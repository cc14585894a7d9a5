package bugs_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/scenes"
)

// Article D says of its first version: 此实现方式还可能存在死锁问题, a holder that
// crashes or loses its network blocks the whole lock. It does not: its node is
// ephemeral. The next contender gets the lock when the session has expired, in
// the article's lock as in ours.
func TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires(t *testing.T) {
	museum.NeedsEmbedded(t)
	d := scenes.Get("D2") // a bug of the first version
	for _, w := range []explore.World{d.World, d.Ours} {
		t.Run(w.Name, func(t *testing.T) {
			w := d.Only(w) // a hang
			w.Kinds, w.Faults = []explore.Fault{explore.Expire}, 1
			queued := []string{"A: request", "A: request", "A: request", "B: request", "B: request", "B: request", "B: request", "gap D2: go on"}
			tr := museum.Played(t, w, append(queued, "A: expire", "B: request"))
			require.Nil(t, tr.Violation, "%v", tr)
			when := func(who, kind, text string) int {
				i := slices.IndexFunc(tr.Log, func(e explore.Entry) bool { return e.Who == who && e.Kind == kind && e.Text.En == text })
				require.GreaterOrEqual(t, i, 0, "%s: %s %s\n%v", who, kind, text, tr)
				return i
			}
			holds, watched, expired := when("A", "note", "holds the lock"), when("B", "reply", ""), when("A", "note", "is cut off until its session has expired")
			require.Less(t, holds, watched, "A is the first")
			require.Less(t, watched, expired, "B waits")
			require.Less(t, expired, when("B", "note", "holds the lock"))
			require.Less(t, when("B", "note", "holds the lock"), when("A", "note", "unlocks"), "A has not unlocked")
		})
	}
}
