package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
)

type benchmark struct {
	cfg      config
	zoo      *ensemble.Ensemble
	progress *progress
	admin    *zk.Conn // makes and removes the nodes around the locks
	root     string   // what this benchmark works under
	runs     int      // so far: each has a path of its own
	made     []string // nodes above root that were not there before
	results  []result
	facts    facts
	stopped  map[string]int // by lock: the number of goroutines that came to the limit
	curator  *jvm           // nil: none runs
	party    *party         // nil without -join
}

// connectTimeout is how long a server that answered once may take to open a
// session.
const connectTimeout = 10 * time.Second

const cleanTimeout = 5 * time.Second

// meet is called by who holds the lock. In a test of the benchmark two
// holders can wait for each other here.
var meet = func() {}

var errInterrupted = errors.New("interrupted")

// An errStopped is the end of a run that came to the limit.
type errStopped struct {
	limit time.Duration
}

func (e errStopped) Error() string { return fmt.Sprintf("stopped after %v", e.limit) }

// An errCannotRun says what a contestant lacks.
type errCannotRun struct{ error }

// runAll runs every lock with every number of goroutines, the locks taking
// turns. It stops at the first run that fails.
func (b *benchmark) runAll(ctx context.Context) (err error) {
	connectCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	options := ensemble.Options{SessionTimeout: b.sessionTimeout()}
	if b.admin, err = b.zoo.Connect(connectCtx, options); err != nil {
		return err
	}
	defer b.admin.Close()
	if b.cfg.join {
		defer func() { err = b.leave(ctx, err) }()
		if err := b.join(ctx); err != nil {
			return err
		}
	} else {
		b.root = b.cfg.path + "/" + rand.Text()[:8] // its own, should two benchmarks run at once
		if err := b.create(b.root, &b.made); err != nil {
			return fmt.Errorf("-path: create %s: %w", b.root, err)
		}
		defer func() { err = errors.Join(err, b.clean()) }()
	}
	b.facts = gatherFacts(ctx, b.zoo)
	b.stopped = make(map[string]int)
	defer b.endCurator()
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	for _, n := range b.cfg.sizes {
		for round := 1; round <= b.cfg.rounds; round++ {
			for _, c := range b.cfg.locks {
				if err := b.runRound(ctx, c, n, round); err != nil {
					return err
				}
			}
		}
		b.endCurator()
	}
	return nil
}

// runRound runs one lock, unless it is known that this leads nowhere, and
// keeps the result.
func (b *benchmark) runRound(ctx context.Context, c contestant, n, round int) error {
	b.progress.start(c.name, n, round)
	if at, ok := b.stopped[c.name]; ok && n >= at {
		if n > at && round == 1 {
			r := b.newResult(c, n, round)
			r.Status, r.Error = statusSkipped, fmt.Sprintf("skipped: stopped after %v with %d", b.cfg.limit, at)
			b.results = append(b.results, r)
		}
		return nil
	}
	r, err := b.runOne(ctx, c, n, round, b.progress.step)
	if ctx.Err() != nil {
		return errInterrupted // half a run is no result
	}
	r.Status = statusOK
	if err != nil {
		r.Status, r.Error = statusFailed, err.Error()
	}
	var cannot errCannotRun
	switch {
	case errors.As(err, new(errStopped)) && b.party == nil: // else the others would wait for us
		b.stopped[c.name] = n
		r.Status, r.Error = statusStopped, fmt.Sprintf("%v, at %d of %d", err, r.Count, n)
		err = nil
	case errors.As(err, &cannot):
		r.Status = statusNone
		if round > 1 {
			return nil
		}
		err = nil
	}
	b.results = append(b.results, r)
	if err != nil {
		return fmt.Errorf("%s with %d goroutines on %v: %w", c.name, n, b.zoo, err)
	}
	return nil
}

func (b *benchmark) newResult(c contestant, n, round int) result {
	r := result{
		Lock: c.name, Server: b.zoo.String(), Goroutines: n, Sessions: b.cfg.sessions, Round: round,
		Processes: b.cfg.procs, Client: goClient(), facts: b.facts, contestant: c,
	}
	if b.party == nil {
		r.Predicted = c.formula.predict(n, b.cfg.sessions)
	}
	return r
}

