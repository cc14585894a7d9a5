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
	if s.Statement != nil {
		s.Via = func(_ testing.TB, server string) (*proxy.Proxy, string) { return nil, server }
		sweep(t, s, trial{what: "a part of a statement", at: func(_ *Lock, n int, act func()) func() bool {
			return s.Statement(n, act)
		}})
		return
	}
	for name, way := range ways {
		atPacket := func(l *Lock, n int, act func()) func() bool { return l.At(way, n, act) }
		sweep(t, s, trial{what: "a packet " + name, at: atPacket, lineBreaks: true})
		sweep(t, s, trial{what: "a packet " + name, at: atPacket})
	}
}

// A trial of Sweep has a fault at one instant of Lock and Unlock.
type trial struct {
	what       string // the kind of instants
	at         instant
	n          int  // the number of the instant, from 1
	lineBreaks bool // then; otherwise the ctx of the calls ends
	isHeld     bool // by Next, when Holder calls Lock
}

// An instant acts at the n-th of its kind. Came reports whether it has come.
type instant func(l *Lock, n int, act func()) (came func() bool)

// sweep plays a trial at each instant, while the lock is held and while it is free.
func sweep(t *testing.T, s suite.Subject, tr trial) {
	for _, tr.isHeld = range []bool{true, false} {
		t.Run(fmt.Sprintf("%s, the line breaks: %v, the lock is held: %v", tr.what, tr.lineBreaks, tr.isHeld), func(t *testing.T) {
			tr.n = 1
			for Open(t, s).play(t, tr) {
				tr.n++
			}
		})
	}
}

// play plays a trial, and reports whether its instant has come.
func (l *Lock) play(t *testing.T, tr trial) bool {
	if l.CleanUp != nil {
		suite.Set(t, l.CleanUp, patience)
	}
	limit, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx, end := context.WithCancel(limit) // of the calls
	instant := fmt.Sprintf("instant %d", tr.n)
	why, act := context.Canceled, end
	if tr.lineBreaks {
		why, act = l.ErrNoReply, l.Sever
	}

	if tr.isHeld {
		require.NoError(t, l.Next.Lock(limit))
	}
	came := tr.at(l, tr.n, act)
	got := bubble.Aside(func() error { return l.Holder.Lock(ctx) })
	if tr.isHeld {
		require.Eventually(t, func() bool { return l.Holder.Attempts() > 0 }, patience, 100*time.Microsecond)
		if l.Waiting != nil {
			waitsOrHasGone := func() bool {
				isInQueue := l.Waiting(l.Name) > 0
				if hasReturned := len(got) > 0; hasReturned {
					return tr.lineBreaks || !isInQueue
				}
				return isInQueue && !came()
			}
			require.Eventually(t, waitsOrHasGone, 15*time.Second, time.Millisecond, "%s: it waits on in the server", instant) // which has a limit
		}
		require.NoError(t, l.Next.Unlock(limit))
	}

	err := <-got
	if err == nil && !tr.lineBreaks {
		suite.Try(t, false, l.Next, "%s: two holders", instant)
	}
	if err != nil {
		require.ErrorIs(t, err, why, instant)
		require.ErrorIs(t, l.Holder.Unlock(limit), l.ErrNotLocked, instant)
	} else if err := l.Holder.Unlock(ctx); err != nil {
		require.ErrorIs(t, err, why, instant)
		err = RetryWhileNoReply(t, l.ErrNoReply, func() error { return l.Holder.Unlock(limit) })
		require.True(t, err == nil || errors.Is(err, l.ErrNotLocked), "%s: %v", instant, err)
	}

	for begin := time.Now(); !testenv.Must(l.Next.TryLock(limit))(t); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(begin), 30*time.Second, "%s: nobody holds it, and nobody gets it", instant)
	}
	require.NoError(t, l.Next.Unlock(limit))
	return came()
}

// Lost checks that a holder's own clock closes Lost though the line is silent, from the present moment or from a packet
// of a renewal on: no error comes, and no answer. The client has another lease, which was renewed. If the server has a
// clock, Next gets in.
func Lost(t *testing.T, s suite.Subject, serverHasClock bool) {
	for name, way := range ways {
		for n := range 4 {
			t.Run(fmt.Sprintf("packet %d %s", n, name), func(t *testing.T) {
				t.Parallel()
				l := Open(t, s)
				suite.Round(t, l.Waiter)
				require.NoError(t, l.Holder.Lock(t.Context()))
				silence := func() { l.Silence(proxy.ToServer, proxy.ToClient) }
				if n == 0 { // the present moment
					silence()
				} else {
					l.At(way, n, silence)
				}
				if serverHasClock {
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
