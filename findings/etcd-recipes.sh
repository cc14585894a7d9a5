#!/usr/bin/env bash
# What etcd's recipes (Barrier, DoubleBarrier, RWMutex and Queue) do beside a lease that has ended, a connection that
# breaks after a compaction, and the keys of a Mutex.
#
# One would guess: a double barrier lets as many in as it was made for; Wait and Enter return nil if the barrier is
# open, and an error if they cannot know; Lock is an error if the lease has ended, as that of concurrency.Mutex; one
# RWMutex value serves many readers, as that of Go's sync; a Queue hands out what was put into it.
#
# Seen with etcd 3.4.23 (Debian 12) and client 3.7.3:
#   DoubleBarrier of two, a third member's lease has ended while it waited: its Enter is <nil> too: three are in
#   Barrier, held; the connection breaks, and the history has been compacted since Wait began: Wait is <nil>
#   DoubleBarrier of three, the same: Enter of the first is <nil>, and it is alone
#   RWMutex, the lease of a waiter ends, and another has the lock: Lock of the waiter is <nil>: two writers are in
#   one RWMutex value, RLock twice, then RUnlock twice: the first RLock's key is there until the session ends
#   Mutex "jobs/lock" is held (or "jobs-lock"), a Queue "jobs" is empty: Dequeue answers "", and the mutex is free
# The recipes do not look at their own key again, as Mutex does, and take a watch that has ended for the event: a
# connection that is made again asks for the history since the watch began. A Queue takes whatever begins with its name,
# the oldest first, and no slash is added.
#
# usage: findings/etcd-recipes.sh, some 35 s, and a minute more for the first build; needs Go and Debian's etcd-server.
# It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
cd "$work"
url=http://127.0.0.1:$port
etcd --data-dir data --listen-client-urls "$url" --advertise-client-urls "$url" \
	--listen-peer-urls "http://127.0.0.1:$((port + 1))" >etcd.log 2>&1 &
server=$!
trap 'kill $server || true; wait; rm -rf "$work"' EXIT
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

var (
	server = os.Args[1]
	ctx    = context.Background()
	failed bool
)

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

func done(err error) { must(0, err) }

// until waits for what must come.
func until(what string, ok func() bool) {
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			panic("not within a minute: " + what)
		}
	}
}

// A link is the network between one client and the server.
type link struct {
	net.Listener
	gate  sync.RWMutex // locked while nothing passes
	mu    sync.Mutex
	conns []net.Conn
}

func newLink() *link {
	l := &link{Listener: must(net.Listen("tcp", "127.0.0.1:0"))}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				near.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, near, far)
			l.mu.Unlock()
			go l.carry(near, far)
			go l.carry(far, near)
		}
	}()
	return l
}

func (l *link) carry(to, from net.Conn) {
	defer to.Close()
	for b := make([]byte, 1<<16); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		l.gate.RLock()
		_, err = to.Write(b[:n])
		l.gate.RUnlock()
		if err != nil {
			return
		}
	}
}

// cut ends the connections; the client makes new ones.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func client(addr string) *clientv3.Client {
	return must(clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: time.Minute}))
}

func session(c *clientv3.Client, ttl int) *concurrency.Session {
	return must(concurrency.NewSession(c, concurrency.WithTTL(ttl)))
}

func start(f func() error) chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

// says what a call has answered, if it does so within the time.
func says(c chan error, within time.Duration) string {
	select {
	case err := <-c:
		return fmt.Sprint(err)
	case <-time.After(within):
		return "waits"
	}
}

const (
	soon = time.Minute // for what must come
	long = 5 * time.Second
)

