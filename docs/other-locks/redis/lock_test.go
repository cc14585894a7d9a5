// The suite of all locks on Redis, and the tests of its watchdog, its address and its cost.
package redis_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

const longer = time.Hour / 2

func init() { logging.Disable() } // each error is returned, too

// address is that of the server that the environment variable REDIS names, or
// of a miniredis that lives as long as the test.
func address(t testing.TB) string {
	given := os.Getenv("REDIS")
	if given == "" {
		given = miniredis.RunT(t).Addr()
	}
	if !strings.Contains(given, "://") {
		given = "redis://" + given
	}
	return given
}

// via is the address of the same server by way of a proxy. Only its ctx ends a command on a silent line.
func via(t testing.TB, server string) (*proxy.Proxy, string) {
	u := testenv.Must(url.Parse(server))(t)
	line := proxy.New(t, u.Host)
	u.Host, u.RawQuery = line.Addr(), "read_timeout=1h"
	return line, u.String()
}

func connect(t testing.TB, address string) *goredis.Client {
	client := testenv.Must(redis.Connect(t.Context(), address))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// anHourPasses takes an hour from a key's life, if it has one.
func anHourPasses(t testing.TB, client *goredis.Client, key string) {
	left := testenv.Must(client.PTTL(t.Context(), key).Result())(t)
	switch {
	case left < 0: // it has no end
	case left <= time.Hour:
		require.NoError(t, client.Del(t.Context(), key).Err())
	default:
		require.NoError(t, client.PExpire(t.Context(), key, left-time.Hour).Err())
	}
}

// subject is a kind of contender on one server, as package suite asks for it: its Subject says what the fields are.
func subject(t testing.TB, contender func(client *goredis.Client, key string) suite.Lock) suite.Subject {
	address := address(t)
	direct := connect(t, address)
	return suite.Subject{
		Client: func(t testing.TB, address string) func(string) suite.Lock {
			client := connect(t, address)
			return func(name string) suite.Lock { return contender(client, name) }
		},
		Server: address, Via: via,
		ErrNotLocked: redis.ErrNotLocked,
		Expire:       func(t testing.TB, name string, _ suite.Lock) { anHourPasses(t, direct, name) },
		Without: map[string]string{
			"a waiter sleeps on a watch and does not poll":      "this lock subscribes to nothing: a message can be lost, so a waiter polls all the same",
			"contenders get in in the order in which they came": "nobody queues",
		},
		CleanUp:    redis.CleanUp,
		ErrNoReply: redis.ErrNoReply, Request: setOnWire, Release: "\r\nevalsha\r\n", Once: true,
		Left: func(ctx context.Context, name string) (int, error) {
			n, err := direct.Exists(ctx, name).Result()
			return int(n), err
		},
	}
}

func newLock(client *goredis.Client, key string) suite.Lock { return redis.New(client, key, longer) }

func TestBasic(t *testing.T) { suite.Run(t, subject(t, newLock)) }

func newFenced(client *goredis.Client, key string) suite.Lock {
	return redis.NewFenced(client, key, longer)
}

func TestBasicFenced(t *testing.T) { suite.Run(t, subject(t, newFenced)) }

// The watchdog gives the key a new life before the old one ends.
func TestTheWatchdogRenews(t *testing.T) {
	client := connect(t, address(t))
	k := suite.Name()
	l := redis.New(client, k, time.Minute)
	redis.Renew(l, time.Millisecond)
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, client.PExpire(t.Context(), k, 30*time.Second).Err())
	require.Eventually(t, func() bool {
		left, err := client.PTTL(t.Context(), k).Result()
		return err == nil && left > 30*time.Second
	}, 2*time.Minute, time.Millisecond)
	require.False(t, bubble.IsClosed(l.Lost()), "the lock is said to be lost")
	require.NoError(t, l.Unlock(t.Context()))
	require.Zero(t, client.Exists(t.Context(), k).Val(), "Unlock while the watchdog renews")
}

// Without a watchdog the key of a holder that works for longer than it lives
// expires: there are two holders, and the first is not notified.
func TestWithoutAWatchdogThereAreTwoHolders(t *testing.T) {
	client := connect(t, address(t))
	k := suite.Name()
	holder, next := redis.New(client, k, time.Minute), redis.New(client, k, longer)
	redis.Renew(holder, 1000*time.Hour)
	require.NoError(t, holder.Lock(t.Context()))
	anHourPasses(t, client, k)
	suite.Try(t, true, next)
	require.False(t, bubble.IsClosed(holder.Lost()), "the first holder is notified")
	require.ErrorIs(t, holder.Unlock(t.Context()), redis.ErrNotLocked)
	require.NoError(t, next.Unlock(t.Context()))
}

func TestWhatIsWrongWithAnAddressIsOneLine(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("secret")
	const nobody = "127.0.0.1:1" // a port that the system gives nobody
	for address, want := range map[string]string{
		nobody:                              "redis at " + nobody,
		"redis://user:bad@" + server.Addr(): "WRONGPASS",
		"redis://user:bad%zzword@" + nobody: "written %25",
		server.Addr():                       "(redis://:password@host:port)",
	} {
		err := testenv.Err(redis.Connect(t.Context(), address))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "bad", "the password is in the error")
	}
	require.NoError(t, testenv.Must(redis.Connect(t.Context(), "redis://:secret@"+server.Addr()))(t).Close())
}

// The cost that the README states.
func TestAFreeLockCostsTwoCommands(t *testing.T) {
	client := connect(t, address(t))
	l := redis.New(client, suite.Name(), longer)
	suite.Round(t, l, "the script is in the server's memory from now on")
	// The pool gives a connection to each command.
	sent := func() uint32 { return client.PoolStats().Hits + client.PoolStats().Misses }
	before := sent()
	suite.Round(t, l)
	require.EqualValues(t, 2, sent()-before)
	require.EqualValues(t, 2, l.Attempts())
}
