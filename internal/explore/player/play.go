package player

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Play plays one schedule. If it does not end, the process ends with its choices. After each action acted, if it is not
// nil, gets the number of the action, from 0, and its footprint. With hashing each state has a hash: Point.State.
func Play(t *testing.T, w World, hashing bool, choose Chooser, acted func(n int, f Footprint)) *Run {
	t.Helper()
	defer Alone()()                   // waits for its turn now, and ends it on return
	var names []string                // of the choices
	var made atomic.Pointer[[]string] // names, for doing, which another goroutine calls
	made.Store(new([]string))
	doing := func() string { return fmt.Sprintf("explore: %s plays the schedule %q", w.Lock.Name, *made.Load()) }
	return inBubble(t, w, doing, func(playing *Player) {
		playing.Run.hashing = hashing
		playing.Play(func(p *Point) int {
			i := choose(p)
			if i >= 0 && len(p.Enabled) > 1 {
				names = append(names, p.Enabled[i])
				soFar := names
				made.Store(&soFar)
			}
			return i
		}, acted)
	})
}

// OneCore makes this process use one core, until the function that it returns is called. When the client library loses
// its connection it fails its requests one after the other, and the goroutines that wait for them send the next ones at
// once; on two cores some of these are failed, too, or not. On one core they begin when the library has done its step.
func OneCore() (again func()) {
	n := runtime.GOMAXPROCS(0)
	if n == 1 {
		return func() {}
	}
	runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(n) }
}

// Alone is [OneCore] for one play. Another play waits until the function that it returns is called: the number of
// cores, the random bytes and the listings' idea of the play that runs belong to the process.
func Alone() (next func()) {
	alone.Lock()
	again := OneCore()
	return func() {
		again()
		alone.Unlock()
	}
}

var alone sync.Mutex

// Tries is how often a schedule is played until it repeats. On one core it repeats at once, unless the operating system
// takes the core away in the middle of a step, for long enough that Go's scheduler lets another goroutine go on.
const Tries = 20
