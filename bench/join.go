package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/jute"
)

// With -join several processes contend for the same locks. All that they
// share is ZooKeeper; below -path they use
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

// joinTimeout is the session timeout with -join. Until it is over a process
// that was killed counts as present.
var joinTimeout = 10 * time.Second

// silence is how long a process waits for a silent server.
var silence = 10 * time.Second

const (
	maxProcs      = 100
	processPrefix = "process-"
	// madeHere is the data of the nodes around the line-ups. The process that
	// leaves such a node empty removes it.
	madeHere = "made by bench -join"
)

var (
	errSilent     = errors.New("no server has answered")
	errTwoHolders = errors.New("two held the lock at once")
)

// A party is this process as one of those that take part.
type party struct {
	b    *benchmark
	hall string // where the processes meet
	node string // ours there, "" before it is made
	me   process
	ctx  context.Context // ends, and has the cause, when the line-up cannot go on
	end  context.CancelCauseFunc
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

// join waits until enough processes are there. leave must be called, also
// after an error.
func (b *benchmark) join(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	p := &party{b: b, hall: b.cfg.path + "/join"}
	p.me = process{Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Flags: b.cfg.shared()}
	p.ctx, p.end = context.WithCancelCause(ctx)
	b.party, b.root = p, p.hall
	go p.watchConnection()
	err = p.enter()
	if err == nil {
		err = p.lineUp()
	}
	if err == nil {
		b.root = p.me.LineUp.Run
		p.watchOthers()
	}
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return b.because(err)
}

// sessionTimeout is what to ask of the server.
func (b *benchmark) sessionTimeout() time.Duration {
	if b.cfg.join {
		return joinTimeout
	}
	return usualTimeout
}

// shared are the flags in which all processes must agree.
func (cfg config) shared() [][2]string {
	var locks, sizes []string
	for _, c := range cfg.locks {
		locks = append(locks, c.name)
	}
	for _, l := range cfg.loads {
		sizes = append(sizes, strconv.Itoa(l.n))
	}
	return [][2]string{
		{"-procs", strconv.Itoa(cfg.procs)},
		{"-locks", strings.Join(locks, ",")},
		{"-n", strings.Join(sizes, ",")},
		{"-sessions", strconv.Itoa(cfg.loads[0].sessions)},
		{"-closed", strconv.Itoa(cfg.loads[0].times)},
		{"-rounds", strconv.Itoa(cfg.rounds)},
	}
}

// because returns why the line-up has ended, where that is the reason for err.
func (b *benchmark) because(err error) error {
	if err == nil || b.party == nil || errors.Is(err, errTwoHolders) || errors.Is(err, errTwoGoroutines) || errors.Is(err, errInterrupted) {
		return err
	}
	if cause := context.Cause(b.party.ctx); cause != nil {
		return cause
	}
	return err
}

// watchConnection ends the line-up when no server answers: a contender that
// waits for an event would not hear of that from the client.
func (p *party) watchConnection() {
	tick := time.NewTicker(silence / 20)
	defer tick.Stop()
	answered := time.Now()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-tick.C:
			if p.b.admin.State() == zk.StateHasSession {
				answered = now
			} else if now.Sub(answered) > silence {
				p.end(fmt.Errorf("%w for %v: %v", errSilent, silence, p.b.zoo))
			}
		}
	}
}

