package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/bench/internal/report"
)

// A race is article A's main: contenders that lock, add one to a counter and
// unlock. The server of the lock does not matter here.
type race struct {
	contenders, times int
	limit             time.Duration // 0: none
	step              func()        // after each time

	lock, unlock func(ctx context.Context, contender int) error
	// work is done while the lock is held. If it is nil, the lock itself counts:
	// then Lock excludes no other contender.
	work func(contender int) error
	// expires says that at the limit a contender can lose the lock while it is
	// inside, because the end of the race is the end of its session.
	expires bool
	// sent counts the requests so far; nil if requests alone do not show life.
	sent func() int64
	// watch, if it is not nil, runs beside the race, and may end it with an error.
	watch func(ctx context.Context, held func() int, fail func(error))
	// begins is called when the contenders are about to start.
	begins func()
	// names, if it is not nil, says in an error which contender it is about.
	names func(contender int, err error) error
	// ended names what has ended when contenders have to return.
	ended string
}

// A runningRace is a race that is being run, or has been.
type runningRace struct {
	race
	all     int          // times that the lock is to be held
	num     int          // guarded by the lock under test, and by nothing else; 0 if the lock counts
	inside  atomic.Int32 // holders at this moment
	held    atomic.Int32 // how many times the lock has been held
	overlap atomic.Bool  // there were two holders at once
	late    atomic.Bool  // the limit has been reached
	failure atomic.Pointer[error]
	hangs   error // nothing happened before the limit; written before late
	began   time.Time
	elapsed time.Duration
	turns   []report.Turn
	abort   func()
}

func (c *runningRace) holds() int { return int(c.held.Load()) }

// failed is the first error of a contender.
func (c *runningRace) failed() error {
	if err := c.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// run runs the race. Only the end of ctx makes a contender leave Lock: abort ends
// it at the limit, and when a contender fails, because the others may wait for it.
// An error says that contenders do not return: then all that may be asked of the
// race is how many times the lock was held.
func (r race) run(ctx context.Context, abort func()) (*runningRace, error) {
	c := &runningRace{race: r, all: r.contenders * r.times, abort: abort}
	c.turns = make([]report.Turn, c.all)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range r.contenders {
		wg.Go(func() {
			<-start
			c.contend(ctx, i)
		})
	}
	runtime.GC() // the garbage of the run before must not slow this one down
	if r.limit > 0 {
		go c.end(ctx, sleep)
	}
	if r.watch != nil {
		go r.watch(ctx, c.holds, c.fail)
	}
	c.began = time.Now()
	r.begins()
	close(start)
	returned := make(chan struct{})
	go func() {
		wg.Wait()
		c.elapsed = time.Since(c.began)
		close(returned)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		select {
		case <-returned:
		case <-time.After(returnTimeout): // num and turns may still be written to
			return c, c.missing()
		}
	}
	return c, nil
}

// contend is one contender.
func (c *runningRace) contend(ctx context.Context, i int) {
	for k := range c.times {
		err := c.once(ctx, i, &c.turns[i*c.times+k])
		c.step()
		if err != nil {
			if c.names != nil {
				err = c.names(i, err)
			}
			c.fail(err)
			return
		}
	}
}

// once locks and unlocks.
func (c *runningRace) once(ctx context.Context, i int, turn *report.Turn) error {
	turn.Arrived = time.Since(c.began)
	err := guarded("Lock", func() error { return c.lock(ctx, i) })
	turn.Got = time.Since(c.began)
	if err == nil {
		err = c.hold(i, turn)
		err = cmp.Or(err, guarded("Unlock", func() error { return c.unlock(ctx, i) }))
	}
	return err
}

// hold is the holder's work between Lock and Unlock.
func (c *runningRace) hold(i int, turn *report.Turn) error {
	if c.work == nil {
		turn.Place = int(c.held.Add(1)) - 1
		return nil
	}
	if c.inside.Add(1) != 1 && !(c.expires && c.late.Load()) {
		c.overlap.Store(true)
	}
	seen := c.num
	turn.Place = seen
	if seen < 8 || seen%max(1, c.all/8) == 0 {
		runtime.Gosched() // without it a second holder would seldom come in between
	}
	c.num = seen + 1
	c.held.Add(1)
	err := c.work(i)
	c.inside.Add(-1)
	return err
}

func (c *runningRace) fail(err error) {
	if c.failure.CompareAndSwap(nil, &err) {
		c.abort()
	}
}

// end ends the race at its limit, and notes whether anything has happened in the
// second half of the time.
func (c *runningRace) end(ctx context.Context, sleep func(context.Context, time.Duration) bool) {
	progress := func() (held int, sent int64) {
		if c.sent != nil {
			sent = c.sent()
		}
		return c.holds(), sent
	}
	if !sleep(ctx, c.limit/2) {
		return
	}
	heldThen, sentThen := progress()
	if !sleep(ctx, c.limit-c.limit/2) {
		return
	}
	if held, sent := progress(); held == heldThen && sent == sentThen {
		nothing := ""
		if c.sent != nil {
			nothing = " and nothing was sent"
		}
		c.hangs = fmt.Errorf("it hangs: for %v no contender got the lock%s, at %d of %d", c.limit-c.limit/2, nothing, heldThen, c.all)
	}
	c.late.Store(true)
	c.abort()
}

// missing is the error of a race some of whose contenders do not return.
func (c *runningRace) missing() error {
	if c.late.Load() && c.hangs != nil {
		return c.hangs
	}
	if err := c.failed(); err != nil && !c.late.Load() {
		return err
	}
	return fmt.Errorf("it hangs: %v after %s contenders have not returned from Lock or Unlock, at %d of %d",
		returnTimeout, c.ended, c.holds(), c.all)
}

// verdict is the fault of a race, nil if all is well. The first error is failed.
func (c *runningRace) verdict(failed error) error {
	switch {
	case failed != nil && !c.late.Load():
		return failed
	case c.overlap.Load():
		return errTwoGoroutines
	case failed != nil:
		return cmp.Or(c.hangs, error(errStopped{c.limit}))
	case c.holds() != c.all:
		return fmt.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there", c.all-c.holds(), c.all)
	case c.work != nil:
		return c.isAll(c.num)
	}
	return nil
}

// isAll fails if a count is not the number of times that the lock was held.
func (c *runningRace) isAll(count int) error {
	if count != c.all {
		return fmt.Errorf("the count is %d, not %d: %w", count, c.all, errTwoGoroutines)
	}
	return nil
}
