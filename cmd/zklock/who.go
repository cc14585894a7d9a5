package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
)

var whoSays = language.Say("shows the queue: the holders, and those that wait\n"+
	"Of each: what its library has written into the node, since when the node is there, by the server's clock, the session,\n"+
	"the fencing token and the library. A read/write lock and a semaphore may have several holders. The goroutines of a\n"+
	"process that queue in memory have one node. The address of a client is not there: ZooKeeper's protocol has none.",
	"显示队列：持有者和等待者\n"+
		"每个都有：锁的库写进节点的内容、节点创建的时间（服务器的时钟）、会话、防护令牌，以及是哪个库。读写锁和信号量可以有多个持有者。\n"+
		"同一进程里在内存中排队的 goroutine 共用一个节点。没有客户端的地址：ZooKeeper 的协议不给出。")

func (c *call) whoFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.json, "json", false, c.say("print JSON", "输出 JSON"))
	fs.BoolVar(&c.watch, "watch", false, c.say("show the queue again when it changes, until Ctrl-C", "队列一变就重新显示，直到按 Ctrl-C"))
}

// A contender is a node of the queue.
type contender struct {
	Place      int       `json:"place"`
	Holds      bool      `json:"holds"`
	Owner      string    `json:"owner,omitempty"`
	Data       string    `json:"data"`
	Unreadable bool      `json:"unreadable,omitempty"` // the data
	Since      time.Time `json:"since"`
	Session    string    `json:"session"`
	Token      int64     `json:"token"`
	Library    string    `json:"library"`
	Node       string    `json:"node"`

	kind   kind
	number int32
}

const passBits = 10 // of a token: the number of times that a Mutex has handed the lock on; the others are the czxid

func (c *call) who(ctx context.Context) int {
	conn, status := c.open(ctx)
	if status != 0 {
		return status
	}
	defer conn.Close()
	for {
		queue, changed, err := c.queue(ctx, conn)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			return c.fail(exitUnavailable, err)
		case c.json:
			encoder := json.NewEncoder(c.stdout)
			encoder.SetIndent("", "  ")
			err = encoder.Encode(queue)
		default:
			err = c.show(queue)
		}
		if err != nil {
			return c.fail(exitFailure, err)
		}
		if !c.watch {
			return 0
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0
		}
	}
}

// queue reads the contenders of the lock, in their order. The channel gets a value when the
// list changes.
func (c *call) queue(ctx context.Context, conn *zk.Conn) (all []contender, changed chan struct{}, err error) {
	changed = make(chan struct{}, 3) // by three lists
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = within(ctx, conn, func() error {
		if _, err := conn.Sync(c.path); err != nil {
			return err
		}
		var names []string
		if names, all, err = list(conn, c.path, changed); err != nil || !slices.Contains(names, "leases") || !slices.Contains(names, "locks") {
			return err
		}
		// A semaphore of Curator's: the first in locks makes a node in leases, and waits there for room.
		_, leases, err := list(conn, c.path+"/leases", changed)
		if err != nil {
			return err
		}
		_, locks, err := list(conn, c.path+"/locks", changed)
		if last := len(leases) - 1; last >= 0 && len(locks) > 0 && leases[last].Session == locks[0].Session {
			leases[last].Holds = false
		}
		for i := range locks {
			locks[i].Holds = false
		}
		all = slices.Concat(all, leases, locks)
		return err
	})
	for i := range all {
		all[i].Place = i
	}
	return append([]contender{}, all...), changed, err // [] in JSON if it is empty
}

// list lists a node, and reads the contenders among its children, side by side. One that goes
// meanwhile is left out, and a node that is not there has no children.
func list(conn *zk.Conn, path string, changed chan<- struct{}) (names []string, all []contender, err error) {
	names, _, events, err := conn.ChildrenW(path)
	if errors.Is(err, zk.ErrNoNode) {
		_, _, events, err = conn.ExistsW(path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", path, err)
	}
	go func() { // until the client is closed
		<-events
		changed <- struct{}{}
	}()
	for _, name := range names {
		if k, n, ok := kindOf(name); ok {
			all = append(all, contender{Node: path + "/" + name, kind: k, number: n})
		}
	}
	var reading sync.WaitGroup
	errs, slots := make([]error, len(all)), make(chan struct{}, 100)
	for i := range all {
		slots <- struct{}{}
		reading.Go(func() {
			errs[i] = all[i].read(conn)
			<-slots
		})
	}
	reading.Wait()
	all = slices.DeleteFunc(all, func(p contender) bool { return p.Session == "" })
	// The server's counter has 32 bits, and the difference wraps with it.
	slices.SortFunc(all, func(a, b contender) int { return int(a.number - b.number) })
	var before class
	for i := range all {
		all[i].Holds = before&all[i].kind.after == 0
		before |= all[i].kind.is
	}
	return names, all, errors.Join(errs...)
}

// read reads the node of a contender. Its data may be secret, but its Stat is not.
func (p *contender) read(conn *zk.Conn) error {
	data, stat, err := conn.Get(p.Node)
	if p.Unreadable = errors.Is(err, zk.ErrNoAuth); p.Unreadable {
		var there bool
		if there, stat, err = conn.Exists(p.Node); err == nil && !there {
			err = zk.ErrNoNode
		}
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", p.Node, err)
	}
	p.described(p.Node[strings.LastIndex(p.Node, "/")+1:], data)
	if p.Unreadable && p.kind.library == kinds[0].library {
		p.kind.library = language.Say("zklock or zk.Lock", "zklock 或 zk.Lock")
	}
	p.Since, p.Session, p.Token = time.UnixMilli(stat.Ctime), fmt.Sprintf("%#x", stat.EphemeralOwner), stat.Czxid<<passBits
	p.Library = p.kind.library.En
	return nil
}

// show prints the queue as a table.
func (c *call) show(queue []contender) error {
	var text strings.Builder
	if c.watch {
		if isTerminal(c.stdout) {
			text.WriteString("\x1b[H\x1b[2J")
		}
		fmt.Fprintf(&text, "%s  %s  %s\n", time.Now().Format("15:04:05.000"), c.servers, c.path)
	}
	rows := [][]string{strings.Fields(c.say("# STATE OWNER PROCESS SINCE SESSION TOKEN LIBRARY", "# 状态 所有者 进程 开始时间 会话 令牌 库"))}
	for _, p := range queue {
		state, data := c.say("waiter", "等待者"), shown(p.Data)
		if p.Holds {
			state = c.say("holder", "持有者")
		}
		if p.Unreadable {
			data = c.say("(not readable)", "（无权读取）")
		}
		rows = append(rows, []string{strconv.Itoa(p.Place), state, shown(p.Owner), data, p.Since.Format(time.DateTime), p.Session,
			strconv.FormatInt(p.Token, 10), p.kind.library.In(c.lang)})
	}
	if len(queue) == 0 {
		rows = [][]string{{c.say("nobody holds %s or waits for it", "没有人持有或等待 %s", c.path)}}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], language.Wide(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-language.Wide(cell)+2)
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(c.stdout, text.String())
	return err
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// shown is a text from a node in a table: it is short, and commands no terminal.
func shown(text string) string {
	const most = 40
	quoted := strconv.Quote(text)
	if runes := []rune(quoted[1 : len(quoted)-1]); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return cmp.Or(quoted[1:len(quoted)-1], "-")
}
