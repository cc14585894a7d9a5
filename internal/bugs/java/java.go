// Package java has the parts of Java that Go does not have, for the articles' listings. A thread is a goroutine here.
// Some bugs make a thread wait forever. When the play of a schedule ends, each thread that still waits in this package
// exits, so that the test can end.
package java

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// current is the play of a schedule that was begun last. Plays do not run in parallel.
var current atomic.Pointer[play]

type play struct {
	over chan struct{}     // closed when the play ends
	gap  func(name string) // where the play may keep a thread: see Preemptible
}

// Begin begins a play, in which each [Preemptible] calls gap. After end, a thread that waits here exits.
func Begin(gap func(name string)) (end func()) {
	p := &play{over: make(chan struct{}), gap: gap}
	current.Store(p)
	return func() { close(p.over) }
}

// endOfPlay is closed when the current play ends; it is nil if there is none.
func endOfPlay() <-chan struct{} {
	if p := current.Load(); p != nil {
		return p.over
	}
	return nil
}

// A CountDownLatch is a java.util.concurrent.CountDownLatch of 1.
type CountDownLatch struct {
	open chan struct{} // closed when the latch opens
	once sync.Once
	over <-chan struct{} // closed when the play ends
}

// NewCountDownLatch returns a latch that nobody has opened yet.
func NewCountDownLatch() *CountDownLatch {
	return &CountDownLatch{open: make(chan struct{}), over: endOfPlay()}
}

func (l *CountDownLatch) CountDown() { l.once.Do(func() { close(l.open) }) }

// Await waits until the latch is open.
func (l *CountDownLatch) Await() { l.await(nil) }

// AwaitFor waits until the latch is open, for d at most. It returns false if nobody has opened the latch by then.
func (l *CountDownLatch) AwaitFor(d time.Duration) bool { return l.await(time.After(d)) }

func (l *CountDownLatch) await(timeout <-chan time.Time) (open bool) {
	select {
	case <-l.open:
		return true
	case <-timeout:
		return false
	case <-l.over:
		runtime.Goexit()
		return false
	}
}

// A Monitor has the wait and notify of every Java object.
type Monitor struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

// Wait waits for a later Notify. A Notify that came before is lost.
func (m *Monitor) Wait() {
	woken := make(chan struct{})
	m.mu.Lock()
	m.waiting = append(m.waiting, woken)
	m.mu.Unlock()
	select {
	case <-woken:
	case <-endOfPlay():
		runtime.Goexit()
	}
}

// Notify wakes one waiting thread, if there is one.
func (m *Monitor) Notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) > 0 {
		close(m.waiting[0])
		m.waiting = m.waiting[1:]
	}
}

// BinarySearch is Collections.binarySearch: if the name is not found, the index is negative.
func BinarySearch(names []string, name string) int {
	i, found := slices.BinarySearch(names, name)
	if !found {
		return -i - 1
	}
	return i
}

// A Thread can be interrupted while it sleeps.
type Thread struct{ interrupted chan struct{} }

var ErrInterrupted = errors.New("InterruptedException") // which Sleep throws

// StartThread runs f in a thread of its own. f begins when all other threads wait: each run of a play is the same.
func StartThread(f func(t *Thread)) *Thread {
	t := &Thread{make(chan struct{}, 1)}
	go func() {
		time.Sleep(1) // any duration: in a synctest bubble, time passes only when all goroutines wait
		f(t)
	}()
	return t
}

// Interrupt wakes the thread from its sleep, or from its next sleep.
func (t *Thread) Interrupt() {
	select {
	case t.interrupted <- struct{}{}:
	default:
	}
}

// Sleep sleeps for d, or until the thread is interrupted.
func (t *Thread) Sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-t.interrupted:
		return ErrInterrupted
	case <-endOfPlay():
		runtime.Goexit()
		return nil
	}
}

// Preemptible marks a gap between two lines of a listing. The play may keep the thread there, and let others run.
func Preemptible(name string) {
	p := current.Load()
	if p == nil {
		return
	}
	select {
	case <-p.over:
		runtime.Goexit()
	default:
	}
	p.gap(name)
}
