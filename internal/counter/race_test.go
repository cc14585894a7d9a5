package counter

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter/report"
)

// A fake is a contender with these functions. One that is nil returns at once.
type fake struct {
	lock   func(context.Context) error
	unlock func() error
}

func (f fake) Lock(ctx context.Context) error {
	if f.lock == nil {
		return nil
	}
	return f.lock(ctx)
}

func (f fake) Unlock(context.Context) error {
	if f.unlock == nil {
		return nil
	}
	return f.unlock()
}

// awaiting returns a Lock that waits for free, or until the race ends.
func awaiting(free <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var forever = awaiting(nil) // until the race ends

func mutex(n int) (all []Contender) {
	free := make(chan struct{}, 1)
	free <- struct{}{}
	for range n {
		all = append(all, fake{awaiting(free), func() error { free <- struct{}{}; return nil }})
	}
	return all
}

// raceInBubble runs a race in virtual time, in which each contender locks once unless Times says otherwise.
func raceInBubble(t *testing.T, newRace func() *Race) (r report.Run, err error) {
	bubble.Test(t, func(t *testing.T) {
		race := newRace()
		race.Times = max(race.Times, 1)
		err = race.Run(t.Context(), &r)
	})
	return r, err
}

func TestARaceOfARightLockCountsAllHolds(t *testing.T) {
	const contenders, times, perHold = 50, 3, 2
	sent := int64(7) // requests, before the race
	r, err := raceInBubble(t, func() *Race {
		work := func(int) error { sent += perHold; return nil }
		return &Race{Contenders: mutex(contenders), Times: times, Work: work, Sent: func() int64 { return sent }}
	})
	require.NoError(t, err)
	require.Equal(t, contenders*times, r.Count)
	require.EqualValues(t, perHold*contenders*times, r.Requests, "only those of the race")
}

// Two holders fail the race: the second contender gets the lock when the first one holds it and has read the count.
func TestTwoHoldersFail(t *testing.T) {
	firstInside, secondInside := make(chan struct{}), make(chan struct{})
	work := func(contender int) error {
		if contender == 0 {
			close(firstInside)
			<-secondInside
		} else {
			close(secondInside)
		}
		return nil
	}
	second := fake{lock: func(context.Context) error { <-firstInside; return nil }}
	race := &Race{Contenders: []Contender{fake{}, second}, Times: 1, Work: work}
	require.ErrorIs(t, race.Run(t.Context(), new(report.Run)), ErrTwoHolders)
}

func TestACountThatIsNotNFails(t *testing.T) {
	race := &Race{Contenders: mutex(2), Times: 1}
	require.EqualError(t, race.CheckCount(1), "the count is 1, not 2: two goroutines held the lock at once")
}

func TestAContenderThatFailsEndsTheRace(t *testing.T) {
	refused := fake{lock: func(context.Context) error { return io.ErrShortWrite }}
	_, err := raceInBubble(t, func() *Race { return &Race{Contenders: []Contender{fake{lock: forever}, refused, fake{lock: forever}}} })
	require.ErrorIs(t, err, io.ErrShortWrite)
}

func TestAPanicEndsTheRaceAndNamesItsLine(t *testing.T) {
	panics := fake{unlock: func() error { panic("no such node") }}
	_, err := raceInBubble(t, func() *Race { return &Race{Contenders: []Contender{panics}} })
	require.Regexp(t, `^Unlock panicked: no such node \(race_test.go:\d+\)$`, err)
}

// A lock at the limit is slow if, in the second half of the time, a contender got it or sent something; else it hangs.
func TestASlowLockIsStoppedAndASilentOneHangs(t *testing.T) {
	var sent atomic.Int64
	asks := func(ctx context.Context) error {
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			sent.Add(1)
		}
		return ctx.Err()
	}
	for _, tc := range []struct {
		lock func(context.Context) error
		sent func() int64
		want string
	}{
		{lock: asks, sent: sent.Load, want: "stopped after 3s"},
		// Nobody counts what this one sends.
		{lock: asks, want: "it hangs: for 1.5s no contender got the lock, at 0 of 1"},
		{lock: forever, sent: sent.Load, want: "it hangs: for 1.5s no contender got the lock and nothing was sent, at 0 of 1"},
	} {
		_, err := raceInBubble(t, func() *Race {
			return &Race{Contenders: []Contender{fake{lock: tc.lock}}, Limit: 3 * time.Second, Sent: tc.sent}
		})
		require.EqualError(t, err, tc.want)
	}
}

// A lock that does not return even when the race has ended does not keep the race.
func TestALockThatNeverReturnsDoesNotKeepTheRace(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
		defer interrupt()
		race := &Race{Contenders: []Contender{fake{lock: func(context.Context) error { <-over; return nil }}}, Times: 1}
		require.EqualError(t, race.Run(ctx, new(report.Run)),
			"it hangs: 30s after the end contenders have not returned from Lock or Unlock, at 0 of 1")
	})
}

// A race fails if a contender has neither held the lock nor returned an error, as after Goexit. Here none has run.
func TestAGoroutineThatEndsInLockIsAFailure(t *testing.T) {
	race := &Race{Contenders: []Contender{fake{}}, Times: 1}
	require.ErrorContains(t, race.verdict(nil), "1 of 1 calls of Lock returned neither the lock nor an error")
}

// tryInBubble plays a Trial of the contenders in virtual time.
func tryInBubble(t *testing.T, newContenders func() []Contender) (err error) {
	bubble.Test(t, func(t *testing.T) {
		contenders := newContenders()
		ctx, stop := context.WithCancel(t.Context())
		sessionCtx, endSession := context.WithCancel(ctx)
		contenders[Closed] = closable{contenders[Closed], sessionCtx}
		trial := &Trial{Contenders: contenders}
		trial.Close = func() error { endSession(); return nil }
		trial.Alive = func() (traffic int64, answerDue bool) { return 0, false } // nothing ever crosses a wire
		defer trial.End(stop)
		err = trial.Run(ctx)
	})
	return err
}

// A closable contender gives up when a context of its own ends: that of its session.
type closable struct {
	Contender
	sessionCtx context.Context
}

func (c closable) Lock(context.Context) error { return c.Contender.Lock(c.sessionCtx) }

// Locks whose waiters get in at once, or when a session ends, are tried in package zookeeper: that takes a server.
func TestALockThatYieldsWhenTheContextOfAWaiterEndsFailsItsTrial(t *testing.T) {
	err := tryInBubble(t, func() []Contender {
		free := make(chan struct{})
		waiter := fake{lock: awaiting(free)}
		impatient := fake{lock: func(ctx context.Context) error {
			<-ctx.Done()
			close(free)
			return ctx.Err()
		}}
		return []Contender{Holder: fake{}, Closed: waiter, Impatient: impatient, Next: waiter, Last: waiter}
	})
	require.ErrorContains(t, err, "when the context of a waiter ended another contender got the lock")
}

func TestALockThatNobodyGetsFailsItsTrial(t *testing.T) {
	err := tryInBubble(t, func() []Contender { return slices.Repeat([]Contender{fake{lock: forever}}, TrialContenders) })
	require.EqualError(t, err, "it hangs: for 1m0s no contender got the lock although it was free")
}
