package counter

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
)

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
