package main

import (
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

// A contestant is a kind of lock that takes part.
type contestant struct {
	name string
	// new makes one contender.
	new func(conn *zk.Conn, path string) locker
	// begin, in place of new, is called once for each run of n contenders, and
	// returns what makes them: for locks whose contenders share something.
	begin func(n int) func(conn *zk.Conn, path string) locker
	// queue: path is the parent of a queue, and made before the clock starts;
	// else it is the lock's own node.
	queue bool
	// article holds article A's times, on the author's virtual machine, by
	// the number of threads.
	article map[int]time.Duration
	// unsafe: it is no lock, and its row says so.
	unsafe bool
	// java: it is Curator, which runs in a process of its own.
	java bool
	// formula is what the README of a step predicts for N contenders of which
	// each is in the queue before the first lets go.
	formula formula
}

// A formula predicts what a run of N contenders sends.
type formula struct {
	text     string                  // for one acquisition
	requests func(n float64) float64 // of all
	apart    func(n float64) float64 // where each has a session; nil: the same
}

// predict returns 0 where a formula says nothing: where some share a session
// and others do not, and that makes a difference.
func (f formula) predict(n, sessions int) float64 {
	switch {
	case f.requests == nil || f.apart != nil && sessions > 1 && sessions < n:
		return 0
	case f.apart != nil && sessions > 1:
		return f.apart(float64(n))
	}
	return f.requests(float64(n))
}

// contenders returns what makes the n contenders of one run.
func (c contestant) contenders(n int) func(conn *zk.Conn, path string) locker {
	if c.begin != nil {
		return c.begin(n)
	}
	return c.new
}

// perSession is the begin of a lock that has one value for each session,
// which open returns a maker of contenders for.
func perSession(open func(conn *zk.Conn, path string) func() locker) func(int) func(*zk.Conn, string) locker {
	return func(int) func(*zk.Conn, string) locker {
		makers := make(map[*zk.Conn]func() locker)
		return func(conn *zk.Conn, path string) locker {
			if makers[conn] == nil {
				makers[conn] = open(conn, path)
			}
			return makers[conn]()
		}
	}
}

var articleNaive = map[int]time.Duration{100: 1625 * time.Millisecond, 1000: 125062 * time.Millisecond}

// contestants are the steps, which take part if -locks does not say otherwise.
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
		name: "reentrant", begin: perSession(newReentrant), queue: true,
		formula: formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }},
	},
	{
		name: "timeout", begin: perSession(newTimeout), queue: true,
		formula: formula{
			text:     "3 + 1/N in one session, 7 - 5/N with a session each",
			requests: func(n float64) float64 { return 3*n + 1 },
			apart:    func(n float64) float64 { return max(7*n-5, 4) },
		},
	},
}
