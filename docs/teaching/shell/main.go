// Command shell is a client to try ZooKeeper with, in the place of zkCli.sh: it reads
// lines such as "create /a", "number /a-", "ls /", "get /a", "watch /a" and
// "delete /a". Its nodes are ephemeral: they go when it ends.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

type call = func(path string) (any, error)

func main() {
	server, all := cmp.Or(strings.Join(os.Args[1:], ""), "127.0.0.1:2181"), zk.WorldACL(zk.PermAll)
	conn, _, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	calls := map[string]call{
		"create": func(p string) (any, error) { return conn.Create(p, nil, zk.FlagEphemeral, all) },
		"number": func(p string) (any, error) { return conn.Create(p, nil, zk.FlagEphemeralSequential, all) },
		"ls":     func(p string) (any, error) { names, _, err := conn.Children(p); return names, err },
		"get":    func(p string) (any, error) { _, stat, err := conn.Get(p); return stat, err },
		"delete": func(p string) (any, error) { return "deleted", conn.Delete(p, -1) },
		"watch":  func(p string) (any, error) { _, _, c, err := conn.GetW(p); go printEvent(c); return "watching", err },
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if name, path, _ := strings.Cut(in.Text(), " "); calls[name] != nil {
			fmt.Println(calls[name](path))
		}
	}
}

func printEvent(events <-chan zk.Event) { fmt.Println(<-events) }
