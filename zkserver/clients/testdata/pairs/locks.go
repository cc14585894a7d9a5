// Locks of Go's libraries for pairs_test.go, where the commands are described.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	ancestor "github.com/samuel/go-zookeeper/zk"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

type contender struct {
	lock, unlock func() error
	close        func()
}

func open(ctx context.Context, servers []string, session time.Duration, kind, path string) (*contender, error) {
	if kind == "samuel" {
		conn, _, err := ancestor.Connect(servers, session, ancestor.WithLogInfo(false))
		l := ancestor.NewLock(conn, path, ancestor.WorldACL(ancestor.PermAll))
		return &contender{l.Lock, l.Unlock, conn.Close}, err
	}
	conn, err := zkconn.Connect(ctx, servers, session)
	if err != nil {
		return nil, err
	}
	if kind == "zk.Lock" {
		l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		return &contender{l.Lock, l.Unlock, conn.Close}, nil
	}
	m, err := zklock.New(conn, path)
	var lease *zklock.Lease
	lock := func() (err error) {
		lease, err = m.Lock(ctx, nil)
		return err
	}
	return &contender{lock, func() error { return lease.Unlock(ctx) }, conn.Close}, err
}

// count takes turns at a counter, in another session. A turn fails if the counter has changed under the lock.
func (c *contender) count(ctx context.Context, servers []string, counter string, turns int) error {
	conn, err := zkconn.Connect(ctx, servers, 30*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	for range turns {
		if err := c.lock(); err != nil {
			return err
		}
		conn.Sync(counter) // as the lock is another session's
		data, stat, err := conn.Get(counter)
		if err == nil {
			n, _ := strconv.Atoi(string(data))
			_, err = conn.Set(counter, []byte(strconv.Itoa(n+1)), stat.Version)
		}
		if err = cmp.Or(err, c.unlock()); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	info, _ := debug.ReadBuildInfo()
	var versions []string
	for _, m := range info.Deps {
		if strings.HasSuffix(m.Path, "/zk") || strings.HasSuffix(m.Path, "/go-zookeeper") {
			versions = append(versions, m.Path+" "+m.Version)
		}
	}
	fmt.Println(strings.Join(versions, ", "))
	ctx, servers := context.Background(), strings.Split(os.Args[1], ",")
	var all sync.Map // contenders by their names
	do := func(verb, me string, rest []string) (err error) {
		found, _ := all.Load(me)
		c, _ := found.(*contender)
		switch verb {
		case "open":
			kind, path, addr := rest[0], rest[1], rest[2]
			seconds, _ := strconv.Atoi(rest[3])
			c, err = open(ctx, strings.Split(addr, ","), time.Duration(seconds)*time.Second, kind, path)
			all.Store(me, c)
		case "lock":
			err = c.lock()
		case "unlock":
			err = c.unlock()
		case "count":
			turns, _ := strconv.Atoi(rest[1])
			err = c.count(ctx, servers, rest[0], turns)
		case "close":
			c.close()
		}
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word := strings.Fields(in.Text())
		go func() { // several locks of one program wait at once
			done := "done"
			if err := do(word[0], word[1], word[2:]); err != nil {
				done = "failed " + err.Error()
			}
			fmt.Println(word[1], word[0], done)
		}()
	}
}
