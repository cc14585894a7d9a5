package bugs_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum"
)

// compareAndDeleteLock is the lock whose release article E begins with.
//
// E2. Article E:
//
//	String script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
//	Object result = jedis.eval(script, Collections.singletonList(lockKey), Collections.singletonList(requestId));
//
// The value is the holder's own, and the script deletes no other holder's key:
// that cures B4. But the script protects only the key. A holder that was paused
// for longer than the key lives writes to the resource before it unlocks, and
// nothing refuses its write.
type compareAndDeleteLock struct {
	jedis              *redis.Client
	lockKey, requestID string
}

func (l *compareAndDeleteLock) lock() bool {
	args := redis.SetArgs{Mode: "NX", TTL: 5 * time.Second}
	return l.jedis.SetArgs(context.Background(), l.lockKey, l.requestID, args).Err() == nil
}

const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

func (l *compareAndDeleteLock) unlock() bool {
	result, err := l.jedis.Eval(context.Background(), compareAndDelete, []string{l.lockKey}, l.requestID).Int()
	return err == nil && result == 1
}

func TestBugE2_CompareAndDeleteDoesNotProtectTheResource(t *testing.T) {
	bug := museum.Exhibit("E2")
	bug.HappensOff(t, language.Same("Redis"), func(s *museum.Script) {
		server := miniredis.RunT(s)
		client := func(name string) *compareAndDeleteLock {
			return &compareAndDeleteLock{redisClient(s, server, name), "stock", "id-of-" + name}
		}
		a, b, c := client("A"), client("B"), client("C")
		var r register
		require.True(s, a.lock())
		s.Note("A", "holds the lock", "持有锁")
		valueOfA := r.value
		s.Note("A", "reads %d, and is paused", "读到 %d，随后暂停", valueOfA)
		server.FastForward(6 * time.Second)
		s.Note("S", "6 seconds later the key has expired", "6 秒后，键过期")
		require.True(s, b.lock())
		s.Note("B", "holds the lock", "持有锁")
		s.TwoHolders("A", "B")
		r.write(r.value + 1)
		s.Note("B", "reads 0, adds one, writes %d", "读到 0，加一，写入 %d", r.value)
		r.write(valueOfA + 1)
		s.Note("A", "continues, adds one to what it has read, writes %d", "恢复运行，在读到的数上加一，写入 %d", r.value)
		require.Equal(s, 1, r.value, "after two clients each added one")
		require.False(s, a.unlock(), "the script deletes no other holder's key")
		require.False(s, c.lock())
		s.Note("A", "its unlock deletes nothing, but one addition is lost", "unlock 什么也没删，但是有一次加一丢失了")
		require.True(s, b.unlock())
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		var r register
		a.Lock()
		valueOfA, tokenOfA := r.value, leaseOf(a).Token()
		b.Start()
		a.CutOff()
		b.GetsIn()
		require.NoError(s, r.writeFenced(r.value+1, leaseOf(b).Token()))
		require.ErrorIs(s, r.writeFenced(valueOfA+1, tokenOfA), errStale)
		require.Equal(s, 1, r.value, "only B has added one, and A has got the refusal")
	})
}
