//go:build docker

package main

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
)

// The leader of three is killed in the middle of a run: the count is exact, or
// one line names the session; never a wrong count, never a hang.
func TestTheLeaderIsKilledInTheMiddle(t *testing.T) {
	if !strings.HasPrefix(os.Getenv("ZK"), "docker") {
		t.Skip("needs Docker (set ZK=docker or ZK=docker:3)")
	}
	zoo, err := ensemble.Shared(context.Background(), "docker:3")
	require.NoError(t, err)
	counted := make(chan struct{})
	var holders atomic.Int64
	set(t, &meet, func() { // called by holders: one at a time, unless a session has ended
		if holders.Add(1) == 300 {
			close(counted)
		}
	})
	type ended struct {
		status         int
		stdout, stderr string
	}
	end := make(chan ended, 1)
	go func() {
		status, stdout, stderr := runWithOutput(t.Context(), "-zk", strings.Join(zoo.Servers(), ","), "-n", "1000", "-locks", "predecessor", "-warmup", "0s")
		end <- ended{status, stdout, stderr}
	}()
	select {
	case <-counted:
	case e := <-end:
		t.Fatalf("it has ended before its middle, with status %d: %s", e.status, e.stderr)
	}
	leader, err := zoo.Docker().Leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, leader.Kill(t.Context()))
	select {
	case e := <-end:
		if e.status == exitOK {
			require.Regexp(t, `(?m)^predecessor +1000 +1000 `, e.stdout)
		} else {
			require.Equal(t, exitFailure, e.status)
			require.Contains(t, e.stdout, "FAILED")
			require.Contains(t, e.stderr, ": session 0x")
			require.NotContains(t, e.stderr, "held the lock at once")
		}
		t.Logf("exit status %d: %s", e.status, e.stderr)
	case <-time.After(5 * time.Minute):
		t.Fatal("the benchmark hangs")
	}
	require.NoError(t, leader.Start(t.Context()))
	require.Eventually(t, func() bool { _, err := leader.Mode(t.Context()); return err == nil }, 5*time.Minute, 100*time.Millisecond)
}
