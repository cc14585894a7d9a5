package museum

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// This file has what Java offers and Go does not. A thread that still waits
// here at the end of the play exits, so that the test ends although the bug
// makes the thread wait forever.

// onAir is the stage of the running play. Exhibits do not run in parallel.
var onAir atomic.Pointer[Stage]

// A CountDownLatch of 1, as in java.util.concurrent.
type CountDownLatch struct {
	open chan struct{}
	once sync.Once
	over <-chan struct{}
}

// NewCountDownLatch returns a latch that is closed.
func NewCountDownLatch() *CountDownLatch {
	return &CountDownLatch{open: make(chan struct{}), over: onAir.Load().over}
}

// CountDown opens the latch.
func (l *CountDownLatch) CountDown() { l.once.Do(func() { close(l.open) }) }

// Await waits until the latch is open.
func (l *CountDownLatch) Await() {
	select {
	case <-l.open:
	case <-l.over:
		runtime.Goexit()
	}
}

// AwaitFor waits until the latch is open, for d at most. It returns false if
// the latch is still closed.
func (l *CountDownLatch) AwaitFor(d time.Duration) bool {
	select {
	case <-l.open:
		return true
	case <-time.After(d):
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
	case <-onAir.Load().over:
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

// BinarySearch is Java's: if the name is not found, the index is negative.
func BinarySearch(names []string, name string) int {
	i, found := slices.BinarySearch(names, name)
	if !found {
		return -i - 1
	}
	return i
}

// A Thread can be interrupted while it sleeps.
type Thread struct{ interrupted chan struct{} }

// ErrInterrupted is what Sleep throws.
var ErrInterrupted = errors.New("InterruptedException")

// StartThread runs f in a thread of its own, which begins when all other
// threads wait for something, so that each run of a play is the same.
func StartThread(f func(t *Thread)) *Thread {
	t := &Thread{make(chan struct{}, 1)}
	go func() {
		time.Sleep(1) // virtual time passes only when all others wait
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
	case <-onAir.Load().over:
		runtime.Goexit()
		return nil
	}
}

// Preemptible marks a gap between two lines of a listing in which the
// scheduler may let other threads run. A play can force that with
// [Stage.HoldGap]; otherwise nothing happens here.
func Preemptible(name string) {
	s := onAir.Load()
	if s == nil {
		return
	}
	select {
	case <-s.over:
		runtime.Goexit()
	default:
	}
	if s.preempt != nil {
		s.preempt(name)
		return
	}
	s.mu.Lock()
	g := s.gaps[name]
	held := false
	if g != nil {
		g.passes--
		held = g.passes == 0
	}
	s.mu.Unlock()
	if !held {
		return
	}
	close(g.reached)
	select {
	case <-g.free:
	case <-s.over:
		runtime.Goexit()
	}
}

// A Gap is a place in a listing where a thread is held.
type Gap struct {
	s       *Stage
	passes  int // guarded by s.mu
	reached chan struct{}
	free    chan struct{}
}

// HoldGap holds the n-th thread that reaches the gap.
func (s *Stage) HoldGap(name string, n int) *Gap {
	g := &Gap{s: s, passes: n, reached: make(chan struct{}), free: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps[name] = g
	return g
}

// Reached fails the play unless a thread is held here.
func (g *Gap) Reached() {
	g.s.Helper()
	g.s.Settle()
	select {
	case <-g.reached:
	default:
		g.s.Fatal("no thread has reached the gap")
	}
}

// Release lets the thread go on.
func (g *Gap) Release() {
	close(g.free)
	g.s.Settle()
}
