package main

import (
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock"
)

// peers take part when -locks names them: the steps are compared with them. Go
// generate ./... writes what each is, and its formula, into docs/benchmark.md.
var peers = []contestant{
	{
		name: "zk.Lock",
		what: "the recipe of the Go client library, our nearest peer",
		open: onZoo(each(func(conn *zk.Conn, path string) locker {
			return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		})),
		queue:   true,
		formula: ofQueue,
	},
	{
		name:    "curator",
		what:    "Curator's InterProcessMutex, the article's third row, in a Java process and timed there",
		open:    inJava,
		queue:   true,
		article: map[int]time.Duration{100: 606 * time.Millisecond, 1000: 6785 * time.Millisecond},
		formula: ofQueue,
	},
	{
		name: "zklock-caching",
		what: "zklock with WithCaching: a process that is alone keeps its node, and the next Lock sends nothing",
		open: onZoo(leased(func(conn *zk.Conn, path string, session time.Duration) (*zklock.Mutex, error) {
			return zklock.New(conn, path, zklock.WithSessionTimeout(session), zklock.WithCaching(100*time.Millisecond))
		}, zklock.NewOwner)),
		queue:   true,
		formula: formula{from: "it depends on the schedule: whether others come in between"},
	},
	{
		name: "least",
		what: "not a lock: each contender creates a node, watches the one before it and deletes its own. No queue that hands over " +
			"through the server sends less; but if a waiter gives up, two hold it",
		open:   onZoo(each(func(conn *zk.Conn, path string) locker { return &least{conn: conn, path: path, mine: -1} })),
		queue:  true,
		unsafe: "least creates a node, watches the one before it and deletes its own, the\nminimum of a queue through the server; if a waiter gives up, it lets two in",
		formula: formula{
			text: "3 - 1/N", from: "create, get of the one before it with the watch, delete; the first needs no get",
			requests: func(n float64) float64 { return 3*n - 1 },
		},
	},
	{
		name: "floor",
		what: "not a lock: N nodes are made at once, and deleted one after the other in order. The turn is handed over in the memory " +
			"of the process, which no lock of several processes can do. No queue with a node for each acquisition can be faster",
		open:    onZoo(newFloor),
		queue:   true,
		unsafe:  "floor makes N nodes at once and deletes them in order, the minimum cost of\nany queue; its contenders find their turn in memory, not by the server",
		formula: formula{text: "2", from: "create, delete", requests: func(n float64) float64 { return 2 * n }},
	},
}
