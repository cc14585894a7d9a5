package redis_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers"
)

// redisServer starts Debian's redis-server with its data in a folder.
func redisServer(t *testing.T, dir string, settings ...string) (address string, kill func()) {
	address = servers.Addr(t)
	host, port, _ := net.SplitHostPort(address)
	ready := func() error {
		client, err := redis.Connect(t.Context(), address)
		if err == nil {
			client.Close()
		}
		return err
	}
	return address, servers.Start(t, ready, "redis-server",
		append([]string{"--bind", host, "--port", port, "--dir", dir, "--save", ""}, settings...)...)
}

// Redis answers before the key is on a disk. The server is killed after it has
// granted the lock, and comes back without the key.
func TestAServerThatForgetsGivesTwoHolders(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		second   bool // a second holder gets in
	}{
		{"without a log", []string{"--appendonly", "no"}, true},
		// The cure: an fsync before each answer.
		{"with fsync before each answer", []string{"--appendonly", "yes", "--appendfsync", "always"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			servers.Needs(t, "redis-server", "redis-server", "REDIS")
			dir := t.TempDir()
			address, kill := redisServer(t, dir, c.settings...)
			first := redis.New(connect(t, address), "order", longer)
			require.NoError(t, first.Lock(t.Context()))
			lost := first.Lost()
			kill()

			address, _ = redisServer(t, dir, c.settings...)
			second := redis.New(connect(t, address), "order", longer)
			suite.Try(t, c.second, second)
			require.False(t, bubble.IsClosed(lost), "the first holder is notified; then they are not two")
		})
	}
}
