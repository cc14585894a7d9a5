package main

import (
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/extra"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

// peers take part when -locks names them: the steps are compared with them. Go
// generate ./... writes what each is, and its formula, into docs/benchmark.md and its Chinese edition.
var peers = []contestant{
	{
		counter.Lock{
			Name: "zk.Lock",
			What: i18n.Textf("the recipe of the Go client library, our nearest peer",
				"Go 客户端库自带的锁，与我们最接近的同类"),
			Formula: ofQueue,
		},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker {
			return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		}},
	},
	{
		counter.Lock{
			Name: curator,
			What: i18n.Textf("Curator's InterProcessMutex, the article's third row, in a Java process and timed there",
				"Curator 的 InterProcessMutex，即文章的第三行，在 Java 进程里运行和计时"),
			Article: map[int]time.Duration{100: 606 * time.Millisecond, 1000: 6785 * time.Millisecond},
			Formula: ofQueue,
		},
		zookeeper.Kind{},
	},
	{
		counter.Lock{
			Name: "zklock-caching",
			What: i18n.Textf("zklock with WithCaching: a process that is alone keeps its node, and the next Lock sends nothing",
				"带 WithCaching 的 zklock：进程独自使用时保留节点，下一次 Lock 不发任何请求"),
			Formula: counter.Formula{From: i18n.Textf("it depends on the schedule: whether others come in between",
				"取决于调度：中间有没有别的竞争者到来")},
		},
		zookeeper.Zklock(zklock.WithCaching(100 * time.Millisecond)),
	},
	{
		counter.Lock{
			Name: "least",
			What: i18n.Textf("not a lock: each contender creates a node, watches the one before it and deletes its own. "+
				"No queue that hands over through the server sends less; but if a waiter gives up, two hold it",
				"不是锁：每个竞争者创建一个节点，监听前一个节点，再删除自己的。通过服务器交接的队列，请求数不可能更少；但是，如果有等待者放弃，就会有两个竞争者同时持有锁"),
			Unsafe: i18n.Textf("least creates a node, watches the one before it and deletes its own, the\n"+
				"minimum of a queue through the server; if a waiter gives up, it lets two in",
				"least 创建节点，监听前一个节点，再删除自己的节点，请求数是经由服务器排队的下限；\n如果有等待者放弃等待，就会有两个竞争者同时持有锁"),
			Formula: counter.Formula{
				Text: "3 - 1/N",
				From: i18n.Textf("create, get of the one before it with the watch, delete; the first needs no get",
					"create、对前一个节点带监听的 get、delete；第一个竞争者不用 get"),
				Requests: func(n float64) float64 { return 3*n - 1 },
			},
		},
		zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker { return extra.NewLeast(conn, path) }},
	},
	{
		counter.Lock{
			Name: "floor",
			What: i18n.Textf("not a lock: N nodes are made at once, and deleted one after the other in order. "+
				"The turn is handed over in the memory of the process, which no lock of several processes can do. No queue with a node for each acquisition can be faster",
				"不是锁：N 个节点一次创建好，再按次序逐个删除。交接在进程的内存里完成，用于多个进程的锁都做不到这一点。每次加锁用一个节点的队列，不可能更快"),
			Unsafe: i18n.Textf("floor makes N nodes at once and deletes them in order, the minimum cost of\nany queue; "+
				"its contenders find their turn in memory, not by the server",
				"floor 一次创建 N 个节点，再依次删除，请求数是任何队列的下限；\n竞争者在内存里得知轮到自己，不经过服务器"),
			Formula: counter.Formula{Text: "2", From: i18n.Textf("create, delete", "create、delete"), Requests: func(n float64) float64 { return 2 * n }},
		},
		zookeeper.Kind{Begin: newFloor},
	},
}
