// Package group lets several processes contend for the same locks. All that they
// share is ZooKeeper; below a path they use
//
//	join/                  where they wait for each other
//	  process-%010d        one each, ephemeral: its name, its flags and, once it takes part, the line-up
//	  run-<random>/        the nodes of a line-up; its last process to leave removes them
//	    why                which process gave up, and why: so that no other one waits for it
//	    LOCK-N-ROUND/      a run: the lock,
//	      start/, end/     barriers, with a node for each process that has come,
//	      count            and the counter
//
// The process with the smallest node leads: once enough are there it writes the
// line-up into the node of each member, all in one transaction. While there is a
// node with a line-up no other line-up begins; the node goes when its process
// leaves or dies.
package group

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
)

// Silence is the time that a process waits for a silent server.
var Silence = 10 * time.Second

const (
	Most          = 100 // processes
	processPrefix = "process-"
	// madeHere is the data of the nodes around the runs. The process that leaves
	// such a node empty removes it.
	madeHere = "made by bench"
)

// Errors that end a line-up, or spoil its count.
var (
	ErrSilent     = language.Errorf("no server has answered", "没有服务器响应")
	ErrTwoHolders = language.Errorf("two held the lock at once", "有两个竞争者同时持有过锁")
)

// Settings are the inputs of a group.
type Settings struct {
	Admin  *zk.Conn
	Server string
	Path   string // to work under
	Procs  int    // that take part
	Flags  [][2]string
	Say    func(language.Text) // shows a person the progress
	Remove func(string) error  // removes a node and all below it
}

// A Group is this process as one of those that take part.
type Group struct {
	Settings
	parent string // where the processes meet
	node   string // ours there, "" before it is made
	me     process
	ctx    context.Context // ends, and has the cause, when the line-up cannot go on
	end    context.CancelCauseFunc
}

// A process is the data of a process- node.
type process struct {
	Name   string      `json:"name"`
	Flags  [][2]string `json:"flags"`
	LineUp *lineUp     `json:"line_up,omitempty"` // nil while it waits for one
}

type lineUp struct {
	Run     string   `json:"run"` // the node to work under
	Members []member `json:"members"`
}

type member struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// New returns a group that has not met. Leave must be called, whatever comes next.
func New(ctx context.Context, s Settings) *Group {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	g := &Group{Settings: s, parent: s.Path + "/join"}
	g.me = process{Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Flags: s.Flags}
	g.ctx, g.end = context.WithCancelCause(ctx)
	go g.watchConnection()
	return g
}

// Meet waits until enough processes are there.
func (g *Group) Meet() error {
	if err := g.enter(); err != nil {
		return err
	}
	if err := g.lineUp(); err != nil {
		return err
	}
	g.watchOthers()
	return nil
}

// Context ends, and has the cause, when the line-up cannot go on.
func (g *Group) Context() context.Context { return g.ctx }

// Root is the node to work under.
func (g *Group) Root() string {
	if g.me.LineUp == nil {
		return g.parent
	}
	return g.me.LineUp.Run
}

// watchConnection ends the line-up when no server answers: a contender that waits
// for an event would get no sign of that from the client.
func (g *Group) watchConnection() {
	const ticks = 20 // they are counted: while this process stops, no server is silent
	tick := time.NewTicker(Silence / ticks)
	defer tick.Stop()
	for silent := 0; ; {
		select {
		case <-g.ctx.Done():
			return
		case <-tick.C:
			if silent++; g.Admin.State() == zk.StateHasSession {
				silent = 0
			} else if silent > ticks {
				g.end(language.Errorf("%w for %v: %v", "%v，已有 %v：%v", ErrSilent, Silence, g.Server))
			}
		}
	}
}

