package runner

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// self is the watchdog of this process, nil in one that no Judge has started.
var self *watchdog

// A watchdog reports a case that does not end, and ends the process.
//
// Virtual time stops while any goroutine is busy, so no deadline inside the case ends a lock that spins; and a deadline
// in real time would fail a lock that is right on a busy machine. So the watchdog looks at what the process does
// between two steps of the case: a step is a request that reaches the server, or a moment at which every goroutine
// waits. A process in which every goroutine waits for another one hangs, and that does not depend on time; one that
// uses much processor time spins. A goroutine that could run and gets no processor counts for neither.
type watchdog struct {
	out  *os.File // for the reports
	mark string   // before each report

	steps       atomic.Int64 // of the case
	requestsNow atomic.Int64 // at the present instant of virtual time

	mu       sync.Mutex // guards what follows
	cases    int        // that the process has begun
	active   bool       // a case runs; what follows is of this case
	limits   stepLimits
	doing    []string // operations of the lock that are under way
	failures []Failure
	trace    string // of a failed schedule: its address in the lab
	skip     string // why it is skipped
	again    string // what it has passed to Case.Again, to run in a new process; "": it has not
}

// stepLimits bound the time and work between two steps of a case.
type stepLimits struct {
	processor time.Duration // that the process uses; a tick counts as two at most, because a machine may stop for seconds
	idle      int           // ticks at which no goroutine could run, whatever the stacks say
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

// serve runs the cases that the other process asks for, until that closes the input. Then it ends this process.
func serve(t *testing.T, token string, run func(c *Case)) {
	os.Unsetenv(workerVariable) // a lock that starts processes must not start workers
	self = &watchdog{out: os.Stdout, mark: mark + token + " "}
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
		self.caseBegins(r)
		passed := t.Run(r.Case, func(t *testing.T) { run(newCase(t, r.Case, r.About)) })
		self.caseEnded(passed, processGoesOn)
	}
}

// send writes a report for the process that has asked for the case.
func (d *watchdog) send(r report) {
	text, _ := json.Marshal(r) // a report has nothing that cannot be encoded
	d.out.WriteString("\n" + d.mark + string(text) + "\n")
}

func (d *watchdog) caseBegins(r request) {
	d.mu.Lock()
	d.cases++
	d.active, d.limits = true, limitsAfterStuck[r.Stuck]
	d.doing, d.failures, d.skip, d.again = nil, nil, "", "" // what the case before has left
	d.steps.Add(1)
	d.mu.Unlock()
	d.requestsNow.Store(0)
	d.send(report{Begun: true})
}

const processGoesOn, processEnds = false, true // after caseEnded

// caseEnded reports a case that has been cleaned up, or one that has passed and whose goroutines do not end: then the
// process ends. It also ends if the case has failed, because such a case may have left something behind.
func (d *watchdog) caseEnded(passed, ends bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = false
	d.send(report{Ended: true, Passed: passed, ProcessEnds: ends, Failures: d.failures, Skipped: d.skip, Again: d.again})
	switch {
	case !passed:
		os.Exit(1)
	case ends:
		os.Exit(0)
	}
}

// caseReturned reports that a case's own function has returned, and the case has not been cleaned up yet. If the case
// has failed the process ends, for the bubble may not end.
func (d *watchdog) caseReturned(failed bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !failed {
		d.send(report{Returned: true})
		return
	}
	if hasRace := len(d.failures) == 0; hasRace { // the race detector has failed the case: caseEnded reports that
		return
	}
	d.send(report{Failures: d.failures, Trace: d.trace})
	os.Exit(1)
}

// change calls f, which changes what mu guards. Without a watchdog it does nothing.
func (d *watchdog) change(f func()) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *watchdog) addFailure(f Failure) { d.change(func() { d.failures = append(d.failures, f) }) }

