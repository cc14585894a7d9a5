package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdleIsOfAllTasks: a caller of Idle also waits for a task that begins while
// another one runs.
func TestIdleIsOfAllTasks(t *testing.T) {
	var tasks Tasks
	require.True(t, IsClosed(tasks.Idle()), "before the first")
	for range 2 {
		tasks.Begin()
		idle := tasks.Idle()
		tasks.Begin()
		tasks.End()
		require.False(t, IsClosed(idle), "the second runs")
		tasks.End()
		require.True(t, IsClosed(idle))
		require.True(t, IsClosed(tasks.Idle()))
	}
}
