package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// watchEvery is how long a watched server is left alone between two questions.
const watchEvery = 2 * time.Second

// runOther is runOne for a lock that is not on ZooKeeper.
func (b *benchmark) runOther(ctx context.Context, c contestant, r result, step func()) (_ result, err error) {
	a := b.arenas[c.name]
	if a == nil {
		return r, errCannotRun{fmt.Errorf("cannot run: it has no embedded server; name one that is running, -%s host:port", c.other.flag)}
	}
	r.Client = ""
	n, all := r.Goroutines, r.Goroutines*r.Times
	new, err := a.begin(ctx, n)
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		switch e := a.end(clean); {
		case e != nil && err != nil: // most likely for the same reason
			b.arenas[c.name] = nil
			a.close(clean)
			err = fmt.Errorf("%w; what it has made there is left behind: %v", err, e)
		case e != nil:
			err = fmt.Errorf("left behind on %v: %w", a, e)
		}
	}()
	if err != nil {
		return r, err
	}
	var lockers []otherLocker
	for range n {
		lockers = append(lockers, new())
	}
	runCtx, abort := context.WithCancel(ctx)
	defer abort()
	var (
		num     int          // guarded by the lock under test, and by nothing else
		inside  atomic.Int32 // holders at this moment
		held    atomic.Int32 // how many times the lock has been held
		overlap atomic.Bool
		late    atomic.Bool // the limit has been reached
		failure atomic.Pointer[error]
		wg      sync.WaitGroup
		start   = make(chan struct{})
		began   time.Time
		turns   = make([]turn, all)
	)
	for i, l := range lockers {
		once := func(turn *turn) error {
			turn.arrived = time.Since(began)
			err := guarded("Lock", func() error { return l.Lock(runCtx) })
			turn.got = time.Since(began)
			if err == nil {
				if c.other.counts {
					turn.place = int(held.Add(1)) - 1
				} else {
					if inside.Add(1) != 1 {
						overlap.Store(true)
					}
					seen := num
					turn.place = seen
					if seen < 8 || seen%16 == 0 {
						runtime.Gosched() // as in runOne
					}
					num = seen + 1
					held.Add(1)
					inside.Add(-1)
				}
				err = guarded("Unlock", func() error { return l.Unlock(runCtx) })
			}
			return err
		}
		wg.Go(func() {
			<-start
			for k := range r.Times {
				err := once(&turns[i*r.Times+k])
				step()
				if err != nil {
					if failure.CompareAndSwap(nil, &err) {
						abort()
					}
					return
				}
			}
		})
	}
	runtime.GC()
	before := a.sent()
	var hangs error
	if limit, sleep := b.cfg.limit, sleep; limit > 0 {
		go func() {
			if !sleep(runCtx, limit/2) {
				return
			}
			heldThen := held.Load()
			if !sleep(runCtx, limit-limit/2) {
				return
			}
			if held.Load() == heldThen {
				hangs = fmt.Errorf("it hangs: for %v no contender got the lock, at %d of %d", limit-limit/2, heldThen, all)
			}
			late.Store(true)
			abort()
		}()
	}
	if w, ok := a.(watched); ok {
		go func() {
			for sleep(runCtx, watchEvery) {
				heldThen := held.Load()
				err := w.answers(runCtx)
				if err != nil && held.Load() == heldThen && runCtx.Err() == nil && failure.CompareAndSwap(nil, &err) {
					abort()
				}
			}
		}()
	}
	began = time.Now()
	close(start)
	var elapsed time.Duration
	returned := make(chan struct{})
	go func() {
		wg.Wait()
		elapsed = time.Since(began)
		close(returned)
	}()
	select {
	case <-returned:
	case <-runCtx.Done():
		select {
		case <-returned:
		case <-time.After(returnTimeout): // num and turns may still be written to
			r.Count = int(held.Load())
			if err := failure.Load(); err != nil && !late.Load() {
				return r, *err
			}
			return r, fmt.Errorf("it hangs: %v after the end contenders have not returned from Lock or Unlock, at %d of %d",
				returnTimeout, r.Count, all)
		}
	}
	r.Elapsed, r.Count, r.Requests = elapsed, num, a.sent()-before
	for _, l := range lockers {
		r.Attempts += l.Attempts()
	}
	failed := failure.Load()
	switch {
	case failed != nil && !late.Load():
		return r, *failed
	case overlap.Load():
		return r, errTwoGoroutines
	case failed != nil:
		r.Count = int(held.Load())
		return r, cmp.Or(hangs, error(errStopped{b.cfg.limit}))
	case int(held.Load()) != all:
		return r, fmt.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there", all-int(held.Load()), all)
	}
	if c.other.counts {
		if r.Count, err = a.count(runCtx); err != nil {
			return r, err
		}
	}
	if r.Count != all {
		return r, fmt.Errorf("the count is %d, not %d: %w", r.Count, all, errTwoGoroutines)
	}
	r.Total = r.Count
	r.fared(turns)
	return r, nil
}

