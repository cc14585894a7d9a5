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
	Virtual   time.Duration // a day: a goroutine that waits beside a clock, without an end, ends there
	Processor time.Duration // a minute of this process, divided by its bubbles: a goroutine that spins
	// Idle is for how long no goroutine of the bubble may be able to run, a minute, and ten times as
	// long if one waits for the operating system. Virtual time does not pass while a goroutine waits for a
	// mutex, or for something outside of the bubble.
	Idle  time.Duration
	Doing func() string // if not nil, what the message adds; it may be called at any time
	None  bool          // another process watches over this one, and ends it
}

// Test is [synctest.Test] with the usual limits.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	Limits{}.Test(t, f)
}

var bubbles atomic.Int64 // that there are in this process

// Test is [synctest.Test] with limits.
func (l Limits) Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if l.None {
		synctest.Test(t, f)
		return
	}
	l.Virtual, l.Processor, l.Idle = cmp.Or(l.Virtual, 24*time.Hour), cmp.Or(l.Processor, time.Minute), cmp.Or(l.Idle, time.Minute)
	w := &watch{limits: l, name: t.Name(), before: ProcessorTime()}
	bubbles.Add(1)
	defer bubbles.Add(-1)
	w.mu.Lock()
	w.next = time.AfterFunc(l.Idle/looks, w.look)
	w.mu.Unlock()
	defer w.stop()
	synctest.Test(t, func(t *testing.T) {
		header := make([]byte, 200)
		mark := string(inBubble.Find(header[:runtime.Stack(header, false)]))
		w.mark.Store(&mark)
		time.AfterFunc(l.Virtual, func() { w.end("waits for something that has not happened in %v of virtual time", l.Virtual) })
		f(t)
	})
}

const looks = 12 // in the time of Limits.Idle

// A watch looks from outside of a bubble at what goes on in it.
type watch struct {
	limits Limits
	name   string
	mark   atomic.Pointer[string] // how the bubble's goroutines are marked in their stacks

	mu     sync.Mutex // guards what follows
	over   bool
	next   *time.Timer
	before time.Duration // processor time at the last look
	used   time.Duration // by the bubble
	// Looks at which no goroutine could run: those in a row, and those at which one waited for the operating system.
	stuck, outside int
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.next.Stop()
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	now := ProcessorTime()
	blocks := w.goroutines()
	switch {
	case len(blocks) == 0, slices.ContainsFunc(blocks, canRun): // a bubble that has not begun, or has just ended, waits for the processor
		w.stuck, w.outside = 0, 0
		// A late look, of a machine that was suspended, counts as one in time.
		most := time.Duration(runtime.GOMAXPROCS(0)) * w.limits.Idle / looks
		w.used += min(now-w.before, most) / time.Duration(bubbles.Load())
	case slices.ContainsFunc(blocks, waitsForSystem):
		w.stuck, w.outside = 0, w.outside+1
	default:
		w.stuck++
	}
	w.before = now
	switch {
	case w.used > w.limits.Processor:
		w.end("has used %v of the processor: a goroutine spins or polls", w.limits.Processor)
	case w.stuck > looks, w.outside > 10*looks:
		w.end("does not go on: for %v none of its goroutines could run, and one waits for a mutex, or for something outside of its bubble",
			time.Duration(max(w.stuck, w.outside))*w.limits.Idle/looks)
	}
	w.next.Reset(w.limits.Idle / looks)
}

// end ends the process.
func (w *watch) end(format string, args ...any) {
	doing := ""
	if w.limits.Doing != nil {
		doing = w.limits.Doing() + "\n"
	}
	panic(fmt.Sprintf("%s %s. Its goroutines:\n%s\n%s\n", w.name, fmt.Sprintf(format, args...), doing, strings.Join(w.goroutines(), "\n\n")))
}

var inBubble = regexp.MustCompile(`, synctest bubble \d+\]:`)

// goroutines are the stacks of the bubble's goroutines, of one moment.
func (w *watch) goroutines() (blocks []string) {
	mark := w.mark.Load()
	if mark == nil {
		return nil
	}
	for block := range strings.SplitSeq(strings.TrimSpace(Stacks()), "\n\n") {
		if header, _, _ := strings.Cut(block, "\n"); strings.HasSuffix(header, *mark) {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// Stacks are those of one moment: no goroutine runs while they are read.
func Stacks() string {
	for size := 1 << 18; ; size *= 4 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return string(buffer[:n])
		}
	}
}

// canRun reports whether a goroutine runs, or waits for the processor or the runtime alone.
func canRun(block string) bool {
	return !waitsForSystem(block) && !slices.ContainsFunc([]string{"chan ", "select", "sync.", "synctest.", "sleep", "coroutine", "semacquire"},
		func(wait string) bool { return strings.Contains(block, " ["+wait) })
}

func waitsForSystem(block string) bool {
	return strings.Contains(block, " [syscall") || strings.Contains(block, " [IO wait")
}
