package locktest_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// A sameLock is a lock all of whose methods do the same.
type sameLock func() error

func (l sameLock) Lock() error            { return l() }
func (l sameLock) TryLock() (bool, error) { err := l(); return err == nil, err }
func (l sameLock) Unlock() error          { return l() }

// always returns a function that makes a lock all of whose methods call f.
func always(f func(conn *zk.Conn, path string) error) func(*zk.Conn, string) locktest.Lock {
	return func(conn *zk.Conn, path string) locktest.Lock {
		return sameLock(func() error { return f(conn, path) })
	}
}

// hostile are locks that do what no lock should.
var hostile = map[string]struct {
	lock  func(conn *zk.Conn, path string) locktest.Lock
	words string // part of the message of the first case that fails
}{
	"a stub that returns at once":     {always(func(*zk.Conn, string) error { return nil }), "there is no node of the holder"},
	"a stub that returns errors":      {always(func(_ *zk.Conn, path string) error { return errors.New("not written yet: " + path) }), "Lock of the holder fails"},
	"nil in place of a lock":          {func(*zk.Conn, string) locktest.Lock { return nil }, "nil pointer dereference"},
	"waits on a channel of its own":   {always(func(*zk.Conn, string) error { <-make(chan int); return nil }), "Lock of the holder does not return"},
	"waits on a channel from outside": {always(func(*zk.Conn, string) error { <-outside; return nil }), "the lock hangs"},
	"waits on a mutex": {always(func(*zk.Conn, string) error {
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
		return nil
	}), "let go of a mutex before you wait"},
	"spins": {always(func(*zk.Conn, string) error {
		for {
		}
	}), "the lock spins"},
	"polls and never sleeps": {always(func(conn *zk.Conn, path string) error {
		for {
			conn.Exists(path)
		}
	}), "requests are sent without end"},
	"polls and sleeps": {always(func(conn *zk.Conn, path string) error {
		for {
			conn.Exists(path)
			time.Sleep(100 * time.Millisecond)
		}
	}), "Lock of the holder does not return"},
	"panics":                {always(func(*zk.Conn, string) error { panic("not written yet") }), "the lock panics: not written yet"},
	"panics in a goroutine": {always(func(*zk.Conn, string) error { go panic("aside"); return nil }), "the lock panics: aside"},
	"ends the process":      {always(func(*zk.Conn, string) error { os.Exit(0); return nil }), "os.Exit"},
	"leaks a goroutine":     {always(func(*zk.Conn, string) error { go func() { select {} }(); return nil }), "there is no node of the holder"},
	"prints 200 megabytes": {always(func(*zk.Conn, string) error {
		fmt.Println(strings.Repeat("lock! ", 200<<20/len("lock! ")))
		return nil
	}), "the lock"},
}

var outside = make(chan int) // made outside of every bubble

// TestHostileLocks grades locks that would end the test's own process. At length, each case must have a verdict.
func TestHostileLocks(t *testing.T) {
	aboutBrokenLocks(t)
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			verdicts := locktest.Verdicts(t, locktest.Subject{New: h.lock, ErrNotLocked: broken.ErrNotLocked, Queue: true},
				func(v locktest.Verdict) bool { return !testenv.AtLength() && v.Failed() })
			if testenv.AtLength() {
				require.Len(t, verdicts, len(locktest.Names(locktest.Subject{Queue: true})))
			}
			first := slices.IndexFunc(verdicts, locktest.Verdict.Failed)
			require.GreaterOrEqual(t, first, 0, "the lock passes all cases")
			for _, v := range verdicts {
				require.Less(t, len(v.Printed), 100<<10, "what the lock prints is shown whole")
				if strings.HasSuffix(v.Case, " exactly as many as predicted") { // skipped: nothing is predicted
					require.Contains(t, v.Skipped+v.Words.String(), "is nil", "%s", v.Case)
				}
			}
			words := verdicts[first].Words.String()
			require.Contains(t, words, h.words)
			t.Logf("graded in %v; the first failure: %s", time.Since(began).Round(time.Millisecond), words)
		})
	}
}

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
		"ends in five minutes": {aside: func() { time.Sleep(5 * time.Minute) }}, // of virtual time
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
			var failed []string
			for _, v := range verdicts {
				if v.Failed() {
					failed = append(failed, v.Case)
					require.Regexp(t, `the lock leaks a goroutine.* in locktest_test\..*hostile_test\.go`, v.Words.String())
				}
			}
			require.Equal(t, c.failed, failed)
		})
	}
}

// TestStepsRefuseABadPath is about the steps and not a case: no exercise asks it of a lock.
func TestStepsRefuseABadPath(t *testing.T) {
	for name, open := range map[string]locks.Open{
		"naive":       locks.Alone(naive.New),
		"herd":        locks.Alone(herd.New),
		"predecessor": locks.Alone(predecessor.New),
		"reentrant":   locks.Owned(reentrant.New, reentrant.NewOwner),
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server := zkserver.Run(t)
				conn := testenv.Must(ensemble.OverPipes(server).Connect(t.Context(), ensemble.Options{}))(t)
				defer conn.Close()
				for _, path := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
					l := open(conn, path, time.Minute)("owner") // a contender, with this name
					require.Error(t, l.Lock(t.Context()), "Lock with the path %q", path)
					ok, err := l.TryLock(t.Context())
					require.Error(t, err, "TryLock with the path %q", path)
					require.False(t, ok, "TryLock with the path %q", path)
				}
				for _, session := range server.Sessions() {
					require.Empty(t, session.Ephemerals)
				}
			})
		})
	}
}
