// Package suite asks of a lock that is not on ZooKeeper what package locktest asks of
// steps 1 to 3: the cases of the level Basic, under the same names, in real time.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/proxy"
)

// A Lock is one contender, used by one goroutine at a time.
type Lock interface {
	Lock(ctx context.Context) error
	TryLock(ctx context.Context) (bool, error)
	Unlock(ctx context.Context) error
	Attempts() int64 // the number of times that it has asked for the lock
}

// A Subject is a kind of lock.
type Subject struct {
	// Client opens a client of a server, such as a pool of connections, that ends with the test, and returns what makes
	// a contender for the lock of a name. Contenders of one client share it.
	Client func(t testing.TB, server string) func(name string) Lock
	Server string
	// ErrNotLocked is what Unlock returns, or wraps, if the lock is not held.
	ErrNotLocked error
	// Expire does at once what happens to a holder that sends nothing for an
	// hour. If it is nil, the cases that need it must be left out by name.
	Expire func(t testing.TB, name string, holder Lock)
	// Queued returns how many contenders wait in the server's queue for the
	// lock of a name, for the cases about a queue.
	Queued func(t testing.TB, name string) int
	// Without says which cases of the level Basic do not apply, and why, beside those about ZooKeeper alone.
	Without map[string]string
	Fenced  bool           // a holder has a Token
	CleanUp *time.Duration // how long a clean-up may take; nil: there is none

	// The rest is for package faults. Via opens a line to the server, and returns it with the server's name by way of
	// it.
	Via        func(t testing.TB, server string) (line *proxy.Proxy, via string)
	ErrNoReply error
	// Request and Release are texts in the requests of Lock and of Unlock. Once says that no client sends them twice.
	Request, Release string
	Once             bool
	// Left returns how many keys or rows the lock of a name has left at the server.
	Left func(ctx context.Context, name string) (int, error)
	// Statement calls act before a server inside the process does the n-th thing from now on; nil: there is a line.
	Statement func(n int, act func()) (came func() bool)
	Waiting   func(name string) int // contenders that wait in the server for the lock; nil: none does
	Waits     bool                  // while no server can be reached, a call waits until its ctx ends
}

var patience = 2 * time.Minute // real time, on a machine that may be busy

// Patience sets the time that something that must happen may take, until the test
// ends: short for a broken lock, which must fail.
func Patience(t testing.TB, d time.Duration) { Set(t, &patience, d) }

// Set changes a variable until the test ends.
func Set[T any](t testing.TB, variable *T, value T) {
	old := *variable
	*variable = value
	t.Cleanup(func() { *variable = old })
}

// Run runs the cases. A case that the subject leaves out is logged with the reason; a
// case that is left out and does not exist is a failure.
func Run(t *testing.T, s Subject) {
	t.Helper()
	names := locktest.Names(locktest.Subject{Level: locktest.Basic, Queue: true})
	for _, name := range names {
		if why := cmp.Or(s.Without[name], elsewhere[name]); why != "" {
			t.Logf("does not apply: %s: %s", name, why)
			continue
		}
		t.Run(name, func(t *testing.T) {
			if words := Verdict(t, s, name); words != "" {
				t.Error(words)
			}
		})
	}
	for name := range s.Without {
		require.Contains(t, names, name, "left out, but there is no such case")
	}
}

// Verdict runs one case and returns the fault of the lock, "" if it passes: a broken
// lock must fail, and by the right name.
func Verdict(t *testing.T, s Subject, name string) string {
	t.Helper()
	run := cases[name]
	require.NotNil(t, run, "there is no such case here: say in elsewhere why it does not apply: %s", name)
	if s.CleanUp != nil {
		Set(t, s.CleanUp, patience)
	}
	w := &world{TB: t, subject: s, client: s.Client(t, s.Server), name: Name()}
	var ended sync.WaitGroup
	ended.Go(func() { run(w) }) // so that FailNow ends the case, and not the test
	ended.Wait()
	return strings.Join(w.words, "\n")
}

var names atomic.Int64

// Name is a name that no other lock has.
func Name() string { return fmt.Sprintf("locktest-%d-%d", time.Now().UnixNano(), names.Add(1)) }

