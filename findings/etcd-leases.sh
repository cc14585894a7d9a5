#!/usr/bin/env bash
# What etcd's leases and its package concurrency do that few expect.
#
# One would guess: a lease lives for the TTL that was asked for; a key keeps its lease when a value is put; a session
# that hears nothing says so when its TTL is over; only the leader of an election proclaims; a waiter is let in within
# milliseconds of Unlock.
#
# Seen with etcd 3.4.23 (Debian 12) and client 3.7.3:
#   a TTL of 1, 2, 0 and -1 s is granted as 2, 2, 2 and 2 s; with an election timeout of 4 s a TTL of 1 s as 6 s
#   a plain Put on the holder's key takes the key off its lease: 6 s after a crash with TTL 2 s the key is there: true
#   a candidate that only waits may Proclaim: <nil>
#   TTL 2 s, DialTimeout 10 s, the server silent from the first moment: Done closes after 10 to 12 s
#   hand-over, if the waiter has waited for 20 ms: 60 to 90 ms; for 400 ms: a tenth of that
#
# usage: findings/etcd-leases.sh, some 40 s; needs Go and Debian's etcd-server. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

var failed bool

func check(ok bool, format string, args ...any) {
	if !ok {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Printf(format+"\n", args...)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func address() string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

func connect(addr string, dial time.Duration) *clientv3.Client {
	return must(clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: dial, Logger: zap.NewNop()}))
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	start := func(election string) (addr string, server *exec.Cmd) {
		addr = address()
		server = exec.CommandContext(ctx, "etcd", "--data-dir", "data"+election, "--listen-client-urls", "http://"+addr,
			"--advertise-client-urls", "http://"+addr, "--listen-peer-urls", "http://"+address(), "--election-timeout", election)
		if err := server.Start(); err != nil {
			panic(err)
		}
		return addr, server
	}
	addr, server := start("1000") // the default
	defer server.Wait()
	defer server.Process.Kill()
	client := connect(addr, 0)
	status := must(client.Status(ctx, addr))
	fmt.Println("etcd", status.Version)

	var granted []int64
	for _, ttl := range []int64{1, 2, 0, -1} {
		granted = append(granted, must(client.Grant(ctx, ttl)).TTL)
	}
	check(slices.Equal(granted, []int64{2, 2, 2, 2}), "a TTL of 1, 2, 0 and -1 s is granted as %v", granted)
	slowAddr, slowServer := start("4000")
	least := must(connect(slowAddr, 0).Grant(ctx, 1)).TTL
	slowServer.Process.Kill()
	slowServer.Wait()
	check(least == 6, "with an election timeout of 4 s a TTL of 1 s is granted as %d", least)

	crashing := connect(addr, 0)
	holder := must(concurrency.NewSession(crashing, concurrency.WithTTL(2)))
	mutex := concurrency.NewMutex(holder, "put")
	if err := mutex.Lock(ctx); err != nil {
		panic(err)
	}
	must(client.Put(ctx, mutex.Key(), "a note"))
	crashing.Close()
	time.Sleep(6 * time.Second)
	left := must(client.Get(ctx, mutex.Key()))
	check(left.Count == 1 && left.Kvs[0].Lease == 0, "6 s after a crash with TTL 2 s the key is there: %v", left.Count == 1)

	leader, candidate := must(concurrency.NewSession(client)), must(concurrency.NewSession(client))
	if err := concurrency.NewElection(leader, "election").Campaign(ctx, "leader"); err != nil {
		panic(err)
	}
	waiting := concurrency.NewElection(candidate, "election")
	short, end := context.WithCancel(ctx)
	defer end()
	go waiting.Campaign(short, "candidate")
	for must(client.Get(ctx, "election/", clientv3.WithPrefix(), clientv3.WithCountOnly())).Count < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	err := waiting.Proclaim(ctx, "mine")
	check(err == nil, "a candidate that only waits may Proclaim: %v", err)

	slow := connect(addr, 10*time.Second)
	must(concurrency.NewSession(slow, concurrency.WithTTL(2)))
	time.Sleep(1250 * time.Millisecond)
	s := must(concurrency.NewSession(slow, concurrency.WithTTL(2)))
	server.Process.Signal(syscall.SIGSTOP)
	begin := time.Now()
	<-s.Done()
	took := time.Since(begin)
	server.Process.Signal(syscall.SIGCONT)
	check(took > 10*time.Second && took < 20*time.Second, "TTL 2 s, DialTimeout 10 s, the server is stopped at once: Done closes after %.1f s", took.Seconds())

	median := func(wait time.Duration) time.Duration {
		var all []time.Duration
		for i := range 21 {
			key := fmt.Sprint("hand-over", wait, i)
			a, b := concurrency.NewMutex(leader, key), concurrency.NewMutex(candidate, key)
			if err := a.Lock(ctx); err != nil {
				panic(err)
			}
			got := make(chan error)
			go func() { got <- b.Lock(ctx) }()
			time.Sleep(wait)
			begin := time.Now()
			a.Unlock(ctx)
			if err := <-got; err != nil {
				panic(err)
			}
			all = append(all, time.Since(begin))
			b.Unlock(ctx)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	early, late := median(20*time.Millisecond), median(400*time.Millisecond)
	check(early > 40*time.Millisecond && early > 2*late, "hand-over, median of 21, if the waiter has waited for 20 ms: %v; for 400 ms: %v", early.Round(100*time.Microsecond), late.Round(100*time.Microsecond))
	if failed {
		server.Process.Kill()
		os.Exit(1)
	}
}
GO
go get go.etcd.io/etcd/client/v3@v3.7.3 go.uber.org/zap@v1.27.1 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run .
