#!/usr/bin/env bash
# What valkeyrie's Locker does on ZooKeeper and on etcd when its ctx ends, and when the lock's key is written.
#
# One would guess: a Lock whose ctx is cancelled while another holds returns an error at once, and holds nothing; when Lock has
# returned, the end of its ctx changes nothing; the channel that it returns is closed if the lock is lost, and not while it is
# held; both stores do the same.
#
# Seen with kvtools/valkeyrie 1.0.0, its stores zookeeper 1.0.2 (go-zookeeper/zk 1.0.3) and etcdv3 1.0.2 (client 3.5.4),
# ZooKeeper 3.8.0 and etcd 3.4.23 (Debian 12):
#   ctx is cancelled while another holds: ZooKeeper: Lock waits on, and has the lock after the release, with no error;
#   etcd: Lock returns at once with no error, a nil channel, and no lock
#   ctx has a deadline instead: etcd: an error
#   ctx ends after Lock has returned: ZooKeeper: the channel is closed, and the lock is held on; etcd: it stays open
#   a Put on the lock's key: ZooKeeper: the channel is closed, and the lock is held on; etcd: it stays open
#
# usage: findings/valkeyrie-locks.sh, some 40 s, and a minute more for the first build; needs Go and Debian's zookeeper and
# etcd-server. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
servers=()
trap 'kill "${servers[@]}" || true; wait; rm -rf "$work"' EXIT
cd "$work"
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/kvtools/etcdv3"
	"github.com/kvtools/valkeyrie/store"
	"github.com/kvtools/zookeeper"
)

const patience = 2 * time.Second

var (
	failed   bool
	all, end = context.WithTimeout(context.Background(), 2*time.Minute)
)

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

func state(lost <-chan struct{}) string {
	select {
	case <-lost:
		return "closed"
	case <-time.After(patience):
		return "open"
	}
}

type contender struct {
	store.Locker
	returned chan struct{}
	lost     <-chan struct{}
	err      error
}

// comes lets a contender ask for a lock.
func comes(ctx context.Context, s store.Store, key string) *contender {
	c := &contender{Locker: must(s.NewLock(all, key, nil)), returned: make(chan struct{})}
	go func() {
		c.lost, c.err = c.Lock(ctx)
		close(c.returned)
	}()
	return c
}

func (c *contender) says() string {
	select {
	case <-c.returned:
		return fmt.Sprintf("returns, error %v, channel %v", c.err != nil, c.lost != nil)
	case <-time.After(patience):
		return "waits"
	}
}

// holds lets a contender in.
func holds(ctx context.Context, s store.Store, key string) *contender {
	c := comes(ctx, s, key)
	<-c.returned
	must(c.lost, c.err)
	return c
}

const (
	in     = "returns, error false, channel true"
	unheld = "returns, error false, channel false"
)

func play(name string, one, two store.Store, want []string) {
	for {
		if _, err := one.Exists(all, "up", nil); err == nil || errors.Is(err, store.ErrKeyNotFound) {
			break // the server is up
		}
		time.Sleep(100 * time.Millisecond)
	}
	row := 0
	seen := func(what, got string) {
		check(name+", "+what, got, want[row])
		row++
	}

	holder := holds(all, one, "cancelled")
	ctx, cancel := context.WithCancel(all)
	waiter := comes(ctx, two, "cancelled")
	time.Sleep(500 * time.Millisecond)
	cancel()
	seen("another holds, and ctx is cancelled", waiter.says())
	if err := holder.Unlock(all); err != nil {
		panic(err)
	}
	seen("it is released", waiter.says())
	seen("and a third comes", comes(all, one, "cancelled").says())

	holds(all, one, "deadline")
	ctx, cancel = context.WithTimeout(all, 500*time.Millisecond)
	seen("another holds, and ctx has a deadline", comes(ctx, two, "deadline").says())
	cancel()

	ctx, cancel = context.WithCancel(all)
	holder = holds(ctx, one, "after")
	cancel()
	seen("ctx ends after Lock, the channel", state(holder.lost))
	seen("and another", comes(all, two, "after").says())

	holder = holds(all, one, "put")
	if err := two.Put(all, "put", []byte("a note"), nil); err != nil {
		panic(err)
	}
	seen("a Put on the key, the channel", state(holder.lost))
	seen("and another", comes(all, two, "put").says())
}

func main() {
	defer end()
	log.SetOutput(io.Discard) // that of ZooKeeper's client
	keeper := func() store.Store {
		return must(zookeeper.New(all, os.Args[1:2], &zookeeper.Config{ConnectionTimeout: 30 * time.Second}))
	}
	etcd := func() store.Store {
		return must(etcdv3.New(all, os.Args[2:], &etcdv3.Config{ConnectionTimeout: 10 * time.Second}))
	}
	play("ZooKeeper", keeper(), keeper(), []string{"waits", in, "waits", "waits", "closed", "waits", "closed", "waits"})
	play("etcd", etcd(), etcd(), []string{
		unheld, unheld, in, "returns, error true, channel false", "open", "waits", "open", "waits",
	})
	if failed {
		os.Exit(1)
	}
}
GO
go get github.com/kvtools/valkeyrie@v1.0.0 github.com/kvtools/zookeeper@v1.0.2 github.com/kvtools/etcdv3@v1.0.2 >get.log 2>&1 || { cat get.log; exit 1; }
go build -o finding . # before the servers start: it may take a minute
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >zoo.cfg
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain zoo.cfg >zookeeper.log 2>&1 &
servers+=($!)
etcd=http://127.0.0.1:$((port + 1))
etcd --data-dir etcd --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "http://127.0.0.1:$((port + 2))" >etcd.log 2>&1 &
servers+=($!)
ready() { (exec 3<>"/dev/tcp/127.0.0.1/$port" && echo srvr >&3 && grep -q Mode <&3) 2>/dev/null; }
for _ in {1..300}; do
	! ready || break
	sleep 0.2
done
ready # it listens before it serves, and a request of a client that has come too early may get no answer
timeout 120 ./finding "127.0.0.1:$port" "127.0.0.1:$((port + 1))"
