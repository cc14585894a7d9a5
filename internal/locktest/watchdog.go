package locktest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/zklock/internal/jute"
)

// A process that runs cases has one of these; others have nil.
var self *watchdog

// A watchdog reports a case that does not end, and ends the process.
//
// Virtual time stands still while anything is busy, so no deadline inside the
// case ends a lock that spins; and a deadline in real time would fail a lock
// that is right on a busy machine. So the watchdog looks at what the process
// does between two steps of the case: a step is a request that reaches the
// server, or a moment at which every goroutine waits. A process in which no
// goroutine can run hangs; one that uses much processor time spins.
type watchdog struct {
	out   *os.File
	token string

	steps   atomic.Int64 // of the case
	instant atomic.Int64 // requests at one instant of virtual time

	mu     sync.Mutex
	active bool // a case runs
	limits limits
	doing  []string
	notes  []string // failures of the case
	skip   string
}

// limits say what may happen between two steps of a case.
type limits struct {
	processor time.Duration // that the process uses
	idle      int           // ticks in a row at which no goroutine could run
	any       int           // ticks, whatever happens: the lock may wait in a system call
	requests  int64         // at one instant of virtual time
}

// patienceWith is by how many cases in a row have not ended, so that a suite in
// which every case hangs ends soon.
var patienceWith = []limits{
	{600 * time.Millisecond, 100, 1000, 10000},
	{200 * time.Millisecond, 30, 400, 5000},
	{100 * time.Millisecond, 10, 100, 3000},
	{50 * time.Millisecond, 5, 50, 2000},
}

const (
	tick          = 10 * time.Millisecond
	maxGoroutines = 50000
	maxMemory     = 1 << 30 // bytes
)

// serve runs the cases that the other process asks for, until that closes the
// input.
func serve(t *testing.T, token string, run func(t *testing.T, r request) (sent []jute.Op)) {
	os.Unsetenv(workerVariable) // a lock that starts processes must not start workers
	self = &watchdog{out: os.Stdout, token: mark + token + " "}
	os.Stdout = os.Stderr
	requests := make(chan request)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var r request
			if err := json.Unmarshal(in.Bytes(), &r); err != nil {
				break
			}
			requests <- r
		}
		os.Exit(0)
	}()
	go self.watch()
	for r := range requests {
		self.begin(r)
		var sent []jute.Op
		self.end(t.Run(r.Case, func(t *testing.T) { sent = run(t, r) }), sent)
	}
}

func (d *watchdog) say(r report) {
	text, _ := json.Marshal(r)
	d.out.WriteString("\n" + d.token + string(text) + "\n")
}

func (d *watchdog) begin(r request) {
	d.mu.Lock()
	d.active, d.limits, d.doing, d.notes, d.skip = true, patienceWith[r.Stuck], nil, nil, ""
	d.steps.Add(1)
	d.mu.Unlock()
	d.instant.Store(0)
	d.say(report{Begun: true})
}

// end reports a case that has been cleaned up. If it has failed the process
// ends: it may not be as it was.
func (d *watchdog) end(ok bool, sent []jute.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = false
	d.say(report{Ended: true, OK: ok, Failures: d.notes, Skipped: d.skip, Sent: sent})
	if !ok {
		os.Exit(1)
	}
}

// left reports a case whose function has returned, and is inside its bubble
// still. If it has failed the process ends, for what hangs would keep the
// bubble from ending.
func (d *watchdog) left(failed bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !failed {
		d.say(report{Left: true})
		return
	}
	if len(d.notes) == 0 {
		return // the race detector has failed it: end says so
	}
	d.say(report{Failures: d.notes})
	os.Exit(1)
}

// note keeps the words of a failure.
func (d *watchdog) note(text string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, text)
}

// step tells that the case goes on.
func (d *watchdog) step() {
	if d != nil {
		d.steps.Add(1)
	}
}

// does notes that an operation of the lock is under way, until the func is
// called.
func (d *watchdog) does(what string) (done func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doing = append(d.doing, what)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if i := slices.Index(d.doing, what); i >= 0 {
			d.doing = slices.Delete(d.doing, i, i+1)
		}
	}
}

// watch ends the process when its case does not end.
func (d *watchdog) watch() {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/not-in-go:goroutines"},
	}
	read := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	var last int64
	var began time.Duration // processor time at the last step
	still, idle := 0, 0
	beats := time.Now()
	for range time.Tick(tick) {
		if time.Since(beats) > time.Second {
			beats = time.Now()
			d.say(report{})
		}
		d.mu.Lock()
		active, limits := d.active, d.limits
		d.mu.Unlock()
		metrics.Read(samples)
		used := processorTime()
		steps := d.steps.Load()
		if !active || steps != last {
			last, began, still, idle = steps, used, 0, 0
			if !active {
				continue
			}
		}
		still++
		// This goroutine runs, and another one reads the requests.
		if read(3) <= 1 && read(4) == 0 && read(5) <= 1 {
			idle++
		} else {
			idle = 0
		}
		switch {
		case d.instant.Load() > limits.requests:
			d.stuck(fmt.Sprintf("the lock polls: it has sent more than %d requests at one instant, one after the other; a contender that has to wait must sleep on a watch", limits.requests))
		case read(0)-read(1) > maxMemory:
			d.stuck("the lock uses more than 1 GiB of memory")
		case read(2) > maxGoroutines:
			d.stuck(fmt.Sprintf("the lock has started more than %d goroutines", maxGoroutines))
		case used-began > limits.processor, idle > limits.idle, still > limits.any:
			d.stuck("")
		}
	}
}

// stuck reports what the lock does in place of ending.
func (d *watchdog) stuck(why string) {
	buffer := make([]byte, 1<<20)
	stacks := string(buffer[:runtime.Stack(buffer, true)])
	d.mu.Lock()
	defer d.mu.Unlock()
	doing := strings.Join(slices.Compact(slices.Sorted(slices.Values(d.doing))), ", ")
	if why == "" {
		spins := func(block string) bool {
			header, _, _ := strings.Cut(block, "\n")
			return strings.Contains(block, asideName) && (strings.Contains(header, "[running") || strings.Contains(header, "[runnable"))
		}
		blocked := func(block string) bool {
			header, _, _ := strings.Cut(block, "\n")
			return strings.Contains(block, asideName) && !strings.Contains(header, "(durable)")
		}
		switch {
		case stackOf(stacks, spins) != "":
			why = "the lock spins: it is busy, and sends nothing; it is in " + stackOf(stacks, spins)
		case stackOf(stacks, blocked) != "":
			why = "the lock hangs: it waits for something that never comes, and that is no watch; it is in " + stackOf(stacks, blocked)
		case doing == "":
			why = "the case is over, and a goroutine of the lock is busy still"
		default:
			why = "the lock hangs: it neither returns nor sends anything"
		}
	}
	if doing != "" {
		why += ". Under way: " + doing
	}
	d.say(report{Stuck: true, Failures: append(d.notes, why)})
	os.Exit(1)
}

// call calls an operation of a lock.
func (w *world) call(what string, f func()) {
	defer self.does(what)()
	aside(f)
}

// aside has a name that is found in the stack of a goroutine that calls a
// lock.
func aside(f func()) { f() }

const asideName = "locktest.aside("
