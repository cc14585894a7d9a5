//go:build others && etcd

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/connectivity"

	"example.com/zklock/internal/servers"
)

// etcd is killed for good while the contenders count on it. Its client would
// wait until the leases end; the benchmark notices, and says so in one line. A request
// that the client sends before it has noticed has an error of its own.
func TestAnOtherServerEtcdThatIsKilledIsOneLine(t *testing.T) {
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	server, err := servers.Begin(t.Context(), "etcd")
	require.NoError(t, err)
	defer server.End()
	untried(t)
	killed := false
	opens(t, "etcd", func(ctx context.Context, spec string) (arena, error) {
		a, err := openEtcd(ctx, spec)
		return silencingArena{killingArena{a, func() {
			server.Kill()
			killed = a.(*etcdArena).client.ActiveConnection().WaitForStateChange(ctx, connectivity.Ready)
		}}}, err
	})
	stderr := fails(t, `(?m)^etcd +50 +FAILED`, []string{"-locks", "etcd", "-n", "50", "-etcd", strings.TrimPrefix(server.Env[0], "ETCD=")}, "no answer within 5s")
	require.True(t, killed, stderr)
	oneLine(t, complaint(stderr), "bench: etcd with 50 goroutines on etcd ")
}
