package client

import "sync"

// Tasks counts the work in the background.
type Tasks struct {
	mu      sync.Mutex
	running int
	done    chan struct{} // closed when no task is left; nil before the first
}

// Begin adds a task. It is over with End.
func (t *Tasks) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
	if t.running == 1 {
		t.done = make(chan struct{})
	}
}

func (t *Tasks) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.running == 0 {
		close(t.done)
	}
}

// Spawn runs f as a task, in a goroutine.
func (t *Tasks) Spawn(f func()) {
	t.Begin()
	go func() {
		defer t.End()
		f()
	}()
}

// Running returns how many tasks are left.
func (t *Tasks) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}

// Idle returns a channel that is closed when no task is left.
func (t *Tasks) Idle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		close(t.done)
	}
	return t.done
}