// create makes a node, and all above it, unless they are there.
func (p *party) create(node, data string) error {
	_, err := p.b.admin.Create(node, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		if err = p.create(path.Dir(node), madeHere); err == nil {
			return p.create(node, data)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// enter makes our node.
func (p *party) enter() error {
	data, err := json.Marshal(p.me)
	if err != nil {
		return err
	}
	for {
		err := p.create(p.hall, madeHere)
		if err == nil {
			p.node, err = p.b.admin.Create(p.hall+"/"+processPrefix, data,
				zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("-path: create %s: %w", p.hall, err)
		}
		if err == nil {
			return nil
		} // else a process that left has just removed the empty hall
	}
}

// arrived is a process- node as it was read.
type arrived struct {
	process
	node    string
	version int32
}

// lineUp waits until this process is in a line-up. The first process makes it.
func (p *party) lineUp() error {
	said := ""
	for {
		// A line-up comes with a new node in the hall, so this tells of it, too.
		names, _, changed, err := p.b.admin.ChildrenW(p.hall)
		if err != nil {
			return err
		}
		here, err := p.look(names)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(here, func(a arrived) bool { return a.node == p.node })
		if i < 0 {
			return fmt.Errorf("%s has gone, most likely with our session: %w", p.node, zk.ErrNoNode)
		}
		if p.me = here[i].process; p.me.LineUp != nil {
			return nil
		}
		var text string
		if slices.ContainsFunc(here, func(a arrived) bool { return a.LineUp != nil }) {
			text = fmt.Sprintf("a run of other processes is under way at %s, waiting for its end", p.hall)
		} else {
			if err := differ(p.me, here[0].process); err != nil {
				return err
			}
			// A process with other flags is about to notice that.
			alike := slices.DeleteFunc(here, func(a arrived) bool { return differ(p.me, a.process) != nil })
			if i == 0 && len(alike) >= p.b.cfg.procs {
				if err := p.lead(names, alike[:p.b.cfg.procs]); err != nil {
					return err
				}
				continue
			}
			text = fmt.Sprintf("waiting at %s, %d of %d processes are there", p.hall, len(alike), p.b.cfg.procs)
		}
		if text != said {
			p.b.progress.say(text)
			said = text
		}
		if err := p.await(changed); err != nil {
			return err
		}
	}
}

// look reads the nodes of the processes, in their order.
func (p *party) look(names []string) ([]arrived, error) {
	var here []arrived
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, processPrefix) {
			continue
		}
		a := arrived{node: p.hall + "/" + name}
		data, stat, err := p.b.admin.Get(a.node)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &a.process)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.node, err)
		}
		a.version = stat.Version
		here = append(here, a)
	}
	return here, nil
}

func differ(me, first process) error {
	for i, flag := range me.Flags {
		if i >= len(first.Flags) || first.Flags[i][0] != flag[0] {
			return fmt.Errorf("process %s is another version of bench: use the same one everywhere", first.Name)
		}
		if other := first.Flags[i][1]; other != flag[1] {
			return fmt.Errorf("%s is %s here and %s in process %s, which came first: start all with the same flags",
				flag[0], flag[1], other, first.Name)
		}
	}
	return nil
}

