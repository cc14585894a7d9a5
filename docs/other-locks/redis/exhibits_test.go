// The exhibits about Redis in exhibits.md.
package redis_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

// A server whose memory is full evicts keys, if it is configured to, and the lock's key is one of them. With
// noeviction, which is the default, it refuses writes instead.
func TestAnEvictedKeyIsASecondHolder(t *testing.T) {
	servers.Needs(t, "redis-server", "redis-server", "REDIS")
	for name, policy := range map[string]string{"O7": "allkeys-lru", "O8": "noeviction"} { // exhibits, and what they are about
		t.Run(policy, func(t *testing.T) {
			e := exhibit.New(t, name)
			address, _ := redisServer(t, t.TempDir(), "--maxmemory", "4mb", "--maxmemory-policy", policy)
			client := connect(t, address)
			a, b := redis.New(client, "order", longer), redis.New(client, "order", longer)
			require.NoError(t, a.Lock(t.Context()))
			e.Arrow("A->>S: SET order … NX PX: OK")

			const enough = 20_000 // values of 1000 bytes, for a memory of 4 MB
			var err error
			for i := 0; i < enough && err == nil && exists(t, client, "order"); i++ {
				err = client.Set(t.Context(), fmt.Sprint("cache-", i), strings.Repeat("x", 1000), 0).Err()
			}

			held, failed := b.TryLock(t.Context())
			if policy == "noeviction" {
				require.True(t, goredis.HasErrorPrefix(err, "OOM"), "%v", err)
				require.False(t, held)
				e.Arrow("B->>S: SET order … NX PX: refused")
				require.True(t, exists(t, client, "order"))
				return
			}
			require.NoError(t, failed)
			require.True(t, held)
			require.False(t, bubble.IsClosed(a.Lost()))
			e.Arrow("B->>S: SET order … NX PX: OK")
		})
	}
}

// A replica is promoted. The server answered before the replica had the key, so the replica does not have it.
func TestAReplicaThatIsPromotedGivesTwoHolders(t *testing.T) {
	servers.Needs(t, "redis-server", "redis-server", "REDIS")
	e := exhibit.New(t, "O9")
	address, kill := redisServer(t, t.TempDir(), "--repl-diskless-sync-delay", "0")
	line := proxy.New(t, address)
	host, port := testenv.Must2(net.SplitHostPort(line.Addr()))(t)
	replicaAddress, _ := redisServer(t, t.TempDir(), "--replicaof", host, port)
	client, replica := connect(t, address), connect(t, replicaAddress)
	require.NoError(t, client.Set(t.Context(), "before", "", 0).Err())
	require.Eventually(t, func() bool { return exists(t, replica, "before") }, 2*time.Minute, time.Millisecond)
	line.Silence(proxy.ToServer, proxy.ToClient)

	a := redis.New(client, "order", longer)
	require.NoError(t, a.Lock(t.Context()))
	e.Arrow("A->>S: SET order … NX PX: OK")
	copies := testenv.Must(client.Wait(t.Context(), 1, 100*time.Millisecond).Result())(t)
	e.Arrow("A->>S: WAIT 1 100: %d replicas have it", copies)
	kill()
	require.NoError(t, replica.SlaveOf(t.Context(), "NO", "ONE").Err())
	b := redis.New(replica, "order", longer)
	suite.Try(t, true, b)
	require.False(t, bubble.IsClosed(a.Lost()))
	e.Arrow("B->>S: SET order … NX PX: OK")
}

// Bug E2: the script protects the key, and a holder that was paused writes late. With a fencing token that write is
// refused; the tokens of a lock that has none are 0.
func TestAStoreRefusesTheLateWrite(t *testing.T) {
	for what, contender := range map[string]func(*goredis.Client, string, time.Duration) *redis.Lock{
		"without a token an addition is lost": redis.New, "with a token": redis.NewFenced,
	} {
		t.Run(what, func(t *testing.T) {
			fenced, e := what == "with a token", &exhibit.Exhibit{}
			if fenced {
				e = exhibit.New(t, "O11")
			}
			address, key := address(t), suite.Name()
			client := connect(t, address)
			a, b := contender(client, key, longer), contender(connect(t, address), key, longer)
			var value, highest int64 // of the store that the lock protects: it refuses a lower token than it has seen
			write := func(token, newValue int64) (done bool) {
				if token < highest {
					return false
				}
				highest, value = token, newValue
				return true
			}

			require.NoError(t, a.Lock(t.Context()))
			read, late := value, a.Token()
			e.Arrow("A->>S: SET stock … NX PX, INCR {stock}:holders: %d", late)
			anHourPasses(t, client, key)
			require.NoError(t, b.Lock(t.Context()))
			second := b.Token()
			e.Arrow("B->>S: SET stock … NX PX, INCR {stock}:holders: %d", second)
			require.True(t, write(second, value+1))
			require.Equal(t, fenced, !write(late, read+1), "the store refuses it")
			require.EqualValues(t, 1, value, "both have read 0, and added one")

			require.ErrorIs(t, a.Unlock(t.Context()), redis.ErrNotLocked)
			require.NoError(t, b.Unlock(t.Context()))
			require.NoError(t, a.Lock(t.Context()))
			require.Equal(t, fenced, a.Token() > second, "the counter does not go with the key")
			require.NoError(t, a.Unlock(t.Context()))
		})
	}
}
