package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/term"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

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
	Kind       string    `json:"kind,omitempty"`   // "" for a mutex
	Passes     bool      `json:"passes,omitempty"` // it ignores zklock's nodes, and may be acquired beside them
	Node       string    `json:"node"`
}

var chineseLibrary = map[string]string{
	"Curator mutex": "Curator 互斥锁", "Curator read lock": "Curator 读锁", "Curator write lock": "Curator 写锁",
	"Curator semaphore": "Curator 信号量", "Curator latch": "Curator 选举", "kazoo lock": "kazoo 锁",
	"kazoo read lock": "kazoo 读锁", "kazoo semaphore": "kazoo 信号量",
	"zklock or zk.Lock": "zklock 或 zk.Lock",
}

// unless says, by library, when a lock that passes zklock's nodes does wait for them.
var unless = map[string]i18n.Text{"kazoo lock": ` unless it was given extra_lock_patterns=["-lock-"]`}

func (p contender) library() i18n.Text {
	return i18n.Both(cmp.Or(p.Library, "-"), cmp.Or(chineseLibrary[p.Library], p.Library, "-"))
}

func (c *call) who(ctx context.Context) int {
	conn, _, status := c.open(ctx)
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
			err = c.printTable(queue)
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

// queue reads the contenders of the lock, in their order. The channel gets a value when the list changes.
func (c *call) queue(ctx context.Context, conn *zk.Conn) (all []contender, changed chan struct{}, err error) {
	changed = make(chan struct{}, 3) // one for each call of readContenders below, which watches
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, conn.Close)() // ends what waits for a server
	names, all, err := readContenders(ctx, conn, c.path, changed)
	if err != nil || !slices.Contains(names, "leases") || !slices.Contains(names, "locks") {
		return all, changed, err
	}

	// A semaphore of Curator's: the first in locks makes a node in leases, keeps both, and waits for room in leases.
	_, leases, err := readContenders(ctx, conn, c.path+"/leases", changed)
	if err != nil {
		return nil, nil, err
	}
	_, locks, err := readContenders(ctx, conn, c.path+"/locks", changed)
	last := len(leases) - 1
	if last >= 0 && len(locks) > 0 {
		firstHasLast := leases[last].Session == locks[0].Session && leases[last].Token > locks[0].Token
		if firstHasLast { // it waits for room: one row is enough for its two nodes
			leases[last].Holds, locks = false, locks[1:]
		}
	}
	for i := range locks { // which were taken for a mutex
		locks[i].Holds, locks[i].Passes = false, true
		locks[i].Library, locks[i].Kind = "Curator semaphore", "semaphore"
	}
	all = slices.Concat(all, leases, locks)
	for i := range all {
		all[i].Place = i
	}
	return all, changed, err
}

// readContenders returns the names of a node's children and the contenders among them. It watches the node: changed
// gets a value when the children change.
func readContenders(ctx context.Context, conn *zk.Conn, path string, changed chan<- struct{}) ([]string, []contender, error) {
	m, err := zklock.New(conn, path)
	if err != nil {
		return nil, nil, err
	}
	for {
		names, _, events, notWatched := conn.ChildrenW(path)
		if errors.Is(notWatched, zk.ErrNoNode) {
			_, _, events, notWatched = conn.ExistsW(path)
		}
		queue, err := m.Participants(ctx) // it makes its requests until a server has answered
		switch {
		case err != nil:
			return nil, nil, err
		case notWatched != nil: // now that a server answers, try again
			continue
		}
		go func() { // until the client is closed
			<-events
			changed <- struct{}{}
		}()
		all := []contender{} // [] in JSON if it is empty
		for i, p := range queue {
			all = append(all, contender{Place: i, Holds: p.Holds, Owner: p.Owner, Data: string(p.Data),
				Unreadable: p.Unreadable, Since: p.Since, Node: p.Node, Session: fmt.Sprintf("%#x", p.Session),
				Token: p.Token, Library: p.Library, Kind: p.Kind, Passes: p.Passes})
		}
		return names, all, nil
	}
}

func (c *call) printTable(queue []contender) error {
	var text strings.Builder
	if c.watch {
		if file, ok := c.stdout.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			text.WriteString("\x1b[H\x1b[2J") // clears the screen
		}
		fmt.Fprintf(&text, "%s  %s  %s\n", time.Now().Format("15:04:05.000"), c.servers, c.path)
	}
	rows := [][]string{strings.Fields(c.say("# STATE OWNER PROCESS SINCE SESSION TOKEN LIBRARY"))}
	for _, p := range queue {
		state, data := c.say("waiter"), shown(p.Data)
		if p.Holds {
			state = c.say("holder")
		}
		if p.Unreadable {
			data = c.say("(not readable)")
		}
		rows = append(rows, []string{strconv.Itoa(p.Place), state, shown(p.Owner), data, p.Since.Format(time.DateTime),
			p.Session, strconv.FormatInt(p.Token, 10), p.library().In(c.lang)})
	}
	if len(queue) == 0 {
		rows = [][]string{{c.say("nobody holds %s or waits for it", c.path)}}
	}
	text.WriteString(i18n.Table(rows))
	for i, p := range queue {
		first := slices.IndexFunc(queue, func(q contender) bool { return q.Library == p.Library })
		if p.Passes && first == i { // once for each library
			fmt.Fprintln(&text, i18n.Textf("%s: it does not wait for zklock%s", p.library(), unless[p.Library]).In(c.lang))
		}
	}
	if name := path.Base(c.path); name == "leases" || name == "locks" {
		fmt.Fprintln(&text, c.say("a semaphore: see zklock who %s", path.Dir(c.path)))
	}
	_, err := io.WriteString(c.stdout, text.String())
	return err
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
