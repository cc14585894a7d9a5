package zklock

import "sync"

// Tasks are what goes on in the background.
type tasks struct {
	mu      sync.Mutex
	running int
	done    chan struct{} // closed when none is left; nil before the first
}

// begin adds a task. It is over with end.
func (t *tasks) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running++; t.running == 1 {
		t.done = make(chan struct{})
	}
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running == 0 {
		close(t.done)
	}
}

// spawn runs f as a task, in a goroutine.
func (t *tasks) spawn(f func()) {
	t.begin()
	go func() {
		defer t.end()
		f()
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
