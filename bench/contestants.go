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
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
)

// A contestant is a lock that takes part in the benchmark. Curator is used from Java, so its Kind is empty.
type contestant struct {
	counter.Lock
	zookeeper.Kind
}

// ofQueue is the formula of a queue in which each contender watches the one before it. Text has the requests of one
// acquisition, and Requests those of all n: here 5 each, but 3 of the first contender, which waits for nobody.
var ofQueue = counter.Formula{
	Text:     "5 - 2/N",
	From:     "create, children, get with the watch, children, delete; the first needs no get and no second children",
	Requests: func(n float64) float64 { return 5*n - 2 },
}

// contestants are the steps, which take part unless -locks says otherwise.
var contestants = []contestant{
	{
		counter.Lock{
			Name:    "naive",
			Article: report.ArticleNaive,
			Formula: counter.Formula{
				Text:     "N + 2",
				From:     "each release wakes all waiters; each of them tries to create, all but one fail and watch again",
				Requests: func(n float64) float64 { return n * (n + 2) },
				Growth:   2, // the time grows with N², as the requests do
			},
		},
		// The lock makes the node at the path itself. The path of the others is the parent of their nodes.
		zookeeper.Kind{OwnNode: true, Make: func(c *zk.Conn, path string) zookeeper.Locker { return naive.New(c, path) }},
	},
	{
		counter.Lock{
			Name: "herd",
			// An acquisition is a create, a delete and (N + 1) / 2 lists. Arrivals make waiters list again, too, but where
			// all contenders arrive at once these lists are few.
			Formula: counter.Formula{
				Text:     "(N + 5) / 2",
				From:     "each release wakes all waiters; each of them reads the list again",
				Requests: func(n float64) float64 { return n * (n + 5) / 2 },
				Growth:   2.5, // the time grows faster than the requests, with about N^2.5: the lists grow, too
			},
		},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker { return herd.New(conn, path) }},
	},
	{
		counter.Lock{
			Name:    "predecessor",
			Article: map[int]time.Duration{100: 636 * time.Millisecond, 1000: 5398 * time.Millisecond},
			Formula: ofQueue,
		},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker { return predecessor.New(conn, path) }},
	},
	{
		counter.Lock{Name: "reentrant", Formula: ofQueue},
		// PerSession calls the function once for each session, and the function that this returns for each contender.
		zookeeper.PerSession(func(conn *zk.Conn, path string, _ time.Duration) func() zookeeper.Locker {
			m := reentrant.New(conn, path)
			return func() zookeeper.Locker { return owner{m, reentrant.NewOwner("bench")} }
		}),
	},
	{
		counter.Lock{
			Name: "timeout",
			Formula: counter.Formula{
				Text:     "6 - 2/N",
				From:     "the same, and a get of its own node, for the token",
				Requests: func(n float64) float64 { return 6*n - 2 },
			},
		},
		zookeeper.PerSession(func(conn *zk.Conn, path string, session time.Duration) func() zookeeper.Locker {
			l := timeout.New(conn, path, session)
			return func() zookeeper.Locker { return &holder{lock: l} }
		}),
	},
	{
		counter.Lock{Name: "zklock", Formula: counter.Formula{From: "it depends on the schedule: goroutines of a Mutex share requests"}},
		zookeeper.Zklock(),
	},
}

// An owner is a contender of step 4. All owners of a session share one Mutex.
type owner struct {
	mutex *reentrant.Mutex
	owner *reentrant.Owner
}

func (o owner) Lock() error   { return o.mutex.Lock(o.owner) }
func (o owner) Unlock() error { return o.mutex.Unlock(o.owner) }

// A holder is a contender of step 5. All holders of a session share one Lock.
type holder struct {
	lock  *timeout.Lock
	lease *timeout.Lease
}

func (h *holder) Lock() error { return h.LockContext(context.Background()) }

// LockContext also returns when ctx ends.
func (h *holder) LockContext(ctx context.Context) (err error) {
	h.lease, err = h.lock.Lock(ctx)
	return err
}

func (h *holder) Unlock() error { return h.lease.Unlock(context.Background()) }