// Create makes a node, and all above it, unless they are there.
func Create(admin *zk.Conn, node, data string) error {
	_, err := admin.Create(node, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		if err = Create(admin, path.Dir(node), madeHere); err == nil {
			return Create(admin, node, data)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// enter makes our node.
func (g *Group) enter() error {
	data, err := json.Marshal(g.me)
	if err != nil {
		return err
	}
	for {
		err := Create(g.Admin, g.parent, madeHere)
		if err == nil {
			g.node, err = g.Admin.Create(g.parent+"/"+processPrefix, data,
				zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return language.Errorf("-path: create %s: %w", "-path：创建 %s：%v", g.parent, err)
		}
		if err == nil {
			return nil
		} // else a process that left has just removed the empty node
	}
}

// processNode is a process- node as it was read.
type processNode struct {
	process
	node    string
	version int32
}

// lineUp waits until this process is in a line-up. The first process makes it.
func (g *Group) lineUp() error {
	var said language.Text
	for {
		// A line-up comes with a new child, so this watch fires for it, too.
		names, _, changed, err := g.Admin.ChildrenW(g.parent)
		if err != nil {
			return err
		}
		here, err := g.look(names)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(here, func(a processNode) bool { return a.node == g.node })
		if i < 0 {
			return language.Errorf("%s has gone, most likely with our session: %w", "%s 消失了，多半是随我们的会话一起：%v", g.node, zk.ErrNoNode)
		}
		if g.me = here[i].process; g.me.LineUp != nil {
			return nil
		}
		var text language.Text
		if slices.ContainsFunc(here, func(a processNode) bool { return a.LineUp != nil }) {
			text = language.Say("a run of other processes is under way at %s, waiting for its end", "别的进程正在 %s 上运行，等待它们结束", g.parent)
		} else {
			if err := differ(g.me, here[0].process); err != nil {
				return err
			}
			// A process with other flags is about to notice that.
			alike := slices.DeleteFunc(here, func(a processNode) bool { return differ(g.me, a.process) != nil })
			if i == 0 && len(alike) >= g.Procs {
				if err := g.lead(names, alike[:g.Procs]); err != nil {
					return err
				}
				continue
			}
			text = language.Say("waiting at %s, %d of %d processes are there", "在 %s 等待，进程已到 %d 个，共需 %d 个", g.parent, len(alike), g.Procs)
		}
		if text != said {
			g.Say(text)
			said = text
		}
		if err := g.await(changed); err != nil {
			return err
		}
	}
}

// look reads the nodes of the processes, in their order.
func (g *Group) look(names []string) ([]processNode, error) {
	var here []processNode
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, processPrefix) {
			continue
		}
		a := processNode{node: g.parent + "/" + name}
		data, stat, err := g.Admin.Get(a.node)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &a.process)
		}
		if err != nil {
			return nil, language.Errorf("%s: %w", "%s：%v", a.node, err)
		}
		a.version = stat.Version
		here = append(here, a)
	}
	return here, nil
}

func differ(me, first process) error {
	for i, flag := range me.Flags {
		if i >= len(first.Flags) || first.Flags[i][0] != flag[0] {
			return language.Errorf("process %s is another version of bench: use the same one everywhere", "进程 %s 是另一个版本的 bench：各处请使用同一个版本", first.Name)
		}
		if other := first.Flags[i][1]; other != flag[1] {
			return language.Errorf("%s is %s here and %s in process %s, which came first: start all with the same flags", "%s 在这里是 %s，在最先到的进程 %[4]s 里是 %[3]s：各进程的选项要相同",
				flag[0], flag[1], other, first.Name)
		}
	}
	return nil
}

