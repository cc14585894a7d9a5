package zklock

import "sync"

// Tasks are goroutines that make requests in the background.
type tasks struct {
	mu      sync.Mutex
	running int
	done    chan struct{} // closed when none is left; nil before the first
}

// spawn runs f in a goroutine.
func (t *tasks) spawn(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running++; t.running == 1 {
		t.done = make(chan struct{})
	}
	go func() {
		f()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.running--; t.running == 0 {
			close(t.done)
		}
	}()
}

// idle returns a channel that is closed when none is left.
func (t *tasks) idle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		close(t.done)
	}
	return t.done
}
