package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/language"
)

// A contender is one of those that want the lock. Its context ends with the race.
type contender interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// A race is article A's main: contenders that lock, add one to a counter and
// unlock. The server of the lock does not matter here.
type race struct {
	contenders []contender
	times      int
	limit      time.Duration // 0: none
	step       func()        // after each time
	// leave makes the contenders return where the end of their context does not; nil: it does.
	leave func()
	// work is done while the lock is held, besides counting; nil: none.
	work func(contender int) error
	// sent counts the requests so far; nil if requests alone do not show life.
	sent func() int64
	// stock: the lock itself counts, on its server. Then Lock excludes no other contender.
	stock bool

	num     int          // guarded by the lock under test, and by nothing else; 0 of a stock
	inside  atomic.Int32 // holders at this moment
	held    atomic.Int32 // how many times the lock has been held
	overlap atomic.Bool  // there were two holders at once
	failed  atomic.Bool  // a contender has failed, perhaps because the race was ended
	end     context.CancelCauseFunc
	began   time.Time
	turns   []report.Turn
}

// An errLimit ends a race that has reached its limit.
type errLimit struct{ error }

func (e errLimit) Unwrap() error { return e.error }

// run runs the race, and fills in how the contenders fared. It ends the race at the
// limit, and when a contender fails, because the others may wait for it.
func (c *race) run(ctx context.Context, r *report.Run) error {
	c.turns = make([]report.Turn, c.all())
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	if c.leave != nil {
		defer context.AfterFunc(ctx, c.leave)()
	}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range c.contenders {
		wg.Go(func() {
			<-start
			c.contend(ctx, i)
		})
	}
	runtime.GC() // the garbage of the run before must not slow this one down
	if c.limit > 0 {
		go c.stopLate(ctx, sleep)
	}
	c.began = time.Now()
	close(start)
	var elapsed time.Duration
	returned := make(chan struct{})
	go func() {
		wg.Wait()
		elapsed = time.Since(c.began)
		close(returned)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		select {
		case <-returned:
		case <-time.After(returnTimeout): // num and turns may still be written to
			r.Count = c.holds()
			return c.missing(context.Cause(ctx))
		}
	}
	r.Elapsed, r.Count = elapsed, c.num
	err := c.verdict(context.Cause(ctx))
	switch {
	case err == nil:
		r.Total = r.Count
		r.Fared(c.turns)
	case errors.As(err, new(errStopped)):
		r.Count = c.holds()
	}
	return err
}

// all is how many times the lock is to be held.
func (c *race) all() int { return len(c.contenders) * c.times }

func (c *race) holds() int { return int(c.held.Load()) }

// contend is one contender.
func (c *race) contend(ctx context.Context, i int) {
	for k := range c.times {
		err := c.once(ctx, i, &c.turns[i*c.times+k])
		c.step()
		if err != nil {
			if named, ok := c.contenders[i].(fmt.Stringer); ok {
				err = language.Errorf("%v: %w", "%v：%v", named, err)
			}
			c.failed.Store(true)
			c.end(err)
			return
		}
	}
}

// once is article A's listing: lock, num++, unlock.
func (c *race) once(ctx context.Context, i int, turn *report.Turn) error {
	turn.Arrived = time.Since(c.began)
	err := guarded("Lock", func() error { return c.contenders[i].Lock(ctx) })
	turn.Got = time.Since(c.began)
	if err != nil {
		return err
	}
	if c.stock {
		turn.Place = int(c.held.Add(1)) - 1
	} else {
		err = c.count(ctx, i, turn)
	}
	return cmp.Or(err, guarded("Unlock", func() error { return c.contenders[i].Unlock(ctx) }))
}

// count is num++, and notices another holder.
func (c *race) count(ctx context.Context, i int, turn *report.Turn) (err error) {
	// The end of the race may be the end of the sessions, and so of the lock.
	if c.inside.Add(1) != 1 && ctx.Err() == nil {
		c.overlap.Store(true)
	}
	seen := c.num
	turn.Place = seen
	if seen < 8 || seen%max(1, c.all()/8) == 0 {
		runtime.Gosched() // without it a second holder would seldom come in between
	}
	c.num = seen + 1
	c.held.Add(1)
	if c.work != nil {
		err = c.work(i)
	}
	c.inside.Add(-1)
	return err
}

// stopLate ends the race at its limit, and notices whether anything has happened in the
// second half of the time.
func (c *race) stopLate(ctx context.Context, sleep func(context.Context, time.Duration) bool) {
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
	held, sent := progress()
	if held != heldThen || sent != sentThen {
		c.end(errLimit{errStopped{c.limit}})
		return
	}
	nothing := ""
	if c.sent != nil {
		nothing = " and nothing was sent"
	}
	c.end(errLimit{language.Errorf("it hangs: for %v no contender got the lock%s, at %d of %d",
		"卡住了：%v 内没有竞争者拿到锁%s，进度 %d / %d", c.limit-c.limit/2, nothing, heldThen, c.all())})
}

// missing is the error of a race some of whose contenders do not return.
func (c *race) missing(cause error) error {
	if !errors.As(cause, new(errStopped)) && (c.failed.Load() || errors.As(cause, new(errLimit))) {
		return cause
	}
	return language.Errorf("it hangs: %v after the end contenders have not returned from Lock or Unlock, at %d of %d",
		"卡住了：结束 %v 之后，仍有竞争者没有从 Lock 或 Unlock 返回，进度 %d / %d",
		returnTimeout, c.holds(), c.all())
}

// verdict is the fault of a race, nil if all is well. Cause is what has ended it; nil if it
// has ended by itself.
func (c *race) verdict(cause error) error {
	failed, atLimit := c.failed.Load(), errors.As(cause, new(errLimit))
	switch {
	case failed && !atLimit:
		return cause
	case c.overlap.Load():
		return errTwoGoroutines
	case failed:
		return cause
	case c.holds() != c.all():
		return language.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there",
			"%[2]d 次 Lock 调用中，有 %[1]d 次既没有拿到锁，也没有返回错误：goroutine 就此结束", c.all()-c.holds(), c.all())
	case !c.stock:
		return c.isAll(c.num)
	}
	return nil
}

// isAll fails if a count is not the number of times that the lock was held.
func (c *race) isAll(count int) error {
	if count != c.all() {
		return language.Errorf("the count is %d, not %d: %w", "计数是 %d，应为 %d：%v", count, c.all(), errTwoGoroutines)
	}
	return nil
}