// tryOther tries a lock before it is measured: while one contender holds it,
// others ask for it, and one of them gives up. None may get in before the
// holder unlocks, and all must then.
func (b *benchmark) tryOther(ctx context.Context, c contestant) (err error) {
	a := b.arenas[c.name]
	if a == nil || c.other.counts {
		return nil // a count that is not a lock is not held
	}
	new, err := a.begin(ctx, trialContenders)
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = cmp.Or(err, a.end(clean))
	}()
	if err != nil {
		return err
	}
	// Until all wait this is only for a lock that never asks; from the holder's
	// Unlock on it is how long a contender may take to get a free lock.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(max(trialPatience, time.Minute), cancel)
	defer late.Stop()
	holder := new()
	if err := guarded("Lock", func() error { return holder.Lock(ctx) }); err != nil {
		return err
	}
	impatient, giveUp := context.WithCancel(ctx)
	defer giveUp()
	type entry struct {
		contender int
		err       error
	}
	var (
		entries  = make(chan entry, trialContenders)
		waiters  []otherLocker
		outcomes []entry
	)
	for i := range trialContenders - 1 {
		l := new()
		waiters = append(waiters, l)
		lockCtx := ctx
		if i == 0 {
			lockCtx = impatient
		}
		go func() { entries <- entry{i, guarded("Lock", func() error { return l.Lock(lockCtx) })} }()
	}
	// What comes in while the holder has not unlocked.
	early := func(polls int) {
		for range polls {
			select {
			case e := <-entries:
				outcomes = append(outcomes, e)
			case <-time.After(pollEvery):
			}
		}
	}
	for asked := false; !asked && ctx.Err() == nil; {
		early(1)
		asked = !slices.ContainsFunc(waiters, func(l otherLocker) bool { return l.Attempts() == 0 })
	}
	early(calmPolls)
	giveUp()
	early(patientCalm)
	for _, e := range outcomes {
		if e.err == nil {
			return fmt.Errorf("%s: %w", cameInText, errTwoGoroutines)
		}
		if e.contender != 0 {
			return e.err
		}
	}
	if err := guarded("Unlock", func() error { return holder.Unlock(ctx) }); err != nil {
		return err
	}
	late.Reset(trialPatience)
	hangs := fmt.Errorf("it hangs: for %v no contender got the lock although it was free", trialPatience)
	for range trialContenders - 1 - len(outcomes) {
		select {
		case e := <-entries:
			switch {
			case e.err == nil:
				err = guarded("Unlock", func() error { return waiters[e.contender].Unlock(ctx) })
			case ctx.Err() != nil:
				err = hangs
			case e.contender != 0:
				err = e.err
			}
		case <-ctx.Done():
			err = hangs
		}
		if err != nil {
			return err
		}
	}
	return nil
}
