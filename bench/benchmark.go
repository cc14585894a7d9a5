package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/group"
	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/language"
)

type benchmark struct {
	cfg      config
	zoo      *ensemble.Ensemble
	progress *progress
	admin    *zk.Conn     // makes and removes the nodes around the locks
	root     string       // the parent of all nodes of this benchmark
	runs     atomic.Int64 // so far: each has a path of its own
	results  []report.Run
	stdout   *stdoutWriter // nil: nothing is printed
	live     *report.Live  // nil: only the table is printed
	facts    report.Facts
	stopped  map[string]int    // by lock: the number of goroutines with which a run reached the limit
	group    *group.Group      // nil without -join
	players  map[string]player // of the locks, by name
}

// connectTimeout is the time that a server that answered once may take to open a
// session.
const connectTimeout = time.Minute

// within is the ctx to open a session. In a test of the benchmark it can have ended.
var within = context.WithTimeout

const cleanTimeout = 30 * time.Second

// usualTimeout is the session timeout that the benchmark asks for.
const usualTimeout = 30 * time.Second

// returnTimeout is the time that a contender may take to return from Lock or Unlock
// after its session has ended.
var returnTimeout = 30 * time.Second

// meet is called by the holder of the lock. In a test of the benchmark two
// holders can wait for each other here.
var meet = func() {}

var (
	errInterrupted   = language.Errorf("interrupted", "已中断")
	errTwoGoroutines = language.Errorf("two goroutines held the lock at once", "两个 goroutine 同时持有过锁")
)

// An errStopped is the end of a run that reached the limit.
type errStopped struct {
	limit time.Duration
}

func (e errStopped) Error() string { return e.Unwrap().Error() }
func (e errStopped) Unwrap() error {
	return language.Errorf("stopped after %v", "%v 后停止", e.limit)
}

// An errCannotRun says what a contestant lacks.
type errCannotRun struct{ why error }

func (e errCannotRun) Error() string { return e.Unwrap().Error() }
func (e errCannotRun) Unwrap() error {
	return language.Errorf("cannot run: %w", "无法运行：%v", e.why)
}

// runAll tries every lock, then runs it with every number of goroutines, the
// locks taking turns. It stops at the first run that fails.
func (b *benchmark) runAll(ctx context.Context) (err error) {
	connectCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	options := ensemble.Options{SessionTimeout: b.sessionTimeout()}
	if b.admin, err = b.zoo.Connect(connectCtx, options); err != nil {
		return err
	}
	defer b.admin.Close()
	if b.cfg.join {
		defer func() { err = b.group.Leave(err, ctx.Err() != nil, b.bounded) }()
		if err := b.join(ctx); err != nil {
			return err
		}
	} else {
		b.root = b.cfg.path + "/" + rand.Text()[:8] // its own, should two benchmarks run at once
		if err := group.Create(b.admin, b.root, ""); err != nil {
			return language.Errorf("-path: create %s: %w", "-path：创建 %s：%v", b.root, err)
		}
		defer func() { err = errors.Join(err, b.clean()) }()
	}
	b.facts = report.GatherFacts(ctx, b.zoo)
	b.facts.Command = b.cfg.settings().Command()
	b.stopped = make(map[string]int)
	if err := b.tryAll(ctx); err != nil {
		return err
	}
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	for _, j := range b.cfg.jobs() {
		if b.stdout != nil && b.stdout.err != nil && !b.cfg.writesFiles() {
			return b.stdout.err // nobody would see the rest
		}
		if at, ok := b.stopped[j.name]; !ok || j.n < at {
			b.announce(ctx, j)
		}
		if err := b.runRound(ctx, j); err != nil {
			if !errors.Is(err, errInterrupted) {
				b.notRun(j.contestant, j.load)
			}
			return err
		}
	}
	return nil
}

// openPlayers opens the servers of the locks.
func (b *benchmark) openPlayers(ctx context.Context) error {
	b.players = make(map[string]player)
	for _, c := range b.cfg.locks {
		p, err := c.open(ctx, b, c)
		if err != nil {
			return errors.Join(err, b.closePlayers())
		}
		b.players[c.name] = p
	}
	return nil
}

