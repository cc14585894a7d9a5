#!/usr/bin/env bash
# What zk.Lock, and its ancestor in samuel/go-zookeeper, do when the node of another library is on the path.
#
# One would guess: each waits for the names that it knows, ignores the others, and leaves nothing behind if it fails.
#
# Seen with go-zookeeper/zk 1.0.4, samuel/go-zookeeper 2cc03de413da and ZooKeeper 3.8.0 (Debian 12):
#   kazoo's Lock holds: zk.Lock waits; its ancestor returns an error at once, and leaves its node
#   ZooKeeper's WriteLock holds: zk.Lock returns an error at once, and leaves its node; its ancestor waits
#   Curator's mutex holds: both wait
# The node that is left goes with the session. Until then all wait for it that read its name.
#
# usage: findings/zk-lock-names.sh, some 10 s; needs Go and Debian's zookeeper. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cd "$work"
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-zookeeper/zk"
	ancestor "github.com/samuel/go-zookeeper/zk"
)

var failed bool

// try lets a lock come, and says what it does and how many nodes there are then.
func try(conn *zk.Conn, path string, lock func() error) string {
	done := make(chan error, 1)
	go func() { done <- lock() }()
	got := "waits"
	select {
	case err := <-done:
		got = "acquired"
		if err != nil {
			got = "error"
		}
	case <-time.After(2 * time.Second):
	}
	children, _, _ := conn.Children(path)
	return fmt.Sprintf("%s, nodes: %d", got, len(children))
}

func check(what, got, want string) {
	if got != want {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Println(what+":", got)
}

func main() {
	quiet := zk.WithLogInfo(false)
	servers := os.Args[1:]
	conn, _, _ := zk.Connect(servers, 10*time.Second, quiet)
	old, _, _ := ancestor.Connect(servers, 10*time.Second, ancestor.WithLogInfo(false))
	for i, c := range []struct{ holder, node, young, elder string }{
		{"kazoo's Lock holds", "0123456789abcdef0123456789abcdef__lock__", "waits, nodes: 2", "error, nodes: 2"},
		{"ZooKeeper's WriteLock holds", "x-117698527313657884-", "error, nodes: 2", "waits, nodes: 2"},
		{"Curator's mutex holds", "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", "waits, nodes: 2", "waits, nodes: 2"},
	} {
		for _, elder := range []bool{false, true} {
			path := fmt.Sprintf("/lock%d%v", i, elder)
			for _, err := range []error{create(conn, path, 0), create(conn, path+"/"+c.node, zk.FlagEphemeral|zk.FlagSequence)} {
				if err != nil {
					panic(err)
				}
			}
			if elder {
				check(c.holder+", the ancestor comes", try(conn, path, ancestor.NewLock(old, path, ancestor.WorldACL(ancestor.PermAll)).Lock), c.elder)
			} else {
				check(c.holder+", zk.Lock comes", try(conn, path, zk.NewLock(conn, path, zk.WorldACL(zk.PermAll)).Lock), c.young)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

func create(conn *zk.Conn, path string, flags int32) error {
	_, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	return err
}
GO
go get github.com/go-zookeeper/zk@v1.0.4 github.com/samuel/go-zookeeper@v0.0.0-20190923202752-2cc03de413da >get.log 2>&1 || { cat get.log; exit 1; }
go build -o finding .
timeout 120 ./finding "127.0.0.1:$port"