func main() {
	direct := client(server)
	until("the server", func() bool {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := direct.Get(short, "a")
		return err == nil
	})
	keys := func(prefix string) int {
		return int(must(direct.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())).Count)
	}
	metric := func(name string) int {
		r := must(http.Get("http://" + server + "/metrics"))
		defer r.Body.Close()
		for s := bufio.NewScanner(r.Body); s.Scan(); {
			if v, ok := strings.CutPrefix(s.Text(), name+" "); ok {
				return int(must(strconv.ParseFloat(v, 64)))
			}
		}
		panic("no metric " + name)
	}
	compact := func() {
		for i := range 3 {
			direct.Put(ctx, "other", fmt.Sprint(i))
		}
		must(direct.Compact(ctx, must(direct.Get(ctx, "other")).Header.Revision))
	}

	// A double barrier of two: the lease of the first member ends while it waits.
	slow := newLink()
	late := start(recipe.NewDoubleBarrier(session(client(slow.Addr().String()), 2), "late", 2).Enter)
	until("the first in the queue", func() bool { return keys("late/waiters") == 1 })
	slow.gate.Lock()
	until("its lease over", func() bool { return keys("late/waiters") == 0 })
	second := start(recipe.NewDoubleBarrier(session(direct, 60), "late", 2).Enter)
	third := start(recipe.NewDoubleBarrier(session(direct, 60), "late", 2).Enter)
	done(<-second)
	done(<-third)
	slow.gate.Unlock()
	check("double barrier of two, both are in; Enter of one before, whose lease has ended", says(late, soon), "<nil>")

	// The connection breaks after a compaction.
	for _, c := range []struct {
		what, key string
		call      func(*clientv3.Client) error
	}{
		{"barrier, held: Wait", "gate", func(c *clientv3.Client) error { return recipe.NewBarrier(c, "gate").Wait() }},
		{"double barrier of three: Enter of the first", "three", func(c *clientv3.Client) error {
			return recipe.NewDoubleBarrier(session(c, 60), "three", 3).Enter()
		}},
	} {
		if c.key == "gate" {
			done(recipe.NewBarrier(direct, "gate").Hold())
		}
		l := newLink()
		watchers := metric("etcd_debugging_mvcc_watcher_total")
		call := start(func() error { return c.call(client(l.Addr().String())) })
		until("a watch", func() bool { return metric("etcd_debugging_mvcc_watcher_total") > watchers })
		l.cut()
		check(c.what+", the connection breaks", says(call, long), "waits")
		until("a watch", func() bool { return metric("etcd_debugging_mvcc_watcher_total") > watchers })
		compact()
		l.cut()
		check("the same after a compaction", says(call, soon), "<nil>")
		check("keys that say who is there", fmt.Sprint(keys(c.key)), "1")
	}

	// A read-write lock: the lease of a writer ends while it waits.
	for _, c := range []struct {
		what string
		lock func(*concurrency.Session) (lock, unlock func() error)
		want string
	}{
		{"RWMutex", func(s *concurrency.Session) (lock, unlock func() error) {
			m := recipe.NewRWMutex(s, "RWMutex")
			return m.Lock, m.Unlock
		}, "<nil>"},
		{"Mutex", func(s *concurrency.Session) (lock, unlock func() error) {
			m := concurrency.NewMutex(s, "Mutex")
			return func() error { return m.Lock(ctx) }, func() error { return m.Unlock(ctx) }
		}, concurrency.ErrSessionExpired.Error()},
	} {
		slow = newLink()
		lock, unlock := c.lock(session(direct, 60))
		done(lock())
		early, _ := c.lock(session(client(slow.Addr().String()), 2))
		waits := start(early)
		until("two keys", func() bool { return keys(c.what+"/") == 2 })
		slow.gate.Lock()
		until("one key", func() bool { return keys(c.what+"/") == 1 })
		next, _ := c.lock(session(direct, 60))
		in := start(next)
		until("two keys", func() bool { return keys(c.what+"/") == 2 })
		done(unlock())
		done(<-in)
		slow.gate.Unlock()
		check(c.what+", another is in; Lock of a waiter whose lease has ended", says(waits, soon), c.want)
	}

	// One value for two readers.
	r := session(direct, 60)
	shared := recipe.NewRWMutex(r, "shared")
	for _, f := range []func() error{shared.RLock, shared.RLock, shared.RUnlock, shared.RUnlock} {
		done(f())
	}
	writer := start(recipe.NewRWMutex(session(direct, 60), "shared").Lock)
	check("one RWMutex value, RLock twice, RUnlock twice; Lock of another", says(writer, long), "waits")
	r.Close()
	check("the session is closed", says(writer, soon), "<nil>")

	// A queue and a mutex.
	for _, name := range []string{"jobs/lock", "work-lock"} {
		m := concurrency.NewMutex(session(direct, 60), name)
		done(m.Lock(ctx))
		value := must(recipe.NewQueue(direct, name[:4]).Dequeue())
		check(fmt.Sprintf("Mutex %q is held, Queue %q is empty: Dequeue", name, name[:4]), strconv.Quote(value), `""`)
		check("another's TryLock", fmt.Sprint(concurrency.NewMutex(session(direct, 60), name).TryLock(ctx)), "<nil>")
	}
	if failed {
		os.Exit(1)
	}
}
GO
go get go.etcd.io/etcd/client/v3@v3.7.3 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run . "127.0.0.1:$port"
