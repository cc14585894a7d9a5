package zklock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoseNodesAreBefore: a call of TryLock waits for nodes of its own Mutex that are
// leaving, and for no other.
func TestWhoseNodesAreBefore(t *testing.T) {
	ours := []string{"lock-7", "lock-8"} // leaving
	for _, c := range []struct {
		name    string
		before  queue
		leaving []string
		want    bool
	}{
		{"nobody", queue{}, nil, false},
		{"nobody, though a node of ours has not been told that it has gone", queue{}, ours, false},
		{"one of ours", queue{1, "lock-8", ""}, ours, false},
		{"two of ours", queue{2, "lock-8", "lock-7"}, ours, false},
		{"another one", queue{1, "lock-6", ""}, nil, true},
		{"another one, and ours has gone", queue{1, "lock-6", ""}, ours, true},
		{"another one, ours, ours", queue{3, "lock-8", "lock-7"}, ours, true},
		{"ours has gone, another one, ours", queue{2, "lock-8", "lock-6"}, ours, true},
		{"ours has gone, ours, another one", queue{2, "lock-9", "lock-8"}, ours, true},
	} {
		require.Equal(t, c.want, c.before.hasOthers(c.leaving), c.name)
	}
}
