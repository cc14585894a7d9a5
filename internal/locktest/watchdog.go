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
)

// A process that runs cases has one of these; others have nil.
var self *watchdog

// A watchdog reports a case that does not end, and ends the process.
//
// Virtual time stands still while anything is busy, so no deadline inside the
// case ends a lock that spins; and a deadline in real time would fail a lock
// that is right on a busy machine. So the watchdog counts its own ticks, of 10
// ms each, between two steps of the case: a request that reaches the server,
// or a moment at which every goroutine waits. A machine that does not run the
// process does not let it tick either.
type watchdog struct {
	out   *os.File
	token string

	steps   atomic.Int64 // of the case
	polling atomic.Bool  // thousands of requests at one instant of virtual time

	mu     sync.Mutex
	active bool // a case runs
	limit  int  // ticks without a step
	doing  []string
	notes  []string // failures of the case
	skip   string
}

const (
	tick        = 10 * time.Millisecond
	maxRequests = 5000    // at one instant
	maxMemory   = 1 << 30 // bytes
)

// serve runs the cases that the other process asks for, until that closes the
// input.
func serve(t *testing.T, token string, run func(t *testing.T, r request) any) {
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
		var payload any
		ok := t.Run(r.Name, func(t *testing.T) { payload = run(t, r) })
		self.end(ok, payload)
	}
}

func (d *watchdog) say(r report) {
	text, _ := json.Marshal(r)
	d.out.WriteString("\n" + d.token + string(text) + "\n")
}

func (d *watchdog) begin(r request) {
	d.mu.Lock()
	d.active, d.limit, d.doing, d.notes, d.skip = true, r.Ticks, nil, nil, ""
	d.mu.Unlock()
	d.polling.Store(false)
	d.say(report{Begun: true})
}

// end reports a case that has been cleaned up. If it has failed the process
// ends: it may not be as it was.
func (d *watchdog) end(ok bool, payload any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = false
	raw, _ := json.Marshal(payload)
	d.say(report{Ended: true, OK: ok, Failures: d.notes, Skipped: d.skip, Payload: raw})
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
	var last int64
	still, beat := 0, 0
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(tick) {
		if beat++; beat%20 == 0 {
			d.say(report{})
		}
		d.mu.Lock()
		active, limit := d.active, d.limit
		d.mu.Unlock()
		steps := d.steps.Load()
		if !active || steps != last {
			last, still = steps, 0
		} else {
			still++
		}
		metrics.Read(memory)
		switch {
		case !active:
		case d.polling.Load():
			d.stuck(fmt.Sprintf("the lock polls: it has sent %d requests at one instant, one after the other; a contender that has to wait must sleep on a watch", maxRequests))
		case memory[0].Value.Uint64()-memory[1].Value.Uint64() > maxMemory:
			d.stuck("the lock uses more than 1 GiB of memory")
		case still > limit:
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

// aside has a name that is found in the stack of a goroutine that calls a
// lock.
func aside(f func()) { f() }

const asideName = "locktest.aside("
