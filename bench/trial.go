package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/language"
)

// Before any lock is measured each one is tried. In a trial a few contenders
// follow a schedule in which a lock that does not exclude lets two in: one
// contender holds the lock and keeps it while the others ask for it and while
// a waiter gives up. Runs alone would not show that: in a run the holder
// leaves at once and no waiter gives up.

// tries is false in tests that measure broken locks.
var tries = true

// trialPatience is the time in which a contender must get a free lock.
var trialPatience = time.Minute

// A trial goes on when nothing has crossed the wire for some polls in a row. Tests
// of what is not a trial have fewer.
var (
	calmPolls   = 15
	patientCalm = 60 // after a waiter gave up
)

const (
	pollEvery  = time.Millisecond
	mostPolls  = 500 // for a lock that never stops asking
	gaveUpText = "when %s another contender got the lock, although its holder had not unlocked"
	cameInText = "a contender got the lock although its holder had not unlocked"
)

// The contenders of a trial, in the order in which they come.
const (
	theHolder       = iota
	theClosed       // gives up: its client is closed
	theImpatient    // gives up, if it can: its context ends
	theNext         // shares a session with the impatient one
	theLast         // shares the holder's session
	trialContenders = iota
)

var trialSessions = [trialContenders]int{theClosed: 1, theImpatient: 2, theNext: 2}

// A trial plays the schedule on contenders of any kind.
type trial struct {
	ctx        context.Context
	contenders []contender
	ending     string       // what close ends, and whose
	close      func() error // has the closed one give up
	// alive is how much has crossed the wire so far, and whether an answer is due.
	alive   func() (traffic int64, due bool)
	stays   bool         // the impatient one does not take part: this kind of lock does not give up
	entered func()       // the holder is inside
	leaves  func() error // the holder is about to unlock

	outcomes chan outcome
	started  int    // contenders that have been sent into Lock
	running  int    // those of them that are there
	waiting  int    // those of them that do not give up
	held     bool   // by a contender that has not unlocked
	entry    string // what to say if another one gets in
}

// An outcome is what Lock returned to a contender.
type outcome struct {
	contender int
	err       error
}

// tryAll tries every lock, and fails with the first that fails. Those that are built in are
// tried at the same time. The others take turns: if one panics in a goroutine of its own,
// the last line says which.
func (b *benchmark) tryAll(ctx context.Context) error {
	if !tries {
		return nil
	}
	errs := make([]error, len(b.cfg.locks))
	var faults map[string]error // of those that hold the lock for long
	var wg sync.WaitGroup
	wg.Go(func() { faults = b.holdAll(ctx) })
	for i, c := range b.cfg.locks {
		if c.unsafe.En == "" && c.folder == "" && c.system == "" {
			wg.Go(func() { errs[i] = b.players[c.name].try(ctx) })
		}
	}
	wg.Wait()
	for i, c := range b.cfg.locks {
		err := errs[i]
		if c.folder != "" || c.system != "" {
			err = b.players[c.name].try(ctx)
		}
		err = cmp.Or(err, faults[cmp.Or(c.folder, c.name)])
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			b.notRun(c, b.cfg.loads[0])
			r := &b.results[i] // that of c with the first load: there were no rows before
			r.Ends(report.StatusFailed, language.TextOf(err))
			return language.Errorf("%s, tried with %d contenders on %s: %w", "%s，用 %d 个竞争者在 %s 上试跑：%v", c.name, trialContenders, r.Server, err)
		}
	}
	return nil
}

// newTrial returns a trial in which close ends what ending says.
func newTrial(ctx context.Context, ending string) *trial {
	return &trial{
		ctx: ctx, ending: ending, outcomes: make(chan outcome, trialContenders), entry: cameInText,
		entered: func() {}, leaves: func() error { return nil },
	}
}

func (t *trial) run() error {
	t.start(t.ctx, theHolder)
	if _, err := t.enter(); err != nil {
		return err
	}
	t.entered()
	ctx, giveUp := context.WithCancel(t.ctx)
	defer giveUp()
	for contender := theClosed; contender < trialContenders; contender++ {
		lockCtx := t.ctx
		if contender == theImpatient {
			lockCtx = ctx
			if t.stays {
				continue
			}
		}
		t.start(lockCtx, contender)
		if err := t.calm(calmPolls); err != nil {
			return err
		}
	}
	t.entry = fmt.Sprintf(gaveUpText, t.ending)
	if err := t.close(); err != nil {
		return err
	}
	if err := t.calm(patientCalm); err != nil {
		return err
	}
	t.entry = fmt.Sprintf(gaveUpText, "the context of a waiter ended")
	giveUp()
	if err := t.calm(patientCalm); err != nil {
		return err
	}
	t.entry = cameInText
	if err := t.leaves(); err != nil {
		return err
	}
	for contender := theHolder; ; {
		t.held = false
		err := guarded("Unlock", func() error { return t.contenders[contender].Unlock(t.ctx) })
		if err != nil || t.waiting == 0 {
			return err
		}
		if contender, err = t.enter(); err != nil {
			return err
		}
		if err := t.calm(calmPolls); err != nil {
			return err
		}
	}
}

func givesUp(contender int) bool { return contender == theClosed || contender == theImpatient }

func (t *trial) start(ctx context.Context, contender int) {
	t.started++
	t.running++
	if !givesUp(contender) {
		t.waiting++
	}
	go func() {
		t.outcomes <- outcome{contender, guarded("Lock", func() error { return t.contenders[contender].Lock(ctx) })}
	}()
}

// enter waits until a contender gets the lock, which is free.
func (t *trial) enter() (contender int, err error) {
	late := time.After(trialPatience)
	for {
		select {
		case o := <-t.outcomes:
			if err := t.take(o); err != nil {
				return 0, err
			}
			if t.held {
				return o.contender, nil
			}
		case <-late:
			return 0, language.Errorf("it hangs: for %v no contender got the lock although it was free", "卡住了：锁空闲，%v 内却没有竞争者拿到锁", trialPatience)
		case <-t.ctx.Done():
			return 0, context.Cause(t.ctx)
		}
	}
}

// calm returns when all requests have been answered and nothing has crossed
// the wire for some polls.
func (t *trial) calm(polls int) error {
	seen, calm := int64(-1), 0
	for range mostPolls {
		select {
		case o := <-t.outcomes:
			if err := t.take(o); err != nil {
				return err
			}
		case <-time.After(pollEvery):
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
		calm++
		if traffic, due := t.alive(); traffic != seen || due {
			seen, calm = traffic, 0
		}
		if calm >= polls {
			break
		}
	}
	return nil
}

// take notes what Lock returned.
func (t *trial) take(o outcome) error {
	t.running--
	if !givesUp(o.contender) {
		t.waiting--
	}
	switch {
	case o.err == nil && t.held:
		return language.Errorf("%s: %w", "%s：%v", t.entry, errTwoGoroutines)
	case o.err == nil:
		t.held = true
		return nil
	case givesUp(o.contender):
		return nil
	}
	return o.err
}

// end waits, but not without end, until no contender is in Lock. Stop is what makes
// them return.
func (t *trial) end(stop func()) {
	stop()
	late := time.After(returnTimeout)
	for ; t.running > 0; t.running-- {
		select {
		case <-t.outcomes:
		case <-late:
			return
		}
	}
}
