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

// A Race is article A's main: contenders that lock, add one to a counter and unlock. It
// asks nothing of the lock's server.
type Race struct {
	Contenders []Contender
	Times      int           // how many times each of them locks
	Limit      time.Duration // 0: none
	Step       func()        // called after each Unlock, by the contender; may be nil
	// Leave makes contenders return that do not return when their context ends; may be nil.
	Leave func()
	// Work is done while the lock is held, besides counting; may be nil.
	Work func(contender int) error
	// Sent counts the requests so far, which go to Run.Requests; nil: they are not counted.
	Sent func() int64
	// Stock says that the lock itself counts, on its server: Lock excludes no other contender.
	Stock bool

	num     int          // guarded by the lock under test, and by nothing else; 0 of a stock
	inside  atomic.Int32 // holders at this moment
	held    atomic.Int32 // how many times the lock has been held
	overlap atomic.Bool  // there were two holders at once
	failed  atomic.Bool  // a contender has failed, perhaps because the race has ended
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
func (e CannotRun) Unwrap() error {
	return i18n.Errorf("cannot run: %w", e.Why)
}

// returnTimeout is the time that a contender may take to return from Lock or Unlock after the end of the race.
const returnTimeout = 30 * time.Second

// An errLimit is the cause of the end of a race that has reached its limit.
type errLimit struct{ error }

func (e errLimit) Unwrap() error { return e.error }

// Run runs the race, and fills in how the contenders fared. It ends the race at the
// limit, and when a contender fails, because the others may wait for it.
func (c *Race) Run(ctx context.Context, r *report.Run) error {
	c.turns = make([]report.Turn, c.all())
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	if c.Leave != nil {
		defer context.AfterFunc(ctx, c.Leave)()
	}

	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range c.Contenders {
		wg.Go(func() {
			<-start
			if err := c.contend(ctx, i); err != nil {
				c.failed.Store(true)
				c.end(err)
			}
		})
	}
	runtime.GC() // the garbage of the run before must not slow this one down
	if c.Limit > 0 {
		go c.stopLate(ctx)
	}
	sentBefore := c.sent()
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
		case <-time.After(returnTimeout): // num and turns cannot be read: the contenders may still write to them
			r.Count = c.Holds()
			return c.missing(context.Cause(ctx))
		}
	}

	r.Elapsed, r.Count, r.Requests = elapsed, c.num, c.sent()-sentBefore
	err := c.verdict(context.Cause(ctx))
	switch {
	case err == nil:
		r.Total = r.Count
		r.Fared(c.turns)
	case errors.As(err, new(Stopped)):
		r.Count = c.Holds()
	}
	return err
}

func (c *Race) sent() int64 {
	if c.Sent == nil {
		return 0
	}
	return c.Sent()
}

// all is how many times the lock is to be held.
func (c *Race) all() int { return len(c.Contenders) * c.Times }

// Holds is how many times the lock has been held so far.
func (c *Race) Holds() int { return int(c.held.Load()) }

// contend is what contender i does. Each time it is article A's listing: lock, num++, unlock.
func (c *Race) contend(ctx context.Context, i int) (err error) {
	contender, call := c.Contenders[i], "" // call names what the contender calls, should it panic
	defer func() {
		if named, ok := contender.(fmt.Stringer); ok && err != nil {
			err = i18n.Errorf("%v: %w", named, err)
		}
	}()
	defer panicIsError(&call, &err)
	for k := range c.Times {
		turn := &c.turns[i*c.Times+k]
		call, turn.Arrived = "Lock", time.Since(c.began)
		if err := contender.Lock(ctx); err != nil {
			return err
		}
		call, turn.Got = "num++", time.Since(c.began)
		err := c.count(ctx, i, turn)
		call = "Unlock"
		if err := cmp.Or(err, contender.Unlock(ctx)); err != nil {
			return err
		}
		if c.Step != nil {
			c.Step()
		}
	}
	return nil
}

// count is num++, and notices another holder. A stock has counted in Lock.
func (c *Race) count(ctx context.Context, i int, turn *report.Turn) (err error) {
	if c.Stock {
		turn.Place = int(c.held.Add(1)) - 1
		return nil
	}
	// The end of the race may end the sessions, and with them the hold of the other one.
	if c.inside.Add(1) != 1 && ctx.Err() == nil {
		c.overlap.Store(true)
	}
	seen := c.num
	turn.Place = seen
	if seen < 8 || seen%max(1, c.all()/8) == 0 { // at the first eight holds, and at eight of all
		runtime.Gosched() // without it a second holder would seldom come in between
	}
	c.num = seen + 1
	c.held.Add(1)
	if c.Work != nil {
		err = c.Work(i)
	}
	c.inside.Add(-1)
	return err
}

// stopLate ends the race at its limit, and notices whether anything has happened in the second half of the time.
func (c *Race) stopLate(ctx context.Context) {
	if !sleep(ctx, c.Limit/2) {
		return
	}
	heldThen, sentThen := c.Holds(), c.sent()
	if !sleep(ctx, c.Limit-c.Limit/2) {
		return
	}
	if c.Holds() != heldThen || c.sent() != sentThen {
		c.end(errLimit{Stopped{c.Limit}})
		return
	}
	nothingSent := ""
	if c.Sent != nil {
		nothingSent = " and nothing was sent"
	}
	c.end(errLimit{i18n.Errorf("it hangs: for %v no contender got the lock%s, at %d of %d", c.Limit-c.Limit/2, nothingSent, heldThen, c.all())})
}

// missing is the error of a race that has ended by a cause, and some of whose contenders do not return.
func (c *Race) missing(cause error) error {
	if !errors.As(cause, new(Stopped)) && (c.failed.Load() || errors.As(cause, new(errLimit))) {
		return cause
	}
	return i18n.Errorf("it hangs: %v after the end contenders have not returned from Lock or Unlock, at %d of %d",
		returnTimeout, c.Holds(), c.all())
}

// verdict is the fault of a race, nil if all is well. Cause is what has ended it; nil if it has ended by itself.
func (c *Race) verdict(cause error) error {
	failed, atLimit := c.failed.Load(), errors.As(cause, new(errLimit))
	switch {
	case failed && !atLimit:
		return cause
	case c.overlap.Load():
		return ErrTwoHolders
	case failed:
		return cause
	case c.Holds() != c.all():
		return i18n.Errorf("%d of %d calls of Lock returned neither the lock nor an error: their goroutines ended there", c.all()-c.Holds(), c.all())
	case !c.Stock:
		return c.IsAll(c.num)
	}
	return nil
}

// IsAll fails if a count is not the number of times that the lock was held.
func (c *Race) IsAll(count int) error {
	if count != c.all() {
		return i18n.Errorf("the count is %d, not %d: %w", count, c.all(), ErrTwoHolders)
	}
	return nil
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Guarded calls a function of the lock under test. A panic becomes an error.
func Guarded(name string, f func() error) (err error) {
	defer panicIsError(&name, &err)
	return f()
}

// panicIsError, deferred by a function that calls the lock under test, makes a panic of that call an error.
func panicIsError(call *string, err *error) {
	if p := recover(); p != nil {
		*err = i18n.Errorf("%s panicked: %v%s", *call, p, panicPlace())
	}
}

// panicPlace returns the line that panicked, to the function that recovers.
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
