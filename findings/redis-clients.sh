#!/usr/bin/env bash
# What go-redis and redsync do that few expect.
#
# One would guess: with ContextTimeoutEnabled a command ends with its ctx; Extend of a lock that nobody
# holds says so.
#
# Seen with Redis 7.0.15 (Debian 12), go-redis 9.23.0 and redsync 4.18.1:
#   the server is silent, ctx has a deadline after 0.2 s: the command ends after 0.2 s
#   the server is silent, ctx is cancelled after 0.2 s: after 5.0 s, the default ReadTimeout; the error wraps context.Canceled: false
#   Extend after the key has gone: "lock already taken", though nobody has it
#
# usage: findings/redis-clients.sh, some 10 s; needs Go and Debian's redis-server. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
cd "$work"
redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$work" >server.log 2>&1 &
server=$!
trap 'kill -CONT $server; kill $server; wait $server || true; rm -rf "$work"' EXIT
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var failed bool

func check(ok bool, format string, args ...any) {
	if !ok {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Printf(format+"\n", args...)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	server, _ := strconv.Atoi(os.Args[2])
	client := redis.NewClient(&redis.Options{Addr: os.Args[1], ContextTimeoutEnabled: true, MaxRetries: -1})
	for client.Ping(ctx).Err() != nil && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	info := client.Info(ctx, "server").Val()
	_, info, _ = strings.Cut(info, "redis_version:")
	version, _, _ := strings.Cut(info, "\r\n")
	fmt.Println("Redis", version)

	silent := func(end func() (context.Context, context.CancelFunc)) (error, float64) {
		client.Ping(ctx) // a connection is there
		syscall.Kill(server, syscall.SIGSTOP)
		defer syscall.Kill(server, syscall.SIGCONT)
		short, cancel := end()
		defer cancel()
		begin := time.Now()
		err := client.Get(short, "key").Err()
		return err, time.Since(begin).Seconds()
	}
	_, took := silent(func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 200*time.Millisecond) })
	check(took < 2, "the server is silent, ctx has a deadline after 0.2 s: the command ends after %.1f s", took)
	err, took := silent(func() (context.Context, context.CancelFunc) {
		short, cancel := context.WithCancel(ctx)
		time.AfterFunc(200*time.Millisecond, cancel)
		return short, cancel
	})
	check(took > 4 && took < 15 && !errors.Is(err, context.Canceled), "the server is silent, ctx is cancelled after 0.2 s: after %.1f s; the error wraps context.Canceled: %v",
		took, errors.Is(err, context.Canceled))

	mutex := redsync.New(goredis.NewPool(client)).NewMutex("lock", redsync.WithExpiry(time.Minute))
	if err := mutex.LockContext(ctx); err != nil {
		panic(err)
	}
	client.Del(ctx, "lock")
	_, err = mutex.ExtendContext(ctx)
	var taken *redsync.ErrTaken
	check(errors.As(err, &taken), "Extend after the key has gone: %q, though nobody has it", err)
	if failed {
		os.Exit(1)
	}
}
GO
go get github.com/redis/go-redis/v9@v9.23.0 github.com/go-redsync/redsync/v4@v4.18.1 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run . "127.0.0.1:$port" "$server"
