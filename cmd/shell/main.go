// Command shell is a client to try ZooKeeper with, in the place of zkCli.sh: it reads lines such as "create /a",
// "number /a-", "ls /", "get /a", "watch /a", "delete /a" and "help". Its nodes are ephemeral: they go when it ends.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock/zkconn"
)

type call = func(path string) (any, error)

func main() {
	server := cmp.Or(strings.Join(os.Args[1:], ""), "127.0.0.1:2181") // the argument, if there is one
	all := zk.WorldACL(zk.PermAll)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// Unlike zk.Connect's client, this one outlives a server that is started again without its data.
	conn, err := zkconn.Connect(ctx, []string{server}, 10*time.Second)
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
		name, path, _ := strings.Cut(in.Text(), " ")
		fmt.Println(answer(calls[name], path))
	}
}

// help is the answer to help, and to a word that is not known.
var help = i18n.Text(`create /a    makes an ephemeral node
number /a-   makes one whose name ends in the server's number
ls /         the names of a node's children
get /a       the fields of a node's Stat
watch /a     prints the next event of a node
delete /a    deletes a node
help         these lines; ctrl-d ends the session`)

// answer calls what a line asks for, and says what has come of it: an error, or a result.
func answer(c call, path string) string {
	if c == nil {
		return help.In(i18n.Of(""))
	}
	result, err := c(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", result)
}

func printEvent(events <-chan zk.Event) { fmt.Println(<-events) }
