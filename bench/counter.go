package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/zklock/bench/internal/group"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
)

type benchmark struct {
	cfg      config
	zoo      *ensemble.Ensemble
	progress *progress
	admin    *zk.Conn // makes and removes the nodes around the locks
	root     string   // the parent of all nodes of this benchmark
	runs     int      // so far: each has a path of its own
	results  []report.Run
	facts    report.Facts
	stopped  map[string]int // by lock: the number of goroutines with which a run reached the limit
	curator  *jvm           // nil: none runs
	group    *group.Group   // nil without -join
	arenas   map[string]arena
}

// connectTimeout is the time that a server that answered once may take to open a
// session.
const connectTimeout = 30 * time.Second

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
	errInterrupted   = errors.New("interrupted")
	errTwoGoroutines = errors.New("two goroutines held the lock at once")
)

// An errStopped is the end of a run that reached the limit.
type errStopped struct {
	limit time.Duration
}

func (e errStopped) Error() string { return fmt.Sprintf("stopped after %v", e.limit) }

// An errCannotRun says what a contestant lacks.
type errCannotRun struct{ why error }

func (e errCannotRun) Error() string { return "cannot run: " + e.why.Error() }

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
			return fmt.Errorf("-path: create %s: %w", b.root, err)
		}
		defer func() { err = errors.Join(err, b.clean()) }()
	}
	b.facts = report.GatherFacts(ctx, b.zoo)
	b.facts.Command = b.cfg.settings().Command()
	b.stopped = make(map[string]int)
	defer b.endCurator()
	if err := b.tryAll(ctx); err != nil {
		return err
	}
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	jobs := b.cfg.jobs()
	for i, j := range jobs {
		if i > 0 && j.load != jobs[i-1].load {
			b.endCurator()
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

// notRun adds a row for each lock and load that has none, because a lock failed.
func (b *benchmark) notRun(failed contestant, with load) {
	why := fmt.Sprintf("not run: %s with %d failed", failed.name, with.n)
	for _, l := range b.cfg.loads {
		for _, c := range b.cfg.locks {
			if !slices.ContainsFunc(b.results, func(r report.Run) bool { return r.Lock == c.name && l.of(r) }) {
				r := b.newResult(c, l, 1)
				r.Status, r.Error = report.StatusNotRun, why
				b.results = append(b.results, r)
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
			r.Status, r.Error = report.StatusSkipped, fmt.Sprintf("skipped: stopped after %v with %d", b.cfg.limit, at)
			b.results = append(b.results, r)
		}
		return nil
	}
	r, err := b.runOne(ctx, c, l, round, b.progress.step)
	if ctx.Err() != nil {
		return errInterrupted // half a run is not a result
	}
	r.Status = report.StatusOK
	if err != nil {
		r.Status, r.Error = report.StatusFailed, err.Error()
	}
	switch {
	case errors.As(err, new(errStopped)) && b.group == nil: // with one, the others would wait for this process
		b.stopped[c.name] = n
		r.Status, r.Error = report.StatusStopped, fmt.Sprintf("%v, at %d of %d", err, r.Count, l.count())
		err = nil
	case errors.As(err, new(errCannotRun)):
		r.Status = report.StatusNone
		if round > 1 {
			return nil
		}
		err = nil
	}
	b.results = append(b.results, r)
	if err != nil {
		return fmt.Errorf("%s with %v on %s: %w", c.name, l, r.Server, err)
	}
	return nil
}

func (b *benchmark) newResult(c contestant, l load, round int) report.Run {
	r := report.Run{
		Lock: c.name, Server: b.serverOf(c), Goroutines: l.n, Sessions: l.sessions, Times: l.times, Round: round,
		Processes: b.cfg.procs, RTT: b.cfg.rtt, Client: report.GoClient(), Facts: b.facts, About: c.about(), Aside: l.aside,
	}
	if b.group == nil && l.times == 1 {
		r.Predicted = c.formula.predict(l.n)
	}
	return r
}

// warmUp runs the locks unmeasured, so that the first one to be measured does
// not pay for a server that has just started: a JVM is slow until it has
// compiled what it does often. The embedded server does not need it.
func (b *benchmark) warmUp(ctx context.Context) error {
	locks := slices.DeleteFunc(slices.Clone(b.cfg.locks), func(c contestant) bool {
		return c.java || c.other != nil // Curator warms up in its own way
	})
	if b.zoo.Embedded() || b.cfg.warmup == 0 || len(locks) == 0 {
		return nil
	}
	b.progress.say(fmt.Sprintf("warming up for %v", b.cfg.warmup))
	for until := time.Now().Add(b.cfg.warmup); time.Now().Before(until); {
		for _, c := range locks {
			l := b.cfg.loads[0]
			l.n, l.times = max(l.sessions, min(100, l.n)), 1
			_, err := b.runOne(ctx, c, l, 0, func() {})
			if ctx.Err() != nil {
				return errInterrupted
			}
			if err != nil && !errors.As(err, new(errStopped)) {
				return fmt.Errorf("%s, warming up on %v: %w", c.name, b.zoo, err)
			}
		}
	}
	return nil
}

// runOne is article A's main: N contenders, one counter.
func (b *benchmark) runOne(ctx context.Context, c contestant, l load, round int, step func()) (report.Run, error) {
	r := b.newResult(c, l, round)
	switch {
	case c.java:
		return b.runCurator(ctx, c, r, step)
	case c.other != nil:
		return b.runOther(ctx, c, r, step)
	}
	return b.runLock(ctx, c, l, r, step)
}

// runLock is runOne for a lock on ZooKeeper that is used from Go.
func (b *benchmark) runLock(ctx context.Context, c contestant, l load, r report.Run, step func()) (_ report.Run, err error) {
	n, round := l.n, r.Round
	if p := b.group; p != nil {
		ctx = p.Context()
		defer func() { err = b.because(err) }()
	}
	dir, lockPath, err := b.freshPath(c, n, round)
	if err != nil {
		return r, err
	}
	tap := wiretap.New()
	conns, err := b.connect(ctx, tap, l.sessions, n, b.cfg.rtt)
	defer closeAll(conns)
	if err != nil {
		return r, err
	}
	// Only the end of its session makes a contender leave Lock. That is needed
	// at Ctrl-C, and when a contender fails: the others may wait for it.
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	defer context.AfterFunc(ctx, func() {
		closeAll(conns)
		tap.Cut() // a silent server would keep the clients for their whole read deadline
	})()

	counter, err := b.counter(dir, round)
	if err != nil {
		return r, err
	}
	lockers, err := makeContenders(c, n, tap, conns, lockPath)
	if err != nil {
		return r, err
	}
	var sessions []int64 // a client that loses its session gets another one
	for _, conn := range conns {
		sessions = append(sessions, conn.SessionID())
	}
	var before wiretap.Counts
	o, err := race{
		contenders: n, times: l.times, limit: b.cfg.limit, step: step,
		lock:    func(_ context.Context, i int) error { return lockers[i].Lock() },
		unlock:  func(_ context.Context, i int) error { return lockers[i].Unlock() },
		work:    func(i int) error { return counter.Add(conns[i%len(conns)], meet) },
		names:   func(i int, err error) error { return fmt.Errorf("session %#x: %w", sessions[i%len(sessions)], err) },
		expires: true,
		sent:    func() int64 { return tap.Counts().Total() },
		begins:  func() { before = tap.Counts() },
		ended:   "all sessions ended",
	}.run(ctx, abort)
	if err != nil {
		r.Count = o.holds()
		return r, err
	}
	r.Elapsed, r.Count = o.elapsed, o.num
	r.Used(tap.Counts().Since(before))
	failed := o.failed()
	if failed == nil {
		failed = counter.Finish(&r)
	}
	if err := o.verdict(failed); err != nil {
		return r, err
	}
	r.Fared(o.turns)
	return r, waitForAll(lockers)
}

// counter is what the processes count in together; nil for one that is alone, or
// warms up.
func (b *benchmark) counter(dir string, round int) (*group.Tally, error) {
	if round == 0 {
		return nil, nil
	}
	return b.group.Begin(dir)
}

// makeContenders makes n contenders that share the connections.
func makeContenders(c contestant, n int, tap *wiretap.Tap, conns []*zk.Conn, lockPath string) (lockers []locker, err error) {
	err = guarded("New", func() error {
		newContender := c.contenders(setting{n, func(conn *zk.Conn) time.Duration { return tap.SessionTimeout(conn.SessionID()) }})
		for i := range n {
			lockers = append(lockers, newContender(conns[i%len(conns)], lockPath))
		}
		return nil
	})
	return lockers, err
}

// guarded calls a function of the lock under test. A panic becomes an error
// that says where it was.
func guarded(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v%s", name, p, panicPlace())
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

// waitForAll returns when no contender works on in the background.
func waitForAll(lockers []locker) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	for _, l := range lockers {
		if w, ok := l.(waiter); ok {
			if err := w.Wait(ctx); err != nil {
				return fmt.Errorf("Wait: %w", err)
			}
		}
	}
	return nil
}

// freshPath makes a node for one run, and returns it and the path of the lock
// in it.
func (b *benchmark) freshPath(c contestant, n, round int) (dir, lockPath string, err error) {
	b.runs++
	dir = fmt.Sprintf("%s/%d-%s", b.root, b.runs, c.nodeName())
	if b.group != nil {
		if dir = b.group.Dir(c.nodeName(), n, round); round == 0 {
			dir = b.group.WarmUp(b.runs)
		}
	}
	lockPath = dir + "/lock"
	made := dir
	if c.queue {
		made = lockPath
	}
	return dir, lockPath, group.Create(b.admin, made, "")
}

// nodeName is the name of the lock as part of a znode's name.
func (c contestant) nodeName() string { return strings.ReplaceAll(c.name, "/", "_") }

// connect opens the sessions that n contenders share, with the server a round
// trip away.
func (b *benchmark) connect(ctx context.Context, tap *wiretap.Tap, sessions, n int, rtt time.Duration) ([]*zk.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+time.Duration(sessions)*(10*time.Millisecond+2*rtt))
	defer cancel()
	options := ensemble.Options{Tap: tap, SessionTimeout: b.sessionTimeout()}
	if rtt > 0 {
		options.Wrap = func(nc net.Conn) net.Conn { return delayed(nc, rtt) }
	}
	if sessions > 1 {
		options.Buffer = 64<<10 + 80*n*b.cfg.procs // enough for a list of all names
	}
	var conns []*zk.Conn
	for range sessions {
		conn, err := b.zoo.Connect(ctx, options)
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func closeAll(conns []*zk.Conn) {
	var wg sync.WaitGroup
	for _, conn := range conns {
		wg.Go(conn.Close)
	}
	wg.Wait()
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
			return fmt.Errorf("left behind: %s: %w", b.root, err)
		}
		return nil
	case <-time.After(cleanTimeout):
		return fmt.Errorf("left behind: %s: no answer from %v within %v", b.root, b.zoo, cleanTimeout)
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
