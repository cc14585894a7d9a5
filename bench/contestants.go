package main

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
)

// A locker is one contender: all that the benchmark knows of a lock.
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

// A setting is what the contenders of a run have in common.
type setting struct {
	n              int // contenders
	sessionTimeout func(conn *zk.Conn) time.Duration
}

// A contestant is a kind of lock that takes part.
type contestant struct {
	name string
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
	// unsafe: it is not a lock, and its row says so.
	unsafe bool
	// java: it is Curator, which runs in a process of its own.
	java bool
	// other is what a lock has that is not on ZooKeeper; nil for all others.
	other *other
	// folder is that of a lock that -locks names by its folder, as it was
	// typed; "" for all others.
	folder string
	// formula is what the README of a step predicts for N contenders that are
	// all in the queue before the first one unlocks.
	formula formula
}

// A formula predicts what a run of N contenders sends.
type formula struct {
	text     string                  // for one acquisition
	requests func(n float64) float64 // of all
	apart    func(n float64) float64 // where each has a session; nil: the same
}

// predict returns 0 where a formula says nothing: where only some contenders
// share a session, and that makes a difference.
func (f formula) predict(n, sessions int) float64 {
	switch {
	case f.requests == nil || f.apart != nil && sessions > 1 && sessions < n:
		return 0
	case f.apart != nil && sessions > 1:
		return f.apart(float64(n))
	}
	return f.requests(float64(n))
}

// contenders returns the maker of the contenders of one run.
func (c contestant) contenders(s setting) maker {
	if c.begin != nil {
		return c.begin(s)
	}
	return c.new
}

var articleNaive = map[int]time.Duration{100: 1625 * time.Millisecond, 1000: 125062 * time.Millisecond}

// contestants are the steps, which take part unless -locks says otherwise.
var contestants = []contestant{
	{
		name:    "naive",
		new:     func(conn *zk.Conn, path string) locker { return naive.New(conn, path) },
		article: articleNaive,
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
		formula: formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }},
	},
	{
		name: "reentrant", begin: newReentrant, queue: true,
		formula: formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }},
	},
	{
		name: "timeout", begin: newTimeout, queue: true,
		formula: formula{text: "6 - 2/N", requests: func(n float64) float64 { return 6*n - 2 }},
	},
	{
		name: "zklock", begin: newZklock, queue: true,
		formula: formula{
			text:     "3 + 1/N in one session, 6 - 3/N with a session each",
			requests: func(n float64) float64 { return 3*n + 1 },
			apart:    func(n float64) float64 { return max(6*n-3, 4) },
		},
	},
}
