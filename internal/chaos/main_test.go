//go:build docker && linux

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/ensemble/docker"
)

// TestMain removes the servers, also when the process is told to end. What a
// killed process leaves, the next one removes.
func TestMain(m *testing.M) {
	if os.Getenv(clientEnv) != "" {
		os.Exit(beClient())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		ensemble.CloseShared()
		os.Exit(1)
	}()
	status := m.Run()
	ensemble.CloseShared()
	os.Exit(status)
}

// three returns an ensemble of three that works.
func three(t *testing.T) *docker.Servers {
	zoo, err := ensemble.Shared(context.Background(), "docker:3")
	require.NoError(t, err)
	t.Cleanup(func() { // a test that fails must not break the next one
		require.NoError(t, heal(context.Background(), zoo.Docker()))
	})
	require.NoError(t, heal(t.Context(), zoo.Docker()))
	return zoo.Docker()
}

// heal ends every fault and returns when all servers serve.
func heal(ctx context.Context, zoo *docker.Servers) error {
	for _, n := range zoo.Nodes() {
		n.Unpause(ctx) // an error if it is not paused
		n.Start(ctx)   // nothing if it runs
		if err := n.Heal(ctx); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := serve(ctx, zoo)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// serve returns nil if one server leads and the others follow.
func serve(ctx context.Context, zoo *docker.Servers) error {
	leaders := 0
	for _, n := range zoo.Nodes() {
		mode, err := n.Mode(ctx)
		if err != nil {
			return fmt.Errorf("%v does not serve: %w", n, err)
		}
		if mode == "leader" {
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Errorf("%d servers lead", leaders)
	}
	return nil
}

// roles returns the leader and the two followers.
func roles(t *testing.T, zoo *docker.Servers) (leader *docker.Node, followers []*docker.Node) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		leader, err = zoo.Leader(t.Context())
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	for _, n := range zoo.Nodes() {
		if n != leader {
			followers = append(followers, n)
		}
	}
	return leader, followers
}
