package zookeeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

const (
	MostProcesses = 100              // that can contend for the same locks
	silentFor     = 10 * time.Second // after which a server that does not answer counts as gone
)

var errTwoProcesses = i18n.Errorf("two held the lock at once")

// A group is this process as one of several that contend for the same locks. Each process makes an ephemeral node below
// the parent. The first of them, as many as -join asks for, are a line-up: each process computes it from the list of
// nodes. The first process that writes the line-up into its own node ends the choice: the others in it take that one.
// Processes that come later wait until all of the line-up have left.
type group struct {
	*Server
	parent string // where the processes meet
	me     process
	ctx    context.Context // ends, and has the cause, when the line-up cannot go on
	end    context.CancelCauseFunc
}

// A process is its node and, in JSON, the data of that node.
type process struct {
	node   string   // the name, with that of the host and a number at the end; "" before it is made
	Flags  string   `json:"flags"`
	LineUp []string `json:"line_up,omitempty"` // the nodes; nil while it waits for one
}

func (p process) number() string { return p.node[max(0, len(p.node)-10):] } // the ten digits that ZooKeeper appends

// newGroup returns a group before it meets. leave must be called, whatever happens then.
func newGroup(ctx context.Context, s *Server) *group {
	g := &group{Server: s, parent: s.Path + "/join", me: process{Flags: s.Flags}}
	g.ctx, g.end = context.WithCancelCause(ctx)
	go g.watchConnection()
	return g
}

// watchConnection ends the line-up when no server answers: a contender that waits for an event is not told of that.
func (g *group) watchConnection() {
	const ticks = 20 // of silentFor
	// silent counts ticks without a session: the time for which this process itself is stopped does not count.
	for silent := 0; silent <= ticks; silent++ {
		select {
		case <-g.ctx.Done():
			return
		case <-time.After(silentFor / ticks):
		}
		if g.admin.State() == zk.StateHasSession {
			silent = 0
		}
	}
	g.end(i18n.Errorf("no server has answered for %v: %v", silentFor, g.zoo))
}

// meet waits until this process is in a line-up, and returns the node to work under.
func (g *group) meet() (run string, err error) {
	host, _ := os.Hostname() // part of the node's name, for people
	for g.me.node == "" {
		if err := create(g.admin, g.parent, madeHere); err != nil {
			return "", i18n.Errorf("-path: create %s: %w", g.parent, err)
		}
		node, err := g.admin.Create(fmt.Sprintf("%s/process-%s:%d-", g.parent, host, os.Getpid()), g.data(),
			zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			continue // a process that left has just removed the empty parent
		}
		if err != nil {
			return "", err
		}
		g.me.node = strings.TrimPrefix(node, g.parent+"/")
	}
	for {
		names, _, changed, err := g.admin.ChildrenW(g.parent)
		if err != nil {
			return "", err
		}
		var waits i18n.Text
		if g.me.LineUp, waits, err = chooseLineUp(g.me, g.processes(names), g.Processes); err != nil {
			return "", err
		}
		if g.me.LineUp != nil {
			return g.beginRun()
		}
		g.Say(waits)
		if err := g.awaitChange(changed); err != nil {
			return "", err
		}
	}
}

func (g *group) data() []byte {
	data, _ := json.Marshal(g.me) // of strings alone
	return data
}

// processes reads the nodes of the processes, in the order in which they came.
func (g *group) processes(names []string) (here []process) {
	for _, name := range names {
		p := process{node: name}
		if data, _, err := g.admin.Get(g.parent + "/" + name); err == nil && json.Unmarshal(data, &p) == nil {
			here = append(here, p)
		}
	}
	slices.SortFunc(here, func(a, b process) int { return cmp.Compare(a.number(), b.number()) })
	return here
}

// chooseLineUp returns the line-up of count processes that this one is in. If there is none yet, lineUp is nil and
// waits says what the process waits for. here are all processes, in the order in which they came.
func chooseLineUp(me process, here []process, count int) (lineUp []string, waits i18n.Text, err error) {
	underWay := i18n.Text("a run of other processes is under way, waiting for its end")
	for _, p := range here {
		if slices.Contains(p.LineUp, me.node) {
			return p.LineUp, "", nil
		}
	}
	othersRun := slices.ContainsFunc(here, func(p process) bool { return p.LineUp != nil })
	if othersRun || len(here) == 0 { // without our own node our session has ended, which the watch will report
		return nil, underWay, nil
	}

	if first := here[0]; first.Flags != me.Flags {
		return nil, "", i18n.Errorf("the flags are %s here and %s in %s, which came first: start all with the same "+
			"flags", me.Flags, first.Flags, first.node)
	}
	// A process with other flags than the first is about to end.
	alike := slices.DeleteFunc(slices.Clone(here), func(p process) bool { return p.Flags != me.Flags })
	if len(alike) < count {
		return nil, i18n.Textf("waiting, %d of %d processes are there", len(alike), count), nil
	}
	for _, p := range alike[:count] {
		lineUp = append(lineUp, p.node)
	}
	if !slices.Contains(lineUp, me.node) {
		return nil, underWay, nil
	}
	return lineUp, "", nil
}

