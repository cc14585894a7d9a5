package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/zklock/bench/internal/report"
)

// watchEvery is the pause between two checks of a watched server.
const watchEvery = 2 * time.Second

// runOther is runOne for a lock that is not on ZooKeeper.
func (b *benchmark) runOther(ctx context.Context, c contestant, r report.Run, step func()) (_ report.Run, err error) {
	a := b.arenas[c.name]
	if a == nil {
		return r, errCannotRun{fmt.Errorf("cannot run: it has no embedded server; name one that is running, -%s host:port", c.other.flag)}
	}
	r.Client = ""
	n := r.Goroutines
	open, err := a.begin(ctx, n)
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
		lockers = append(lockers, open())
	}
	runCtx, abort := context.WithCancel(ctx)
	defer abort()
	before := a.sent()
	run := race{
		contenders: n, times: r.Times, limit: b.cfg.limit, step: step,
		lock:   func(ctx context.Context, i int) error { return lockers[i].Lock(ctx) },
		unlock: func(ctx context.Context, i int) error { return lockers[i].Unlock(ctx) },
		begins: func(time.Time) { before = a.sent() },
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
		r.Count = o.held
		return r, err
	}
	r.Elapsed, r.Count, r.Requests = o.elapsed, o.count, a.sent()-before
	for _, l := range lockers {
		r.Attempts += l.Attempts()
	}
	if err := o.verdict(o.failed); err != nil {
		if errors.As(err, new(errStopped)) {
			r.Count = o.held
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

// tryOther tries a lock before it is measured: while one contender holds it,
// others ask for it, and one of them gives up. None may get in before the
// holder unlocks, and all must then.
func (b *benchmark) tryOther(ctx context.Context, c contestant) (err error) {
	a := b.arenas[c.name]
	if a == nil || c.other.counts {
		return nil // a count that is not a lock is not held
	}
	open, err := a.begin(ctx, trialContenders)
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = cmp.Or(err, a.end(clean))
	}()
	if err != nil {
		return err
	}
	t := otherTrial{holder: open(), entries: make(chan outcome, trialContenders)}
	for range trialContenders - 1 {
		t.waiters = append(t.waiters, open())
	}
	return t.run(ctx)
}

// An otherTrial is the trial of a lock that is not on ZooKeeper. The first of the
// waiters gives up.
type otherTrial struct {
	holder  otherLocker
	waiters []otherLocker
	entries chan outcome
	early   []outcome // of waiters, while the holder has not unlocked
}

func (t *otherTrial) run(ctx context.Context) error {
	// Until all wait this limit is only for a lock that never asks; from the holder's
	// Unlock on it limits the time in which a contender gets a free lock.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(max(trialPatience, time.Minute), cancel)
	defer late.Stop()
	if err := guarded("Lock", func() error { return t.holder.Lock(ctx) }); err != nil {
		return err
	}
	if err := t.wait(ctx); err != nil {
		return err
	}
	if err := guarded("Unlock", func() error { return t.holder.Unlock(ctx) }); err != nil {
		return err
	}
	late.Reset(trialPatience)
	hangs := fmt.Errorf("it hangs: for %v no contender got the lock although it was free", trialPatience)
	for range len(t.waiters) - len(t.early) {
		var err error
		select {
		case e := <-t.entries:
			switch {
			case e.err == nil:
				err = guarded("Unlock", func() error { return t.waiters[e.contender].Unlock(ctx) })
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

// wait has the waiters ask for the lock, and the first of them give up. It fails if
// one of them gets in, or another one gives up.
func (t *otherTrial) wait(ctx context.Context) error {
	impatient, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i, l := range t.waiters {
		lockCtx := ctx
		if i == 0 {
			lockCtx = impatient
		}
		go func() { t.entries <- outcome{i, guarded("Lock", func() error { return l.Lock(lockCtx) })} }()
	}
	look := func(polls int) {
		for range polls {
			select {
			case e := <-t.entries:
				t.early = append(t.early, e)
			case <-time.After(pollEvery):
			}
		}
	}
	for asked := false; !asked && ctx.Err() == nil; {
		look(1)
		asked = !slices.ContainsFunc(t.waiters, func(l otherLocker) bool { return l.Attempts() == 0 })
	}
	look(calmPolls)
	giveUp()
	look(patientCalm)
	for _, e := range t.early {
		if e.err == nil {
			return fmt.Errorf("%s: %w", cameInText, errTwoGoroutines)
		}
		if e.contender != 0 {
			return e.err
		}
	}
	return nil
}
