//go:build linux

package chaos_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/when"
	"example.com/zklock/zklock"
)

// TestCachedNodesOfProcesses: one session locks again and again and keeps its node, another
// comes now and then, and each of three servers is stopped in turn. No lease begins before the
// last one has ended, tokens grow, and both get in between two stops.
func TestCachedNodesOfProcesses(t *testing.T) {
	when.Long(t, why)
	const session = 4 * time.Second
	zoo := servers.ZooKeepers(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var last atomic.Pointer[zklock.Lease]
	var wg sync.WaitGroup
	contend := func(pause time.Duration, options ...zklock.Option) (*zklock.Mutex, *atomic.Int64) {
		conn := openAny(t, addrs(zoo), session, false)
		t.Cleanup(conn.Close)
		m, err := zklock.New(conn, "/cached", options...)
		require.NoError(t, err)
		done := new(atomic.Int64)
		wg.Go(func() {
			for ctx.Err() == nil {
				err := m.Do(ctx, nil, func(_ context.Context, l *zklock.Lease) error {
					before := last.Swap(l)
					if before != nil && (!bubble.IsClosed(before.Done()) || before.Token() >= l.Token()) {
						t.Errorf("two hold the lock, or a token does not grow: %d and %d", before.Token(), l.Token())
					}
					return nil
				})
				if err == nil {
					done.Add(1)
				} else if ctx.Err() == nil {
					t.Logf("a lease: %v", err)
				}
				time.Sleep(pause) // of the work without the lock
			}
		})
		return m, done
	}
	ours, often := contend(5*time.Millisecond, zklock.WithCaching(time.Second))
	other, seldom := contend(700 * time.Millisecond)
	for i, z := range zoo {
		time.Sleep(session) // of real time, in which all servers answer: a node is cached again before the next stop
		z.Stop()
		time.Sleep(session / 2) // the server is away
		z.Start(t)
		a, b, began := often.Load(), seldom.Load(), time.Now()
		require.Eventually(t, func() bool { return often.Load() > a+5 && seldom.Load() > b+1 }, time.Minute, 10*time.Millisecond)
		t.Logf("server %d has been stopped: both get in within %.1f s", i+1, time.Since(began).Seconds())
	}
	stop()
	wg.Wait()
	s := ours.Stats()
	t.Logf("%d locks, %d of them without a request, %d lost; and %d of the other", s.Acquired, s.HandedOn, s.Lost, other.Stats().Acquired)
	require.Greater(t, s.HandedOn, s.Acquired/2)
	for _, m := range []*zklock.Mutex{ours, other} {
		require.NoError(t, m.Shutdown(t.Context()))
	}
}
