// Package runner has the cases of a test run in another process, which it watches: a lock that
// hangs, spins, panics or ends its process costs only the case that it was in.
package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// A Judge has the cases of one test run by another process, the worker. That is the same test binary, started again for
// the same test. The next case after one that fails gets a new process. Cases that pass share one.
//
// The worker takes one request after the other from its standard input and writes reports to its standard output, each
// on a line of its own that begins with a mark. Whatever else it prints belongs to the lock.
type Judge struct {
	t      *testing.T
	inside bool          // the cases run in this process, and not in a worker
	run    func(c *Case) // runs a case in this process
	start  func() (*worker, error)
	worker *worker // nil: none runs
	asked  int     // how many cases worker has been asked for
	stuck  int     // cases in a row that did not end; never 0 after such a case, so that the watchdog stays stricter
}

// A request asks the worker for a case.
type request struct {
	Case  string // its name
	About string // see Case.About
	Stuck int    // how strict the watchdog is: the index in limitsAfterStuck
}

// A report is a message of the worker on its case. The last one of a case has Ended set, unless the process has ended.
type report struct {
	Begun       bool
	Returned    bool      // the case's own function has returned without a failure; the clean-up comes next
	Failures    []Failure // if there are any, the process ends
	Skipped     string
	Stuck       bool // the case does not end
	Ended       bool
	Passed      bool   // if the case has Ended
	ProcessEnds bool   // if the case has Ended
	Again       string // the case is to be asked again, by another process, with this in About
	Trace       string // of a failure; see Case.Fail
}

// A Failure is what a case says of itself when it fails.
type Failure struct {
	i18n.Text
	Place string // in the case's code, for its authors: "cases.go:99 < world.go:12"
}

func (f Failure) String() string { return f.In(i18n.Of("")) + inBrackets(f.Place) }

func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// A Verdict is how a case has ended.
type Verdict struct {
	Case    string
	Words   i18n.Text // of its failure; empty if it has not failed
	Place   string    // of its first failure, in the case's code
	Skipped string
	Printed string // by the lock
	Stuck   bool   // the case did not end, so the process was ended
	// Trace is the schedule that has failed, as an address of the lab; "" if the case has no such schedule. See Case.Fail.
	Trace string
	again string // if the case is to run again, what About returns in the new process
}

func (v Verdict) Failed() bool { return v.Words.String() != "" }

// In returns the words of a failure and their place, for a reader of the case's code.
func (v Verdict) In(l i18n.Language) string { return v.Words.In(l) + inBrackets(v.Place) }

const (
	// workerVariable is the environment variable of a worker. It has the token that the reports begin with, and for which
	// call of New the worker is: the call's number in its test, and the test's name.
	workerVariable = "LOCKTEST_WORKER"

	mark = "locktest-report "
	// silence is how long a process may say nothing at all: its watchdog reports once a second.
	silence = 2 * time.Minute
)

var here = flag.Bool("locktest.here", false, "run the cases in this process, for a debugger: a lock that hangs or panics ends the test")

// calls are the numbers of calls of New, by test.
var calls = struct {
	sync.Mutex
	n map[*testing.T]int
}{n: make(map[*testing.T]int)}

// New makes the judge of the cases that run carries out. A worker calls the test again, which must come to the same
// call of New there: in that call the worker runs the cases that it is asked for, and ends its process. From other
// calls in the same test New returns nil there.
func New(t *testing.T, run func(c *Case)) *Judge {
	t.Helper()
	calls.Lock()
	calls.n[t]++
	suite := fmt.Sprintf("%d %s", calls.n[t], t.Name())
	calls.Unlock()

	if mine, ok := os.LookupEnv(workerVariable); ok {
		token, wanted, _ := strings.Cut(mine, " ")
		if wanted == suite {
			serve(t, token, run)
		}
		return nil
	}
	j := &Judge{t: t, run: run, start: func() (*worker, error) {
		return startWorker(t.Name(), suite, Launcher{Command: thisBinary, Started: func(*exec.Cmd) {},
			Kill: func(cmd *exec.Cmd) { cmd.Process.Kill() }})
	}}
	// A real server is shared by the tests of a process, and coverage is counted in this one.
	j.inside = *here || testing.CoverMode() != "" || testenv.Elsewhere()
	t.Cleanup(j.Close)
	return j
}

