package suite

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Contender is made of functions, for an article's lock or one with another API.
type Contender struct {
	Try  func(ctx context.Context) (held bool, err error)
	Free func(ctx context.Context, held bool) error // held: as far as this contender remembers
	Wait func(ctx context.Context) error            // Lock; nil: it tries again each millisecond

	attempts atomic.Int64
	held     bool
}

func (l *Contender) Attempts() int64 { return l.attempts.Load() }

func (l *Contender) Lock(ctx context.Context) error {
	if l.Wait != nil {
		l.attempts.Add(1)
		return l.Wait(ctx)
	}
	for {
		if held, err := l.TryLock(ctx); held || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (l *Contender) TryLock(ctx context.Context) (held bool, err error) {
	l.attempts.Add(1)
	l.held, err = l.Try(ctx)
	return l.held, err
}

func (l *Contender) Unlock(ctx context.Context) error {
	held := l.held
	l.held = false
	return l.Free(ctx, held)
}

// Round locks and unlocks.
func Round(t testing.TB, l Lock, why ...any) {
	t.Helper()
	require.NoError(t, l.Lock(t.Context()), why...)
	require.NoError(t, l.Unlock(t.Context()), why...)
}

// Try calls TryLock, which must return want.
func Try(t testing.TB, want bool, l Lock, why ...any) {
	t.Helper()
	held, err := l.TryLock(t.Context())
	require.NoError(t, err, why...)
	if held && !want {
		require.Fail(t, "TryLock returns true: two holders", why...)
	}
	require.Equal(t, want, held, why...)
}
