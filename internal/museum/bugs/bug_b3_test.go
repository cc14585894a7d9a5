package bugs_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum"
)

// B3. Article B:
//
//	127.0.0.1:6379> setnx dis-lock test
//	(integer) 1
//
// The key has no time to live. If its holder crashes, the lock stays held, as
// the article itself says.
func setnxLock(client *redis.Client) bool {
	ok, err := client.SetNX(context.Background(), "dis-lock", "test", 0).Result()
	if err != nil {
		panic(err)
	}
	return ok
}

func TestBugB3_AfterACrashTheKeyStays(t *testing.T) {
	bug := museum.Exhibit("B3")
	bug.HappensOff(t, language.Same("Redis"), func(s *museum.Script) {
		server := miniredis.RunT(s)
		a, b := redisClient(s, server, "A"), redisClient(s, server, "B")
		require.True(s, setnxLock(a))
		s.Note("A", "holds the lock, and crashes", "持有锁，随后崩溃")
		require.NoError(s, a.Close())
		require.False(s, setnxLock(b))
		server.FastForward(365 * 24 * time.Hour)
		s.Note("S", "a year later", "一年以后")
		require.False(s, setnxLock(b))
		s.Note("B", "does not get in, although nobody holds the lock", "锁没有持有者，却拿不到")
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		a.CutOff()
		s.Pass(museum.SessionTimeout + 2*time.Second)
		b.GetsIn()
	})
}

// redisClient returns a client whose commands are written into the script.
func redisClient(s *museum.Script, server *miniredis.Miniredis, name string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	client.AddHook(recorder{s, name})
	s.Cleanup(func() { client.Close() })
	return client
}

type recorder struct {
	script *museum.Script
	client string
}

func (r recorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "hello" {
			return err // the client's own
		}
		var words []string
		for _, arg := range cmd.Args() {
			if arg == compareAndDelete {
				arg = "compare-and-delete"
			}
			words = append(words, fmt.Sprintf("%v", arg))
		}
		answer := "nil"
		switch c := cmd.(type) {
		case *redis.BoolCmd:
			answer = fmt.Sprint(c.Val())
		case *redis.Cmd:
			answer = fmt.Sprint(c.Val())
		case *redis.IntCmd:
			answer = fmt.Sprint(c.Val())
		case *redis.StatusCmd:
			if err == nil {
				answer = c.Val()
			}
		}
		r.script.Say(r.client, "%s: %s", "%s：%s", strings.Join(strings.Fields(strings.Join(words, " ")), " "), answer)
		return err
	}
}