// Remote returns the judge of a test function of another test binary. No lock can end this judge, because the lock is
// in another process. If the test calls New more than once, the first call must be that for the wanted cases.
func Remote(test string, l Launcher) *Judge {
	return &Judge{start: func() (*worker, error) { return startWorker(test, "1 "+test, l) }}
}

func (j *Judge) Run(name string) {
	j.t.Helper()
	j.t.Run(name, func(t *testing.T) {
		t.Helper()
		if j.inside {
			j.run(newCase(t, name, ""))
			return
		}
		v := j.Ask(name)
		reads := i18n.Of("")
		if v.Printed != "" {
			t.Log(i18n.Textf("the test has printed:\n%s", v.Printed).In(reads))
		}
		switch {
		case v.Failed():
			t.Error(v.In(reads))
		case v.Skipped != "":
			t.Skip(v.Skipped)
		}
	})
}

// mostRuns is how many times a case is run at most. A case may ask to be run again, twice; and a process may end before
// it begins the case.
const mostRuns = 5

// Ask has a case run by the worker, a new one if need be, and returns how the case has ended.
func (j *Judge) Ask(name string) (v Verdict) {
	r := request{Case: name, Stuck: min(j.stuck, len(limitsAfterStuck)-1)}
	if j.asked++; j.asked > casesOfWorker {
		j.Close()
	}
	for range mostRuns {
		if j.worker == nil {
			w, err := j.start()
			if err != nil {
				return Verdict{Case: name, Words: i18n.Textf("the process that runs the cases does not start: %v", err)}
			}
			j.worker = w
		}
		begun := false
		v, begun = j.worker.ask(r)
		if v.Failed() || v.again != "" || j.worker.ended {
			j.Close()
		}

		diedBefore := v.Failed() && !begun // the process, which says nothing of the case
		switch {
		case diedBefore || v.again != "":
			r.About = cmp.Or(v.again, r.About)
			continue
		case v.Stuck:
			j.stuck++
		default:
			j.stuck = min(j.stuck, 1)
		}
		break
	}
	return v
}

// casesOfWorker is how many cases a process runs at most: the memory that they leave in use adds up to a limit.
const casesOfWorker = 50

// Close ends the process that runs the cases. The next case begins a new one.
func (j *Judge) Close() {
	j.asked = 0
	if j.worker != nil {
		j.worker.close()
		j.worker = nil
	}
}

// A Launcher starts the processes of a Judge, and ends them.
type Launcher struct {
	// Command prepares a process of the test binary with the arguments, and with the variables added to its environment.
	Command func(args, env []string) (*exec.Cmd, error)
	// Started is called with a process that has been started.
	Started func(cmd *exec.Cmd)
	// Kill ends a process and all that it has started. It is called at least once for each, also for one that has ended.
	Kill func(cmd *exec.Cmd)
}

// A worker is the process that runs the cases, as seen from the other one.
type worker struct {
	cmd     *exec.Cmd
	kill    func(cmd *exec.Cmd)
	in      io.WriteCloser // for the requests
	reports chan report    // closed when the process has closed its output
	printed *output        // of the lock
	ended   bool
}

func thisBinary(args, env []string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(args, fmt.Sprint("-test.short=", testing.Short()))...)
	cmd.Env = append(os.Environ(), env...)
	return cmd, nil
}

func startWorker(test, suite string, launch Launcher) (*worker, error) {
	var pattern []string
	for element := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(element)+"$")
	}
	token := rand.Text() // only this package has it, so a lock cannot write a report
	cmd, err := launch.Command([]string{"-test.run=" + strings.Join(pattern, "/")},
		[]string{workerVariable + "=" + token + " " + suite, "ZK=" + ensemble.SpecEmbedded})
	if err != nil {
		return nil, err
	}

	w := &worker{cmd: cmd, kill: launch.Kill, reports: make(chan report), printed: &output{over: make(chan struct{})}}
	w.cmd.Stderr = w.printed
	w.cmd.WaitDelay = 5 * time.Second // a process of its own that the lock has started may hold the pipes
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	launch.Started(w.cmd)
	go w.read(out, mark+token+" ")
	return w, nil
}

