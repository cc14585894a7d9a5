package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// A Contender asks for the lock. Its context ends with the race.
type Contender interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// A Race plays article A's main function: contenders that lock, count and unlock. It sends nothing to a server itself.
type Race struct {
	Contenders []Contender
	Times      int           // how many times each of them locks
	Limit      time.Duration // 0: none
	Step       func()        // called after each Unlock, by the contender; may be nil
	// Leave makes contenders return that do not return when their context ends; may be nil.
	Leave func()
	Work  func(contender int) error // done while the lock is held, besides counting; may be nil
	Sent  func() int64              // counts the requests so far, which go to Run.Requests; nil: they are not counted
	Stock bool                      // Lock takes a piece of a stock on a server, which counts: it excludes nobody

	num     int          // the counter; guarded by the lock under test, and by nothing else; 0 of a stock
	inside  atomic.Int32 // holders at this moment
	held    atomic.Int32 // how many times the lock has been held
	overlap atomic.Bool  // there were two holders at once
	failed  atomic.Bool  // Lock or Unlock has returned an error, possibly that of the context of a race that has ended
	end     context.CancelCauseFunc
	began   time.Time
	turns   []report.Turn
}

// Errors that end a run.
var (
	ErrInterrupted = i18n.Errorf("interrupted")
	ErrTwoHolders  = i18n.Errorf("two goroutines held the lock at once")
)

// A Stopped is the end of a run that reached the limit while its lock made progress.
type Stopped struct{ Limit time.Duration }

func (e Stopped) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error in both languages.
func (e Stopped) Unwrap() error { return i18n.Errorf("stopped after %v", e.Limit) }

// A CannotRun is the error of a player that lacks something.
type CannotRun struct{ Why error }

func (e CannotRun) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error in both languages.
func (e CannotRun) Unwrap() error { return i18n.Errorf("cannot run: %w", e.Why) }

// returnTimeout is the time that a contender may take to return from Lock or Unlock after the end of the race.
const returnTimeout = 30 * time.Second

// A limitError is the cause of the end of a race that has reached its limit.
type limitError struct{ error }

func (e limitError) Unwrap() error { return e.error }

// Run runs the race, and fills in the result. It ends at the limit, and when a contender fails: others may wait for it.
func (r *Race) Run(ctx context.Context, result *report.Run) error {
	r.turns = make([]report.Turn, r.wanted())
	ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	if r.Leave != nil {
		defer context.AfterFunc(ctx, r.Leave)()
	}

	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range r.Contenders {
		wg.Go(func() {
			<-start
			if err := r.contend(ctx, i); err != nil {
				r.failed.Store(true)
				r.end(err)
			}
		})
	}
	runtime.GC() // the garbage of the run before must not slow this one down
	if r.Limit > 0 {
		go r.stopLate(ctx)
	}
	sentBefore := r.sent()
	r.began = time.Now()
	close(start)

	var elapsed time.Duration
	returned := make(chan struct{})
	go func() {
		wg.Wait()
		elapsed = time.Since(r.began)
		close(returned)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		select {
		case <-returned:
		case <-time.After(returnTimeout): // num and turns cannot be read: the contenders may still write to them
			result.Count = r.Holds()
			return r.missing(context.Cause(ctx))
		}
	}

	result.Elapsed, result.Count, result.Requests = elapsed, r.num, r.sent()-sentBefore
	err := r.verdict(context.Cause(ctx))
	switch {
	case err == nil:
		result.Total = result.Count
		result.SetTurns(r.turns)
	case errors.As(err, new(Stopped)):
		result.Count = r.Holds()
	}
	return err
}

func (r *Race) sent() int64 {
	if r.Sent == nil {
		return 0
	}
	return r.Sent()
}

// wanted is how many times the lock is to be held.
func (r *Race) wanted() int { return len(r.Contenders) * r.Times }

// Holds is how many times the lock has been held so far.
func (r *Race) Holds() int { return int(r.held.Load()) }

