package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

var ways = map[string]proxy.Direction{"to the server": proxy.ToServer, "to the client": proxy.ToClient}

// Sweep plays Lock and Unlock once for each packet that crosses the line of Holder: just before it the line breaks, or
// ctx ends. A server inside the process has no line: ctx ends before a part of a statement. The lock is free, or Next
// holds it and unlocks. Whatever the calls return, no row, key or lock stays behind.
func Sweep(t *testing.T, s suite.Subject) {
	each := func(what string, cuts bool, at instant) {
		for _, held := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the line breaks: %v, the lock is held: %v", what, cuts, held), func(t *testing.T) {
				for n, came := 1, true; came; n++ {
					came = Open(t, s).ends(t, at, n, cuts, held)
				}
			})
		}
	}
	if s.Statement != nil {
		s.Via = func(_ testing.TB, server string) (*proxy.Proxy, string) { return nil, server }
		each("a part of a statement", false, func(_ *Lock, n int, act func()) func() bool { return s.Statement(n, act) })
		return
	}
	for name, way := range ways {
		for _, cuts := range []bool{true, false} {
			each("a packet "+name, cuts, func(l *Lock, n int, act func()) func() bool { return l.At(way, n, act) })
		}
	}
}

// An instant acts at the n-th of its kind. Came reports whether it has come.
type instant func(l *Lock, n int, act func()) (came func() bool)

// Lost checks that a holder's own clock closes Lost though the line is silent, from the present moment or from a packet
// of a renewal on: no error comes, and no answer. The client has another lease, which was renewed. Unless the server
// has no clock, Next gets in.
func Lost(t *testing.T, s suite.Subject, clock bool) {
	for name, way := range ways {
		for n := range 4 {
			t.Run(fmt.Sprintf("packet %d %s", n, name), func(t *testing.T) {
				t.Parallel()
				l := Open(t, s)
				suite.Round(t, l.Waiter)
				require.NoError(t, l.Holder.Lock(t.Context()))
				silence := func() { l.Silence(proxy.ToServer, proxy.ToClient) }
				if l.At(way, n, silence); n == 0 {
					silence()
				}
				if clock {
					require.NoError(t, l.Next.Lock(t.Context()))
				}
				select {
				case <-l.Holder.(interface{ Lost() <-chan struct{} }).Lost():
				case <-time.After(30 * time.Second): // its goroutine may be late on a busy machine
					t.Fatal("the lease is over, and the holder's Lost is open")
				}
			})
		}
	}
}

// ends plays the n-th instant, and reports whether there was one.
func (l *Lock) ends(t *testing.T, at instant, n int, cuts, held bool) bool {
	if l.CleanUp != nil {
		suite.Set(t, l.CleanUp, patience)
	}
	limit, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx, end := context.WithCancel(limit)
	if held {
		require.NoError(t, l.Next.Lock(limit))
	}
	why, act := context.Canceled, end
	if cuts {
		why, act = l.ErrNoReply, l.Sever
	}
	came := at(l, n, act)
	got := bubble.Aside(func() error { return l.Holder.Lock(ctx) })
	if held {
		require.Eventually(t, func() bool { return l.Holder.Attempts() > 0 }, patience, 100*time.Microsecond)
		if l.Waiting != nil {
			done := func() bool {
				waits := l.Waiting(l.Name) > 0
				if len(got) == 0 {
					return waits && !came()
				}
				return cuts || !waits
			}
			require.Eventually(t, done, 15*time.Second, time.Millisecond, "instant %d: it waits on in the server", n) // which has a limit
		}
		require.NoError(t, l.Next.Unlock(limit))
	}
	err := <-got
	if err == nil && !cuts {
		suite.Try(t, false, l.Next, "instant %d: two holders", n)
	}
	if err != nil {
		require.ErrorIs(t, err, why, "instant %d", n)
		require.ErrorIs(t, l.Holder.Unlock(limit), l.ErrNotLocked, "instant %d", n)
	} else if err := l.Holder.Unlock(ctx); err != nil {
		require.ErrorIs(t, err, why, "instant %d", n)
		err = WhileNoReply(t, l.ErrNoReply, func() error { return l.Holder.Unlock(limit) })
		require.True(t, err == nil || errors.Is(err, l.ErrNotLocked), "instant %d: %v", n, err)
	}
	for begin := time.Now(); !testenv.Must(l.Next.TryLock(limit))(t); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(begin), 30*time.Second, "instant %d: nobody holds it, and nobody gets it", n)
	}
	require.NoError(t, l.Next.Unlock(limit))
	return came()
}
