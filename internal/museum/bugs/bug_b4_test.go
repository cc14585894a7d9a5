package bugs_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum"
)

// redisWithReentrantLock is article B's class of that name.
//
// B4. The value is empty, so nothing shows which client set the key:
//
//	return jedis.set(key, "", "nx", "ex", 5L) != null;
//	…
//	jedis.del(key);
//
// After 5 seconds the key expires, and a slow holder deletes its successor's
// key. The counter in memory does not notice: lock(key) still returns true.
type redisWithReentrantLock struct {
	jedis   *redis.Client
	lockers map[string]int // of the one thread that we have
}

func (l *redisWithReentrantLock) lock(key string) bool {
	if refCnt, ok := l.lockers[key]; ok {
		l.lockers[key] = refCnt + 1
		return true
	}
	err := l.jedis.SetArgs(context.Background(), key, "", redis.SetArgs{Mode: "NX", TTL: 5 * time.Second}).Err()
	if err != nil {
		return false
	}
	l.lockers[key] = 1
	return true
}

func (l *redisWithReentrantLock) unlock(key string) bool {
	refCnt, ok := l.lockers[key]
	if !ok {
		return false
	}
	if refCnt--; refCnt > 0 {
		l.lockers[key] = refCnt
	} else {
		delete(l.lockers, key)
		l.jedis.Del(context.Background(), key)
	}
	return true
}

func TestBugB4_ASlowHolderDeletesItsSuccessorsKey(t *testing.T) {
	bug := museum.Exhibit("B4")
	const key = "codehole"
	bug.HappensOff(t, language.Same("Redis"), func(s *museum.Script) {
		server := miniredis.RunT(s)
		var locks []*redisWithReentrantLock
		for _, name := range []string{"A", "B", "C"} {
			locks = append(locks, &redisWithReentrantLock{redisClient(s, server, name), make(map[string]int)})
		}
		a, b, c := locks[0], locks[1], locks[2]
		require.True(s, a.lock(key))
		s.Note("A", "holds the lock", "持有锁")
		server.FastForward(6 * time.Second)
		s.Note("S", "6 seconds later the key has expired", "6 秒后，键过期")
		require.True(s, b.lock(key))
		s.Note("B", "holds the lock", "持有锁")

		require.True(s, a.lock(key), "it returns true without a request")
		s.Note("A", "locks again, without a request", "再次加锁，一个请求也没发")
		s.TwoHolders("A", "B")

		require.True(s, a.unlock(key))
		require.True(s, a.unlock(key))
		require.True(s, c.lock(key))
		s.Note("C", "holds the lock", "持有锁")
		s.TwoHolders("B", "C")
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b, c := s.Client(), s.Client(), s.Client()
		a.Lock()
		lease := leaseOf(a)
		back := a.CutOff()
		s.Pass(museum.SessionTimeout + 2*time.Second)
		b.Lock()
		back()
		a.Start() // again, while it has not unlocked
		a.Waits()
		s.OnlyHolder(b)
		require.ErrorIs(s, lease.Unlock(s.Context()), timeout.ErrLost)
		c.Start()
		c.Waits()
		s.OnlyHolder(b)
	})
}
