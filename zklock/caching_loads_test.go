package zklock_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// A load is what some processes do with one lock, whose server is 2 ms away.
type load struct {
	processes, times int           // that each of them locks
	think, hold      time.Duration // before each Lock, on average, and until its Unlock
	burst            int           // at once, 1 ms apart, before another process does; 0: they do not take turns
}

func (l load) String() string {
	if l.burst > 0 {
		return fmt.Sprintf("bursts of %d", l.burst)
	}
	return fmt.Sprintf("%d processes, think %v, hold %v", l.processes, l.think, l.hold)
}

// run returns how many requests a load takes, and how long.
func (l load) run(t *testing.T, options ...zklock.Option) (sent int64, took time.Duration) {
	onMeter(t, func(m *meter) {
		var all []*zklock.Mutex
		for i := range l.processes {
			away := 2*time.Millisecond + time.Duration(i)*7*time.Microsecond // so that the order of the answers is always the same
			far := distant(away)
			all = append(all, m.mutex(m.connectWith(ensemble.Options{Tap: m.tap, Wrap: far}), options...))
		}
		lock := func(mutex *zklock.Mutex) {
			held := m.mustLock(mutex, nil)
			time.Sleep(l.hold)
			m.mustUnlock(held)
		}
		began := time.Now()
		requests := m.sent(func() {
			done := make(chan bool)
			for i, mutex := range all {
				go func() {
					defer func() { done <- true }()
					time.Sleep(time.Duration(i) * 100 * time.Microsecond) // they come one after the other
					r := rand.New(rand.NewPCG(1, uint64(i)))
					for range l.times {
						if l.burst > 0 {
							return
						}
						time.Sleep(time.Duration(2 * r.Float64() * float64(l.think)))
						lock(mutex)
					}
				}()
			}
			for range all {
				<-done
			}
			for n := 0; l.burst > 0 && n < l.processes*l.times; n += l.burst {
				for range l.burst {
					lock(all[n/l.burst%l.processes])
					time.Sleep(time.Millisecond)
				}
				time.Sleep(10 * time.Millisecond) // the next one comes while a node may be cached
			}
			took = time.Since(began)
			for _, mutex := range all {
				require.NoError(m, mutex.Shutdown(context.Background()))
			}
		})
		sent = sum(requests)
	})
	return sent, took
}

// TestCachingCostsNothingUnderContention: where several processes want the lock, there are at
// most 1 % more requests than without it, and it takes at most 1 % longer.
func TestCachingCostsNothingUnderContention(t *testing.T) {
	testenv.Landing(t, "plays many contenders")
	testenv.RacedAtLength(t, "it counts what thousands of locks send")
	const ms = time.Millisecond
	loads := []load{
		{2, 500, 0, 0, 0}, {2, 500, ms, 0, 0}, {2, 500, 4 * ms, 0, 0}, {2, 500, 10 * ms, 0, 0}, {2, 500, 30 * ms, 0, 0},
		{2, 500, 90 * ms, 0, 0}, {2, 500, 4 * ms, 3 * ms, 0}, {2, 500, 20 * ms, 3 * ms, 0},
		{5, 200, 20 * ms, ms, 0}, {5, 200, 60 * ms, ms, 0}, {50, 20, 0, 0, 0}, {50, 20, 0, ms, 0},
	}
	for _, burst := range []int{1, 2, 3, 4, 5, 6, 8, 10, 20, 50} {
		loads = append(loads, load{processes: 2, times: 300, burst: burst})
	}
	for _, l := range loads {
		sent, took := l.run(t)
		sentWith, tookWith := l.run(t, zklock.WithCaching(100*time.Millisecond))
		more := 100 * (float64(sentWith)/float64(sent) - 1)
		longer := 100 * (float64(tookWith)/float64(took) - 1)
		t.Logf("%v: %d requests in %v; with caching %+.1f %%, %+.1f %%", l, sent, took, more, longer)
		require.LessOrEqual(t, math.Max(more, longer), 1.0, "%v", l)
	}
}
