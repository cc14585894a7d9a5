package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/servers"
)

// A recorder records the commands of a client's lock, and the answers.
type recorder struct {
	film   *exhibit.Film
	client string
	names  *exhibit.Names
}

func (c recorder) DialHook(next goredis.DialHook) goredis.DialHook {
	return next
}

func (c recorder) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (c recorder) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		op, text := show(c.names, c.client, cmd.Args())
		if op == "hello" || op == "client" || op == "select" { // of a new connection
			return next(ctx, cmd)
		}
		answer := c.film.Sends(c.client, op, text)
		err := next(ctx, cmd)
		switch {
		case errors.Is(err, goredis.Nil):
			answer(language.Same("nil"), true)
		case err != nil:
			answer(language.Same(err.Error()), false)
		default:
			answer(language.Same(fmt.Sprint(cmd.(*goredis.Cmd).Val())), true)
		}
		return err
	}
}

// show is a command as a person writes it: a script has a name, and a random value is that
// of its client.
func show(names *exhibit.Names, client string, args []any) (op, text string) {
	var words []string
	for i, a := range args {
		word := fmt.Sprint(a)
		switch {
		case i == 1 && redis.Scripts[word] != "":
			op, words = redis.Scripts[word], []string{"EVALSHA", redis.Scripts[word]}
			continue
		case names.Drawn(word, client):
			word = "value-of-" + client
		}
		words = append(words, word)
	}
	if op == "" {
		op = words[0]
	}
	return op, strings.Join(words, " ")
}

// The film of an evicted key, in docs/other-locks/films: A holds the lock, the server drops the
// key, B gets in, and A notices it at its next renewal. The store, which compares
// tokens, refuses A's writes meanwhile. A real server evicts the key because
// its memory is full; miniredis has no limit, so the test removes the key there.
// The packets of the clients are the same.
func TestTheFilmOfAnEvictedKey(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		require.NoError(t, server.Start())
		t.Cleanup(server.Close)
		evictedKey(t, server.Addr(), func(*goredis.Client) { server.Del("order") })
	})
	t.Run("redis-server", func(t *testing.T) {
		servers.Needs(t, "redis-server", "redis-server", "REDIS")
		// Of the keys with an end only, so the counter of the holders stays.
		address, _ := redisServer(t, t.TempDir(), "--maxmemory", "4mb", "--maxmemory-policy", "volatile-lru")
		evictedKey(t, address, func(client *goredis.Client) {
			for i := 0; i < 20_000 && exists(t, client, "order"); i++ {
				require.NoError(t, client.Set(t.Context(), fmt.Sprint("cache-", i), strings.Repeat("x", 1000), time.Hour).Err())
			}
		})
	})
}

func evictedKey(t *testing.T, address string, evict func(client *goredis.Client)) {
	const (
		ttl   = 30 * time.Second
		first = 1 // token
	)
	bubble.Test(t, func(t *testing.T) {
		admin := connect(t, address)
		require.NoError(t, redis.Load(t.Context(), admin)) // else the first call of a script would be two
		who := new(exhibit.Names)
		film := exhibit.NewFilm(t, "redis", "redis", "Redis", func() map[string]string {
			there := make(map[string]string)
			if value, err := admin.Get(t.Context(), "order").Result(); err == nil {
				there["/keys/order"] = who.Client(value)
			}
			return there
		}, "A", "B")
		contender := func(name string) *redis.Lock {
			client := connect(t, address)
			client.AddHook(recorder{film, name, who})
			return redis.NewFenced(client, "order", ttl)
		}
		a, b := contender("A"), contender("B")
		var s store
		var both sync.WaitGroup
		began := time.Now()
		at := func(d time.Duration) { time.Sleep(d - time.Since(began)) } // of virtual time

		both.Go(func() {
			film.State("A", "waits", language.Say("asks for the lock", "请求锁"))
			require.NoError(t, a.Lock(t.Context()))
			token := a.Token()
			require.EqualValues(t, first, token)
			film.State("A", "holds", language.Say("holds the lock with token %d", "拿到锁，令牌是 %d", token))
			at(time.Second)
			seen := s.read(token)
			film.Note("A", language.Say("reads %d from the store, and works on", "从存储读到 %d，继续做自己的事", seen))
			at(13 * time.Second)
			require.False(t, bubble.IsClosed(a.Lost()))
			require.False(t, s.write(token, seen+1))
			film.Note("A", language.Say(
				"writes %d to the store with token %d: the store refuses it, because it has seen token %d",
				"用令牌 %[2]d 向存储写入 %[1]d：存储已经见过令牌 %[3]d，拒绝写入", seen+1, token, s.seen))
			select {
			case <-a.Lost():
			case <-time.After(ttl):
				require.Fail(t, "A's Lost is not closed")
			}
			film.Lost("A", true, token)
			at(22 * time.Second)
			film.State("A", "unlocks", language.Say("calls Unlock", "调用 Unlock"))
			require.ErrorIs(t, a.Unlock(t.Context()), redis.ErrNotLocked)
			film.State("A", "outside", language.Say("gets an error from Unlock: it does not hold the lock", "从 Unlock 得知自己并不持有锁"))
			film.State("A", "done", language.Text{})
		})
		both.Go(func() {
			at(10500 * time.Millisecond)
			film.State("B", "waits", language.Say("asks for the lock, and asks again after each pause", "请求锁，拿不到就停一会儿再试"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, b.Lock(ctx))
			film.State("B", "holds", language.Say("holds the lock with token %d", "拿到锁，令牌是 %d", b.Token()))
			at(12 * time.Second)
			seen := s.read(b.Token())
			require.True(t, s.write(b.Token(), seen+1))
			film.Note("B", language.Say("reads %d from the store, adds one, and writes %d with token %d", "从存储读到 %d，加一，用令牌 %[3]d 写回 %[2]d", seen, s.value, b.Token()))
			at(23 * time.Second)
			film.State("B", "unlocks", language.Say("calls Unlock", "调用 Unlock"))
			require.NoError(t, b.Unlock(t.Context()))
			film.State("B", "outside", language.Say("has unlocked", "已释放锁"))
			film.State("B", "done", language.Text{})
		})
		at(11*time.Second + time.Millisecond)
		require.True(t, exists(t, admin, "order"))
		evict(admin)
		require.False(t, exists(t, admin, "order"))
		film.Look()
		film.Lost("A", false, first)
		film.Note("", language.Say("other clients fill the server's memory, and the server evicts the lock's key", "其他客户端占满了服务器的内存，服务器淘汰了锁的键"))
		both.Wait()
		require.Equal(t, 1, s.value)
		film.Compare()
	})
}
