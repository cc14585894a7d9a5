package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdleIsOfAllTasks: one that begins while another runs belongs to the same
// time without rest, whose end the earlier caller of Idle waits for.
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
