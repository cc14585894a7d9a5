package runner

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// A process that runs cases has one of these; others have nil.
var self *watchdog

// A watchdog reports a case that does not end, and ends the process.
//
// Virtual time stops while any goroutine is busy, so no deadline inside the case ends a lock that spins; and a deadline
// in real time would fail a lock that is right on a busy machine. So the watchdog looks at what the process does
// between two steps of the case: a step is a request that reaches the server, or a moment at which every goroutine
// waits. A process in which every goroutine waits for another one hangs, and that does not depend on time; one that
// uses much processor time spins. A goroutine that could run and gets no processor counts for neither.
type watchdog struct {
	out   *os.File
	token string

	steps       atomic.Int64 // of the case
	requestsNow atomic.Int64 // at the present instant of virtual time

	mu       sync.Mutex // guards what follows
	active   bool       // a case runs
	limits   stepLimits
	doing    []string  // operations of the lock that are under way
	failures []Failure // of the case
	skip     string    // why the case is skipped
	again    string    // see Case.Again
	cases    int       // that the process has begun
	trace    string    // see Case.Fail
}

// stepLimits bound the time and work between two steps of a case.
type stepLimits struct {
	processor time.Duration // that the process uses; a tick counts as two at most, because a machine may stop for seconds
	idle      int           // ticks at which no goroutine could run, and it is unknown what they wait for
	requests  int64         // at one instant of virtual time
}

// limitsAfterStuck are the limits by how many cases in a row have not ended: a suite in which every case spins ends
// soon. A right lock meets the first ones only, and uses a few milliseconds of the processor between two steps.
var limitsAfterStuck = []stepLimits{
	{processor: time.Second, idle: 2000, requests: 10000},
	{processor: 300 * time.Millisecond, idle: 200, requests: 5000},
	{processor: 100 * time.Millisecond, idle: 50, requests: 3000},
	{processor: 60 * time.Millisecond, idle: 20, requests: 2000},
}

const (
	tick          = 10 * time.Millisecond // between two looks of the watchdog
	stacksAfter   = 5                     // ticks at which no goroutine could run, before their stacks are read
	maxGoroutines = 50000                 // far more than any case of a right lock has
	maxMemory     = 1 << 30               // bytes
)

// serve runs the cases that the other process asks for, until that closes the input.
func serve(t *testing.T, token string, run func(c *Case)) {
	os.Unsetenv(workerVariable) // a lock that starts processes must not start workers
	self = &watchdog{out: os.Stdout, token: mark + token + " "}
	os.Stdout = os.Stderr   // what the lock prints is not a report
	debug.SetGCPercent(400) // to make a client of the library leaves 1.5 MB of garbage
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
		self.end(t.Run(r.Case, func(t *testing.T) { run(newCase(t, r.Case, r.About)) }), false)
	}
}

func (d *watchdog) say(r report) {
	text, _ := json.Marshal(r) // a report has nothing that cannot be encoded
	d.out.WriteString("\n" + d.token + string(text) + "\n")
}

func (d *watchdog) begin(r request) {
	d.mu.Lock()
	d.active, d.limits = true, limitsAfterStuck[r.Stuck]
	d.doing, d.failures, d.skip, d.again = nil, nil, "", "" // what the case before has left
	d.cases++
	d.steps.Add(1)
	d.mu.Unlock()
	d.requestsNow.Store(0)
	d.say(report{Begun: true})
}

// end reports a case that has been cleaned up, or, with over, one that has passed and whose goroutines do not end. The
// process ends with over, and if the case has failed, because such a case may have left something behind.
func (d *watchdog) end(ok, over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = false
	d.say(report{Ended: true, OK: ok, Over: over, Failures: d.failures, Skipped: d.skip, Again: d.again})
	switch {
	case !ok:
		os.Exit(1)
	case over:
		os.Exit(0)
	}
}

// left reports a case whose function has returned. If it has failed the process ends, for the bubble may not end.
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
	if len(d.failures) == 0 {
		return // the race detector has failed it: end reports that
	}
	d.say(report{Failures: d.failures, Trace: d.trace})
	os.Exit(1)
}

func (d *watchdog) note(f Failure) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures = append(d.failures, f)
}

