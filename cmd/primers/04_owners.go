package main

import (
	"sync"

	"example.com/zklock/03-sequential-predecessor"
)

// A guest is an identity. Two pointers are equal if they point to the same guest.
type guest struct{ name string }

// owners is the program of primer 4: a lock without an owner, an identity in Go, and a wait for another goroutine.
func owners(p *programRun) {
	conn := p.client()

	// Step 3's lock is one contender. It does not see which goroutine calls.
	first, second := predecessor.New(conn, p.path), predecessor.New(conn, p.path)
	p.say("the first contender locks: %v", first.Lock())
	held, err := second.TryLock()
	p.say("a second contender of the same goroutine: %v, %v", held, err)
	p.say("the second one unlocks: %v", second.Unlock())
	p.say("the first one unlocks: %v", first.Unlock())

	// Pointers are keys of a map, and distinguish two guests of one name.
	anna, other := &guest{"anna"}, &guest{"anna"}
	rooms := map[*guest]int{anna: 7}
	_, known := rooms[other]
	p.say("anna has room %d; another anna is known: %v", rooms[anna], known)

	// A sync.Cond: Wait releases the mutex, sleeps, and holds it again when it returns.
	var guard sync.Mutex // guards ready
	changed := sync.NewCond(&guard)
	ready := false
	go func() {
		guard.Lock()
		ready = true
		guard.Unlock()
		changed.Broadcast()
	}()
	guard.Lock()
	for !ready { // always in a loop: another goroutine may have been faster
		changed.Wait()
	}
	guard.Unlock()
	p.say("the other goroutine is ready: %v", ready)
}
