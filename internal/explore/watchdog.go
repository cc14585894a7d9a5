package explore

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

// busy is how long, in real time, a schedule may take. Virtual time stands
// still while anybody is busy, so a lock that spins would go on until the
// test's own timeout.
const busy = time.Minute

// watched plays a schedule, and panics with its choices if it does not end.
func watched(t *testing.T, w World, hashing bool, choose func(p *Point) int, acted func(n int, f footprint)) *Run {
	t.Helper()
	defer oneCore()()
	var made atomic.Pointer[[]string]
	var names []string
	watchdog := time.AfterFunc(busy, func() {
		so := made.Load()
		if so == nil {
			so = new([]string)
		}
		debug.SetTraceback("all") // what it is busy with
		panic(fmt.Sprintf("explore: %s is busy for a minute of real time, so it waits for nothing: a goroutine of the lock spins. The schedule: %q", w.Lock.Name, *so))
	})
	defer watchdog.Stop()
	return play(t, w, hashing, func(p *Point) int {
		i := choose(p)
		if i >= 0 && len(p.Enabled) > 1 {
			names = append(names, p.Enabled[i])
			so := names
			made.Store(&so)
		}
		return i
	}, acted)
}
