package explore_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

// TestTheReductionLosesNothing compares the reduced searches with the one that
// plays every order: all must come to the same states and find the same.
// It is step 3 alone in a plain go test, and with ZKLOCK_TESTS=long it is compared where that takes a
// minute, too.
func TestTheReductionLosesNothing(t *testing.T) {
	testenv.NotRaced(t, "its schedules are ten times as slow")
	compare := func(w explore.World) {
		t.Helper()
		t.Run(fmt.Sprint(w.Lock.Name, w.Packets, w.Kinds), func(t *testing.T) {
			whole := explore.Explore(t, w, explore.Search{Whole: true, Count: true, All: true})
			require.True(t, whole.Complete)
			for _, merge := range []bool{false, true} {
				reduced := explore.Explore(t, w, explore.Search{Count: true, All: true, Merge: merge})
				require.True(t, reduced.Complete)
				require.Equal(t, slices.Sorted(maps.Keys(whole.Kinds)), slices.Sorted(maps.Keys(reduced.Kinds)), "violations")
				require.Equal(t, slices.Sorted(maps.Keys(whole.Known)), slices.Sorted(maps.Keys(reduced.Known)), "what is known")
				if w.Lock.Timed && slices.Contains(w.Kinds, explore.Stop) {
					// When a contender runs on, several of its channels are ready at once, and Go
					// draws which one it takes: no two whole searches come to the same states.
					continue
				}
				require.Equal(t, whole.States, reduced.States, "states\n%v\n%v", whole, reduced)
				require.True(t, explore.SameStates(whole, reduced), "the states differ")
				require.Equal(t, whole.MostRequests, reduced.MostRequests, "requests")
				require.Equal(t, whole.MostEvents, reduced.MostEvents, "watch events")
				t.Log(whole, whole.Kinds, "\n", reduced, reduced.Kinds)
			}
		})
	}
	subjects := []explore.Subject{steps.Predecessor()}
	if testenv.AtLanding() {
		subjects = append(subjects, steps.Naive(), steps.Herd())
	}
	for _, s := range subjects {
		faults := []explore.Fault{explore.LoseRequest, explore.LoseReply, explore.Cut}
		if testenv.AtLength() {
			compare(explore.World{Lock: s, Packets: true})
			faults = append(faults, explore.Expire, explore.Stop, explore.Stall)
		}
		for _, f := range faults {
			compare(explore.World{Lock: s, Kinds: []explore.Fault{f}, Faults: 1})
		}
	}
	lock, unlock := explore.LockOp, explore.UnlockOp
	again := [][]explore.Op{{lock, unlock, lock, unlock}, {lock, unlock}} // the second create counts the children
	compare(explore.World{Lock: steps.Zklock(), Scripts: again})
	if testenv.AtLength() {
		for _, f := range []explore.Fault{explore.Cut, explore.LoseRequest, explore.EndContext, explore.Stop} {
			compare(explore.World{Lock: steps.Zklock(), Kinds: []explore.Fault{f}, Faults: 1})
		}
	}
}
