package locktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// TestStepsRefuseABadPath is about the steps and not a case: no exercise asks it of a lock.
func TestStepsRefuseABadPath(t *testing.T) {
	for name, open := range map[string]locks.Open{
		"naive":       locks.Alone(naive.New),
		"herd":        locks.Alone(herd.New),
		"predecessor": locks.Alone(predecessor.New),
		"reentrant":   locks.Owned(reentrant.New, reentrant.NewOwner),
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server := zkserver.Run(t)
				conn := testenv.Must(ensemble.OverPipes(server).Connect(t.Context(), ensemble.Options{}))(t)
				defer conn.Close()
				for _, path := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
					l := open(conn, path, time.Minute)("owner") // a contender, with this name
					require.Error(t, l.Lock(t.Context()), "Lock with the path %q", path)
					ok, err := l.TryLock(t.Context())
					require.Error(t, err, "TryLock with the path %q", path)
					require.False(t, ok, "TryLock with the path %q", path)
				}
				for _, session := range server.Sessions() {
					require.Empty(t, session.Ephemerals)
				}
			})
		})
	}
}
