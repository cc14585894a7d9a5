//go:build docker

package docker_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/servers/docker"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

// awaitLeader waits until a node other than not leads. It polls, because no event says that an election is over.
func awaitLeader(t *testing.T, zoo *docker.Servers, not *docker.Node) *docker.Node {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if n, err := zoo.Leader(t.Context()); err == nil && n != not {
			return n
		}
	}
	t.Fatal("no server leads")
	return nil
}

func TestAnEnsembleOutlivesItsLeader(t *testing.T) {
	ctx := t.Context()
	zoo := testenv.Must(docker.Open(ctx, 3))(t)
	defer zoo.Close()
	require.Len(t, zoo.Nodes(), 3)
	require.Contains(t, zoo.String(), "ensemble of 3")
	conn := testenv.Must(zkconn.Connect(ctx, zoo.Addrs(), 40*time.Second))(t)
	defer conn.Close()
	testenv.Must(conn.Create("/survives", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	session := conn.SessionID()

	for _, how := range []struct {
		what        string
		breaks, fix func(*docker.Node) error
	}{
		{"kill", func(n *docker.Node) error { return n.Kill(ctx) }, func(n *docker.Node) error { return n.Start(ctx) }},
		{"pause", func(n *docker.Node) error { return n.Pause(ctx) }, func(n *docker.Node) error { return n.Unpause(ctx) }},
	} {
		old := awaitLeader(t, zoo, nil)
		require.NoError(t, how.breaks(old), how.what)
		require.Error(t, testenv.Err(old.Mode(ctx)), "%s: it serves still", how.what)
		awaitLeader(t, zoo, old)
		require.Eventually(t, func() bool {
			there, _, err := conn.Exists("/survives")
			return err == nil && there
		}, 5*time.Minute, 100*time.Millisecond, "%s: the session's node is lost", how.what)
		require.Equal(t, session, conn.SessionID(), how.what)
		require.NoError(t, how.fix(old), how.what)
		require.Eventually(t, func() bool { return testenv.Err(old.Mode(ctx)) == nil }, 5*time.Minute, 100*time.Millisecond, "%v does not serve", old)
	}
}

func TestDockerThatIsNotThereIsSaidInOneLine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	_, err := docker.Open(t.Context(), 1)
	require.ErrorContains(t, err, "docker: no daemon answers: start it, or set DOCKER_HOST (docker version: ")
	require.NotContains(t, err.Error(), "\n")
}

func TestAnImageThatIsNotThereIsSaidInOneLine(t *testing.T) {
	t.Setenv("ZK_IMAGE", "zklock.invalid/no/such:image")
	_, err := docker.Open(t.Context(), 1)
	require.ErrorContains(t, err, "docker: image zklock.invalid/no/such:image is not here and cannot be pulled")
	require.NotContains(t, err.Error(), "\n")
}
