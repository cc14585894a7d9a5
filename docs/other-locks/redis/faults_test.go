package redis_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

// The commands as they are on the wire.
const (
	set     = "\r\nset\r\n"
	evalsha = "\r\nevalsha\r\n"
)

// lossy connects a client directly and one by way of a proxy.
func lossy(t *testing.T) (client *goredis.Client, line *proxy.Proxy, cutOff *goredis.Client) {
	server := address(t)
	line, via := via(t, server)
	return connect(t, server), line, connect(t, via)
}

func exists(t testing.TB, client *goredis.Client, key string) bool {
	n := testenv.Must(client.Exists(t.Context(), key).Result())(t)
	return n == 1
}

// The cases of all locks.
func TestTheLineBreaks(t *testing.T) { faults.Run(t, subject(t, newLock)) }

func TestNothingIsLeftBehindAtAnyInstant(t *testing.T) {
	faults.Sweep(t, subject(t, newLock), true, false)
	t.Run("fenced", func(t *testing.T) { faults.Sweep(t, subject(t, newFenced), true, false) })
}

// A client that sends commands again by itself is the default of go-redis: the
// second SET finds the key of the first, and the contender would wait for itself.
func TestAClientThatRetriesWaitsForItself(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := suite.Name()
	require.Zero(t, client.Options().MaxRetries, "Connect's client does not")
	options := *cutOff.Options()
	options.MaxRetries = 3 // the default
	retries := goredis.NewClient(&options)
	defer retries.Close()
	require.NoError(t, retries.Ping(t.Context()).Err())
	sets := line.LoseReply(set, nil)
	suite.Try(t, false, redis.New(retries, k, longer), "nobody else has asked for the lock")
	require.Equal(t, 2, sets())
	require.True(t, exists(t, client, k))
	require.NoError(t, client.Del(t.Context(), k).Err())
}

// The line falls silent at a packet of a renewal: no error comes, and no answer. The holder's own clock closes
// Lost when its key has lived for its time, before another contender gets in.
func TestLostIsClosedAtTheEndOfTheKeysLifeThoughTheLineIsSilent(t *testing.T) {
	faults.EachPacket(t, func(t *testing.T, silence func(line *proxy.Proxy)) {
		client, line, slow := lossy(t)
		k := suite.Name()
		ttl := 2 * time.Second
		if os.Getenv("REDIS") == "" { // miniredis has no clock
			ttl = 200 * time.Millisecond
		}
		holder, next := redis.New(slow, k, ttl), redis.New(client, k, longer)
		require.NoError(t, holder.Lock(t.Context()))
		silence(line)
		if os.Getenv("REDIS") != "" {
			require.NoError(t, next.Lock(t.Context()))
		}
		faults.Closes(t, holder.Lost())
	})
}

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
	for settings, second := range map[string]bool{
		"--appendonly no": true,
		// The cure: an fsync before each answer.
		"--appendonly yes --appendfsync always": false,
	} {
		t.Run(settings, func(t *testing.T) {
			servers.Needs(t, "redis-server", "redis-server", "REDIS")
			dir := t.TempDir()
			address, kill := redisServer(t, dir, strings.Fields(settings)...)
			first := redis.New(connect(t, address), "order", longer)
			require.NoError(t, first.Lock(t.Context()))
			kill()

			address, _ = redisServer(t, dir, strings.Fields(settings)...)
			suite.Try(t, second, redis.New(connect(t, address), "order", longer))
			require.False(t, bubble.IsClosed(first.Lost()), "the first holder is notified; then they are not two")
		})
	}
}
