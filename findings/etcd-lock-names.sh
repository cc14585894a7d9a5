#!/usr/bin/env bash
# Which locks on etcd share a name, and what comes of it.
#
# One would guess: Mutex "jobs" and Mutex "jobs/1" are two locks; a Mutex and an RWMutex of one name exclude each other both ways,
# or neither way; an Election and a Mutex are two things; a Python program inside "with client.lock" has the lock.
#
# Seen with etcd 3.4.23, python3-etcd3gw 2.0.0 (Debian 12) and client 3.7.3:
#   Mutex "jobs/1" holds, Mutex "jobs" comes: waits; the other way round: acquired
#   one session holds "jobs/1" and asks for "jobs": it waits for itself
#   Mutex "jobs/1" holds, nobody campaigns: the Leader of Election "jobs" is that key, with an empty value
#   Mutex holds, RLock comes: acquired; RLock holds, Mutex comes: waits
#   Mutex holds, Election comes: waits; of the same session: acquired, and its Resign frees the Mutex, while the session lives
#   etcd3gw: another holds, "with client.lock" comes: it is inside at once, without the lock
#   etcd3gw: the holder asks again, and is refused; refresh then renews nothing: the key is gone at the end of the first TTL
#
# usage: findings/etcd-lock-names.sh, some 40 s; needs Go and Debian's etcd-server and python3-etcd3gw. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
cd "$work"
url=http://127.0.0.1:$port
etcd --data-dir data --listen-client-urls "$url" --advertise-client-urls "$url" --listen-peer-urls "http://127.0.0.1:$((port + 1))" >etcd.log 2>&1 &
server=$!
trap 'kill $server || true; wait; rm -rf "$work"' EXIT
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipes "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
)

var failed bool

func check(what, got, want string) {
	if got != want {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Println(what+":", got)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// try says whether lock returns within two seconds.
func try(lock func(context.Context) error) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := lock(ctx); err != nil {
		if ctx.Err() == nil {
			panic(err)
		}
		return "waits"
	}
	return "acquired"
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := must(clientv3.New(clientv3.Config{Endpoints: os.Args[1:], Logger: zap.NewNop()}))
	one, two := must(concurrency.NewSession(client)), must(concurrency.NewSession(client))
	mutex := func(s *concurrency.Session, name string) func(context.Context) error {
		return concurrency.NewMutex(s, name).Lock
	}
	holds := func(s *concurrency.Session, name string) *concurrency.Mutex {
		m := concurrency.NewMutex(s, name)
		if err := m.Lock(ctx); err != nil {
			panic(err)
		}
		return m
	}
	campaign := func(e *concurrency.Election) func(context.Context) error {
		return func(ctx context.Context) error { return e.Campaign(ctx, "one") }
	}

	longer := holds(one, "jobs/1")
	check(`Mutex "jobs/1" holds, Mutex "jobs" comes`, try(mutex(two, "jobs")), "waits")
	check(`the session of "jobs/1" asks for "jobs"`, try(mutex(one, "jobs")), "waits")
	leader := must(concurrency.NewElection(two, "jobs").Leader(ctx)).Kvs[0]
	is := string(leader.Key) == longer.Key()
	check(`the Leader of Election "jobs"`, fmt.Sprintf("the Mutex's key %v, value %q", is, leader.Value), `the Mutex's key true, value ""`)

	holds(one, "tasks")
	check(`Mutex "tasks" holds, Mutex "tasks/1" comes`, try(mutex(two, "tasks/1")), "acquired")

	holds(one, "table")
	reader := recipes.NewRWMutex(two, "table")
	check("Mutex holds, RLock comes", try(func(context.Context) error { return reader.RLock() }), "acquired")
	if err := recipes.NewRWMutex(one, "file").RLock(); err != nil {
		panic(err)
	}
	check("RLock holds, Mutex comes", try(mutex(two, "file")), "waits")

	held := holds(one, "leader")
	check("Mutex holds, Election comes", try(campaign(concurrency.NewElection(two, "leader"))), "waits")
	same := concurrency.NewElection(one, "leader")
	check("Election of the same session comes", try(campaign(same)), "acquired")
	if err := same.Resign(ctx); err != nil {
		panic(err)
	}
	check("it resigns, another Mutex comes", try(mutex(two, "leader")), "acquired")
	owner := must(client.Txn(ctx).If(held.IsOwner()).Commit()).Succeeded
	lives := true
	select {
	case <-one.Done():
		lives = false
	default:
	}
	check("the first Mutex is the owner, its session lives", fmt.Sprint(owner, ", ", lives), "false, true")
	if failed {
		os.Exit(1)
	}
}
GO
cat >finding.py <<'PY'
import sys
import time

import etcd3gw

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + f": {got}")


client = etcd3gw.Etcd3Client(host="127.0.0.1", port=int(sys.argv[1]), api_path="/v3/")
holder = client.lock("python", ttl=30)
assert holder.acquire()
begin = time.monotonic()
with client.lock("python", ttl=30) as lock:
    at_once = time.monotonic() - begin < 5
    check("etcd3gw, another holds, with: inside at once, and is_acquired", (at_once, lock.is_acquired()), (True, False))
check("etcd3gw, afterwards the holder is_acquired", holder.is_acquired(), True)

holder = client.lock("again", ttl=6)
assert holder.acquire()
check("etcd3gw, the holder asks again", holder.acquire(), False)
renewed = []
for _ in range(10):
    renewed.append(holder.refresh() > 0)
    time.sleep(1)
check("etcd3gw, each refresh answers that it has renewed, and is_acquired", (all(renewed), holder.is_acquired()), (True, False))
sys.exit(failed)
PY
go get go.etcd.io/etcd/client/v3@v3.7.3 go.uber.org/zap@v1.27.1 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go build -o finding .
status=0
timeout 120 ./finding "127.0.0.1:$port" || status=1
timeout 60 /usr/bin/python3 finding.py "$port" || status=1
exit $status
