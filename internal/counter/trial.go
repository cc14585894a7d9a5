package counter

import (
	"context"
	"fmt"
	"time"

	"example.com/zklock/internal/i18n"
)

// Patience is the time in which a contender must get a free lock.
const Patience = time.Minute

// The faults of a lock that lets two contenders in, by what has come just before.
const (
	gaveUpText = "when %s another contender got the lock, although its holder had not unlocked"
	cameInText = "a contender got the lock although its holder had not unlocked"
	waitedText = "a contender got the lock after %v of waiting, although its holder had not unlocked"
)

// A trial goes on when nothing has crossed the wire for some polls in a row.
const (
	pollEvery     = time.Millisecond
	mostPolls     = 500 // then it goes on with a lock that never stops asking
	calmPolls     = 15
	longCalmPolls = 60 // after a waiter gave up
)

// The contenders of a trial, in the order in which they come.
const (
	Holder          = iota
	Closed          // gives up: its client is closed
	Impatient       // gives up, if it can: its context ends
	Next            // shares a session with the impatient one
	Last            // shares the holder's session
	TrialContenders = iota
)

// A Trial is played before a lock is measured. A few contenders follow a schedule in which a lock that does
// not exclude lets two in: one holds the lock and keeps it while the others ask for it and while a waiter
// gives up. Runs alone would not show that: in a run the holder leaves at once and no waiter gives up.
type Trial struct {
	Contenders []Contender
	Close      func() error                           // ends the session of the contender Closed
	Alive      func() (traffic int64, answerDue bool) // traffic is how much has crossed the wire so far
	// NeverGivesUp says that no waiter of this lock gives up when its context ends: Impatient does not take part.
	NeverGivesUp bool
	Hold         time.Duration // how much longer the holder keeps the lock when all have asked for it
	BeforeUnlock func() error  // called when the holder is about to unlock; may be nil

	ctx      context.Context
	outcomes chan outcome
	running  int    // contenders whose Lock has not returned
	waiting  int    // those of them that do not give up
	held     bool   // by a contender that has not unlocked
	fault    string // what is wrong if another one gets the lock now
}

// An outcome is what Lock returned to a contender.
type outcome struct {
	contender int
	err       error
}

// Run plays the trial. Its error says what is wrong with the lock.
func (t *Trial) Run(ctx context.Context) error {
	t.ctx, t.outcomes, t.fault = ctx, make(chan outcome, TrialContenders), cameInText
	t.start(t.ctx, Holder)
	if _, err := t.awaitHolder(); err != nil {
		return err
	}

	impatient, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for contender := Closed; contender < TrialContenders; contender++ { // the others ask for the lock, one by one
		lockCtx := ctx
		if contender == Impatient {
			lockCtx = impatient
			if t.NeverGivesUp {
				continue
			}
		}
		t.start(lockCtx, contender)
		if err := t.awaitCalm(calmPolls); err != nil {
			return err
		}
	}
	if err := t.keepLock(); err != nil {
		return err
	}

	t.fault = fmt.Sprintf(gaveUpText, "the session of a waiter ended")
	if err := t.Close(); err != nil {
		return err
	}
	if err := t.awaitCalm(longCalmPolls); err != nil {
		return err
	}
	t.fault = fmt.Sprintf(gaveUpText, "the context of a waiter ended")
	giveUp()
	if err := t.awaitCalm(longCalmPolls); err != nil {
		return err
	}

	t.fault = cameInText
	if t.BeforeUnlock != nil {
		if err := t.BeforeUnlock(); err != nil {
			return err
		}
	}
	return t.unlockInTurn()
}

// unlockInTurn has the holder unlock, and then each of the others that gets the lock.
func (t *Trial) unlockInTurn() error {
	for contender := Holder; ; {
		t.held = false
		err := Guarded("Unlock", func() error { return t.Contenders[contender].Unlock(t.ctx) })
		if err != nil || t.waiting == 0 {
			return err
		}
		if contender, err = t.awaitHolder(); err != nil {
			return err
		}
		if err := t.awaitCalm(calmPolls); err != nil {
			return err
		}
	}
}

func givesUp(contender int) bool { return contender == Closed || contender == Impatient }

// start has a contender call Lock in a goroutine of its own.
func (t *Trial) start(ctx context.Context, contender int) {
	t.running++
	if !givesUp(contender) {
		t.waiting++
	}
	go func() {
		t.outcomes <- outcome{contender, Guarded("Lock", func() error { return t.Contenders[contender].Lock(ctx) })}
	}()
}

// awaitHolder waits until a contender gets the lock, which is free.
func (t *Trial) awaitHolder() (contender int, err error) {
	late := time.After(Patience)
	for {
		select {
		case o := <-t.outcomes:
			if err := t.note(o); err != nil {
				return 0, err
			}
			if t.held {
				return o.contender, nil
			}
		case <-late:
			return 0, i18n.Errorf("it hangs: for %v no contender got the lock although it was free", Patience)
		case <-t.ctx.Done():
			return 0, context.Cause(t.ctx)
		}
	}
}

// keepLock waits for the time Hold, in which no other contender may get the lock.
func (t *Trial) keepLock() error {
	if t.Hold == 0 {
		return nil
	}
	began, over := time.Now(), time.After(t.Hold)
	for {
		select {
		case o := <-t.outcomes:
			t.fault = fmt.Sprintf(waitedText, time.Since(began).Round(100*time.Millisecond))
			if err := t.note(o); err != nil {
				return err
			}
		case <-over:
			return nil
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
}

// awaitCalm returns when all requests have been answered and nothing has crossed the wire for some polls.
func (t *Trial) awaitCalm(polls int) error {
	seen, calm := int64(-1), 0
	for polled := 0; polled < mostPolls && calm < polls; polled++ {
		select {
		case o := <-t.outcomes:
			if err := t.note(o); err != nil {
				return err
			}
		case <-time.After(pollEvery):
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
		calm++
		if traffic, answerDue := t.Alive(); traffic != seen || answerDue {
			seen, calm = traffic, 0
		}
	}
	return nil
}

// note records what Lock has returned to a contender. It fails if there are two holders, or if Lock must not fail.
func (t *Trial) note(o outcome) error {
	t.running--
	if !givesUp(o.contender) {
		t.waiting--
	}
	switch {
	case o.err == nil && t.held:
		return i18n.Errorf("%s: %w", t.fault, ErrTwoHolders)
	case o.err == nil:
		t.held = true
		return nil
	case givesUp(o.contender):
		return nil
	}
	return o.err
}

// End calls stop, which makes the contenders return from Lock, and waits for them, at most for returnTimeout.
func (t *Trial) End(stop func()) {
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
