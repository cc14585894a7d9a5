package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
)

// TestContendersOfOneClient: the contenders are goroutines that share a
// session and, in steps 4 and 5, a Mutex.
func TestContendersOfOneClient(t *testing.T) {
	for _, s := range []explore.Subject{steps.Naive(), steps.Predecessor(), steps.Reentrant(), steps.Timeout()} {
		r := explore.Explore(t, explore.World{Lock: s, Shared: true}, explore.Search{Seed: 1, Limit: 50})
		require.Nil(t, r.Found, "%v", r.Found)
		t.Log(r)
	}
}
