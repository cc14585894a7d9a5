package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/zklock/bench/internal/report"
)

// watchEvery is the pause between two checks of a watched server.
const watchEvery = 2 * time.Second

// runOther is runOne for a lock that is not on ZooKeeper.
func (b *benchmark) runOther(ctx context.Context, c contestant, r report.Run, step func()) (_ report.Run, err error) {
	a := b.arenas[c.name]
	if a == nil {
		return r, errCannotRun{fmt.Errorf("it has no embedded server; name one that is running, -%s host:port", c.other.flag)}
	}
	r.Client = ""
	n := r.Goroutines
	lockers, err := a.begin(ctx, n)
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
	runCtx, abort := context.WithCancel(ctx)
	defer abort()
	before := a.sent()
	run := race{
		contenders: n, times: r.Times, limit: b.cfg.limit, step: step,
		lock:   func(ctx context.Context, i int) error { return lockers[i].Lock(ctx) },
		unlock: func(ctx context.Context, i int) error { return lockers[i].Unlock(ctx) },
		begins: func() { before = a.sent() },
		ended:  "the end",
	}
	if !c.other.counts {
		run.work = func(int) error { return nil }
	}
	if w, ok := a.(watchedArena); ok {
		run.watch = func(ctx context.Context, held func() int, fail func(error)) {
			for sleep(ctx, watchEvery) {
				heldThen := held()
				if err := w.answers(ctx); err != nil && held() == heldThen && ctx.Err() == nil {
					fail(err)
				}
			}
		}
	}
	o, err := run.run(runCtx, abort)
	if err != nil {
		r.Count = o.holds()
		return r, err
	}
	r.Elapsed, r.Count, r.Requests = o.elapsed, o.num, a.sent()-before
	for _, l := range lockers {
		r.Attempts += l.Attempts()
	}
	if err := o.verdict(o.failed()); err != nil {
		if errors.As(err, new(errStopped)) {
			r.Count = o.holds()
		}
		return r, err
	}
	if c.other.counts {
		if r.Count, err = a.count(runCtx); err != nil {
			return r, err
		}
		if err := o.isAll(r.Count); err != nil {
			return r, err
		}
	}
	r.Total = r.Count
	r.Fared(o.turns)
	return r, nil
}

// tryOther is try for a lock that is not on ZooKeeper. Contenders give up when their
// context ends, the closed one, too.
func (b *benchmark) tryOther(ctx context.Context, c contestant) (err error) {
	a := b.arenas[c.name]
	if a == nil || c.other.counts {
		return nil // a count that is not a lock is not held
	}
	lockers, err := a.begin(ctx, trialContenders)
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = cmp.Or(err, a.end(clean))
	}()
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(ctx)
	closed, giveUp := context.WithCancel(runCtx)
	t := newTrial(runCtx)
	defer t.end(stop)
	t.lock = func(ctx context.Context, contender int) error {
		if contender == theClosed {
			ctx = closed
		}
		return lockers[contender].Lock(ctx)
	}
	t.unlock = func(contender int) error { return lockers[contender].Unlock(runCtx) }
	t.close = func() error { giveUp(); return nil }
	t.alive = func() (int64, bool) { // some ask again and again: that all of them have asked must do
		asked := 0
		for _, l := range lockers {
			if l.Attempts() > 0 {
				asked++
			}
		}
		return 0, asked < t.started
	}
	return t.run()
}
