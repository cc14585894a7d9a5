package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/zkserver"
	"example.com/zklock/zklock"
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

func releaseAll(faults []*zkserver.Fault) {
	for _, f := range faults {
		f.Release()
	}
}