// read turns the output of the process into reports: the lines with this prefix.
func (w *worker) read(out io.Reader, prefix string) {
	defer close(w.reports)
	lines := bufio.NewReaderSize(out, 1<<20) // bytes: no report is longer, and what is longer comes in parts
	for {
		line, err := lines.ReadSlice('\n')
		if _, text, ok := bytes.Cut(line, []byte(prefix)); ok {
			var r report
			if json.Unmarshal(text, &r) == nil {
				w.reports <- r
			}
		} else {
			w.printed.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// ask has a case run. It reports whether the process has begun the case. Unless the case passes, the process is of no
// use afterwards.
func (w *worker) ask(r request) (v Verdict, begun bool) {
	v.Case = r.Case
	text, err := json.Marshal(r)
	if err == nil {
		_, err = w.in.Write(append(text, '\n'))
	}
	hasReturned := false // the case's own function
	silent := time.NewTimer(silence)
	defer silent.Stop()
	for isOpen := err == nil; isOpen; {
		var got report
		select {
		case got, isOpen = <-w.reports:
		case <-w.printed.over:
			v.Words = i18n.Textf("the lock prints more than %d MiB", flood>>20)
		case <-silent.C:
			v.Words = i18n.Textf("the test's process has said nothing for %v, and was killed", silence)
		}
		if v.Failed() {
			w.kill(w.cmd)
			w.close()
			v.Printed, v.Stuck = w.printed.take(), true
			return v, true
		}

		silent.Reset(silence)
		begun = begun || got.Begun
		hasReturned = hasReturned || got.Returned
		if got.Ended || len(got.Failures) > 0 {
			w.decide(&v, got)
			return v, begun
		}
	}

	// The process has ended in the middle of the case.
	w.close()
	v.Printed = w.printed.take()
	v.Words = whyDied(v.Printed, w.cmd.ProcessState, hasReturned)
	return v, begun
}

// decide fills in the verdict by the last report of a case.
func (w *worker) decide(v *Verdict, last report) {
	failed := len(last.Failures) > 0
	if failed || !last.Passed || last.ProcessEnds {
		w.close()
	}
	v.Printed = w.printed.take()

	hasRace := strings.Contains(v.Printed, "WARNING: DATA RACE") // Go reports it when the process ends
	switch {
	case failed:
		var words []i18n.Text
		for _, f := range last.Failures {
			words = append(words, f.Text)
		}
		v.Words, v.Place = i18n.Join(words, "\n"), last.Failures[0].Place
		v.Stuck, v.Trace = last.Stuck, last.Trace
	case hasRace && (!last.Passed || last.ProcessEnds):
		v.Words = raced
	case !last.Passed:
		v.Words = "the case fails; see what it has printed"
	}
	if last.Passed && !failed {
		v.Skipped, v.again = last.Skipped, last.Again
	}
}

var raced = i18n.Text("data race: two goroutines use one variable at once; see what the race detector has printed")

func (w *worker) close() {
	if w.ended {
		return
	}
	w.ended = true
	w.in.Close()
	late := time.AfterFunc(30*time.Second, func() { w.kill(w.cmd) }) // a process that waits for its input ends at once
	defer late.Stop()
	for range w.reports { // until its output is closed, as Wait demands
	}
	w.kill(w.cmd) // and what it has started: before Wait, so that its id is not given to another process
	w.cmd.Wait()
}

const (
	flood = 16 << 20 // bytes that one case may print
	kept  = 16 << 10 // bytes of that which are shown of the beginning, and of the end
)

// An output is what a process has printed since the last take.
type output struct {
	mu   sync.Mutex
	text []byte
	over chan struct{} // closed when a case has printed more than flood, which costs the process its life
	once sync.Once     // closes it
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text)+len(b) > flood {
		o.once.Do(func() { close(o.over) })
	} else {
		o.text = append(o.text, b...)
	}
	return len(b), nil
}

// take returns the output so far, the beginning and the end of it if it is long, and drops it.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(o.text)
	o.text = nil
	if middle := len(text) - 2*kept; middle > 0 {
		text = fmt.Sprintf("%s\n… %d bytes are left out …\n%s", text[:kept], middle, text[kept+middle:])
	}
	return strings.TrimSpace(text)
}
