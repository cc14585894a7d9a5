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
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

// A server whose memory is full evicts keys, if it is configured to, and the lock's
// key is one of them. With noeviction, which is the default, it refuses writes
// instead.
func TestAnEvictedKeyIsASecondHolder(t *testing.T) {
	servers.Needs(t, "redis-server", "redis-server", "REDIS")
	for name, policy := range map[string]string{"O7": "allkeys-lru", "O8": "noeviction"} {
		t.Run(policy, func(t *testing.T) {
			e := exhibit.New(t, name, "Redis, maxmemory-policy "+policy)
			address, _ := redisServer(t, t.TempDir(), "--maxmemory", "4mb", "--maxmemory-policy", policy)
			client := connect(t, address)
			a, b := redis.New(client, "order", longer), redis.New(client, "order", longer)
			require.NoError(t, a.Lock(t.Context()))
			e.Does("A", "SET order … NX PX", "OK")
			e.Note("A", "holds the lock")
			var err error
			for i := 0; i < 20_000 && err == nil && exists(t, client, "order"); i++ {
				err = client.Set(t.Context(), fmt.Sprint("cache-", i), strings.Repeat("x", 1000), 0).Err()
			}
			e.Note("S", "other clients fill the memory")
			if policy == "noeviction" {
				require.True(t, goredis.HasErrorPrefix(err, "OOM"), "%v", err)
				e.Note("S", "refuses their writes: OOM")
			}
			held, err := b.TryLock(t.Context())
			if policy == "noeviction" {
				require.False(t, held)
				e.Does("B", "SET order … NX PX", "refused")
				require.True(t, exists(t, client, "order"))
				return
			}
			require.NoError(t, err)
			require.True(t, held)
			require.False(t, bubble.IsClosed(a.Lost()))
			e.Does("B", "SET order … NX PX", "OK")
			e.Note("B", "holds the lock")
			e.Note("A,B", "two holders")
		})
	}
}

// A replica is promoted. The server answered before the replica had the key, so the
// replica does not have it.
func TestAReplicaThatIsPromotedGivesTwoHolders(t *testing.T) {
	servers.Needs(t, "redis-server", "redis-server", "REDIS")
	e := exhibit.New(t, "O9", "Redis")
	address, kill := redisServer(t, t.TempDir(), "--repl-diskless-sync-delay", "0")
	line := proxy.New(t, address)
	host, port, err := net.SplitHostPort(line.Addr())
	require.NoError(t, err)
	replicaAddress, _ := redisServer(t, t.TempDir(), "--replicaof", host, port)
	client, replica := connect(t, address), connect(t, replicaAddress)
	require.NoError(t, client.Set(t.Context(), "before", "", 0).Err())
	require.Eventually(t, func() bool { return exists(t, replica, "before") }, 2*time.Minute, time.Millisecond)
	line.Silence(proxy.ToServer, proxy.ToClient)
	e.Note("S", "the line to its replica is slow")

	a := redis.New(client, "order", longer)
	require.NoError(t, a.Lock(t.Context()))
	e.Does("A", "SET order … NX PX", "OK")
	e.Note("A", "holds the lock")
	copies := testenv.Must(client.Wait(t.Context(), 1, 100*time.Millisecond).Result())(t)
	require.Zero(t, copies)
	e.Does("A", "WAIT 1 100", fmt.Sprintf("%d replicas have it", copies))
	kill()
	e.Note("S", "is killed, and its replica is promoted")
	require.NoError(t, replica.SlaveOf(t.Context(), "NO", "ONE").Err())
	b := redis.New(replica, "order", longer)
	faults.Try(t, true, b)
	require.False(t, bubble.IsClosed(a.Lost()))
	e.Does("B", "SET order … NX PX", "OK")
	e.Note("B", "holds the lock")
	e.Note("A,B", "two holders")
}

// A store is the resource that a lock protects. It refuses a token lower than one
// that it has seen.
type store struct {
	value int
	seen  int64
}

func (s *store) read(token int64) int { s.seen = max(s.seen, token); return s.value }

func (s *store) write(token int64, value int) bool {
	if token < s.seen {
		return false
	}
	s.seen, s.value = token, value
	return true
}

// Bug E2 with a fencing token: the late write of a holder that was paused is refused.
func TestAStoreRefusesTheLateWrite(t *testing.T) {
	e := exhibit.New(t, "O11", "Redis")
	address := address(t)
	client := connect(t, address)
	k := key(t)
	a, b := redis.NewFenced(client, k, longer), redis.NewFenced(connect(t, address), k, longer)
	var s store
	require.NoError(t, a.Lock(t.Context()))
	late := a.Token()
	e.Does("A", "SET stock … NX PX, INCR {stock}:holders", late)
	seen := s.read(late)
	e.Note("A", "reads %d from the store, and is paused", seen)
	anHourPasses(t, client, k)
	e.Note("S", "the key has expired")
	require.NoError(t, b.Lock(t.Context()))
	e.Does("B", "SET stock … NX PX, INCR {stock}:holders", b.Token())
	require.Greater(t, b.Token(), late)
	require.True(t, s.write(b.Token(), s.read(b.Token())+1))
	e.Note("B", "reads 0, adds one, writes %d with token %d", s.value, b.Token())
	require.False(t, s.write(late, seen+1))
	e.Note("A", "continues, writes %d with token %d: the store refuses it", seen+1, late)
	require.Equal(t, 1, s.value)
	require.ErrorIs(t, a.Unlock(t.Context()), redis.ErrNotLocked)
	second := b.Token()
	require.NoError(t, b.Unlock(t.Context()))
	require.NoError(t, a.Lock(t.Context()))
	require.Greater(t, a.Token(), second, "the counter does not go with the key")
	require.NoError(t, a.Unlock(t.Context()))
}
