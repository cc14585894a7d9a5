package runner

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
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
// Virtual time stops while any goroutine is busy, so no deadline inside the case ends a lock that
// spins; and a deadline in real time would fail a lock that is right on a busy machine. So the
// watchdog looks at what the process does between two steps of the case: a step is a request that
// reaches the server, or a moment at which every goroutine waits. A process in which every
// goroutine waits for another one hangs, and that does not depend on time; one that uses much
// processor time spins. A goroutine that could run and gets no processor counts for neither.
type watchdog struct {
	out   *os.File
	token string

	steps   atomic.Int64 // of the case
	instant atomic.Int64 // requests at one instant of virtual time

	mu     sync.Mutex
	active bool // a case runs
	limits stepLimits
	doing  []string
	notes  []Failure // failures of the case
	skip   string
	again  string
	cases  int // that the process has begun
	trace  string
}

// stepLimits bound the time and work between two steps of a case.
type stepLimits struct {
	processor time.Duration // that the process uses, at most twice a tick in each: a machine may stop for seconds and count them
	idle      int           // ticks at which no goroutine could run, and what they wait for is unknown
	requests  int64         // at one instant of virtual time
}

// patienceWith is by how many cases in a row have not ended, so that a suite in
// which every case spins ends soon. A lock that ends each case meets the first
// only: a right one uses a few milliseconds of the processor between two steps.
var patienceWith = []stepLimits{
	{time.Second, 2000, 10000},
	{300 * time.Millisecond, 200, 5000},
	{100 * time.Millisecond, 50, 3000},
	{60 * time.Millisecond, 20, 2000},
}

const (
	tick          = 10 * time.Millisecond
	stacksAfter   = 5 // ticks at which no goroutine could run, before their stacks are read
	maxGoroutines = 50000
	maxMemory     = 1 << 30 // bytes
)

// serve runs the cases that the other process asks for, until that closes the input.
func serve(t *testing.T, token string, run func(c *Case)) {
	os.Unsetenv(workerVariable) // a lock that starts processes must not start workers
	self = &watchdog{out: os.Stdout, token: mark + token + " "}
	os.Stdout = os.Stderr
	debug.SetGCPercent(400) // a client of the library is born with 1.5 MB of garbage
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
	text, _ := json.Marshal(r)
	d.out.WriteString("\n" + d.token + string(text) + "\n")
}

func (d *watchdog) begin(r request) {
	d.mu.Lock()
	d.active, d.limits, d.doing, d.notes, d.skip = true, patienceWith[r.Stuck], nil, nil, ""
	d.again = ""
	d.cases++
	d.steps.Add(1)
	d.mu.Unlock()
	d.instant.Store(0)
	d.say(report{Begun: true})
}

// end reports a case that has been cleaned up, or is over: it has passed, and its goroutines do not
// end. The process ends if it is over, and if it has failed, for it may not be as it was.
func (d *watchdog) end(ok, over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = false
	d.say(report{Ended: true, OK: ok, Over: over, Failures: d.notes, Skipped: d.skip, Again: d.again})
	switch {
	case !ok:
		os.Exit(1)
	case over:
		os.Exit(0)
	}
}

// left reports a case whose function has returned, and is still inside its bubble. If it has failed
// the process ends, for what hangs would keep the bubble from ending.
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
		return // the race detector has failed it: end reports that
	}
	d.say(report{Failures: d.notes, Trace: d.trace})
	os.Exit(1)
}

// note keeps the words of a failure.
func (d *watchdog) note(f Failure) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, f)
}

// watch ends the process when its case does not end.
func (d *watchdog) watch() {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},           // 0
		{Name: "/memory/classes/heap/released:bytes"},   // 1
		{Name: "/sched/goroutines:goroutines"},          // 2
		{Name: "/sched/goroutines/running:goroutines"},  // 3
		{Name: "/sched/goroutines/runnable:goroutines"}, // 4
	}
	read := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	var last int64
	var before, spent time.Duration // processor time: at the last tick, and since the last step
	idle := 0
	lastBeat := time.Now()
	for range time.Tick(tick) {
		if time.Since(lastBeat) > time.Second {
			lastBeat = time.Now()
			d.say(report{}) // so that the process that asks is not left in silence
		}
		d.mu.Lock()
		active, limits := d.active, d.limits
		d.mu.Unlock()
		metrics.Read(samples)
		used := bubble.ProcessorTime()
		spent += min(used-before, 2*tick)
		before = used
		steps := d.steps.Load()
		if !active || steps != last {
			last, spent, idle = steps, 0, 0
			if !active {
				continue
			}
		}
		if read(3) <= 1 && read(4) == 0 { // this goroutine alone runs
			idle++
		}
		switch {
		case d.instant.Load() > limits.requests:
			d.stuck(i18n.Textf(
				"the lock polls: it has sent more than %d requests at one instant, one after the other; a contender that has to wait must sleep on a watch", "锁在轮询：在同一瞬间接连发了 %d 个以上的请求；需要等待的竞争者，应当设置监听后睡眠", limits.requests))
		case read(0)-read(1) > maxMemory:
			d.stuck(i18n.Textf("the lock uses more than 1 GiB of memory", "锁用掉的内存超过 1 GiB"))
		case read(2) > maxGoroutines:
			d.stuck(i18n.Textf("the lock has started more than %d goroutines", "锁启动了 %d 个以上的 goroutine", maxGoroutines))
		case spent > 4*limits.processor, idle > limits.idle, // whatever the stacks say
			spent > limits.processor && anyGoroutine(bubble.Stacks(), spins),
			idle > 0 && idle%stacksAfter == 0 && !anyGoroutine(bubble.Stacks(), mayGoOn):
			d.mu.Lock()
			goesOn := !d.active || d.steps.Load() != steps // since the stacks were read
			d.mu.Unlock()
			if !goesOn {
				d.stuck(i18n.Text{})
			}
		}
	}
}

