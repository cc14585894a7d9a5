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
		name:    "floor",
		begin:   newFloor,
		queue:   true,
		unsafe:  true,
		formula: formula{text: "2", requests: func(n float64) float64 { return 2 * n }},
	},
}
