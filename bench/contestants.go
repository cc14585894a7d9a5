package main

import (
	"context"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/language"
	"example.com/zklock/zklock"
)

// A contestant is a lock that takes part.
type contestant struct {
	name string
	// what it is: its row in docs/benchmark.md, if it is one of peers.
	what language.Text
	// queue: path is the parent of a queue and is made before the clock
	// starts; otherwise it is the lock's own node.
	queue bool
	// article holds article A's times, on its author's virtual machine, by
	// the number of threads.
	article map[int]time.Duration
	// unsafe says of one that is not a lock what it does in place of one; "" for
	// all others.
	unsafe language.Text
	// formula is what the README of a step predicts for N contenders that lock
	// once each and are all in the queue before the first one unlocks.
	formula formula
	// folder is that of a lock that -locks names by its folder, as it was
	// typed; "" for all others.
	folder string
	// system is what it runs on if that is not ZooKeeper, tag is the build tag that it needs, and
	// spec is that of its server.
	system, tag, spec string
	// open is called once, before anything is tried or measured; nil: this program was not built with it.
	open opener
}

// An opener gives a contestant its player: onZoo, inJava or elsewhere makes it.
type opener = func(ctx context.Context, b *benchmark, c contestant) (player, error)

// A player plays a contestant.
type player interface {
	String() string // the server that it runs on
	// try plays the trial.
	try(ctx context.Context) error
	// warm runs it once unmeasured, with the load of r; false: it needs no such run.
	warm(ctx context.Context, r report.Run) (bool, error)
	// run is one round, whose load and number r has. It fills in the rest.
	run(ctx context.Context, r *report.Run, step func()) error
	close() error
}

// A formula predicts the requests of a run of N contenders.
type formula struct {
	text     string                  // for one acquisition
	from     language.Text           // where these requests come from; the row in docs/benchmark.md has both
	requests func(n float64) float64 // of all
	growth   float64                 // about the power of N with which a long run's time grows; 0: nobody asks
}

// heavy is how many requests N contenders send per acquisition, 0 if they are few.
func (c contestant) heavy(n int) float64 {
	const few = 200
	if each := c.formula.predict(n) / float64(n); each > few {
		return each
	}
	return 0
}

// ofQueue is the formula of a queue in which each contender watches the one before it.
var ofQueue = formula{
	text: "5 - 2/N", from: language.Say("create, children, get with the watch, children, delete; the first needs no get and no second children", "create、children、带监听的 get、children、delete；第一个竞争者不用 get 和第二次 children"),
	requests: func(n float64) float64 { return 5*n - 2 },
}

// predict returns 0 if the lock has no formula.
func (f formula) predict(n int) float64 {
	if f.requests == nil {
		return 0
	}
	return f.requests(float64(n))
}

// about is the tables' text on the lock.
func (c contestant) about() report.About {
	return report.About{Article: c.article, Unsafe: c.unsafe, Formula: c.formula.text, System: c.system}
}

// nodeName is the name of the lock as part of a znode's name.
func (c contestant) nodeName() string { return strings.ReplaceAll(c.name, "/", "_") }

// contestants are the steps, which take part unless -locks says otherwise.
var contestants = []contestant{
	{
		name:    "naive",
		open:    onZoo(each(func(conn *zk.Conn, path string) locker { return naive.New(conn, path) })),
		article: report.ArticleNaive,
		formula: formula{
			text: "N + 2", from: language.Say("each release wakes all waiters; each of them tries to create, all but one fail and watch again", "每次释放唤醒所有等待者，都去创建，只有一个成功，其余的失败后重新监听"),
			requests: func(n float64) float64 { return n * (n + 2) }, growth: 2,
		},
	},
	{
		name:  "herd",
		open:  onZoo(each(func(conn *zk.Conn, path string) locker { return herd.New(conn, path) })),
		queue: true,
		// Half of N+1: the lists that arrivals cause are spared where all
		// arrive at once.
		formula: formula{
			text: "(N + 5) / 2", from: language.Say("each release wakes all waiters; each of them reads the list again", "每次释放唤醒所有等待者，都重新读取列表"),
			requests: func(n float64) float64 { return n * (n + 5) / 2 },
			growth:   2.5, // the lists grow, too
		},
	},
	{
		name:    "predecessor",
		open:    onZoo(each(func(conn *zk.Conn, path string) locker { return predecessor.New(conn, path) })),
		queue:   true,
		article: map[int]time.Duration{100: 636 * time.Millisecond, 1000: 5398 * time.Millisecond},
		formula: ofQueue,
	},
	{
		name:    "reentrant",
		open:    onZoo(owned(reentrant.New, reentrant.NewOwner)),
		queue:   true,
		formula: ofQueue,
	},
	{
		name:  "timeout",
		open:  onZoo(ownerless(timeout.New)),
		queue: true,
		formula: formula{
			text: "6 - 2/N", from: language.Say("the same, and a get of its own node, for the token", "同上，外加一次对自己节点的 get，用来取得 fencing token（隔离令牌）"),
			requests: func(n float64) float64 { return 6*n - 2 },
		},
	},
	{
		name: "zklock",
		open: onZoo(leased(func(conn *zk.Conn, path string, session time.Duration) (*zklock.Mutex, error) {
			return zklock.New(conn, path, zklock.WithSessionTimeout(session))
		}, zklock.NewOwner)),
		queue:   true,
		formula: formula{from: language.Say("it depends on the schedule: goroutines of a Mutex share requests", "取决于调度：同一个 Mutex 的 goroutine 共用请求")},
	},
}
