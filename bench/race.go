package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A race is article A's main: contenders that lock, add one to a counter and
// unlock. What the lock is on does not matter here.
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
	// sent is how many requests have been sent; nil if requests alone are no sign
	// of life.
	sent func() int64
	// watch, if it is not nil, runs beside the race, and may end it with an error.
	watch func(ctx context.Context, held func() int, fail func(error))
	// begins is called when the contenders are about to start.
	begins func(at time.Time)
	// names, if it is not nil, says in an error which contender it is about.
	names func(contender int, err error) error
	// tell, if it is not nil, is told what a contender does.
	tell func(contender int, state, says string)
	// ended names what has ended when contenders have to return.
	ended string
}

// A raced is what has become of a race whose contenders have all returned.
type raced struct {
	limit   time.Duration
	all     int // times that the lock was to be held
	held    int // times that it was
	count   int // what the variable that the lock guards says; 0 if the lock counts
	counts  bool
	elapsed time.Duration
	turns   []turn
	late    bool  // the limit was reached
	overlap bool  // there were two holders at once
	hangs   error // nothing happened before the limit
	failed  error // the first error of a contender
}

// run runs the race. Only the end of ctx makes a contender leave Lock: abort ends
// it at the limit, and when a contender fails, because the others may wait for it.
// If contenders do not return, all that is known is how many times the lock was
// held.
func (r race) run(ctx context.Context, abort func()) (raced, error) {
	all := r.contenders * r.times
	o := raced{limit: r.limit, all: all, counts: r.work == nil, turns: make([]turn, all)}
	var (
		num     int          // guarded by the lock under test, and by nothing else
		inside  atomic.Int32 // holders at this moment
		held    atomic.Int32 // how many times the lock has been held
		overlap atomic.Bool
		late    atomic.Bool // the limit has been reached
		failure atomic.Pointer[error]
		hangs   error // written before late
		wg      sync.WaitGroup
		start   = make(chan struct{})
		began   time.Time
	)
	fail := func(err error) {
		if failure.CompareAndSwap(nil, &err) {
			abort()
		}
	}
	// hold is what the holder does between Lock and Unlock.
	hold := func(contender int, turn *turn) error {
		if o.counts {
			turn.place = int(held.Add(1)) - 1
			return nil
		}
		if inside.Add(1) != 1 && !(r.expires && late.Load()) {
			overlap.Store(true)
		}
		seen := num
		turn.place = seen
		if seen < 8 || seen%max(1, all/8) == 0 {
			runtime.Gosched() // without it a second holder would seldom come in between
		}
		num = seen + 1
		held.Add(1)
		err := r.work(contender)
		inside.Add(-1)
		return err
	}
	once := func(contender int, turn *turn) error {
		turn.arrived = time.Since(began)
		r.says(contender, "waits", "")
		err := guarded("Lock", func() error { return r.lock(ctx, contender) })
		turn.got = time.Since(began)
		if err == nil {
			r.says(contender, "holds", "holds the lock")
			err = hold(contender, turn)
			r.says(contender, "unlocks", "unlocks")
			err = cmp.Or(err, guarded("Unlock", func() error { return r.unlock(ctx, contender) }))
		}
		if err != nil {
			r.says(contender, "failed", err.Error())
			return err
		}
		r.says(contender, "done", "has unlocked")
		return nil
	}
	for i := range r.contenders {
		wg.Go(func() {
			<-start
			for k := range r.times {
				err := once(i, &o.turns[i*r.times+k])
				r.step()
				if err != nil {
					if r.names != nil {
						err = r.names(i, err)
					}
					fail(err)
					return
				}
			}
		})
	}
	runtime.GC() // the garbage of the run before must not slow this one down
	progress := func() (n, sent int64) {
		if r.sent != nil {
			sent = r.sent()
		}
		return int64(held.Load()), sent
	}
	if r.limit > 0 {
		go func(sleep func(context.Context, time.Duration) bool) {
			if !sleep(ctx, r.limit/2) {
				return
			}
			heldThen, sentThen := progress()
			if !sleep(ctx, r.limit-r.limit/2) {
				return
			}
			if held, sent := progress(); held == heldThen && sent == sentThen {
				nothing := ""
				if r.sent != nil {
					nothing = " and nothing was sent"
				}
				hangs = fmt.Errorf("it hangs: for %v no contender got the lock%s, at %d of %d", r.limit-r.limit/2, nothing, heldThen, all)
			}
			late.Store(true)
			abort()
		}(sleep)
	}
	if r.watch != nil {
		go r.watch(ctx, func() int { return int(held.Load()) }, fail)
	}
	began = time.Now()
	r.begins(began)
	close(start)
	returned := make(chan struct{})
	go func() {
		wg.Wait()
		o.elapsed = time.Since(began)
		close(returned)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		select {
		case <-returned:
		case <-time.After(returnTimeout): // num and turns may still be written to
			o := raced{held: int(held.Load())}
			if late.Load() && hangs != nil {
				return o, hangs
			}
			if err := failure.Load(); err != nil && !late.Load() {
				return o, *err
			}
			return o, fmt.Errorf("it hangs: %v after %s contenders have not returned from Lock or Unlock, at %d of %d",
				returnTimeout, r.ended, o.held, all)
		}
	}
	o.count, o.held, o.overlap = num, int(held.Load()), overlap.Load()
	if o.late = late.Load(); o.late {
		o.hangs = hangs
	}
	if err := failure.Load(); err != nil {
		o.failed = *err
	}
	return o, nil
}

func (r race) says(contender int, state, says string) {
	if r.tell != nil {
		r.tell(contender, state, says)
	}
}

// verdict is what is wrong, nil if all is well. The first error is failed.
func (o raced) verdict(failed error) error {
	switch {
	case failed != nil && !o.late:
		return failed
	case o.overlap:
		return errTwoGoroutines
	case failed != nil:
		return cmp.Or(o.hangs, error(errStopped{o.limit}))
	case o.held != o.all:
		return fmt.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there", o.all-o.held, o.all)
	case !o.counts:
		return o.isAll(o.count)
	}
	return nil
}

// isAll fails if a count is not the number of times that the lock was held.
func (o raced) isAll(count int) error {
	if count != o.all {
		return fmt.Errorf("the count is %d, not %d: %w", count, o.all, errTwoGoroutines)
	}
	return nil
}