// lead makes a line-up, unless one of its members has just gone.
func (g *Group) lead(names []string, chosen []processNode) error {
	for _, name := range names {
		if !strings.HasPrefix(name, processPrefix) { // of processes that were killed
			if err := g.Remove(g.parent + "/" + name); err != nil && !errors.Is(err, zk.ErrNotEmpty) {
				return err
			}
		}
	}
	l := &lineUp{Run: g.parent + "/run-" + rand.Text()[:8]}
	for _, a := range chosen {
		l.Members = append(l.Members, member{path.Base(a.node), a.Name})
	}
	ops := []any{&zk.CreateRequest{Path: l.Run, Acl: zk.WorldACL(zk.PermAll)}}
	for _, a := range chosen {
		a.LineUp = l
		data, err := json.Marshal(a.process)
		if err != nil {
			return err
		}
		ops = append(ops, &zk.SetDataRequest{Path: a.node, Data: data, Version: a.version})
	}
	_, err := g.Admin.Multi(ops...)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// await waits for a watch, or for the end of the line-up.
func (g *Group) await(changed <-chan zk.Event) error {
	select {
	case event := <-changed:
		if event.Err != nil {
			return language.Errorf("our session has ended: %w", "我们的会话已经结束：%v", event.Err)
		}
		return nil
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// watchOthers ends the line-up as soon as a process gives up or is gone.
func (g *Group) watchOthers() {
	admin, run := g.Admin, g.me.LineUp.Run
	watch := func(node string, until bool, ended func() error) {
		for {
			there, _, changed, err := admin.ExistsW(node)
			if err == nil && there == until {
				err = ended()
			} else if err == nil {
				err = g.await(changed)
			}
			if err != nil {
				g.end(err)
				return
			}
		}
	}
	why := func() error {
		text, _, err := admin.Get(run + "/why")
		if err != nil {
			return err
		}
		return errors.New(string(text))
	}
	go watch(run+"/why", true, why)
	for _, m := range g.me.LineUp.Members {
		go watch(g.parent+"/"+m.Node, false, func() error {
			if err := why(); !errors.Is(err, zk.ErrNoNode) {
				return err // it said so before it left
			}
			return language.Errorf("process %s has gone: it was killed, or has lost its connection to ZooKeeper", "进程 %s 不在了：被终止，或者与 ZooKeeper 的连接断开了", m.Name)
		})
	}
}

// barrier waits until all processes of the line-up have come to the node.
func (g *Group) barrier(node string) error {
	if err := Create(g.Admin, node+"/"+path.Base(g.node), ""); err != nil {
		return err
	}
	for {
		names, _, changed, err := g.Admin.ChildrenW(node)
		if err != nil || len(names) == g.Procs {
			return err
		}
		if err := g.await(changed); err != nil {
			// At the last barrier others may have come, seen that all are
			// there, and left, before this process notices.
			if names, _, lookErr := g.Admin.Children(node); lookErr == nil && len(names) == g.Procs {
				return nil
			}
			return err
		}
	}
}

// Leave writes for the others why this process leaves, which is err, unless they
// have seen it, and removes all nodes that no other process uses. Bounded runs that
// clean-up; interrupted says that only this process is the reason.
func (g *Group) Leave(err error, interrupted bool, bounded func(func() error) error) error {
	cause := context.Cause(g.ctx)
	g.end(nil)
	if errors.Is(cause, ErrSilent) {
		return err // no server is there for a clean-up; the next line-up does it
	}
	return errors.Join(err, bounded(func() error { return g.goAway(err, cause == nil || interrupted) }))
}

func (g *Group) goAway(why error, notify bool) error {
	if g.node != "" {
		// This process can be in a line-up and not have seen it yet.
		if here, err := g.look([]string{path.Base(g.node)}); err == nil && len(here) == 1 {
			g.me = here[0].process
		}
		if why != nil && g.me.LineUp != nil && notify {
			text := fmt.Sprintf("process %s has given up: %v", g.me.Name, why)
			if err := Create(g.Admin, g.me.LineUp.Run+"/why", text); err != nil {
				return err
			}
		}
		if err := g.Admin.Delete(g.node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	if g.me.LineUp != nil {
		// After our own node has gone: so of two that leave at the same
		// time, one at least sees that it is the last.
		names, _, err := g.Admin.Children(g.parent)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if slices.ContainsFunc(g.me.LineUp.Members, func(m member) bool { return slices.Contains(names, m.Node) }) {
			return nil
		}
		if err := g.Remove(g.me.LineUp.Run); err != nil {
			return err
		}
	}
	return RemoveEmpty(g.Admin, g.parent)
}

// RemoveEmpty removes a node and those above it that Create made for one below
// them, as far as they are empty.
func RemoveEmpty(admin *zk.Conn, node string) error {
	for ; node != "/"; node = path.Dir(node) {
		data, _, err := admin.Get(node)
		if err == nil && string(data) == madeHere {
			err = admin.Delete(node, -1)
		} else if err == nil {
			return nil
		}
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Dir is the node of a run of a lock with n contenders.
func (g *Group) Dir(lock string, n, round int) string {
	return fmt.Sprintf("%s/%s-%d-%d", g.Root(), lock, n, round)
}

// WarmUp is the node of an unmeasured run: each process warms up on its own.
func (g *Group) WarmUp(run int) string {
	return fmt.Sprintf("%s/warmup-%s-%d", g.Root(), path.Base(g.node), run)
}