// lead makes a line-up, unless one of its members has just gone.
func (p *party) lead(names []string, chosen []arrived) error {
	for _, name := range names {
		if !strings.HasPrefix(name, processPrefix) { // of processes that were killed
			if err := p.b.remove(p.hall + "/" + name); err != nil && !errors.Is(err, zk.ErrNotEmpty) {
				return err
			}
		}
	}
	l := &lineUp{Run: p.hall + "/run-" + rand.Text()[:8]}
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
	_, err := p.b.admin.Multi(ops...)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// await waits for a watch, or for the end of the line-up.
func (p *party) await(changed <-chan zk.Event) error {
	select {
	case event := <-changed:
		if event.Err != nil {
			return fmt.Errorf("our session has ended: %w", event.Err)
		}
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// watchOthers ends the line-up as soon as a process gives up or is gone.
func (p *party) watchOthers() {
	admin, run := p.b.admin, p.me.LineUp.Run
	watch := func(node string, until bool, ended func() error) {
		for {
			there, _, changed, err := admin.ExistsW(node)
			if err == nil && there == until {
				err = ended()
			} else if err == nil {
				err = p.await(changed)
			}
			if err != nil {
				p.end(err)
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
	for _, m := range p.me.LineUp.Members {
		go watch(p.hall+"/"+m.Node, false, func() error {
			if err := why(); !errors.Is(err, zk.ErrNoNode) {
				return err // it said so before it left
			}
			return fmt.Errorf("process %s has gone: it was killed, or has lost its connection to ZooKeeper", m.Name)
		})
	}
}

// barrier waits until all processes of the line-up have come to the node.
func (p *party) barrier(node string) error {
	if err := p.create(node+"/"+path.Base(p.node), ""); err != nil {
		return err
	}
	for {
		names, _, changed, err := p.b.admin.ChildrenW(node)
		if err != nil || len(names) == p.b.cfg.procs {
			return err
		}
		if err := p.await(changed); err != nil {
			// At the last barrier others may have come, seen that all are
			// there, and left, before we are told that they came.
			if names, _, lookErr := p.b.admin.Children(node); lookErr == nil && len(names) == p.b.cfg.procs {
				return nil
			}
			return err
		}
	}
}

// leave tells the others why it leaves, unless they know, and removes all nodes
// that no other process uses.
func (b *benchmark) leave(ctx context.Context, err error) error {
	p := b.party
	cause := context.Cause(p.ctx)
	p.end(nil)
	if errors.Is(cause, errSilent) {
		return err // no server is there for a clean-up; the next line-up does it
	}
	return errors.Join(err, b.bounded(func() error {
		if p.node != "" {
			// It can be that we are in a line-up and do not know it yet.
			if here, lookErr := p.look([]string{path.Base(p.node)}); lookErr == nil && len(here) == 1 {
				p.me = here[0].process
			}
			if err != nil && p.me.LineUp != nil && (cause == nil || ctx.Err() != nil) {
				text := fmt.Sprintf("process %s has given up: %v", p.me.Name, err)
				if err := p.create(p.me.LineUp.Run+"/why", text); err != nil {
					return err
				}
			}
			if err := b.admin.Delete(p.node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
		if p.me.LineUp != nil {
			// After our own node has gone: so of two that leave at the same
			// time, one at least sees that it is the last.
			names, _, err := b.admin.Children(p.hall)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			for _, m := range p.me.LineUp.Members {
				if slices.Contains(names, m.Node) {
					return nil
				}
			}
			if err := b.remove(p.me.LineUp.Run); err != nil {
				return err
			}
		}
		return p.closeHall()
	}))
}

// closeHall removes the hall and the nodes above it that were made for it,
// as far as they are empty.
func (p *party) closeHall() error {
	for node := p.hall; node != "/"; node = path.Dir(node) {
		data, _, err := p.b.admin.Get(node)
		if err == nil && string(data) == madeHere {
			err = p.b.admin.Delete(node, -1)
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

// dir is the node of a run. Each process warms up on its own.
func (p *party) dir(c contestant, n, round int) string {
	if round == 0 {
		return fmt.Sprintf("%s/warmup-%s-%d", p.b.root, path.Base(p.node), p.b.runs)
	}
	return fmt.Sprintf("%s/%s-%d-%d", p.b.root, c.nodeName(), n, round)
}

// A tally is the counter of a run, kept in a znode. The nil tally is that of a
// process alone, and counts nothing.
type tally struct {
	p   *party
	dir string
	bad atomic.Int64 // writes that met another version than they had read
}

// begin makes the counter of a run, and waits until all processes are ready.
func (b *benchmark) begin(dir string, round int) (*tally, error) {
	if b.party == nil || round == 0 {
		return nil, nil
	}
	for node, data := range map[string]string{"/count": "0", "/start": "", "/end": ""} {
		if err := b.party.create(dir+node, data); err != nil {
			return nil, err
		}
	}
	return &tally{p: b.party, dir: dir}, b.party.barrier(dir + "/start")
}

// add is called by the holder, with the connection by which it holds the lock:
// that connection has seen the release before, and so all writes before it,
// even if its server is behind the others.
func (t *tally) add(conn *zk.Conn) error {
	if t == nil {
		meet()
		return nil
	}
	data, stat, err := conn.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	meet()
	_, err = conn.Set(t.dir+"/count", []byte(strconv.Itoa(n+1)), stat.Version)
	if errors.Is(err, zk.ErrBadVersion) {
		t.bad.Add(1)
		return nil // finish reports it; the others are still to count, and to find out
	}
	return err
}

// finish waits until all processes are through, and fills in the total.
func (t *tally) finish(r *result) error {
	if t == nil {
		r.Total = r.Count
		return nil
	}
	if err := t.p.barrier(t.dir + "/end"); err != nil {
		return err
	}
	data, _, err := t.p.b.admin.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	if r.Total, err = strconv.Atoi(string(data)); err != nil {
		return err
	}
	r.Requests -= int64(2 * r.Count) // those of the counter are not the lock's
	r.Kinds["get"] -= int64(r.Count)
	delete(r.Kinds, jute.OpSetData.String())
	if bad := t.bad.Load(); bad > 0 {
		return fmt.Errorf("%d of %d writes of the counter met a bad version, the total is %d: %w",
			bad, r.Count, r.Total, errTwoHolders)
	}
	if want := r.Goroutines * r.Times * r.Processes; r.Total != want {
		return fmt.Errorf("the total is %d, not %d: %w", r.Total, want, errTwoHolders)
	}
	return nil
}
