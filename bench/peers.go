package main

import (
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/extra"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/zklock"
)

// peers are locks to compare the steps with. They take part if -locks names them. Go generate ./... writes
// What and Formula of each into docs/benchmark.md and its Chinese edition.
var peers = []contestant{
	{
		counter.Lock{Name: "zk.Lock", What: "the recipe of the Go client library, our nearest peer", Formula: ofQueue},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker {
			return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		}},
	},
	{
		counter.Lock{
			Name:    curator,
			What:    "Curator's InterProcessMutex, the article's third row, in a Java process and timed there",
			Article: map[int]time.Duration{100: 606 * time.Millisecond, 1000: 6785 * time.Millisecond},
			Formula: ofQueue,
		},
		zookeeper.Kind{}, // a curatorPlayer plays it
	},
	{
		counter.Lock{
			Name:    "zklock-caching",
			What:    "zklock with WithCaching: a process that is alone keeps its node, and the next Lock sends nothing",
			Formula: counter.Formula{From: "it depends on the schedule: whether others come in between"},
		},
		zookeeper.Zklock(zklock.WithCaching(100 * time.Millisecond)),
	},
	{
		counter.Lock{
			Name: "least",
			What: "not a lock: each contender creates a node, watches the one before it and deletes its own. " +
				"No queue that hands over through the server sends less; but if a waiter gives up, two hold it",
			Unsafe: "least creates a node, watches the one before it and deletes its own, the\n" +
				"minimum of a queue through the server; if a waiter gives up, it lets two in",
			Formula: counter.Formula{
				Text:     "3 - 1/N",
				From:     "create, get of the one before it with the watch, delete; the first needs no get",
				Requests: func(n float64) float64 { return 3*n - 1 },
			},
		},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker { return extra.NewLeast(conn, path) }},
	},
	{
		counter.Lock{
			Name: "floor",
			What: "not a lock: N nodes are made at once, and deleted one after the other in order. " +
				"The turn is handed over in the memory of the process, which no lock of several processes can do. " +
				"No queue with a node for each acquisition can be faster",
			Unsafe: "floor makes N nodes at once and deletes them in order, the minimum cost of\nany queue; " +
				"its contenders find their turn in memory, not by the server",
			Formula: counter.Formula{Text: "2", From: "create, delete", Requests: func(n float64) float64 { return 2 * n }},
		},
		zookeeper.Kind{Begin: newFloor},
	},
}