// elsewhere has the cases about ZooKeeper alone, and why they do not apply.
var elsewhere = map[string]string{
	"the holder has a node and it is ephemeral":                        "a key or a row has an expiry, a lease or a transaction",
	"a release between looking and watching is not missed":             "a watch begins at the revision that was seen, if there is one",
	"a waiter waits for as long as the holder holds, a day if need be": "time is real",
	"missing parents are made":                                         "a key has no parent, and Prepare makes the tables",
}

// cases are those that can be asked of any lock.
var cases = map[string]func(w *world){
	"can be used again after Unlock": func(w *world) {
		a := w.contender()
		for range 3 {
			w.lock(a)
			w.unlock(a)
		}
	},
	"a waiter sleeps on a watch and does not poll": func(w *world) {
		a, b := w.contender(), w.contender()
		w.lock(a)
		waiter := w.startWaiter(b)
		w.unlock(a)
		w.requireHolds(waiter)
		require.EqualValues(w, 1, b.Attempts(), "attempts of a waiter")
		w.unlock(b)
	},
	"TryLock takes a free lock": func(w *world) {
		a := w.contender()
		Try(w, true, a, "the lock is free")
		Try(w, false, w.contender(), "TryLock has taken the lock")
		w.unlock(a)
	},
	"TryLock on a held lock says false at once and leaves nothing behind": func(w *world) {
		a, b, c := w.contender(), w.contender(), w.contender()
		w.lock(a)
		Try(w, false, b, "the lock is held")
		w.unlock(a)
		Try(w, true, c, "the holder has unlocked, and a TryLock has failed before")
		w.unlock(c)
	},
	"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing": func(w *world) {
		a, b := w.contender(), w.contender()
		w.requireNotLocked(b, "Unlock of a free lock")
		w.lock(a)
		w.requireNotLocked(b, "Unlock by a contender that never locked")
		Try(w, false, b, "another contender has called Unlock")
		w.requireNotLocked(b, "Unlock by a contender whose TryLock was refused")
		Try(w, false, w.contender(), "a contender that was refused has called Unlock")
		w.unlock(a)
	},
	"contenders get in in the order in which they came": func(w *world) {
		holder := w.contender()
		w.lock(holder)
		var waiters []Lock
		var waits []<-chan error // of their Lock
		for i := range 4 {
			l := w.contender()
			waiters, waits = append(waiters, l), append(waits, w.startWaiter(l))
			w.requireSoon("it is in the queue", func() bool { return w.subject.Queued(w.TB, w.name) == i+1 })
		}

		w.unlock(holder)
		for i, l := range waiters {
			w.requireHolds(waits[i])
			for _, later := range waits[i+1:] {
				w.requireWaits(later)
			}
			w.unlock(l)
		}
	},
	"a waiter that goes lets nobody in before the holder has let go": func(w *world) {
		holder, first, second, other := w.contender(), w.contender(), w.contender(), w.contender()
		w.lock(holder)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		firstWaits := bubble.Aside(func() error { return first.Lock(ctx) })
		w.requireSoon("the first waiter waits", func() bool { return first.Attempts() > 0 })
		secondWaits := w.startWaiter(second)

		cancel()
		require.ErrorIs(w, w.resultOf(firstWaits), context.Canceled)
		w.requireWaits(secondWaits)
		Try(w, false, other, "a waiter has gone")

		w.unlock(holder)
		w.requireHolds(secondWaits)
		w.unlock(second)
		Try(w, true, other, "all have gone")
		w.unlock(other)
	},
	"one at a time holds it, contenders of one session": func(w *world) {
		w.requireExclusion(6, w.contender)
	},
	"one at a time holds it, each contender in a session of its own": func(w *world) {
		w.requireExclusion(4, func() Lock { return w.subject.Client(w.TB, w.subject.Server)(w.name) })
	},
	"a holder whose session expires lets the next one in": func(w *world) {
		a, b := w.contender(), w.contender()
		w.lock(a)
		waiter := w.startWaiter(b)
		w.subject.Expire(w.TB, w.name, a)
		w.requireHolds(waiter)
		w.unlock(b)
	},
	"Unlock after the session expired is ErrNotLocked and touches nobody else's node": func(w *world) {
		a, b := w.contender(), w.contender()
		w.lock(a)
		late := w.token(a)
		w.subject.Expire(w.TB, w.name, a)
		w.lock(b)
		if w.subject.Fenced {
			require.Greater(w, w.token(b), late, "the next holder's token")
		}
		w.requireNotLocked(a, "Unlock of a holder that has expired")
		Try(w, false, w.contender(), "a holder that had expired has called Unlock")
		w.unlock(b)
		w.lock(a)
		w.unlock(a)
	},
}

