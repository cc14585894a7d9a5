package main

import (
	"context"
	"crypto/rand"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9/logging"

	"example.com/zklock/docs/other-locks/redis"
)

func init() { logging.Disable() } // each error is returned, too

// openRedis opens the lock on Redis for a player, whose fields are explained in player.go.
func openRedis(ctx context.Context, spec string) (*player, error) {
	p, address, end := &player{}, spec, func() {}
	if spec == "embedded" {
		server := miniredis.NewMiniRedis()
		if err := server.Start(); err != nil {
			return nil, err
		}
		p.server, address, end = "miniredis, embedded, in memory", server.Addr(), server.Close
	}
	client, err := redis.Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if p.server == "" {
		p.server = "Redis at " + client.Options().Addr
	}
	p.sent = func() int64 { // each command takes a connection from the pool, or makes one
		stats := client.PoolStats()
		return int64(stats.Hits) + int64(stats.Misses)
	}
	var key string // of the present run
	p.begin = func(_ context.Context, n int) (all []contender, err error) {
		key = "zklock-count-" + rand.Text()
		for range n {
			all = append(all, redis.New(client, key, ttl))
		}
		return all, nil
	}
	p.end = func(ctx context.Context) error { return client.Del(ctx, key).Err() }
	p.write = func(ctx context.Context) error { return client.Set(ctx, "zklock-count-write", "", ttl).Err() }
	p.close = func(context.Context) error {
		defer end()
		return client.Close()
	}
	return p, nil
}
