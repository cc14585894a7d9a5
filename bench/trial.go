package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/wiretap"
)

// Before any lock is measured each one is tried. In a trial a few contenders
// follow a schedule in which a lock that does not exclude lets two in: one
// contender holds the lock and keeps it while the others ask for it and while
// a waiter gives up. Runs alone would not show that: in a run the holder
// leaves at once and no waiter gives up.

// tries is false in tests that measure broken locks.
var tries = true

// trialPatience is the time in which a contender must get a free lock.
var trialPatience = 30 * time.Second

// A trial goes on when nothing has crossed the wire for some polls in a row. Tests
// of what is not a trial have fewer.
var (
	calmPolls   = 15
	patientCalm = 60 // after a waiter gave up
)

const (
	pollEvery  = time.Millisecond
	mostPolls  = 500 // for a lock that never stops asking
	gaveUpText = "when a waiter gave up another one got the lock, although its holder had not unlocked"
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
	ctx    context.Context
	lock   func(ctx context.Context, contender int) error
	unlock func(contender int) error
	close  func() error // has the closed one give up
	// alive is how much has crossed the wire so far, and whether an answer is due.
	alive func() (traffic int64, due bool)
	stays bool // the impatient one does not take part: this kind of lock does not give up

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

// tryAll tries every lock, and fails with the first that fails.
func (b *benchmark) tryAll(ctx context.Context) error {
	for i := range b.cfg.locks {
		c := &b.cfg.locks[i]
		if c.java || c.unsafe != "" || !tries {
			continue
		}
		b.progress.say("trying " + c.name)
		err := b.try(ctx, c)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			b.notRun(*c, b.cfg.loads[0])
			r := &b.results[i] // that of c with the first load: there were no rows before
			r.Status, r.Error = report.StatusFailed, err.Error()
			return fmt.Errorf("%s, tried with %d contenders on %s: %w", c.name, trialContenders, r.Server, err)
		}
	}
	return nil
}

// try tries one lock. It also finds out whether the path of a student's lock
// is the parent of a queue.
func (b *benchmark) try(ctx context.Context, c *contestant) (err error) {
	if c.other != nil {
		return b.tryOther(ctx, *c)
	}
	if b.group != nil {
		ctx = b.group.Context()
		defer func() { err = b.because(err) }()
	}
	_, lockPath, err := b.freshPath(*c, trialContenders, 0)
	if err != nil {
		return err
	}
	tap := wiretap.New(wiretap.WithLog())
	conns, err := b.connect(ctx, tap, 3, trialContenders, 0)
	t := newTrial(ctx)
	defer t.end(func() { closeAll(conns) })
	if err != nil {
		return err
	}
	var makers []*zk.Conn
	for _, session := range trialSessions {
		makers = append(makers, conns[session])
	}
	lockers, err := makeContenders(*c, trialContenders, tap, makers, lockPath)
	if err != nil {
		return err
	}
	holders := conns[0]
	session := holders.SessionID()
	sent := int64(0)
	impatient, patient := lockers[theImpatient].(interface{ LockContext(context.Context) error })
	t.stays = !patient
	t.alive = func() (int64, bool) {
		c := tap.Counts()
		return c.BytesIn + c.BytesOut, tap.Pending() > 0
	}
	t.lock = func(ctx context.Context, contender int) error {
		if contender == theImpatient {
			return impatient.LockContext(ctx)
		}
		err := lockers[contender].Lock()
		if contender == theHolder && err == nil && c.folder != "" {
			_, stat, err := b.admin.Exists(lockPath)
			c.queue = err == nil && stat.EphemeralOwner == 0 && stat.Czxid != 0
		}
		return err
	}
	t.unlock = func(contender int) error {
		if contender == theHolder && (holders.SessionID() != session || holders.State() != zk.StateHasSession) {
			return fmt.Errorf("session %#x of the holder was lost", session)
		}
		return lockers[contender].Unlock()
	}
	t.close = func() error {
		sent = tap.Counts().Total()
		conns[trialSessions[theClosed]].Close()
		// In an ensemble the server of the next contender may receive the end of the session later.
		if _, err := conns[trialSessions[theNext]].Sync(lockPath); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	}
	if err := t.run(); err != nil {
		return err
	}
	if sent == 0 {
		return errors.New("it sent nothing to ZooKeeper: it excludes no contender of another process")
	}
	return waitForAll(lockers)
}

func newTrial(ctx context.Context) *trial {
	return &trial{ctx: ctx, outcomes: make(chan outcome, trialContenders), entry: cameInText}
}

func (t *trial) run() error {
	t.start(t.ctx, theHolder)
	if _, err := t.enter(); err != nil {
		return err
	}
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
	t.entry = gaveUpText
	if err := t.close(); err != nil {
		return err
	}
	if err := t.calm(patientCalm); err != nil {
		return err
	}
	giveUp()
	if err := t.calm(patientCalm); err != nil {
		return err
	}
	t.entry = cameInText
	for contender := theHolder; ; {
		t.held = false
		if err := guarded("Unlock", func() error { return t.unlock(contender) }); err != nil || t.waiting == 0 {
			return err
		}
		var err error
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
		t.outcomes <- outcome{contender, guarded("Lock", func() error { return t.lock(ctx, contender) })}
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
			return 0, fmt.Errorf("it hangs: for %v no contender got the lock although it was free", trialPatience)
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
		return fmt.Errorf("%s: %w", t.entry, errTwoGoroutines)
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