// contend plays contender i: it locks, counts and unlocks, as article A's listing does, Times times.
func (r *Race) contend(ctx context.Context, i int) (err error) {
	contender := r.Contenders[i]
	calling := "" // for the error, if that call panics
	defer func() {
		if named, ok := contender.(fmt.Stringer); ok && err != nil {
			err = i18n.Errorf("%v: %w", named, err)
		}
	}()
	defer recoverTo(&err, &calling)

	for k := range r.Times {
		turn := &r.turns[i*r.Times+k]
		calling, turn.Arrived = "Lock", time.Since(r.began)
		if err := contender.Lock(ctx); err != nil {
			return err
		}
		calling, turn.Got = "num++", time.Since(r.began)
		err := r.count(ctx, i, turn)
		calling = "Unlock"
		if err := cmp.Or(err, contender.Unlock(ctx)); err != nil {
			return err
		}
		if r.Step != nil {
			r.Step()
		}
	}
	return nil
}

// count is num++, and notices another holder. A stock has counted in Lock.
func (r *Race) count(ctx context.Context, i int, turn *report.Turn) (err error) {
	if r.Stock {
		turn.Place = int(r.held.Add(1)) - 1
		return nil
	}
	// The end of the race may end the sessions, and with them the hold of the other one.
	if r.inside.Add(1) != 1 && ctx.Err() == nil {
		r.overlap.Store(true)
	}
	seen := r.num
	turn.Place = seen
	if seen < 8 || seen%max(1, r.wanted()/8) == 0 { // at the first eight holds, and at eight of all
		runtime.Gosched() // without it a second holder would seldom come in between
	}
	r.num = seen + 1
	r.held.Add(1)
	if r.Work != nil {
		err = r.Work(i)
	}
	r.inside.Add(-1)
	return err
}

// stopLate ends the race at its limit, and notices whether anything has happened in the second half of the time.
func (r *Race) stopLate(ctx context.Context) {
	if !sleep(ctx, r.Limit/2) {
		return
	}
	heldThen, sentThen := r.Holds(), r.sent()
	if !sleep(ctx, r.Limit-r.Limit/2) {
		return
	}
	if r.Holds() != heldThen || r.sent() != sentThen {
		r.end(limitError{Stopped{r.Limit}})
		return
	}
	nothingSent := ""
	if r.Sent != nil {
		nothingSent = " and nothing was sent"
	}
	r.end(limitError{i18n.Errorf("it hangs: for %v no contender got the lock%s, at %d of %d", r.Limit-r.Limit/2, nothingSent, heldThen, r.wanted())})
}

// missing returns the error of a race whose contenders do not all return. cause is what has ended the race.
func (r *Race) missing(cause error) error {
	switch {
	case errors.As(cause, new(Stopped)): // the lock made progress until the limit, and hangs since
	case r.failed.Load(), errors.As(cause, new(limitError)):
		return cause
	}
	return i18n.Errorf("it hangs: %v after the end contenders have not returned from Lock or Unlock, at %d of %d",
		returnTimeout, r.Holds(), r.wanted())
}

// verdict returns what has gone wrong, or nil. cause is what has ended the race; nil if all contenders were done.
func (r *Race) verdict(cause error) error {
	failed, atLimit := r.failed.Load(), errors.As(cause, new(limitError))
	switch {
	case failed && !atLimit: // the error that has ended the race
		return cause
	case r.overlap.Load():
		return ErrTwoHolders
	case failed: // with the error of a context that the limit has ended
		return cause
	case r.Holds() != r.wanted():
		return i18n.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there", r.wanted()-r.Holds(), r.wanted())
	case !r.Stock:
		return r.CheckCount(r.num)
	}
	return nil
}

// CheckCount fails if a count is not the number of times that the lock was held.
func (r *Race) CheckCount(count int) error {
	if count != r.wanted() {
		return i18n.Errorf("the count is %d, not %d: %w", count, r.wanted(), ErrTwoHolders)
	}
	return nil
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Guarded calls a function of the lock under test. A panic becomes an error.
func Guarded(name string, f func() error) (err error) {
	defer recoverTo(&err, &name)
	return f()
}

// recoverTo, deferred by a function that calls the lock under test, sets *err if that call, named by *call, panics.
func recoverTo(err *error, call *string) {
	if p := recover(); p != nil {
		*err = i18n.Errorf("%s panicked: %v%s", *call, p, panicPlace())
	}
}

// panicPlace returns the line that has panicked, for a deferred function.
func panicPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for f, more := frames.Next(); more; f, more = frames.Next() {
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !inRuntime {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || inRuntime
	}
	return ""
}
