package explore_test

import (
	"testing"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
)

func TestFirst(t *testing.T) {
	for _, s := range []explore.Subject{steps.Naive(), steps.Herd(), steps.Predecessor()} {
		for n := 2; n <= 3; n++ {
			for _, whole := range []bool{true, false} {
				r := explore.Explore(t, explore.World{Lock: s, Contenders: n}, explore.Search{Whole: whole, Count: true})
				t.Log(whole, r, r.States, r.MostRequests, r.MostEvents)
				if r.Found != nil {
					t.Log(r.Found)
				}
			}
		}
	}
}
