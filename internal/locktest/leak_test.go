package locktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
)

// A leakingLock is a right lock that calls aside in a goroutine after each Unlock.
type leakingLock struct {
	lock  *broken.Lock
	aside func()
}

func (l leakingLock) Lock() error            { return l.lock.Lock() }
func (l leakingLock) TryLock() (bool, error) { return l.lock.TryLock() }
func (l leakingLock) Unlock() error {
	err := l.lock.Unlock()
	go l.aside()
	return err
}

// A goroutine that ends late fails no case. One that never ends fails the case that is about goroutines, and no other.
func TestAGoroutineThatNeverEndsFailsOneCase(t *testing.T) {
	testenv.Landing(t, "plays whole suites again")
	testenv.Embedded(t, "is about goroutines")
	leak := []string{"no goroutine is left when every contender has let go"}
	for name, c := range map[string]struct {
		aside  func()
		failed []string
	}{
		"ends in five minutes": {aside: func() { time.Sleep(5 * time.Minute) }},
		"never ends":           {aside: func() { select {} }, failed: leak},
		"sleeps forever": {failed: leak, aside: func() {
			for {
				time.Sleep(time.Second)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdicts := locktest.Verdicts(t, locktest.Subject{
				New: func(conn *zk.Conn, path string) locktest.Lock {
					return leakingLock{lock: broken.New("none", conn, path), aside: c.aside}
				},
				ErrNotLocked: broken.ErrNotLocked, Queue: true,
			}, nil)
			if verdicts == nil {
				return // this is the process in which the cases ran
			}
			var failed []string
			for _, v := range verdicts {
				if v.Failed() {
					failed = append(failed, v.Case)
					require.Regexp(t, `the lock leaks a goroutine.* in locktest_test\..*leak_test\.go`, v.Words.String())
				}
			}
			require.Equal(t, c.failed, failed)
		})
	}
}
