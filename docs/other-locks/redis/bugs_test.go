// The bugs of the articles' locks on Redis, played on miniredis.
package redis_test

import (
	"errors"
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

// A jedis is a client of the articles' locks. Its commands are written into the script.
type jedis struct {
	*goredis.Client
	script *bugs.Script
	name   string
}

func connectJedis(s *bugs.Script, server *miniredis.Miniredis, name string) *jedis {
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	s.Cleanup(func() { client.Close() })
	return &jedis{client, s, name}
}

// do returns nil if that is the server's answer.
func (j *jedis) do(command ...any) any {
	done := j.Do(j.script.Context(), command...)
	answer, err := done.Result()
	text := fmt.Sprint(answer)
	if errors.Is(err, goredis.Nil) {
		text, err = "nil", nil
	}
	require.NoError(j.script, err)
	request := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(done.Args()), "[]")), " ")
	j.script.Say(j.name, "%s: %s", request, text)
	return answer
}

// B3. Article B:
//
//	127.0.0.1:6379> setnx dis-lock test
//	(integer) 1
//
// The key has no time to live. If its holder crashes, the lock stays held, as the article itself says.
func (j *jedis) setnxLock() bool { return j.do("setnx", "dis-lock", "test") == int64(1) }

// With a time to live the case of TestBasic passes: a holder whose session expires lets the next one in.
func TestBugB3_AfterACrashTheKeyStays(t *testing.T) {
	bugs.Example("B3").HappensOff(t, i18n.Same("Redis"), func(s *bugs.Script) {
		server := miniredis.RunT(s)
		a, b := connectJedis(s, server, "A"), connectJedis(s, server, "B")
		require.True(s, a.setnxLock())
		s.Note("A", "holds the lock, and crashes")
		require.NoError(s, a.Close())
		require.False(s, b.setnxLock())
		server.FastForward(365 * 24 * time.Hour)
		s.Note("S", "a year later")
		require.False(s, b.setnxLock())
		s.Note("B", "does not get in, although nobody holds the lock")
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
	jedis   *jedis
	lockers map[string]int // of the one thread that we have
}

func (l *redisWithReentrantLock) lock(key string) bool {
	if refCnt, ok := l.lockers[key]; ok {
		l.lockers[key] = refCnt + 1
		return true
	}
	if l.jedis.do("set", key, "", "nx", "ex", 5) == nil {
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
		l.jedis.do("del", key)
	}
	return true
}

// With a value of its own and a script that compares, the case of TestBasic passes: Unlock after the session
// expired. The count of package sqlrow, which is in the row, notices the end.
func TestBugB4_ASlowHolderDeletesItsSuccessorsKey(t *testing.T) {
	const key = "codehole"
	bugs.Example("B4").HappensOff(t, i18n.Same("Redis"), func(s *bugs.Script) {
		server := miniredis.RunT(s)
		var locks []*redisWithReentrantLock
		for _, name := range []string{"A", "B", "C"} {
			locks = append(locks, &redisWithReentrantLock{connectJedis(s, server, name), make(map[string]int)})
		}
		a, b, c := locks[0], locks[1], locks[2]
		require.True(s, a.lock(key))
		s.Note("A", "holds the lock")
		server.FastForward(6 * time.Second)
		s.Note("S", "6 seconds later the key has expired")
		require.True(s, b.lock(key))
		s.Note("B", "holds the lock")

		require.True(s, a.lock(key), "it returns true without a request")
		s.Note("A", "locks again, without a request")
		s.TwoHolders("A", "B")

		require.True(s, a.unlock(key))
		require.True(s, a.unlock(key))
		require.True(s, c.lock(key))
		s.Note("C", "holds the lock")
		s.TwoHolders("B", "C")
	})
}