func (b *benchmark) closePlayers() (err error) {
	for _, c := range b.cfg.locks {
		if p := b.players[c.name]; p != nil {
			err = cmp.Or(err, p.close())
		}
	}
	return err
}

// add keeps a result, and shows it.
func (b *benchmark) add(r report.Run) {
	b.results = append(b.results, r)
	if b.live != nil && r.Status != report.StatusNotRun {
		b.progress.finish()
		b.live.Run(r)
	}
}

// sort puts the results into the order of -n and -locks, in which the tables have them.
func (b *benchmark) sort() {
	place := func(r report.Run) int {
		lock := slices.IndexFunc(b.cfg.locks, func(c contestant) bool { return c.name == r.Lock })
		return slices.IndexFunc(b.cfg.loads, func(l load) bool { return l.of(r) })*len(b.cfg.locks) + lock
	}
	slices.SortStableFunc(b.results, func(x, y report.Run) int { return cmp.Compare(place(x), place(y)) })
}

// announce says how long a run will take that sends far more requests than others. It
// lets a quarter of the contenders run for that.
func (b *benchmark) announce(ctx context.Context, j job) {
	if b.live == nil || j.heavy(j.n) == 0 || j.round > 1 || b.group != nil {
		return
	}
	const part = 4
	quarter := load{n: j.n / part, sessions: min(j.sessions, j.n/part), times: 1}
	r := b.newResult(j.contestant, quarter, 0)
	if err := b.players[j.name].run(ctx, &r, func() {}); err != nil {
		return // the run itself will say so
	}
	about := time.Duration(float64(r.Elapsed) * math.Pow(part, j.formula.growth))
	unit := time.Second
	if about > 20*time.Second {
		unit = 5 * time.Second
	}
	text := language.Say("about %d s", "大约 %d s", int(max(about.Round(unit), unit).Seconds()))
	if b.cfg.limit > 0 && about > b.cfg.limit {
		text = language.Say("it will most likely reach the -limit of %v", "很可能会达到 -limit 的 %v", b.cfg.limit)
	}
	b.progress.finish()
	b.live.Say(language.Say("%s, %s: %s …", "%s，%s：%s……", j.name, j.load.text(), text))
}

// notRun adds a row for each lock and load that has none, because a lock failed.
func (b *benchmark) notRun(failed contestant, with load) {
	why := language.Say("not run: %s with %d failed", "没有运行：%s 有 %d 个竞争者时失败", failed.name, with.n)
	for _, l := range b.cfg.loads {
		for _, c := range b.cfg.locks {
			if !slices.ContainsFunc(b.results, func(r report.Run) bool { return r.Lock == c.name && l.of(r) }) {
				r := b.newResult(c, l, 1)
				r.Ends(report.StatusNotRun, why)
				b.add(r)
			}
		}
	}
}

// runRound runs one lock and keeps the result, unless the lock has reached the
// limit with as many goroutines or fewer.
func (b *benchmark) runRound(ctx context.Context, j job) error {
	c, l, n, round := j.contestant, j.load, j.n, j.round
	b.progress.start(j)
	if at, ok := b.stopped[c.name]; ok && n >= at {
		if n > at && round == 1 {
			r := b.newResult(c, l, round)
			r.Ends(report.StatusSkipped, language.Say("skipped: stopped after %v with %d", "略过：有 %[2]d 个竞争者时，已在 %[1]v 后停止", b.cfg.limit, at))
			b.add(r)
		}
		return nil
	}
	r := b.newResult(c, l, round)
	err := b.players[c.name].run(ctx, &r, b.progress.step)
	if ctx.Err() != nil {
		return errInterrupted // half a run is not a result
	}
	r.Status = report.StatusOK
	if err != nil {
		r.Ends(report.StatusFailed, language.TextOf(err))
	}
	switch {
	case errors.As(err, new(errStopped)) && b.group == nil: // with one, the others would wait for this process
		b.stopped[c.name] = n
		r.Ends(report.StatusStopped, language.Say("%v, at %d of %d", "%v，计数到 %d，应到 %d", err, r.Count, l.count()))
		err = nil
	case errors.As(err, new(errCannotRun)):
		r.Status = report.StatusNone
		if round > 1 {
			return nil
		}
		err = nil
	}
	b.add(r)
	if err != nil {
		return language.Errorf("%s with %s on %s: %w", "%s，%s，在 %s 上：%v", c.name, l.text(), r.Server, err)
	}
	return nil
}

