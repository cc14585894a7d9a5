package exploretest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
)

const (
	firstUnlock = "the first Unlock of two releases the lock"
	neverAgain  = "an owner that has lost the lock cannot lock again"
)

// A reentrantBug is a contender of step 4 that is wrong when it locks again.
type reentrantBug struct {
	lock  explore.Lock
	bug   string
	times int
	lost  error
}

func (l *reentrantBug) Lock(ctx context.Context) error {
	if l.bug == neverAgain && l.lost != nil {
		return l.lost
	}
	err := l.lock.Lock(ctx)
	if err == nil {
		l.times++
	}
	return err
}

func (l *reentrantBug) Unlock(ctx context.Context) error {
	err := l.lock.Unlock(ctx)
	if l.times--; l.bug == firstUnlock && err == nil && l.times == 1 {
		l.lock.Unlock(ctx) // and later the contender gets no error
	}
	if l.bug == firstUnlock && l.times == 0 {
		return nil
	}
	l.lost = errors.Join(l.lost, err)
	return err
}

func (l *reentrantBug) TryLock(ctx context.Context) (bool, error) { return l.lock.TryLock(ctx) }

// TestAnOwnerThatLocksAgain: a holder may lock once more, and an owner whose
// session has expired may lock in the next one.
func TestAnOwnerThatLocksAgain(t *testing.T) {
	lock, unlock := explore.LockOp, explore.UnlockOp
	for _, test := range []struct {
		bug   string
		world explore.World
		kind  explore.Kind
	}{
		{firstUnlock, explore.World{Scripts: [][]explore.Op{{lock, lock, unlock, unlock}}}, explore.TwoHolders},
		{neverAgain, explore.World{Scripts: [][]explore.Op{{lock, unlock, lock, unlock}}, Contenders: 1,
			Kinds: []explore.Fault{explore.Expire}, Faults: 1}, explore.Failure},
	} {
		t.Run(test.bug, func(t *testing.T) {
			for _, bug := range []string{"", test.bug} {
				w := test.world
				w.Lock = steps.Reentrant()
				open := w.Lock.Open
				w.Lock.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
					contender := open(conn, path)
					return func(name string) explore.Lock { return &reentrantBug{lock: contender(name), bug: bug} }
				}
				r := explore.Explore(t, w, explore.Search{})
				if bug == "" {
					require.Nil(t, r.Found, "%v", r.Found)
					require.True(t, r.Complete)
					continue
				}
				require.NotNil(t, r.Found, "%v shows nothing", r)
				require.Equal(t, test.kind, r.Found.Violation.Kind, "%v", r.Found)
			}
		})
	}
}
