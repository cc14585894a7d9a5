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
			request := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(cmd.Args()), "[]")), " ")
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
