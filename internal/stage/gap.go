package stage

import "runtime"

// pass is called by each thread that comes to a gap of a listing.
func (s *Stage) pass(name string) {
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
		g.s.fails("no thread has reached the gap", "没有线程到达代码间隙")
	}
}

// Release lets the thread go on.
func (g *Gap) Release() {
	close(g.free)
	g.s.Settle()
}