// warmUp runs the locks unmeasured, so that the first to be measured does not
// pay for a server that has just started: a JVM is slow until it has compiled
// what it does often. The embedded server has no such need.
func (b *benchmark) warmUp(ctx context.Context) error {
	locks := slices.DeleteFunc(slices.Clone(b.cfg.locks), func(c contestant) bool {
		return c.java // it warms up in its own way
	})
	if b.zoo.Embedded() || b.cfg.warmup == 0 || len(locks) == 0 {
		return nil
	}
	b.progress.warmUp()
	for until := time.Now().Add(b.cfg.warmup); time.Now().Before(until); {
		for _, c := range locks {
			n := max(b.cfg.sessions, min(100, slices.Min(b.cfg.sizes)))
			_, err := b.runOne(ctx, c, n, 0, func() {})
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
func (b *benchmark) runOne(
	ctx context.Context, c contestant, n, round int, step func(),
) (r result, err error) {
	r = b.newResult(c, n, round)
	if c.java {
		return b.runCurator(ctx, r, step)
	}
	if p := b.party; p != nil {
		ctx = p.ctx
		defer func() { err = b.because(err) }()
	}
	dir, lockPath, err := b.freshPath(c, n, round)
	if err != nil {
		return r, err
	}
	tap := wiretap.New()
	conns, err := b.connect(ctx, tap, n)
	defer closeAll(conns)
	if err != nil {
		return r, err
	}
	// Nothing but the end of its session gets a contender out of Lock. Ctrl-C
	// needs that, and so does a contender that fails: the others might wait
	// for it for ever.
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	defer context.AfterFunc(ctx, func() {
		closeAll(conns)
		tap.Cut() // a server that has gone silent would keep the clients for its whole read deadline
	})()

	counter, err := b.begin(dir, round)
	if err != nil {
		return r, err
	}
	var (
		num     int          // guarded by the lock under test, and by nothing else
		inside  atomic.Int32 // holders at this moment
		overlap atomic.Bool
		late    atomic.Bool
		failure error
		once    sync.Once
		wg      sync.WaitGroup
		start   = make(chan struct{})
		began   time.Time
		turns   = make([]turn, n)
	)
	contender := c.contenders(n)
	for i := range n {
		conn := conns[i%len(conns)]
		session := conn.SessionID()
		l := contender(conn, lockPath)
		wg.Go(func() {
			<-start
			turns[i].arrived = time.Since(began)
			err := l.Lock()
			turns[i].got = time.Since(began)
			if err == nil {
				// At the limit sessions end under their holders.
				if inside.Add(1) != 1 && !late.Load() {
					overlap.Store(true)
				}
				turns[i].place = num
				num++
				err = counter.add(conn)
				inside.Add(-1)
				err = cmp.Or(err, l.Unlock())
			}
			if err != nil {
				once.Do(func() { failure = fmt.Errorf("session %#x: %w", session, err); abort() })
			}
			step()
		})
	}
	runtime.GC() // what the run before has left is not to slow down this one
	before := tap.Counts()
	if b.cfg.limit > 0 {
		defer time.AfterFunc(b.cfg.limit, func() { late.Store(true); abort() }).Stop()
	}
	began = time.Now()
	close(start)
	wg.Wait()
	r.Elapsed = time.Since(began)
	r.Count = num
	r.used(tap.Counts().Since(before))
	if failure == nil {
		failure = counter.finish(&r)
	}
	switch {
	case failure != nil && !late.Load():
		return r, failure
	case overlap.Load():
		return r, errors.New("two goroutines held the lock at once")
	case failure != nil:
		return r, errStopped{b.cfg.limit}
	case num != n:
		return r, fmt.Errorf("the count is %d, not %d: two goroutines held the lock at once", num, n)
	}
	r.fared(turns)
	return r, nil
}

// freshPath makes a node for a run alone, and returns it and the path of the
// lock in it.
func (b *benchmark) freshPath(c contestant, n, round int) (dir, lockPath string, err error) {
	b.runs++
	dir = fmt.Sprintf("%s/%d-%s", b.root, b.runs, c.name)
	if b.party != nil {
		dir = b.party.dir(c, n, round)
	}
	lockPath = dir + "/lock"
	made := dir
	if c.queue {
		made = lockPath
	}
	return dir, lockPath, b.create(made, new([]string))
}

// connect opens the sessions that n contenders share.
func (b *benchmark) connect(ctx context.Context, tap *wiretap.Tap, n int) ([]*zk.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+time.Duration(b.cfg.sessions)*10*time.Millisecond)
	defer cancel()
	options := ensemble.Options{Tap: tap, SessionTimeout: b.sessionTimeout()}
	if b.cfg.sessions > 1 {
		options.Buffer = 64<<10 + 80*n*b.cfg.procs // enough for a list of all names
	}
	var conns []*zk.Conn
	for range b.cfg.sessions {
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

// create makes a node and all above it, and notes what was not there.
func (b *benchmark) create(p string, made *[]string) error {
	_, err := b.admin.Create(p, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		if err := b.create(path.Dir(p), made); err != nil {
			return err
		}
		return b.create(p, made)
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case err == nil:
		*made = append(*made, p)
	}
	return err
}

// clean removes all that was made, the nodes above it only if nobody else
// uses them now.
func (b *benchmark) clean() error {
	return b.bounded(func() error {
		err := b.remove(b.root)
		for _, p := range slices.Backward(b.made) {
			if err == nil {
				err = b.admin.Delete(p, -1)
			}
			if errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoNode) {
				err = nil
			}
		}
		return err
	})
}

// bounded runs a clean-up. A server that has gone silent does not keep it.
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
	// All at once: a JVM that was stopped may have left thousands.
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
