package main

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// peers take part when -locks names them: the steps are compared with them.
var peers = []contestant{
	{
		name: "zk.Lock", // the client library's own recipe
		new: func(conn *zk.Conn, path string) locker {
			return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		},
		queue:   true,
		formula: formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }},
	},
	{
		name:    "curator",
		java:    true,
		queue:   true,
		article: map[int]time.Duration{100: 606 * time.Millisecond, 1000: 6785 * time.Millisecond},
		formula: formula{text: "5 - 2/N", requests: func(n float64) float64 { return 5*n - 2 }},
	},
	{
		name:    "least",
		new:     func(conn *zk.Conn, path string) locker { return &least{conn: conn, path: path, mine: -1} },
		queue:   true,
		unsafe:  "least creates a node, watches the one before it and deletes its own, the\nminimum of a queue through the server; if a waiter gives up, it lets two in",
		formula: formula{text: "3 - 1/N", requests: func(n float64) float64 { return 3*n - 1 }},
	},
	{
		name:    "floor",
		begin:   newFloor,
		queue:   true,
		unsafe:  "floor makes N nodes at once and deletes them in order, the minimum cost of\nany queue; its contenders find their turn in memory, not by the server",
		formula: formula{text: "2", requests: func(n float64) float64 { return 2 * n }},
	},
}
