package counter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
)

// tries plays the trial in virtual time.
func tries(t *testing.T, make func() (contenders []Contender, gaveUp func())) (err error) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		contenders, gaveUp := make()
		ctx, stop := context.WithCancel(t.Context())
		closed, giveUp := context.WithCancel(ctx)
		contenders[Closed] = closable{contenders[Closed], closed}
		trial := &Trial{Contenders: contenders, Ending: "the client of a waiter ended"}
		trial.Close = func() error {
			giveUp()
			if gaveUp != nil {
				gaveUp()
			}
			return nil
		}
		trial.Alive = func(int) (int64, bool) { return 0, false }
		defer trial.End(stop)
		err = trial.Run(ctx)
	})
	return err
}

// A closable contender gives up when a context of its own ends.
type closable struct {
	Contender
	closed context.Context
}

func (c closable) Lock(context.Context) error { return c.Contender.Lock(c.closed) }

// first is a holder and four waiters with this Lock.
func first(lock func(ctx context.Context) error) []Contender {
	f := fake{lock: lock}
	return []Contender{fake{}, f, f, f, f}
}

func TestARightLockPassesItsTrial(t *testing.T) {
	require.NoError(t, tries(t, func() ([]Contender, func()) { return mutex(TrialContenders), nil }))
}

func TestALockThatLetsASecondOneInFailsItsTrial(t *testing.T) {
	err := tries(t, func() ([]Contender, func()) { return first(func(context.Context) error { return nil }), nil })
	require.EqualError(t, err, "a contender got the lock although its holder had not unlocked: two goroutines held the lock at once")
}

// All waiters get the lock when one of them gives up: that whose client is closed, or that whose context ends.
func TestALockThatYieldsWhenAWaiterGivesUpFailsItsTrial(t *testing.T) {
	err := tries(t, func() ([]Contender, func()) {
		given := make(chan struct{})
		return first(func(ctx context.Context) error {
			<-given
			return ctx.Err()
		}), func() { close(given) }
	})
	require.ErrorContains(t, err, "when the client of a waiter ended another contender got the lock, although its holder had not unlocked")

	err = tries(t, func() ([]Contender, func()) {
		free := make(chan struct{})
		contenders := first(func(ctx context.Context) error {
			select {
			case <-free:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		contenders[Impatient] = fake{lock: func(ctx context.Context) error {
			<-ctx.Done()
			close(free)
			return ctx.Err()
		}}
		return contenders, nil
	})
	require.ErrorContains(t, err, "when the context of a waiter ended another contender got the lock")
}

func TestALockThatNobodyGetsFailsItsTrial(t *testing.T) {
	f := fake{lock: forever}
	err := tries(t, func() ([]Contender, func()) { return []Contender{f, f, f, f, f}, nil })
	require.EqualError(t, err, "it hangs: for 1m0s no contender got the lock although it was free")
}
