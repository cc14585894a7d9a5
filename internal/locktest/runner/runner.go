// Package runner has the cases of a test run in another process, which it watches: a lock that
// hangs, spins, panics or ends its process costs only the case that it was in.
package runner

import (
	"bufio"
	"bytes"
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
// The process takes one request after the other from its standard input and writes reports to its standard output, each
// on a line of its own that begins with a mark. Whatever else it prints belongs to the lock.
type Judge struct {
	t      *testing.T
	start  func() (*worker, error)
	run    func(c *Case)
	worker *worker // nil: none runs
	asked  int     // how many cases worker has been asked for
	inside bool    // cases run in this process
	stuck  int     // cases in a row that did not end; after the first such case it is never less than 1
}

type request struct {
	Case  string // its name
	About string // see Case.About
	Stuck int    // index in limitsAfterStuck
}

// A report is a message of the worker on its case. The last one of a case has Ended set, unless the process has ended.
type report struct {
	Begun    bool
	Left     bool      // the case has run without a failure; it has not been cleaned up
	Failures []Failure // if there are any, the process ends
	Skipped  string
	Stuck    bool // the case does not end
	Ended    bool
	Over     bool   // the process ends with the case
	OK       bool   // the case has not failed, if it has ended
	Again    string // the case is to be asked again, by another process, with this in About
	Trace    string // of a failure; see Case.Fail
}

const (
	workerVariable = "LOCKTEST_WORKER" // "token number name": which call of a suite the process is for
	mark           = "locktest-report "
	// silence is how long a process may say nothing at all: its watchdog reports once a second.
	silence = 2 * time.Minute
)

var here = flag.Bool("locktest.here", false, "run the cases in this process, for a debugger: a lock that hangs or panics ends the test")

var calls = struct {
	sync.Mutex
	n map[*testing.T]int // of suites, by test
}{n: make(map[*testing.T]int)}

// New makes the judge of the cases that run carries out. In the process that runs the cases it
// returns nil once all have been asked for, or if it is there for another call of New in the same
// test. The test must therefore come to this call again when it is called again.
func New(t *testing.T, run func(c *Case)) *Judge {
	t.Helper()
	calls.Lock()
	if calls.n[t] == 0 {
		t.Cleanup(func() {
			calls.Lock()
			defer calls.Unlock()
			delete(calls.n, t)
		})
	}
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
		return startWorker(t.Name(), suite, Launcher{Command: thisBinary, Started: func(*exec.Cmd) {}, Kill: kill})
	}}
	// A real server is shared by the tests of a process, and coverage is counted in this one.
	j.inside = *here || testing.CoverMode() != "" || testenv.Elsewhere()
	t.Cleanup(j.Close)
	return j
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

