//go:build !js

package exploretest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestProcessesMakeNoDifference: one search in one, two and three processes.
// The same schedules are played, and the same traces come out. A process that
// goes through parts comes no further than to the first search.
func TestProcessesMakeNoDifference(t *testing.T) {
	exploretest.ReportAlways() // in the processes, too: they run this test
	lostReply := explore.World{Lock: steps.Predecessor(), Kinds: []explore.Fault{explore.LoseReply}, Faults: 1}
	for _, test := range []struct {
		name string
		explore.World
		explore.Search
	}{
		{"right", explore.World{Lock: steps.Predecessor(), Kinds: []explore.Fault{explore.Cut}, Faults: 1}, explore.Search{Count: true, Merge: true}},
		{"known", lostReply, explore.Search{Count: true}},
		{"broken", explore.World{Lock: subject("look first, watch later"), Contenders: 3}, explore.Search{Count: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var first *explore.Report
			for n := 1; n <= 3; n++ {
				r := exploretest.Explore(t, test.World, test.Search, n)
				t.Log(n, r)
				r.Took = 0
				if first == nil {
					first = r
				}
				require.Equal(t, first.Schedules, r.Schedules)
				require.Equal(t, first.Cut, r.Cut)
				require.Equal(t, first.States, r.States)
				require.Equal(t, first.Complete, r.Complete)
				require.Equal(t, choices(first), choices(r))
			}
			parts, _ := explore.Split(t, test.World, test.Search)
			require.NotEmpty(t, parts)
			alone := explore.Explore(t, test.World, test.Search)
			t.Log(len(parts), "parts;", alone)
			require.Equal(t, alone.Complete, first.Complete)
			if !test.Merge {
				require.Equal(t, alone.Schedules, first.Schedules, "the parts are the whole")
			}
			if alone.Found == nil {
				require.Equal(t, alone.States, first.States)
			} else {
				require.Equal(t, choices(alone), choices(first))
			}
		})
	}
}

// choices are those of all that a search has found.
func choices(r *explore.Report) map[string][]string {
	all := make(map[string][]string)
	if r.Found != nil {
		all["found"] = r.Found.Choices
	}
	for name, tr := range r.Known {
		all[name] = tr.Choices
	}
	return all
}
