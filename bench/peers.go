package main

import (
	"github.com/go-zookeeper/zk"
)

// peers take part when -locks names them: what the steps are measured
// against.
var peers = []contestant{
	{
		name: "zk.Lock", // the client library's own recipe
		new: func(conn *zk.Conn, path string) locker {
			return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		},
		queue: true,
	},
	{
		name:   "floor",
		begin:  newFloor,
		queue:  true,
		unsafe: true,
	},
}
