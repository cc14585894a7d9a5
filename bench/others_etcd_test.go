//go:build others && etcd

package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/servers"
)

// etcd is killed for good while the contenders count on it. Its client would
// wait until the leases end; the benchmark notices, and says so in one line.
func TestAnOtherServerEtcdThatIsKilledIsOneLine(t *testing.T) {
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	client, peer := servers.Addr(t), servers.Addr(t)
	ready := func() error {
		conn, err := net.DialTimeout("tcp", client, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	kill := servers.Start(t, ready, "etcd", "--data-dir", t.TempDir(), "--listen-peer-urls", "http://"+peer,
		"--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer,
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client)
	untried(t)
	killed := false
	opens(t, "etcd", func(ctx context.Context, spec string) (arena, error) {
		a, err := openEtcd(ctx, spec)
		return silencingArena{killingArena{a, func() { killed = true; kill() }}}, err
	})
	stderr := fails(t, `(?m)^etcd +50 +FAILED`, []string{"-locks", "etcd", "-n", "50", "-etcd", client}, "no answer within 5s")
	require.True(t, killed, stderr)
	oneLine(t, complaint(stderr), "bench: etcd with 50 goroutines on etcd ")
}