// watch looks at the process at each tick, and ends it when its case does not end.
func (d *watchdog) watch() {
	var since sinceStep
	lastReport := time.Now()
	for range time.Tick(tick) {
		if time.Since(lastReport) > time.Second {
			lastReport = time.Now()
			d.send(report{}) // so that the process that asks does not take this one for dead
		}
		d.mu.Lock()
		active, limits := d.active, d.limits
		d.mu.Unlock()
		now, steps := takeSample(), d.steps.Load()
		since.update(now, steps, active)
		if !active {
			continue
		}

		switch {
		case d.requestsNow.Load() > limits.requests:
			d.stuck(i18n.Textf(
				"requests are sent without end, more than %d at one instant, one after the other; a contender that has to wait must "+
					"sleep on a watch, and a request that is refused will be refused again", limits.requests))
		case now.memory > maxMemory:
			d.stuck("the lock uses more than 1 GiB of memory")
		case now.goroutines > maxGoroutines:
			d.stuck(i18n.Textf("the lock has started more than %d goroutines", maxGoroutines))
		case since.isStuck(limits):
			d.mu.Lock()
			hasGoneOn := !d.active || d.steps.Load() != steps // while the stacks were read
			d.mu.Unlock()
			if !hasGoneOn {
				d.stuck("")
			}
		}
	}
}

// A sample is what the runtime says of this process at one moment.
type sample struct {
	memory     uint64        // in bytes
	goroutines uint64        // how many there are
	processor  time.Duration // that the process has used
	isBusy     bool          // a goroutine runs or could run, besides the one that asks
}

func takeSample() sample {
	const total, released, goroutines, running, runnable = 0, 1, 2, 3, 4
	metricsOf := []metrics.Sample{
		total:      {Name: "/memory/classes/total:bytes"},
		released:   {Name: "/memory/classes/heap/released:bytes"},
		goroutines: {Name: "/sched/goroutines:goroutines"},
		running:    {Name: "/sched/goroutines/running:goroutines"},
		runnable:   {Name: "/sched/goroutines/runnable:goroutines"},
	}
	metrics.Read(metricsOf)
	read := func(i int) uint64 {
		if metricsOf[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return metricsOf[i].Value.Uint64()
	}
	return sample{memory: read(total) - read(released), goroutines: read(goroutines), processor: bubble.ProcessorTime(),
		isBusy: read(running) > 1 || read(runnable) > 0}
}

// sinceStep is what the process has done since the last step of its case.
type sinceStep struct {
	steps int64         // that the case had taken at the last tick
	last  sample        // at the last tick
	spent time.Duration // of the processor
	idle  int           // ticks at which no goroutine could run
}

// update counts one more tick. It begins at 0 again if the case has taken a step, or no case runs.
func (s *sinceStep) update(now sample, steps int64, active bool) {
	s.spent += min(now.processor-s.last.processor, 2*tick)
	s.last = now
	if !active || steps != s.steps {
		s.steps, s.spent, s.idle = steps, 0, 0
	}
	if !now.isBusy {
		s.idle++
	}
}

// isStuck reports whether the case spins or hangs. It reads the stacks, which is slow, only if they can say so.
func (s *sinceStep) isStuck(limits stepLimits) bool {
	switch {
	case s.spent > 4*limits.processor, s.idle > limits.idle:
		return true // so much that it does not matter what the stacks say
	case s.spent > limits.processor && anyGoroutine(bubble.Stacks(), spins):
		return true
	}
	stacksAreDue := s.idle > 0 && s.idle%stacksAfter == 0
	return stacksAreDue && !anyGoroutine(bubble.Stacks(), mayGoOn) // then it hangs
}

// stuck reports a case that does not end, and ends the process. If why is empty, the stacks say where the lock waits.
func (d *watchdog) stuck(why i18n.Text) {
	stacks := bubble.Stacks()
	d.mu.Lock()
	defer d.mu.Unlock()
	doing := i18n.List(slices.Compact(slices.Sorted(slices.Values(d.doing))))
	isDoing := doing.String() != ""
	if why.String() == "" {
		why = whyStuck(stacks, isDoing)
	}
	if isDoing {
		why = i18n.Textf("%s. Under way: %s", why, doing)
	}
	d.send(report{Stuck: true, Failures: append(d.failures, Failure{Text: why})})
	os.Exit(1)
}
