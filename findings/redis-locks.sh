#!/usr/bin/env bash
# What bsm/redislock, redsync, redis-py and go-redis make of a token, a limit and a time to live.
#
# One would guess: a lock excludes all whose token is another; it waits as its retries or its ctx say; one value of
# options does for two calls; a lock that is renewed for 1.9 s lives for 1.9 s; a renewal makes a lock live for the time
# that it names; a time of 0 means the same in each call.
#
# Seen with Redis 7.0.15 and redis-py 4.3.4 (Debian 12), go-redis 9.23.0, redislock 0.9.4 and redsync 4.18.1:
#   redislock: Token "worker-10" holds, Token "worker-1" comes: it has the lock, and the first has not
#   redislock: retries without an end, a ctx without a deadline, TTL 1 s: after 1 s context.DeadlineExceeded
#   redislock: the same Options with LimitRetry for a second Obtain: no retry at all
#   redsync: another holds, LockContext with a ctx of one minute: an ErrTaken after 3 to 5 s
#   go-redis: SetNX for 1.9 s, then Expire for 1.9 s: 1 s is left; Set for 0 s: no end; Expire for 0 s: it is gone
#   redis-py: set(ex=timedelta(seconds=1.9)): 1 s
#   redis-py: lock(timeout=2), extend(2) three times: 8 s are left
#   redis-py: lock(timeout=0) has no end; its reacquire() answers True, and the key is gone
#   redis-py: another thread releases: AttributeError, and the lock is held on
# redislock compares the beginning of what is stored with the new token: no token may be the beginning of another.
#
# usage: findings/redis-locks.sh, some 20 s; needs Go and Debian's redis-server and python3-redis. It fails if any of
# that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
cd "$work"
redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$work" >server.log 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
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
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: os.Args[1]})
	for begin := time.Now(); client.Ping(ctx).Err() != nil && time.Since(begin) < 30*time.Second; {
		time.Sleep(50 * time.Millisecond)
	}
	locks := redislock.New(client)
	obtain := func(key string, ttl time.Duration, o redislock.Options) (*redislock.Lock, error, time.Duration) {
		begin := time.Now()
		lock, err := locks.Obtain(ctx, key, ttl, &o)
		return lock, err, time.Since(begin)
	}

	ten, err, _ := obtain("token", time.Minute, redislock.Options{Token: "worker-10"})
	if err != nil {
		panic(err)
	}
	_, err, _ = obtain("token", time.Minute, redislock.Options{Token: "worker-2"})
	check(errors.Is(err, redislock.ErrNotObtained), "redislock, worker-10 holds, worker-2 comes: %v", err)
	_, err, _ = obtain("token", time.Minute, redislock.Options{Token: "worker-1"})
	check(err == nil, "redislock, worker-10 holds, worker-1 comes: %v", err)
	err = ten.Refresh(ctx, time.Minute, nil)
	check(errors.Is(err, redislock.ErrNotObtained), "redislock, worker-10 refreshes: %v", err)

	endless := redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	_, err, took := obtain("token", time.Second, endless)
	ended := errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, redislock.ErrNotObtained)
	check(ended && ctx.Err() == nil && took < 3*time.Second, "redislock, retries without an end, TTL 1 s: %v after %.1f s",
		err, took.Seconds())

	three := redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(400*time.Millisecond), 3)}
	_, _, first := obtain("token", time.Minute, three)
	_, _, second := obtain("token", time.Minute, three)
	check(first > time.Second && second < 300*time.Millisecond,
		"redislock, three retries after 0.4 s each, twice: %.1f s, %.1f s", first.Seconds(), second.Seconds())

	minute, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin := time.Now()
	err = redsync.New(goredis.NewPool(client)).NewMutex("token").LockContext(minute)
	var taken *redsync.ErrTaken
	took = time.Since(begin)
	check(errors.As(err, &taken) && took < 15*time.Second, "redsync, another holds, a ctx of one minute: %v after %.0f s",
		err, took.Seconds())

	lasts := 1900 * time.Millisecond
	client.SetNX(ctx, "key", "value", lasts)
	set := client.PTTL(ctx, "key").Val()
	client.Expire(ctx, "key", lasts)
	renewed := client.PTTL(ctx, "key").Val()
	check(set > time.Second && renewed <= time.Second,
		"go-redis, SetNX for 1.9 s, and Expire for 1.9 s: %v and %v are left", set, renewed)
	client.Set(ctx, "zero", "value", 0)
	set = client.TTL(ctx, "zero").Val() // -1 stands for none
	client.Expire(ctx, "zero", 0)
	exists := client.Exists(ctx, "zero").Val()
	check(set == -1 && exists == 0, "go-redis, Set for 0 s: TTL %d; Expire for 0 s: %d key", set, exists)
	if failed {
		os.Exit(1)
	}
}
GO
cat >finding.py <<'PY'
import datetime
import sys
import threading

import redis

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + "redis-py, " + what + f": {got}")


client = redis.Redis(port=int(sys.argv[1]))
client.set("key", "value", nx=True, ex=datetime.timedelta(seconds=1.9))
check("set(ex=timedelta(seconds=1.9)), more than a second is left", client.pttl("key") > 1000, False)

lock = client.lock("extend", timeout=2)
lock.acquire()
for _ in range(3):
    lock.extend(2)
check("lock(timeout=2), three times extend(2), seconds that are left", round(client.pttl("extend") / 1000), 8)

lock = client.lock("zero", timeout=0)
lock.acquire()
check("lock(timeout=0), ttl, where -1 stands for none", client.ttl("zero"), -1)
check("its reacquire(), and keys that are left", (lock.reacquire(), client.exists("zero")), (True, 0))

lock = client.lock("thread", timeout=30)
lock.acquire()
got = []


def release():
    try:
        got.append(lock.release())
    except Exception as e:
        got.append(type(e).__name__)


thread = threading.Thread(target=release)
thread.start()
thread.join()
check("another thread releases", got[0], "AttributeError")
check("keys that are left", client.exists("thread"), 1)
sys.exit(failed)
PY
modules=(github.com/bsm/redislock@v0.9.4 github.com/redis/go-redis/v9@v9.23.0 github.com/go-redsync/redsync/v4@v4.18.1)
go get "${modules[@]}" >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
status=0
go run . "127.0.0.1:$port" || status=1
timeout 30 /usr/bin/python3 finding.py "$port" || status=1
exit $status
