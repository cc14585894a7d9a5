//go:build others

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database/databasetest"
	cable "example.com/zklock/internal/proxy"
)

// opens has the arena of a lock opened by another function.
func opens(t *testing.T, lock string, open func(ctx context.Context, spec string) (arena, error)) {
	usual := arenas[lock]
	arenas[lock] = open
	t.Cleanup(func() { arenas[lock] = usual })
}

// yieldingLock is released when a waiter gives up. It asks late.
type yieldingLock struct {
	free     chan struct{}
	attempts atomic.Int64
}

func (l *yieldingLock) Lock(ctx context.Context) error {
	// Longer than a trial takes that does not wait until each contender has asked: by then
	// all that give up have done so, and it misses the bug.
	time.Sleep(200 * time.Millisecond)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.attempts.Add(1)
	select {
	case <-l.free:
		return nil
	case <-ctx.Done():
		l.free <- struct{}{}
		return ctx.Err()
	}
}

func (l *yieldingLock) Unlock(context.Context) error { l.free <- struct{}{}; return nil }
func (l *yieldingLock) Attempts() int64              { return l.attempts.Load() }

// yieldingArena has such locks.
type yieldingArena struct{ arena }

func (a yieldingArena) begin(_ context.Context, n int) (lockers []otherLocker, err error) {
	free := make(chan struct{}, n)
	free <- struct{}{}
	for range n {
		lockers = append(lockers, &yieldingLock{free: free})
	}
	return lockers, nil
}

func TestATrialWaitsUntilAnOtherLockHasAsked(t *testing.T) {
	wholeTrials(t)
	opens(t, "redis", func(ctx context.Context, spec string) (arena, error) {
		a, err := openRedis(ctx, spec)
		return yieldingArena{a}, err
	})
	fails(t, `(?m)^redis +5 +FAILED`, []string{"-locks", "redis", "-n", "5"}, "tried with 5 contenders", fmt.Sprintf(gaveUpText, "the context of a waiter ended"))
}

// The server is killed while the contenders count on it.
func TestAnOtherServerThatIsKilledIsOneLine(t *testing.T) {
	server := miniredis.NewMiniRedis()
	require.NoError(t, server.Start())
	defer server.Close()
	untried(t)
	opens(t, "redis", func(ctx context.Context, spec string) (arena, error) {
		a, err := openRedis(ctx, spec)
		return killingArena{a, server.Close}, err
	})
	stderr := fails(t, `(?m)^redis +50 +FAILED`, []string{"-locks", "redis", "-n", "50", "-redis", server.Addr()})
	oneLine(t, complaint(stderr), "bench: redis with 50 goroutines on Redis ")
}

// complaint is what stderr has besides the progress.
func complaint(stderr string) (lines string) {
	for line := range strings.Lines(stderr) {
		if !strings.HasSuffix(line, " …\n") {
			lines += line
		}
	}
	return lines
}

// killingArena kills the server when five contenders have asked, the last of them has locked, and no
// Unlock of the others is under way: a request that is cut has an error of its own. The other contenders
// ask afterwards.
type killingArena struct {
	arena
	kill func()
}

func (k killingArena) begin(ctx context.Context, n int) ([]otherLocker, error) {
	lockers, err := k.arena.begin(ctx, n)
	var asked, locked atomic.Int32
	var holds sync.WaitGroup
	killed := make(chan struct{})
	for i, l := range lockers {
		lockers[i] = killingContender{l, k.kill, killed, &asked, &locked, &holds}
	}
	return lockers, err
}

type killingContender struct {
	otherLocker
	kill          func()
	killed        chan struct{}
	asked, locked *atomic.Int32
	holds         *sync.WaitGroup
}

func (k killingContender) Lock(ctx context.Context) error {
	if k.asked.Add(1) > 5 {
		select {
		case <-k.killed:
		case <-ctx.Done():
		}
	}
	err := k.otherLocker.Lock(ctx)
	if err == nil {
		if k.locked.Add(1) == 5 {
			k.holds.Wait()
			k.kill()
			close(k.killed)
		}
		k.holds.Add(1)
	}
	return err
}

func (k killingContender) Unlock(ctx context.Context) error {
	defer k.holds.Done()
	return k.otherLocker.Unlock(ctx)
}

// A SQL server that was stopped, and not killed, keeps its connections and says
// nothing. SQLite is part of the process and cannot be stopped, so without a server
// there is nothing to test; .ci/run names one.
func TestAnOtherServerThatIsStoppedIsOneLine(t *testing.T) {
	spec := os.Getenv("SQL")
	if spec == "" {
		t.Skip("needs a SQL server: SQL=postgres://… or mysql://…")
	}
	untried(t)
	line, via := databasetest.Via(t, spec)
	open := arenas["sqlrow"]
	opens(t, "sqlrow", func(ctx context.Context, _ string) (arena, error) {
		a, err := open(ctx, via)
		return silencingArena{killingArena{a, func() { line.Silence(cable.ToServer, cable.ToClient) }}}, err
	})
	defer line.Heal()
	stderr := fails(t, `(?m)^sqlrow +50 +FAILED`, []string{"-locks", "sqlrow", "-n", "50", "-limit", "5m", "-sql", spec},
		"no answer within 5s", "is left behind: in table zklock_row the row whose method_name is bench-")
	require.NotContains(t, stderr, "secret")
}

// silencingArena is a killingArena for a server that is watched.
type silencingArena struct{ killingArena }

func (s silencingArena) answers(ctx context.Context) error {
	return s.arena.(watchedArena).answers(ctx)
}