// watch ends the process when its case does not end.
func (d *watchdog) watch() {
	const memory, released, goroutines, running, runnable = 0, 1, 2, 3, 4
	samples := []metrics.Sample{
		memory:     {Name: "/memory/classes/total:bytes"},
		released:   {Name: "/memory/classes/heap/released:bytes"},
		goroutines: {Name: "/sched/goroutines:goroutines"},
		running:    {Name: "/sched/goroutines/running:goroutines"},
		runnable:   {Name: "/sched/goroutines/runnable:goroutines"},
	}
	read := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	var lastSteps int64
	var lastTime, spent time.Duration // processor time: at the last tick, and since the last step
	idle := 0
	lastReport := time.Now()
	for range time.Tick(tick) {
		if time.Since(lastReport) > time.Second {
			lastReport = time.Now()
			d.say(report{}) // so that the process that asks does not take this one for dead
		}
		d.mu.Lock()
		active, limits := d.active, d.limits
		d.mu.Unlock()
		metrics.Read(samples)
		now := bubble.ProcessorTime()
		spent += min(now-lastTime, 2*tick)
		lastTime = now
		steps := d.steps.Load()
		if !active || steps != lastSteps {
			lastSteps, spent, idle = steps, 0, 0
			if !active {
				continue
			}
		}
		if read(running) <= 1 && read(runnable) == 0 { // this goroutine alone runs
			idle++
		}

		switch {
		case d.requestsNow.Load() > limits.requests:
			d.stuck(i18n.Textf(
				"requests are sent without end, more than %d at one instant, one after the other; a contender that has to wait must "+
					"sleep on a watch, and a request that is refused will be refused again", limits.requests))
		case read(memory)-read(released) > maxMemory:
			d.stuck("the lock uses more than 1 GiB of memory")
		case read(goroutines) > maxGoroutines:
			d.stuck(i18n.Textf("the lock has started more than %d goroutines", maxGoroutines))
		case spent > 4*limits.processor, idle > limits.idle, // whatever the stacks say
			spent > limits.processor && anyGoroutine(bubble.Stacks(), spins),             // it spins
			idle > 0 && idle%stacksAfter == 0 && !anyGoroutine(bubble.Stacks(), mayGoOn): // it hangs
			d.mu.Lock()
			goesOn := !d.active || d.steps.Load() != steps // since the stacks were read
			d.mu.Unlock()
			if !goesOn {
				d.stuck("")
			}
		}
	}
}

// stuck reports a case that does not end, and ends the process. If why is empty, it says where the lock waits or spins.
func (d *watchdog) stuck(why i18n.Text) {
	stacks := bubble.Stacks()
	d.mu.Lock()
	defer d.mu.Unlock()
	doing := i18n.List(slices.Compact(slices.Sorted(slices.Values(d.doing))))
	if why.String() == "" {
		calling := func(inState func(state string) bool) (place string) { // of a goroutine that calls the lock
			return stackOf(stacks, func(block string) bool {
				state, _, _ := strings.Cut(block, "\n")
				return strings.Contains(block, asideName) && inState(state)
			})
		}
		busy := calling(func(state string) bool { return strings.Contains(state, "[run") }) // running, runnable
		mutex := calling(func(state string) bool {
			return strings.Contains(state, "[sync.Mutex.Lock") || strings.Contains(state, "[sync.RWMutex.")
		})
		blocked := calling(func(state string) bool { return !strings.Contains(state, "(durable)") })
		switch {
		case busy != "":
			why = i18n.Textf("the lock spins: it is busy, and sends nothing; it is in %s", busy)
		case mutex != "":
			why = i18n.Textf(
				"the lock hangs: it waits for a mutex that another goroutine keeps, which waits itself; let go of a mutex "+
					"before you wait for the lock or for a reply. It is in %s", mutex)
		case blocked != "":
			why = i18n.Textf("the lock hangs: it waits for something that never comes, and that is not a watch; it is in %s", blocked)
		case doing.String() == "":
			why = "the case is over, and a goroutine of the lock is busy still"
		default:
			why = "the lock hangs: it neither returns nor sends anything"
		}
	}
	if doing.String() != "" {
		why = i18n.Textf("%s. Under way: %s", why, doing)
	}
	d.say(report{Stuck: true, Failures: append(d.failures, Failure{Text: why})})
	os.Exit(1)
}

// Aside calls f. By its name in a stack, a goroutine that calls the lock is recognized.
func Aside(f func()) { f() }

const asideName = "runner.Aside("
