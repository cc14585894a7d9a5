package museum

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What the articles' Java has and Go has not. Whoever waits here when the play
// is over goes home, so that a bug that makes a thread wait for ever does not
// make the test do so.

// onAir is the stage of the play that runs. Exhibits do not run in parallel.
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

// AwaitFor waits for so long at most; false: the latch is still closed.
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

// A Monitor is what every Java object has: wait and notify.
type Monitor struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

// Wait waits for a Notify that comes later. One that came before is lost.
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

// Notify wakes one who waits, if anybody does.
func (m *Monitor) Notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) > 0 {
		close(m.waiting[0])
		m.waiting = m.waiting[1:]
	}
}

// BinarySearch is Java's: where the name is not found, the index is negative.
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

// StartThread runs f in a thread of its own, which begins when all others wait
// for something: so a play always goes the same way.
func StartThread(f func(t *Thread)) *Thread {
	t := &Thread{make(chan struct{}, 1)}
	go func() {
		time.Sleep(1) // virtual time passes only then
		f(t)
	}()
	return t
}

// Interrupt wakes the thread, now or when it sleeps next.
func (t *Thread) Interrupt() {
	select {
	case t.interrupted <- struct{}{}:
	default:
	}
}

// Sleep sleeps, unless the thread has been interrupted, or is.
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

// Preemptible marks the gap between two lines of a listing in which the
// scheduler may let other threads run. A play can make it do so, see
// [Stage.HoldGap]; else nothing happens here.
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

// A Gap is a place in a listing where a thread is kept.
type Gap struct {
	s       *Stage
	passes  int // guarded by s.mu
	reached chan struct{}
	free    chan struct{}
}

// HoldGap keeps the thread that comes to the gap for the n-th time.
func (s *Stage) HoldGap(name string, n int) *Gap {
	g := &Gap{s: s, passes: n, reached: make(chan struct{}), free: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps[name] = g
	return g
}

// Reached fails the play unless a thread is kept here.
func (g *Gap) Reached() {
	g.s.Helper()
	g.s.Settle()
	select {
	case <-g.reached:
	default:
		g.s.Fatal("the thread has not come to the gap")
	}
}

// Release lets the thread go on.
func (g *Gap) Release() {
	close(g.free)
	g.s.Settle()
}