func (b *benchmark) newResult(c contestant, l load, round int) report.Run {
	r := report.Run{
		Lock: c.name, Server: b.players[c.name].String(), Goroutines: l.n, Sessions: l.sessions, Times: l.times, Round: round,
		Processes: b.cfg.procs, RTT: b.cfg.rtt, Client: report.GoClient(), Facts: b.facts, About: c.about(), Aside: l.aside,
	}
	if c.system == "" {
		r.Where = b.zoo.Says()
	}
	if b.group == nil && l.times == 1 {
		r.Predicted = c.formula.predict(l.n)
	}
	return r
}

// warmUp runs the locks unmeasured, taking turns.
func (b *benchmark) warmUp(ctx context.Context) error {
	if b.cfg.warmup == 0 {
		return nil
	}
	said := false
	for until := time.Now().Add(b.cfg.warmup); time.Now().Before(until); {
		some := false
		for _, c := range b.cfg.locks {
			if !said && c.system == "" && !b.zoo.Embedded() {
				b.progress.say(language.Say("warming up for %v", "预热 %v", b.cfg.warmup))
				said = true
			}
			warmed, err := b.players[c.name].warm(ctx, b.newResult(c, b.cfg.loads[0], 0))
			if ctx.Err() != nil {
				return errInterrupted
			}
			if err != nil && !errors.As(err, new(errStopped)) {
				return language.Errorf("%s, warming up on %v: %w", "%s，在 %v 上预热：%v", c.name, b.zoo, err)
			}
			some = some || warmed
		}
		if !some {
			return nil
		}
	}
	return nil
}

// guarded calls a function of the lock under test. A panic becomes an error
// that says where it was.
func guarded(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = language.Errorf("%s panicked: %v%s", "%s panic：%v%s", name, p, panicPlace())
		}
	}()
	return f()
}

// panicPlace returns the line that panicked. It is called by the function
// that recovers.
func panicPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for f, more := frames.Next(); more; f, more = frames.Next() {
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !inRuntime {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || inRuntime
	}
	return ""
}

// sleep returns false if ctx ends first. In a test of the benchmark half a
// limit can last until something has happened.
var sleep = func(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// freshPath makes a node for one run, and returns it and the path of the lock
// in it.
func (b *benchmark) freshPath(c contestant, n, round int) (dir, lockPath string, err error) {
	run := int(b.runs.Add(1))
	dir = fmt.Sprintf("%s/%d-%s", b.root, run, c.nodeName())
	if b.group != nil {
		if dir = b.group.Dir(c.nodeName(), n, round); round == 0 {
			dir = b.group.WarmUp(run)
		}
	}
	lockPath = dir + "/lock"
	made := dir
	if c.queue {
		made = lockPath
	}
	return dir, lockPath, group.Create(b.admin, made, "")
}

// clean removes all that was made. Nodes above the root stay if they have
// other children by then.
func (b *benchmark) clean() error {
	return b.bounded(func() error {
		if err := b.remove(b.root); err != nil {
			return err
		}
		return group.RemoveEmpty(b.admin, path.Dir(b.root))
	})
}

// bounded runs a clean-up. It returns in time if the server is silent.
func (b *benchmark) bounded(cleanUp func() error) error {
	done := make(chan error, 1)
	go func() { done <- cleanUp() }()
	select {
	case err := <-done:
		if err != nil {
			return language.Errorf("left behind: %s: %w", "残留节点：%s：%v", b.root, err)
		}
		return nil
	case <-time.After(cleanTimeout):
		return language.Errorf("left behind: %s: no answer from %v within %v", "残留节点：%s：%v 在 %v 内没有响应", b.root, b.zoo, cleanTimeout)
	}
}

func (b *benchmark) remove(p string) error {
	children, _, err := b.admin.Children(p)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	// All at once, because a JVM that was stopped may have left thousands.
	errs := make([]error, len(children))
	var wg sync.WaitGroup
	for i, child := range children {
		wg.Go(func() { errs[i] = b.remove(p + "/" + child) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	if err := b.admin.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}
