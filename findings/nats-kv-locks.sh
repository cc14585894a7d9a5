#!/usr/bin/env bash
# How long a key of NATS' key-value store lives that is a lock.
#
# One would guess: a key lives for its TTL; the holder renews it with Update, which compares the revision, and "also
# resets the TTL associated with the key", as its documentation says; a lock whose holder crashes ends a TTL after the
# last Update; the TTL of a key goes before that of its bucket.
#
# Seen with nats-server 2.15.2 and nats.go 1.55.0:
#   Create with KeyTTL(1.9 s): the key is gone after 1 s; with KeyTTL(2.9 s): after 2 s
#   Create with KeyTTL(2 s), and Update before its end: the key is there 8 s later, and for good
#   a bucket with a TTL of 2 s, Create with KeyTTL(20 s): the key is gone after some 2 s
#   a bucket with a TTL of 2 s, and Update once a second: the key is gone some 2 s after the last Update
# The server counts a key's TTL in whole seconds, and drops the rest: another is in before the holder's time is over.
# The TTL is that of a value, and the value of an Update has none: only a bucket's TTL can be renewed.
#
# usage: findings/nats-kv-locks.sh, some 30 s, and minutes more for the first build; needs Go alone. It fails if any of
# that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var failed bool

func check(what, got, want string) {
	if got != want {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Printf("%s: %s\n", what, got)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: os.Args[1], NoSigs: true}))
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		panic("the server is not ready")
	}
	js := must(jetstream.New(must(nats.Connect(s.ClientURL()))))
	bucket := func(name string, ttl time.Duration) jetstream.KeyValue {
		config := jetstream.KeyValueConfig{Bucket: name, TTL: ttl, LimitMarkerTTL: time.Minute}
		return must(js.CreateKeyValue(ctx, config))
	}
	there := func(kv jetstream.KeyValue, key string) bool {
		_, err := kv.Get(ctx, key)
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			panic(err)
		}
		return err == nil
	}
	// lives says how long a key is there, at most for the time limit.
	lives := func(kv jetstream.KeyValue, key string, limit time.Duration, options ...jetstream.KVCreateOpt) time.Duration {
		begin := time.Now()
		must(kv.Create(ctx, key, nil, options...))
		for there(kv, key) && time.Since(begin) < limit {
			time.Sleep(20 * time.Millisecond)
		}
		return time.Since(begin)
	}

	own := bucket("own", 0)
	for _, ttl := range []time.Duration{1900 * time.Millisecond, 2900 * time.Millisecond} {
		early := ttl - 300*time.Millisecond
		least := time.Minute // of several, for the machine may be busy
		for i := 0; i < 10 && least >= early; i++ {
			key := fmt.Sprintf("ttl-%d-%d", ttl.Milliseconds(), i)
			least = min(least, lives(own, key, time.Minute, jetstream.KeyTTL(ttl)))
		}
		check(fmt.Sprintf("KeyTTL(%v): gone within %v", ttl, early), fmt.Sprint(least < early), "true")
	}

	// renewed creates a key and updates it, within its TTL.
	renewed := func(kv jetstream.KeyValue, name string, pause time.Duration, options ...jetstream.KVCreateOpt) string {
		for i := range 10 {
			key := fmt.Sprintf("%s-%d", name, i)
			revision := must(kv.Create(ctx, key, nil, options...))
			time.Sleep(pause)
			_, err := kv.Update(ctx, key, nil, revision)
			if err == nil {
				return key
			}
			fmt.Println("too late:", err)
		}
		panic("no Update is in time")
	}
	key := renewed(own, "renewed", 0, jetstream.KeyTTL(2*time.Second))
	time.Sleep(8 * time.Second)
	check("KeyTTL(2s), then Update: there 8 s later", fmt.Sprint(there(own, key)), "true")

	short := bucket("short", 2*time.Second)
	lived := lives(short, "key", 15*time.Second, jetstream.KeyTTL(20*time.Second))
	check("a bucket with a TTL of 2 s, KeyTTL(20s): gone within 15 s", fmt.Sprint(lived < 15*time.Second), "true")
	begin := time.Now()
	key = renewed(short, "renewed", time.Second)
	for there(short, key) && time.Since(begin) < 15*time.Second {
		time.Sleep(20 * time.Millisecond)
	}
	lived = time.Since(begin)
	check("without KeyTTL, Update after 1 s: there for more than 2.9 s", fmt.Sprint(lived > 2900*time.Millisecond), "true")
	check("gone within 15 s", fmt.Sprint(lived < 15*time.Second), "true")
	if failed {
		os.Exit(1)
	}
}
GO
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >get.log 2>&1 || {
	cat get.log
	exit 1
}
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go build -o finding . # go run would not hand on a signal
timeout 300 ./finding "$work/data"