// anyGoroutine reports whether is is true of a goroutine. The one that asks, and
// the one that reads the requests, do not count.
func anyGoroutine(stacks string, is func(state, frames string) bool) bool {
	for block := range strings.SplitSeq(strings.TrimSpace(stacks), "\n\n") {
		header, frames, _ := strings.Cut(block, "\n")
		if strings.Contains(frames, "runner.(*watchdog).watch(") || strings.Contains(frames, "runner.serve.func1(") {
			continue
		}
		_, state, _ := strings.Cut(header, "[")
		if is(state, frames) {
			return true
		}
	}
	return false
}

const inBubble = "synctest bubble"

// InLock reports whether a goroutine is in a function of the lock; those that run the tests do not
// count. It is asked in each case, and the stacks in words take milliseconds.
func InLock() bool {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()+10)
	n, ok := runtime.GoroutineProfile(records)
	for !ok {
		records = make([]runtime.StackRecord, n+10)
		n, ok = runtime.GoroutineProfile(records)
	}
	return slices.ContainsFunc(records[:n], func(r runtime.StackRecord) bool {
		lock := false
		for _, pc := range r.Stack() {
			switch whose(pc) {
			case ofTests:
				return false
			case ofLock:
				lock = true
			}
		}
		return lock
	})
}

type owner int

const (
	ofNobody owner = iota // the standard library, the client, this package
	ofTests
	ofLock
)

var whoseCode sync.Map // of program counters, by whose

// whose returns to whose code a program counter belongs.
func whose(pc uintptr) owner {
	if known, ok := whoseCode.Load(pc); ok {
		return known.(owner)
	}
	is := ofNobody
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "testing.tRunner" || f.Function == "main.main":
			is = ofTests
		case is == ofNobody && f.Function != "" && !ofOthers(f.Function):
			is = ofLock
		}
	}
	whoseCode.Store(pc, is)
	return is
}

func spins(state, _ string) bool {
	return strings.Contains(state, inBubble) && strings.HasPrefix(state, "run") // running, runnable
}

// mayGoOn is true of a goroutine that waits for something else than another goroutine: for a
// processor, the operating system, the runtime or, outside of the bubble, for real time. If it is
// true of none, none will ever go on: virtual time would have gone on before.
func mayGoOn(state, frames string) bool {
	for _, wait := range []string{"chan ", "select", "sync.", "synctest."} {
		if strings.HasPrefix(state, wait) {
			return !strings.Contains(state, inBubble) && !strings.Contains(frames, "testing.")
		}
	}
	return !(strings.HasPrefix(state, "sleep") && strings.Contains(state, inBubble))
}

// stuck reports where the lock waits or spins in place of ending.
func (d *watchdog) stuck(why i18n.Text) {
	stacks := bubble.Stacks()
	d.mu.Lock()
	defer d.mu.Unlock()
	doing := i18n.List(slices.Compact(slices.Sorted(slices.Values(d.doing))))
	if why.En == "" {
		calling := func(is func(state string) bool) (place string) {
			return stackOf(stacks, func(block string) bool {
				state, _, _ := strings.Cut(block, "\n")
				return strings.Contains(block, asideName) && is(state)
			})
		}
		busy := calling(func(state string) bool { return strings.Contains(state, "[run") }) // running, runnable
		mutex := calling(func(state string) bool {
			return strings.Contains(state, "[sync.Mutex.Lock") || strings.Contains(state, "[sync.RWMutex.")
		})
		blocked := calling(func(state string) bool { return !strings.Contains(state, "(durable)") })
		switch {
		case busy != "":
			why = i18n.Textf("the lock spins: it is busy, and sends nothing; it is in %s", "锁在空转：一直忙着，却什么都不发；位置在 %s", busy)
		case mutex != "":
			why = i18n.Textf(
				"the lock hangs: it waits for a mutex that another goroutine keeps, which waits itself; let go of a mutex before you wait for the lock or for a reply. It is in %s", "锁卡住了：在等一个互斥锁，而占着互斥锁的 goroutine 自己也在等待；等锁或者等响应之前，请先放开互斥锁。位置在 %s", mutex)
		case blocked != "":
			why = i18n.Textf("the lock hangs: it waits for something that never comes, and that is not a watch; it is in %s", "锁卡住了：等的不是监听，而是一件永远不会发生的事；位置在 %s", blocked)
		case doing.En == "":
			why = i18n.Textf("the case is over, and a goroutine of the lock is busy still", "用例已经结束，锁还有一个 goroutine 在忙")
		default:
			why = i18n.Textf("the lock hangs: it neither returns nor sends anything", "锁卡住了：既不返回，也不发送任何请求")
		}
	}
	if doing.En != "" {
		why = i18n.Textf("%s. Under way: %s", "%s。正在进行：%s", why, doing)
	}
	d.say(report{Stuck: true, Failures: append(d.notes, Failure{Text: why})})
	os.Exit(1)
}

// Aside calls f. Its name is found in the stack of a goroutine that calls a lock.
func Aside(f func()) { f() }

const asideName = "runner.Aside("
