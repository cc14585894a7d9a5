package bubble

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Limits end a test in virtual time that does not end by itself: the process panics with the name of the
// test and with the place where each goroutine of its bubble is. No limit depends on how busy the machine
// is. A field that is zero has the value that its comment names.
type Limits struct {
	Virtual   time.Duration // default a day: ends a goroutine that waits forever beside a clock
	Processor time.Duration // default a minute of this process, divided by its bubbles: ends a goroutine that spins
	// Idle, by default a minute, ends a bubble in which no goroutine can run: one waits for a mutex, or for something
	// outside of the bubble, and then virtual time does not pass. If one waits for the operating system, the bubble
	// ends after ten times as long.
	Idle  time.Duration
	Doing func() string // if not nil, what the message adds; it may be called at any time
	None  bool          // another process watches over this one, and ends it
}

// Test is [synctest.Test] with the usual limits.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	Limits{}.Test(t, f)
}

var bubbles atomic.Int64 // the number of them in this process

// Test is [synctest.Test] with limits.
func (l Limits) Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if l.None {
		synctest.Test(t, f)
		return
	}
	l.Virtual, l.Processor, l.Idle = cmp.Or(l.Virtual, 24*time.Hour), cmp.Or(l.Processor, time.Minute), cmp.Or(l.Idle, time.Minute)
	w := &watch{limits: l, name: t.Name(), lastTime: ProcessorTime()}
	bubbles.Add(1)
	defer bubbles.Add(-1)
	w.mu.Lock() // look, which may begin at once, uses next
	w.next = time.AfterFunc(l.Idle/looks, w.look)
	w.mu.Unlock()
	defer w.stop()
	synctest.Test(t, func(t *testing.T) {
		stack := make([]byte, 200) // bytes: the header of this goroutine has the number of the bubble
		mark := string(inBubble.Find(stack[:runtime.Stack(stack, false)]))
		w.mark.Store(&mark)
		time.AfterFunc(l.Virtual, func() { w.end("waits for what has not happened in %v of virtual time", l.Virtual) })
		f(t)
	})
}

const looks, forSystem = 12, 10 // the looks of a watch in Limits.Idle; the factor if a goroutine waits for the system

// A watch looks from outside of a bubble at what goes on in it.
type watch struct {
	limits Limits
	name   string
	mark   atomic.Pointer[string] // with which the first line of the stack of each goroutine of the bubble ends

	mu       sync.Mutex // guards what follows
	over     bool
	next     *time.Timer
	lastTime time.Duration // processor time at the last look
	used     time.Duration // processor time of the bubble
	// How many looks in a row have found no goroutine that could run: stuck counts those at which
	// none waited for the operating system, inSystem those at which one did.
	stuck, inSystem int
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.next.Stop()
}

// look counts what the goroutines of the bubble do, and ends the process at a limit.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	now, stacks := ProcessorTime(), w.goroutines()
	hasGoroutines := len(stacks) > 0 // otherwise it has not begun, or has just ended
	switch {
	case !hasGoroutines || slices.ContainsFunc(stacks, canRun):
		w.stuck, w.inSystem = 0, 0
		// A look that comes late, because the machine was suspended, counts as one in time.
		most := time.Duration(runtime.GOMAXPROCS(0)) * w.limits.Idle / looks
		w.used += min(now-w.lastTime, most) / time.Duration(bubbles.Load())
	case slices.ContainsFunc(stacks, waitsForSystem):
		w.stuck, w.inSystem = 0, w.inSystem+1
	default:
		w.stuck++
	}
	w.lastTime = now

	switch {
	case w.used > w.limits.Processor:
		w.end("has used %v of the processor: a goroutine spins or polls", w.limits.Processor)
	case w.stuck > looks, w.inSystem > forSystem*looks:
		w.end("does not go on: for %v none of its goroutines could run, and one waits for a mutex, "+
			"or for something outside of its bubble", time.Duration(max(w.stuck, w.inSystem))*w.limits.Idle/looks)
	}
	w.next.Reset(w.limits.Idle / looks)
}

// end ends the process with a panic, which says what each goroutine of the bubble does.
func (w *watch) end(format string, args ...any) {
	doing := ""
	if w.limits.Doing != nil {
		doing = w.limits.Doing() + "\n"
	}
	panic(fmt.Sprintf("%s %s. Its goroutines:\n%s\n%s\n", w.name, fmt.Sprintf(format, args...), doing, strings.Join(w.goroutines(), "\n\n")))
}

var inBubble = regexp.MustCompile(`, synctest bubble \d+\]:`)

// goroutines returns the stacks of the bubble's goroutines, of one moment.
func (w *watch) goroutines() (stacks []string) {
	mark := w.mark.Load()
	if mark == nil {
		return nil
	}
	for stack := range strings.SplitSeq(strings.TrimSpace(Stacks()), "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.HasSuffix(header, *mark) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// Stacks returns the stacks of all goroutines, of one moment: none runs while they are read.
func Stacks() string {
	for size := 1 << 18; ; size *= 4 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return string(buffer[:n])
		}
	}
}

// canRun reports whether a goroutine runs, or waits for the processor or the runtime alone.
func canRun(stack string) bool {
	waits := []string{"chan ", "select", "sync.", "synctest.", "sleep", "coroutine", "semacquire"}
	return !waitsForSystem(stack) && !slices.ContainsFunc(waits, func(s string) bool { return strings.Contains(stack, " ["+s) })
}

func waitsForSystem(stack string) bool {
	return strings.Contains(stack, " [syscall") || strings.Contains(stack, " [IO wait")
}
