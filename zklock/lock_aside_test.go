package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// onTables plays one of several schedules of a test.
func onTables(t *testing.T, name string, play func(tb *table)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { onTable(t, play) })
}

// limited returns a ctx that ends after d, or with the test.
func limited(tb *table, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// aside calls f in a goroutine of its own.
func aside(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// gets returns the lease that a lockAside gets.
func gets(tb *table, waiter <-chan locked, otherwise ...any) *zklock.Lease {
	tb.Helper()
	select {
	case got := <-waiter:
		require.NoError(tb, got.err)
		return got.lease
	case <-time.After(10 * time.Minute):
		require.Fail(tb, "Lock does not return", otherwise...)
		return nil
	}
}

// passes is gets, and the lock is let go at once.
func passes(tb *table, waiter <-chan locked, otherwise ...any) {
	tb.Helper()
	require.NoError(tb, gets(tb, waiter, otherwise...).Unlock(context.Background()))
}

// lasts asserts that a lease is not lost within a minute, and ends it.
func lasts(tb *table, l *zklock.Lease) {
	tb.Helper()
	time.Sleep(time.Minute) // long enough for it to be lost by mistake
	require.NoError(tb, l.Unlock(context.Background()))
}

// leavesNothing asserts that each node goes that is no longer needed.
func leavesNothing(tb *table) {
	tb.Helper()
	time.Sleep(time.Minute) // until it is deleted, or its session has ended
	require.Empty(tb, tb.srv.Children(top))
}

func releaseAll(faults []*zkserver.Fault) {
	for _, f := range faults {
		f.Release()
	}
}
