// Package faults has what the locks of these folders must do when the line to their server breaks, if
// they outlive a connection.
package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

// A Lock is a lock that no other test uses, and a line to its server that a case breaks.
type Lock struct {
	suite.Subject
	*proxy.Proxy
	Name           string
	Holder, Waiter suite.Lock // at the end of the line
	Next           suite.Lock // at the server
}

// Open opens a lock until the test ends.
func Open(t *testing.T, s suite.Subject) *Lock {
	line, via := s.Via(t, s.Server)
	far, name := s.Client(t, via), suite.Name()
	return &Lock{s, line, name, far(name), far(name), s.Client(t, s.Server)(name)}
}

// Run runs the cases, each on a lock of its own.
func Run(t *testing.T, s suite.Subject) {
	for name, run := range map[string]func(l *Lock, t *testing.T){
		"without a line, what it leaves stays until it expires":   (*Lock).loseLockAndLine,
		"a lost reply to Unlock can be asked again":               (*Lock).loseReplyToUnlock,
		"the holder keeps the lock while the server is not there": (*Lock).loseServer,
	} {
		t.Run(name, func(t *testing.T) { run(Open(t, s), t) })
	}
	for name, why := range map[string]error{
		"on a silent line a call ends at its deadline":      context.DeadlineExceeded,
		"on a silent line a call ends when it is cancelled": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) { Open(t, s).RequireSilentCallsEnd(t, why) })
	}
}

const patience = 2 * time.Minute

// requireLeft fails unless the server has this number of keys or rows of the lock.
func (l *Lock) requireLeft(t *testing.T, want int, whose string) {
	t.Helper()
	require.Equal(t, want, testenv.Must(l.Left(t.Context(), l.Name))(t), whose)
}

// loseReply loses the reply to the next request with a text, once it has left this number of keys: what the server
// sends first need not be the reply. asked returns how many requests with the text have come.
func (l *Lock) loseReply(t *testing.T, text string, keys int, then func()) (asked func() int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return l.LoseReply(text, func() {
		left, err := l.Left(ctx, l.Name)
		for ; err == nil && left != keys; left, err = l.Left(ctx, l.Name) {
			time.Sleep(time.Millisecond) // a poll of a real server
		}
		then()
	})
}

// The reply to Lock is lost with the line: the contender does not hold the lock, and what it has left keeps others out.
func (l *Lock) loseLockAndLine(t *testing.T) {
	l.loseReply(t, l.Request, 1, l.CutOff)
	require.ErrorIs(t, l.Holder.Lock(t.Context()), l.ErrNoReply)
	require.ErrorIs(t, l.Holder.Unlock(t.Context()), l.ErrNotLocked, "it does not act as the holder")
	suite.Try(t, false, l.Next, "the server has done what was asked")
	l.Expire(t, l.Name, l.Holder)
	suite.Round(t, l.Next)
}

// A second Unlock says that the lock was released, and affects no other contender.
func (l *Lock) loseReplyToUnlock(t *testing.T) {
	suite.Round(t, l.Holder, "a script is in the server's memory from now on")
	require.NoError(t, l.Holder.Lock(t.Context()))
	asked := l.loseReply(t, l.Release, 0, func() {})
	err := l.Holder.Unlock(t.Context())
	require.ErrorIs(t, err, l.ErrNoReply)
	require.NotErrorIs(t, err, l.ErrNotLocked)
	require.True(t, asked() == 1 || !l.Once, "the lock or its client has sent it again")
	suite.Try(t, true, l.Next)
	require.ErrorIs(t, l.Holder.Unlock(t.Context()), l.ErrNotLocked)
	l.requireLeft(t, 1, "the next holder's")
	require.NoError(t, l.Next.Unlock(t.Context()))
}

// The proxy plays that the server goes away and comes back.
func (l *Lock) loseServer(t *testing.T) {
	require.NoError(t, l.Holder.Lock(t.Context()))
	ctx, waits := t.Context(), make(chan error, 1) // waits has the error of the waiter's Lock
	if l.Waits {                                   // so would the waiter, and Unlock needs a limit
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		waits <- l.ErrNoReply
	} else {
		go func() { waits <- l.Waiter.Lock(context.WithoutCancel(t.Context())) }()
		require.Eventually(t, func() bool { return l.Waiter.Attempts() > 0 }, patience, time.Millisecond)
	}

	l.CutOff()
	require.ErrorIs(t, <-waits, l.ErrNoReply, "the waiter gets an error, and does not wait on")
	err := l.Holder.Unlock(ctx)
	require.Error(t, err)
	require.True(t, errors.Is(err, l.ErrNoReply) || errors.Is(err, ctx.Err()), "%v", err)
	require.NotErrorIs(t, err, l.ErrNotLocked)

	l.Heal()
	l.requireLeft(t, 1, "the holder's")
	require.NoError(t, RetryWhileNoReply(t, l.ErrNoReply, func() error { return l.Holder.Unlock(t.Context()) }))
	l.requireLeft(t, 0, "after Unlock")
}

// RequireSilentCallsEnd has each method return soon after its ctx has ended, though no answer comes, with an error that says why.
func (l *Lock) RequireSilentCallsEnd(t *testing.T, why error) (unlock error) {
	require.NoError(t, l.Holder.Lock(t.Context()))
	l.Silence(proxy.ToServer, proxy.ToClient)
	defer l.Heal()
	ends := func(name string, call func(context.Context) error) error {
		const soon = 50 * time.Millisecond
		deadline := soon
		if why == context.Canceled {
			deadline = time.Hour
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		if why == context.Canceled {
			time.AfterFunc(soon, cancel)
		}
		return RequireEnds(t, ctx, why, name, call)
	}
	ends("Lock", l.Waiter.Lock)
	ends("TryLock", func(ctx context.Context) error { return testenv.Err(l.Waiter.TryLock(ctx)) })
	return ends("Unlock", l.Holder.Unlock)
}

// RequireEnds checks that a call returns soon after its ctx has ended, though no answer comes, and says why.
func RequireEnds(t testing.TB, ctx context.Context, why error, what string, call func(context.Context) error) error {
	t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call(ctx) }()
	select {
	case err := <-returned:
		require.ErrorIs(t, err, why, what) // perhaps before ctx.Err says so: the connection has the deadline, too
		return err
	case <-time.After(time.Minute):
		require.FailNow(t, what+" does not return")
		return nil
	}
}

// RetryWhileNoReply calls what uses a client some of whose connections have broken: each of them costs an error.
func RetryWhileNoReply(t testing.TB, noReply error, do func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // a poll: no event shows when it works again
		err := do()
		if !errors.Is(err, noReply) {
			return err
		}
		require.True(t, time.Now().Before(end), "no connection can be made: %v", err)
	}
}
