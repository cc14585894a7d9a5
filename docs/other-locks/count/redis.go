package main

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"example.com/zklock/docs/other-locks/redis"
)

func init() { logging.Disable() } // each error is returned, too

// A redisArena is the client's hook that counts the commands.
type redisArena struct {
	client   *goredis.Client
	embedded *miniredis.Miniredis // nil: a real one
	text     string
	commands atomic.Int64
	key      string // of the present run
}

func openRedis(ctx context.Context, spec string) (arena, error) {
	a := &redisArena{text: "miniredis, embedded, in memory"}
	address := spec
	if spec == "embedded" {
		a.embedded = miniredis.NewMiniRedis()
		if err := a.embedded.Start(); err != nil {
			return nil, err
		}
		address = a.embedded.Addr()
	}
	var err error
	if a.client, err = redis.Connect(ctx, address); err != nil {
		return nil, err
	}
	if a.embedded == nil {
		a.text = "Redis at " + a.client.Options().Addr
	}
	a.client.AddHook(a)
	return a, nil
}

func (a *redisArena) String() string                { return a.text }
func (a *redisArena) sent() int64                   { return a.commands.Load() }
func (a *redisArena) end(ctx context.Context) error { return a.client.Del(ctx, a.key).Err() }

func (a *redisArena) write(ctx context.Context) error {
	return a.client.Set(ctx, "zklock-count-write", "", ttl).Err()
}

func (a *redisArena) begin(_ context.Context, n int) (all []contender, err error) {
	a.key = "zklock-count-" + rand.Text()
	for range n {
		all = append(all, redis.New(a.client, a.key, ttl))
	}
	return all, nil
}

func (a *redisArena) close(context.Context) error {
	err := a.client.Close()
	if a.embedded != nil {
		a.embedded.Close()
	}
	return err
}

func (a *redisArena) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (a *redisArena) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		a.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (a *redisArena) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}
