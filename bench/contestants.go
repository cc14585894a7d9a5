package main

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/bench/internal/report"
	"example.com/zklock/zklock"
)

// A locker is one contender: all that the benchmark uses of a lock.
type locker interface {
	Lock() error
	Unlock() error
}

// A waiter is a locker that works on in the background after Unlock.
type waiter interface {
	// Wait returns when no such work is left: before that the client must not
	// be closed.
	Wait(ctx context.Context) error
}

// A maker makes one contender.
type maker = func(conn *zk.Conn, path string) locker

// A setting is shared by the contenders of a run.
type setting struct {
	n              int // contenders
	sessionTimeout func(conn *zk.Conn) time.Duration
}

// A contestant is a kind of lock that takes part.
type contestant struct {
	name string
	// what it is: its row in docs/benchmark.md, if it is one of peers.
	what string
	new  maker
	// begin, in place of new, is called once for each run and returns the
	// maker of its contenders: for locks whose contenders share something.
	begin func(setting) maker
	// queue: path is the parent of a queue and is made before the clock
	// starts; otherwise it is the lock's own node.
	queue bool
	// article holds article A's times, on its author's virtual machine, by
	// the number of threads.
	article map[int]time.Duration
	// unsafe says of one that is not a lock what it does in place of one; "" for
	// all others.
	unsafe string
	// java: it is Curator, which runs in a process of its own.
	java bool
	// other is what a lock has that is not on ZooKeeper; nil for all others.
	other *other
	// folder is that of a lock that -locks names by its folder, as it was
	// typed; "" for all others.
	folder string
	// formula is what the README of a step predicts for N contenders that lock
	// once each and are all in the queue before the first one unlocks.
	formula formula
}

// A formula predicts the requests of a run of N contenders.
type formula struct {
	text     string                  // for one acquisition
	requests func(n float64) float64 // of all
}

// ofQueue is the formula of a queue in which each contender watches the one before it.
var ofQueue = formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }}

// predict returns 0 if the lock has no formula.
func (f formula) predict(n int) float64 {
	if f.requests == nil {
		return 0
	}
	return f.requests(float64(n))
}

// about is the tables' text on the lock.
func (c contestant) about() report.About {
	a := report.About{Article: c.article, Unsafe: c.unsafe, Formula: c.formula.text}
	if c.other != nil {
		a.System = map[string]string{"sql": "SQL", "redis": "Redis", "etcd": "etcd"}[c.other.flag]
	}
	return a
}

// contenders returns the maker of the contenders of one run.
func (c contestant) contenders(s setting) maker {
	if c.begin != nil {
		return c.begin(s)
	}
	return c.new
}

// contestants are the steps, which take part unless -locks says otherwise.
var contestants = []contestant{
	{
		name:    "naive",
		new:     func(conn *zk.Conn, path string) locker { return naive.New(conn, path) },
		article: report.ArticleNaive,
		formula: formula{text: "N + 2", requests: func(n float64) float64 { return n * (n + 2) }},
	},
	{
		name:  "herd",
		new:   func(conn *zk.Conn, path string) locker { return herd.New(conn, path) },
		queue: true,
		// Half of N+1: the lists that arrivals cause are spared where all
		// arrive at once.
		formula: formula{text: "(N + 5) / 2", requests: func(n float64) float64 { return n * (n + 5) / 2 }},
	},
	{
		name:    "predecessor",
		new:     func(conn *zk.Conn, path string) locker { return predecessor.New(conn, path) },
		queue:   true,
		article: map[int]time.Duration{100: 636 * time.Millisecond, 1000: 5398 * time.Millisecond},
		formula: ofQueue,
	},
	{
		name:    "reentrant",
		begin:   owned(reentrant.New, reentrant.NewOwner),
		queue:   true,
		formula: ofQueue,
	},
	{
		name:    "timeout",
		begin:   ownerless(timeout.New),
		queue:   true,
		formula: formula{text: "6 - 2/N", requests: func(n float64) float64 { return 6*n - 2 }},
	},
	{
		// Its requests depend on the schedule: it has no formula.
		name: "zklock",
		begin: leased(func(conn *zk.Conn, path string, session time.Duration) (*zklock.Mutex, error) {
			return zklock.New(conn, path, zklock.WithSessionTimeout(session))
		}, zklock.NewOwner),
		queue: true,
	},
}
