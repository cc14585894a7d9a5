package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs"
	"example.com/zklock/internal/i18n"
)

// jedis is a client of the articles' locks. Its commands are written into the script.
func jedis(s *bugs.Script, server *miniredis.Miniredis, name string) *goredis.Client {
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	client.AddHook(scribe(s, name))
	s.Cleanup(func() { client.Close() })
	return client
}

func scribe(s *bugs.Script, client string) hook {
	return func(next goredis.ProcessHook) goredis.ProcessHook {
		return func(ctx context.Context, cmd goredis.Cmder) error {
			err := next(ctx, cmd)
			if cmd.Name() == "hello" {
				return err // the client's own
			}
			request := strings.Trim(fmt.Sprint(cmd.Args()), "[]")
			request = strings.Join(strings.Fields(strings.Replace(request, compareAndDelete, "compare-and-delete", 1)), " ")
			answer := "nil"
			if text := cmd.String(); err == nil {
				answer = text[strings.LastIndex(text, ": ")+2:]
			}
			s.Say(client, "%s: %s", "%s：%s", request, answer)
			return err
		}
	}
}

// B3. Article B:
//
//	127.0.0.1:6379> setnx dis-lock test
//	(integer) 1
//
// The key has no time to live. If its holder crashes, the lock stays held, as
// the article itself says.
func setnxLock(s *bugs.Script, jedis *goredis.Client) bool {
	ok, err := jedis.SetNX(s.Context(), "dis-lock", "test", 0).Result()
	require.NoError(s, err)
	return ok
}

// With a time to live the case of TestBasic passes: a holder whose session expires lets the next one in.
func TestBugB3_AfterACrashTheKeyStays(t *testing.T) {
	bugs.Example("B3").HappensOff(t, i18n.Same("Redis"), func(s *bugs.Script) {
		server := miniredis.RunT(s)
		a, b := jedis(s, server, "A"), jedis(s, server, "B")
		require.True(s, setnxLock(s, a))
		s.Note("A", "holds the lock, and crashes", "持有锁，随后崩溃")
		require.NoError(s, a.Close())
		require.False(s, setnxLock(s, b))
		server.FastForward(365 * 24 * time.Hour)
		s.Note("S", "a year later", "一年以后")
		require.False(s, setnxLock(s, b))
		s.Note("B", "does not get in, although nobody holds the lock", "锁没有持有者，却拿不到")
	})
}

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
	jedis   *goredis.Client
	lockers map[string]int // of the one thread that we have
}

func (l *redisWithReentrantLock) lock(key string) bool {
	if refCnt, ok := l.lockers[key]; ok {
		l.lockers[key] = refCnt + 1
		return true
	}
	err := l.jedis.SetArgs(context.Background(), key, "", goredis.SetArgs{Mode: "NX", TTL: 5 * time.Second}).Err()
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

// With a value of its own and a script that compares, the case of TestBasic passes: Unlock after the session
// expired. TestTheCountIsInTheKey has the counter that notices.
func TestBugB4_ASlowHolderDeletesItsSuccessorsKey(t *testing.T) {
	const key = "codehole"
	bugs.Example("B4").HappensOff(t, i18n.Same("Redis"), func(s *bugs.Script) {
		server := miniredis.RunT(s)
		var locks []*redisWithReentrantLock
		for _, name := range []string{"A", "B", "C"} {
			locks = append(locks, &redisWithReentrantLock{jedis(s, server, name), make(map[string]int)})
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
}

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
	jedis              *goredis.Client
	lockKey, requestID string
}

func (l *compareAndDeleteLock) lock() bool {
	args := goredis.SetArgs{Mode: "NX", TTL: 5 * time.Second}
	return l.jedis.SetArgs(context.Background(), l.lockKey, l.requestID, args).Err() == nil
}

const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

func (l *compareAndDeleteLock) unlock() bool {
	result, err := l.jedis.Eval(context.Background(), compareAndDelete, []string{l.lockKey}, l.requestID).Int()
	return err == nil && result == 1
}

// TestAStoreRefusesTheLateWrite has the cure: tokens.
func TestBugE2_CompareAndDeleteDoesNotProtectTheResource(t *testing.T) {
	bugs.Example("E2").HappensOff(t, i18n.Same("Redis"), func(s *bugs.Script) {
		server := miniredis.RunT(s)
		client := func(name string) *compareAndDeleteLock {
			return &compareAndDeleteLock{jedis(s, server, name), "stock", "id-of-" + name}
		}
		a, b, c := client("A"), client("B"), client("C")
		stock := 0
		require.True(s, a.lock())
		s.Note("A", "holds the lock", "持有锁")
		valueOfA := stock
		s.Note("A", "reads %d, and is paused", "读到 %d，随后暂停", valueOfA)
		server.FastForward(6 * time.Second)
		s.Note("S", "6 seconds later the key has expired", "6 秒后，键过期")
		require.True(s, b.lock())
		s.Note("B", "holds the lock", "持有锁")
		s.TwoHolders("A", "B")
		stock++
		s.Note("B", "reads 0, adds one, writes %d", "读到 0，加一，写入 %d", stock)
		stock = valueOfA + 1
		s.Note("A", "continues, adds one to what it has read, writes %d", "恢复运行，在读到的数上加一，写入 %d", stock)
		require.Equal(s, 1, stock, "after two clients each added one")
		require.False(s, a.unlock(), "the script deletes no other holder's key")
		require.False(s, c.lock())
		s.Note("A", "its unlock deletes nothing, but one addition is lost", "unlock 什么也没删，但是有一次加一丢失了")
		require.True(s, b.unlock())
	})
}