// A world is the setting of one case, and its T. It keeps the failures in words.
type world struct {
	testing.TB
	subject Subject
	name    string // of the lock
	client  func(name string) Lock
	words   []string
}

func (w *world) Errorf(format string, args ...any) {
	w.words = append(w.words, fmt.Sprintf(format, args...))
}
func (w *world) FailNow() { runtime.Goexit() }

func (w *world) contender() Lock { return w.client(w.name) }

// The helpers below have the channel of a Lock that runs in a goroutine of its own. It carries what Lock returns.

// resultOf returns what Lock returns. If it does not return, the case fails.
func (w *world) resultOf(lock <-chan error) error {
	select {
	case err := <-lock:
		return err
	case <-time.After(patience):
		require.FailNow(w, "Lock does not return")
		return nil
	}
}

// requireHolds fails unless Lock returns without an error: its contender then holds the lock.
func (w *world) requireHolds(lock <-chan error) { require.NoError(w, w.resultOf(lock), "Lock fails") }

// lock calls Lock of a contender that need not wait. The ctx of Lock then ends, and the lock must outlive it.
func (w *world) lock(l Lock) {
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	w.requireHolds(bubble.Aside(func() error { return l.Lock(ctx) }))
}

// token is that of a holder, 0 if the lock has none.
func (w *world) token(l Lock) int64 {
	if !w.subject.Fenced {
		return 0
	}
	return l.(interface{ Token() int64 }).Token()
}

func (w *world) unlock(l Lock) { require.NoError(w, l.Unlock(w.Context()), "Unlock fails") }

// startWaiter calls Lock of a contender that has to wait, and returns once it waits.
func (w *world) startWaiter(l Lock) <-chan error {
	before := l.Attempts()
	lock := bubble.Aside(func() error { return l.Lock(w.Context()) })
	w.requireSoon("the contender asks for the lock", func() bool { return l.Attempts() > before })
	w.requireWaits(lock)
	return lock
}

// requireWaits fails if Lock of a waiter has returned.
func (w *world) requireWaits(lock <-chan error) {
	if len(lock) > 0 {
		require.NoError(w, <-lock, "a waiter must wait, and Lock fails")
		require.FailNow(w, "a waiter has got the lock while another contender holds it: two holders")
	}
}

// requireNotLocked calls Unlock of a contender that does not hold the lock.
func (w *world) requireNotLocked(l Lock, what string) {
	err := l.Unlock(w.Context())
	require.Error(w, err, "%s returns no error, though the lock is not held: return ErrNotLocked", what)
	require.ErrorIs(w, err, w.subject.ErrNotLocked, "%s returns another error than ErrNotLocked", what)
}

// requireSoon waits until a condition is true. If that never happens, the case fails.
func (w *world) requireSoon(what string, ok func() bool) {
	for begin := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		require.Less(w, time.Since(begin), patience, "never happens: %s", what)
	}
}

// requireExclusion lets contenders lock a few times and count: a count that is read, and then written, is wrong if two do so
// at once. It is atomic, so that a lock that is meant to be wrong is not a data race. Each holder has another contender
// try: that finds a lock that lets two in, whatever the schedule.
func (w *world) requireExclusion(contenders int, open func() Lock) {
	const times = 3
	var count atomic.Int32
	round := func(l, probe Lock) error {
		ctx := w.Context()
		if err := l.Lock(ctx); err != nil {
			return err
		}
		seen := count.Load()
		second, err := probe.TryLock(ctx)
		if second {
			err = errors.Join(errors.New("another contender gets the lock, too: two holders"), probe.Unlock(ctx))
		}
		count.Store(seen + 1)
		return errors.Join(err, l.Unlock(ctx))
	}

	var results []<-chan error
	for range contenders {
		l, probe := open(), open()
		results = append(results, bubble.Aside(func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l, probe)
			}
			return err
		}))
	}
	for _, result := range results {
		w.requireHolds(result)
	}
	require.EqualValues(w, times*contenders, count.Load(), "the count is wrong: two contenders held the lock at once")
}