// Ask has one case run, by a new process if need be.
func (j *Judge) Ask(name string) (v Verdict) {
	r := request{Case: name, Stuck: min(j.stuck, len(limitsAfterStuck)-1)}
	if j.asked++; j.asked > casesOfWorker {
		j.Close()
	}
	// One round, unless the case asks for another process, or the process ends before it begins the case. Five are enough
	// for any case: it may ask twice.
	for range 5 {
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
		if v.again != "" {
			r.About = v.again
			continue
		}
		notBegun := v.Failed() && !begun
		if notBegun {
			continue
		}
		if v.Stuck {
			j.stuck++
		} else {
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

// A worker is the process that runs the cases, as seen from the other one.
type worker struct {
	cmd     *exec.Cmd
	kill    func(cmd *exec.Cmd)
	in      io.WriteCloser
	reports chan report // closed when the process has closed its output
	printed *outputEnds
	ended   bool
	sweep   bool // kill is called after the end, too, for the processes that this one has started
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

func kill(cmd *exec.Cmd) { cmd.Process.Kill() }

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
	w := &worker{cmd: cmd, kill: launch.Kill, reports: make(chan report), printed: &outputEnds{over: make(chan struct{})}}
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

// read turns the output of the process into reports.
func (w *worker) read(out io.Reader, token string) {
	defer close(w.reports)
	lines := bufio.NewReaderSize(out, 1<<20) // bytes: no report is longer, and what is longer comes in parts
	for {
		line, err := lines.ReadSlice('\n')
		if _, text, ok := bytes.Cut(line, []byte(token)); ok {
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

// ask has a case run. Unless that passes, the process is of no use afterwards.
func (w *worker) ask(r request) (v Verdict, begun bool) {
	v.Case = r.Case
	text, err := json.Marshal(r)
	if err == nil {
		_, err = w.in.Write(append(text, '\n'))
	}
	left := false
	silent := time.NewTimer(silence)
	defer silent.Stop()
	for err == nil {
		var got report
		var more bool
		select {
		case got, more = <-w.reports:
		case <-w.printed.over:
			v.Words = i18n.Textf("the lock prints more than %d MiB", flood>>20)
		case <-silent.C:
			v.Words = i18n.Textf("the test's process has said nothing for %v, and was killed", silence)
		}
		if v.Failed() {
			w.kill(w.cmd)
			w.close()
			v.Printed, v.Stuck, v.Died = w.printed.take(), true, true
			return v, true
		}
		if !more {
			break
		}
		silent.Reset(silence)
		begun = begun || got.Begun
		left = left || got.Left
		if got.Ended || len(got.Failures) > 0 {
			w.decide(&v, got)
			return v, begun
		}
	}
	w.close()
	v.Printed = w.printed.take()
	v.Words, v.Died = died(v.Printed, w.cmd.ProcessState, left), true
	return v, begun
}

// decide fills in the verdict by the last report of a case.
func (w *worker) decide(v *Verdict, last report) {
	failed := len(last.Failures) > 0
	if failed || !last.OK || last.Over {
		w.close()
	}
	v.Printed = w.printed.take()
	switch {
	case failed:
		v.fails(last.Failures)
		v.Stuck, v.Died, v.Trace = last.Stuck, last.Stuck, last.Trace
	case (!last.OK || last.Over) && strings.Contains(v.Printed, "WARNING: DATA RACE"):
		v.Words = raced
	case !last.OK:
		v.Words = "the case fails; see what it has printed"
	}
	if last.OK && !failed {
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
	if w.sweep {
		w.kill(w.cmd) // before Wait, so that its id is not given to another process
	}
	w.cmd.Wait()
}

const (
	flood = 16 << 20 // bytes that one case may print
	kept  = 16 << 10 // bytes that outputEnds keeps of the beginning, and of the end
)

// outputEnds keeps the beginning and the end of the output of a process.
type outputEnds struct {
	mu   sync.Mutex
	head []byte
	tail []byte        // at most 2*kept bytes, so that Write need not cut it each time
	n    int           // bytes written since the last take
	over chan struct{} // closed when n is above flood
	once sync.Once     // closes it
}

func (p *outputEnds) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += len(b)
	if p.n > flood {
		p.once.Do(func() { close(p.over) })
	}
	rest := b
	if room := kept - len(p.head); room > 0 {
		n := min(room, len(rest))
		p.head, rest = append(p.head, rest[:n]...), rest[n:]
	}
	rest = rest[max(0, len(rest)-kept):]
	p.tail = append(p.tail, rest...)
	if len(p.tail) > 2*kept {
		p.tail = append([]byte(nil), p.tail[len(p.tail)-kept:]...)
	}
	return len(b), nil
}

// take returns the output so far and drops it.
func (p *outputEnds) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := string(p.head)
	if len(p.tail) > 0 {
		tail := p.tail[max(0, len(p.tail)-kept):]
		if left := p.n - len(p.head) - len(tail); left > 0 {
			text += fmt.Sprintf("\n… %d bytes are left out …\n", left)
		}
		text += string(tail)
	}
	p.head, p.tail, p.n = nil, nil, 0
	return strings.TrimSpace(text)
}
