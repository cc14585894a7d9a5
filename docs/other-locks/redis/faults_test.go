// Tests of what the lock does when the line to Redis breaks, or Redis is killed.
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
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

const setOnWire = "\r\nset\r\n" // the command SET

func exists(t testing.TB, client *goredis.Client, key string) bool {
	return testenv.Must(client.Exists(t.Context(), key).Result())(t) == 1
}

// The cases of all locks.
func TestTheLineBreaks(t *testing.T) { faults.Run(t, subject(t, newLock)) }

func TestNothingIsLeftBehindAtAnyInstant(t *testing.T) {
	faults.Sweep(t, subject(t, newLock))
	t.Run("fenced", func(t *testing.T) { faults.Sweep(t, subject(t, newFenced)) })
}

// A client that sends commands again by itself is the default of go-redis: the
// second SET finds the key of the first, and the contender would wait for itself.
func TestAClientThatRetriesWaitsForItself(t *testing.T) {
	server, k := address(t), suite.Name()
	line, via := via(t, server)
	client, cutOff := connect(t, server), connect(t, via)
	require.Zero(t, client.Options().MaxRetries, "Connect's client does not")
	options := *cutOff.Options()
	options.MaxRetries = 3 // the default
	retries := goredis.NewClient(&options)
	defer retries.Close()
	require.NoError(t, retries.Ping(t.Context()).Err())
	sets := line.LoseReply(setOnWire, nil)
	suite.Try(t, false, redis.New(retries, k, longer), "nobody else has asked for the lock")
	require.Equal(t, 2, sets())
	require.True(t, exists(t, client, k))
}

// The holder has to notice before another contender gets in. miniredis has no clock.
func TestLostIsClosedAtTheEndOfTheKeysLifeThoughTheLineIsSilent(t *testing.T) {
	briefly := func(client *goredis.Client, key string) suite.Lock { return redis.New(client, key, time.Second) }
	faults.Lost(t, subject(t, briefly), os.Getenv("REDIS") != "")
}

// redisServer starts Debian's redis-server with its data in a folder.
func redisServer(t *testing.T, dir string, settings ...string) (address string, kill func()) {
	address = testenv.Must(servers.FreeAddr())(t)
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
	for settings, forgets := range map[string]bool{
		"--appendonly no":                       true,
		"--appendonly yes --appendfsync always": false, // the cure: an fsync before each answer
	} {
		t.Run(settings, func(t *testing.T) {
			servers.Needs(t, "redis-server", "redis-server", "REDIS")
			dir := t.TempDir()
			address, kill := redisServer(t, dir, strings.Fields(settings)...)
			first := redis.New(connect(t, address), "order", longer)
			require.NoError(t, first.Lock(t.Context()))
			kill()

			address, _ = redisServer(t, dir, strings.Fields(settings)...)
			suite.Try(t, forgets, redis.New(connect(t, address), "order", longer))
			require.False(t, bubble.IsClosed(first.Lost()), "the first holder is notified; then they are not two")
		})
	}
}