// beginRun makes the node to work under, writes the line-up into this process's node, and watches the others.
func (g *group) beginRun() (run string, err error) {
	first := g.me.LineUp[0]
	run = "run-" + process{node: first}.number()
	names, _, err := g.admin.Children(g.parent)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		// The first of the line-up removes what processes that were killed have left: no other line-up is under way.
		if first == g.me.node && strings.HasPrefix(name, "run-") && name != run {
			if err := g.remove(g.parent + "/" + name); err != nil {
				return "", err
			}
		}
	}
	run = g.parent + "/" + run
	if err := create(g.admin, run, ""); err != nil {
		return "", err
	}
	if _, err := g.admin.Set(g.parent+"/"+g.me.node, g.data(), -1); err != nil {
		return "", err
	}
	for _, node := range g.me.LineUp {
		go g.watchMember(node)
	}
	return run, nil
}

// watchMember ends the line-up when the process of a node leaves it.
func (g *group) watchMember(node string) {
	for {
		there, _, changed, err := g.admin.ExistsW(g.parent + "/" + node)
		if err == nil && there {
			err = g.awaitChange(changed)
		} else if err == nil {
			err = i18n.Errorf("%s has gone: it has failed or was ended, as its own terminal says, or has lost its connection to ZooKeeper", node)
		}
		if err != nil {
			g.end(err)
			return
		}
	}
}

// awaitChange waits for the event of a watch, or for the end of the line-up.
func (g *group) awaitChange(changed <-chan zk.Event) error {
	select {
	case event := <-changed:
		if event.Err != nil {
			return i18n.Errorf("our session has ended: %w", event.Err)
		}
		return nil
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// awaitAll waits until all processes of the line-up have come to the node.
func (g *group) awaitAll(node string) error {
	if err := create(g.admin, node+"/"+g.me.node, ""); err != nil {
		return err
	}
	for {
		names, _, changed, err := g.admin.ChildrenW(node)
		if err != nil || len(names) == g.Processes {
			return err
		}
		if err := g.awaitChange(changed); err != nil {
			// At the end of a run another process may see that all have come, and leave, before this one looks.
			if names, _, lookErr := g.admin.Children(node); lookErr == nil && len(names) == g.Processes {
				return nil
			}
			return err
		}
	}
}

// leave removes the node of this process and, if no other process uses them, the nodes of the locks and the parent.
func (g *group) leave() error {
	g.end(nil)
	if g.me.node != "" {
		if err := ignoreNoNode(g.admin.Delete(g.parent+"/"+g.me.node, -1)); err != nil {
			return err
		}
	}
	// The list is read after the own node has gone: of two that leave at the same time, one at least sees that it is last.
	names, _, err := g.admin.Children(g.parent)
	othersRun := slices.ContainsFunc(g.me.LineUp, func(node string) bool { return slices.Contains(names, node) })
	lastToLeave := g.me.LineUp != nil && !othersRun
	if err = ignoreNoNode(err); err == nil && lastToLeave {
		err = g.remove(g.root)
	}
	return cmp.Or(err, removeEmpty(g.admin, g.parent))
}

// A tally is the counter of a run of several processes, kept in a znode.
type tally struct {
	*group
	dir       string
	conflicts atomic.Int64 // writes that met another version than they had read
}

// begin makes the counter of a run, and waits until all processes are ready.
func (g *group) begin(dir string) (*tally, error) {
	for node, data := range map[string]string{"/count": "0", "/start": "", "/end": ""} {
		if err := create(g.admin, dir+node, data); err != nil {
			return nil, err
		}
	}
	return &tally{group: g, dir: dir}, g.awaitAll(dir + "/start")
}

// add adds one to the counter. conn is that of the holder's lock: it has seen the last release, and all writes before.
func (t *tally) add(conn *zk.Conn) error {
	data, stat, err := conn.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	_, err = conn.Set(t.dir+"/count", []byte(strconv.Itoa(n+1)), stat.Version)
	if errors.Is(err, zk.ErrBadVersion) {
		t.conflicts.Add(1)
		return nil // finish reports it, after all processes have counted
	}
	return err
}

// finish waits until all processes are through, and fills in the total.
func (t *tally) finish(r *report.Run) error {
	if err := t.awaitAll(t.dir + "/end"); err != nil {
		return err
	}
	data, _, err := t.admin.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	if r.Total, err = strconv.Atoi(string(data)); err != nil {
		return err
	}
	r.Requests -= int64(2 * r.Count) // a get and a set of the counter at each hold are not the lock's
	r.Kinds["get"] -= int64(r.Count)
	delete(r.Kinds, jute.OpSetData.String())
	if want := r.Goroutines * r.Times * r.Processes; r.Total != want {
		return i18n.Errorf("the total is %d, not %d, and %d writes of the counter met a bad version: %w", r.Total, want,
			t.conflicts.Load(), errTwoProcesses)
	}
	return nil
}
