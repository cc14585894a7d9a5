package locktest

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
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/chinese"
)

// A grader runs the cases of one suite in another process, which is the same
// test binary, started again for the same test: a lock that hangs, spins,
// panics or ends its process costs only the case that it was in. The next case
// gets a new process. Cases that pass share one.
//
// The process takes one request after the other from its standard input and
// writes reports to its standard output, each on a line of its own that begins
// with a mark. Whatever else it prints belongs to the lock.
type grader struct {
	t      *testing.T
	start  func() (*worker, error)
	run    func(t *testing.T, r request) (sent []jute.Op)
	worker *worker // nil: none runs
	asked  int     // cases, of worker
	inside bool    // cases run in this process
	stuck  int     // cases in a row that did not end; not 0 again after the first
}

// A request asks for one case.
type request struct {
	Case  string    // its name
	About string    // of a Case
	Stuck int       // index in patienceWith
	Fault faultCase // of the fault series
}

// A report is what a case says. There are several of one case, the last of
// which has Ended set, unless the process ends before.
type report struct {
	Begun    bool
	Left     bool     // the case has run without a failure; it has not been cleaned up
	Failures []string // then the process ends
	Skipped  string
	Stuck    bool // the case does not end
	Ended    bool
	Over     bool // the process ends with the case
	OK       bool // the case has not failed, if it has ended
	Sent     []jute.Op
	Says     string // of a Case
	Again    string // the case is to be asked again, by another process, with this in About
	Trace    string // of a failure; see Case.Fail
}

const (
	workerVariable = "LOCKTEST_WORKER" // "token number name": which call of a suite the process is for
	mark           = "locktest-report "
	// silence is how long a process may say nothing at all: its watchdog, which
	// ends a case that stands still, speaks several times a second.
	silence = 2 * time.Minute
)

var here = flag.Bool("locktest.here", false, "run the cases in this process, for a debugger: a lock that hangs or panics ends the test")

var calls struct {
	sync.Mutex
	n map[*testing.T]int // of suites, by test
}

// grade makes the grader of one suite. In the process that runs the cases it
// returns nil once all have been asked for, or if it is there for another
// suite of the same test.
func grade(t *testing.T, run func(t *testing.T, r request) (sent []jute.Op)) *grader {
	t.Helper()
	calls.Lock()
	if calls.n == nil {
		calls.n = make(map[*testing.T]int)
	}
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
	g := &grader{t: t, run: run, start: func() (*worker, error) {
		return startWorker(t.Name(), suite, Launcher{thisBinary, func(*exec.Cmd) {}, kill})
	}}
	// A server in Docker is shared by the tests of a process, and coverage is
	// counted in this one.
	g.inside = *here || testing.CoverMode() != "" || Real(t) != nil
	if !g.inside {
		t.Cleanup(g.close)
	}
	return g
}

// doAll runs the cases one after the other as subtests; none in the process
// that has run them.
func (g *grader) doAll(names []string) {
	if g == nil {
		return
	}
	g.t.Helper()
	for _, name := range names {
		g.do(request{Case: name})
	}
}

// do runs a case as a subtest.
func (g *grader) do(r request) (v verdict) {
	g.t.Helper()
	g.t.Run(r.Case, func(t *testing.T) {
		t.Helper()
		if g.inside {
			v.sent = g.run(t, r)
			return
		}
		v = g.ask(r)
		if v.output != "" {
			t.Logf("the test has printed:\n%s", v.output)
		}
		switch {
		case len(v.failures) > 0:
			t.Error(inTheReadersLanguage(strings.Join(v.failures, "\n")))
		case v.skipped != "":
			t.Skip(v.skipped)
		}
	})
	return v
}

// inTheReadersLanguage is for a person at a terminal. A judge reads a Verdict, which
// is English.
func inTheReadersLanguage(words string) string {
	if chinese.Wanted("") {
		return chinese.Messages.Text(words)
	}
	return words
}

// A verdict is what became of a case.
type verdict struct {
	failures []string // none: it has passed, or was skipped
	skipped  string
	output   string
	stuck    bool      // the case did not end
	died     bool      // the process ended in the middle of it
	says     string    // what a Case says
	again    string    // what it wants to be told by another process; see World.inNewProcess
	trace    string    // of a failure
	sent     []jute.Op // what the case returns, if it has passed
}

// ask has one case run, by a new process if need be.
func (g *grader) ask(r request) verdict {
	r.Stuck = min(g.stuck, len(patienceWith)-1)
	var v verdict
	if g.asked++; g.asked > casesOfWorker {
		g.close()
	}
	for range 5 {
		if g.worker == nil {
			w, err := g.start()
			if err != nil {
				return verdict{failures: []string{"the process that runs the cases does not start: " + err.Error()}}
			}
			g.worker = w
		}
		begun := false
		v, begun = g.worker.ask(r)
		if v.failures != nil || v.again != "" || g.worker.ended {
			g.close()
		}
		if v.again != "" {
			r.About = v.again
			continue
		}
		if begun || v.failures == nil {
			if v.stuck {
				g.stuck++
			} else {
				g.stuck = min(g.stuck, 1)
			}
			break
		}
	}
	return v
}

// casesOfWorker bounds what cases leave in the memory of a process, for that of a
// lock is bounded.
const casesOfWorker = 50

func (g *grader) close() {
	g.asked = 0
	if g.worker != nil {
		g.worker.close()
		g.worker = nil
	}
}

// A worker is the process that runs the cases, as seen from the other one.
type worker struct {
	cmd     *exec.Cmd
	kill    func(cmd *exec.Cmd)
	in      io.WriteCloser
	reports chan report // closed when the process has closed its output
	printed *printed
	ended   bool
	sweep   bool // kill is called after the end, too, for what the process has started
}

// thisBinary starts the running program again.
func thisBinary(args, env []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append(args, fmt.Sprint("-test.short=", testing.Short()))...)
	cmd.Env = append(os.Environ(), env...)
	return cmd, nil
}

func kill(cmd *exec.Cmd) { cmd.Process.Kill() }

func startWorker(test, suite string, launch Launcher) (*worker, error) {
	var pattern []string
	for element := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(element)+"$")
	}
	token := rand.Text() // nothing but this package knows it, so a lock cannot write a report
	cmd, err := launch.Command([]string{"-test.run=" + strings.Join(pattern, "/")},
		[]string{workerVariable + "=" + token + " " + suite, "ZK=" + ensemble.SpecEmbedded})
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: cmd, kill: launch.Kill, reports: make(chan report), printed: &printed{over: make(chan struct{})}}
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

// read turns what the process writes into reports.
func (w *worker) read(out io.Reader, token string) {
	defer close(w.reports)
	lines := bufio.NewReaderSize(out, 1<<20)
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
func (w *worker) ask(r request) (v verdict, begun bool) {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = w.in.Write(append(text, '\n'))
	}
	left := false
	mute := time.NewTimer(silence)
	defer mute.Stop()
	for err == nil {
		var report report
		var ok bool
		select {
		case report, ok = <-w.reports:
		case <-w.printed.over:
			w.kill(w.cmd)
			w.close()
			v.output = w.printed.take()
			v.failures, v.stuck = []string{fmt.Sprintf("the lock prints more than %d MiB", flood>>20)}, true
			return v, true
		case <-mute.C:
			w.kill(w.cmd)
			v.failures, v.stuck = []string{fmt.Sprintf("the test's process has said nothing for %v, and was killed", silence)}, true
			return v, true
		}
		if !ok {
			break
		}
		mute.Reset(silence)
		begun = begun || report.Begun
		left = left || report.Left
		switch {
		case len(report.Failures) > 0:
			v.failures, v.stuck, v.trace = report.Failures, report.Stuck, report.Trace
			w.close()
			v.output = w.printed.take()
			return v, begun
		case report.Ended && report.OK:
			v.skipped, v.sent, v.says, v.again = report.Skipped, report.Sent, report.Says, report.Again
			if report.Over {
				w.close()
			}
			v.output = w.printed.take()
			if report.Over && strings.Contains(v.output, "WARNING: DATA RACE") {
				v.failures = []string{raced}
			}
			return v, begun
		case report.Ended:
			w.close()
			v.output = w.printed.take()
			v.failures = []string{"the case fails; see what it has printed"}
			if strings.Contains(v.output, "WARNING: DATA RACE") {
				v.failures = []string{raced}
			}
			return v, begun
		}
	}
	w.close()
	v.output = w.printed.take()
	v.failures, v.died = []string{died(v.output, w.cmd.ProcessState, left)}, true
	return v, begun
}

const raced = "data race: two goroutines use one variable at once; see what the race detector has printed"

// close ends the process.
func (w *worker) close() {
	if w.ended {
		return
	}
	w.ended = true
	w.in.Close()
	kill := time.AfterFunc(30*time.Second, func() { w.kill(w.cmd) })
	defer kill.Stop()
	for range w.reports { // until its output is closed, as Wait demands
	}
	if w.sweep {
		w.kill(w.cmd) // before Wait, so that its id is not given to another process
	}
	w.cmd.Wait()
}

// died says why a process has ended in the middle of a case.
func died(output string, state *os.ProcessState, left bool) string {
	why, rest := "", ""
	for line := range strings.Lines(output) {
		if why == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
			why = strings.TrimSpace(line)
		} else if why != "" {
			rest += line
		}
	}
	at := ""
	if place := stackOf(rest, func(string) bool { return true }); place != "" {
		at = ", in " + place
	}
	switch {
	case strings.Contains(why, "main bubble goroutine has exited"):
		return "the lock leaks a goroutine: the case is over, every contender has let go, and the goroutine still waits" + leakedAt(rest)
	case strings.Contains(why, "all goroutines in bubble are blocked"):
		return "the lock hangs: every goroutine waits for another one" + leakedAt(rest)
	case why != "":
		return "the lock panics: " + strings.TrimPrefix(why, "panic: ") + at
	case left:
		return fmt.Sprintf("the process ends (%v) after the case is over: the lock calls os.Exit or log.Fatal", state)
	}
	return fmt.Sprintf("the process ends (%v) in the middle of the case: the lock calls os.Exit or log.Fatal; return an error", state)
}

// leakedAt says where a goroutine that is left waits.
func leakedAt(stacks string) string {
	if place := stackOf(stacks, func(block string) bool {
		return strings.Contains(block, "synctest bubble") && !strings.Contains(block, "testing/synctest.Test(")
	}); place != "" {
		return " in " + place
	}
	return ""
}

// stackOf finds the first goroutine that wanted is true of, and in it the
// first function that is neither of the standard library, the client nor this
// package.
func stackOf(stacks string, wanted func(block string) bool) string {
	for block := range strings.SplitSeq(stacks, "\n\n") {
		_, frames, ok := strings.Cut(block, "]:\n")
		if !ok || !wanted(block) {
			continue
		}
		lines := strings.Split(frames, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			function, file := lines[i], strings.TrimSpace(lines[i+1])
			if i := strings.LastIndex(function, "("); i > 0 {
				function = function[:i]
			}
			file, _, _ = strings.Cut(file, " +0x")
			if function == "" || strings.HasPrefix(function, "created by ") || ofOthers(function) {
				continue
			}
			return fmt.Sprintf("%s (%s)", function[strings.LastIndex(function, "/")+1:], file[strings.LastIndexAny(file, `/\`)+1:])
		}
	}
	return ""
}

// ofOthers says that a function is of the standard library, whose import paths
// have no dot, or of what a lock is tested with.
func ofOthers(function string) bool {
	first, _, slash := strings.Cut(function, "/")
	if !slash {
		first, _, _ = strings.Cut(function, ".")
		return first != "main" && first != "command-line-arguments"
	}
	if !strings.Contains(first, ".") {
		return true
	}
	for _, prefix := range []string{"example.com/zklock/internal/locktest.", "example.com/zklock/docs/exercises/suites.", "example.com/zklock/internal/zkserver.", "example.com/zklock/internal/wiretap.", "example.com/zklock/internal/jute.", "example.com/zklock/internal/ensemble.", "example.com/zklock/zklock/zkconn.", "github.com/go-zookeeper/", "github.com/stretchr/"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// printed keeps the beginning and the end of what a process prints.
type printed struct {
	mu   sync.Mutex
	head []byte
	tail []byte // at most twice as long as it has to be
	n    int
	over chan struct{} // closed when that is too much
}

const flood = 16 << 20 // bytes that one case may print

const kept = 16 << 10 // of the beginning and of the end, in bytes

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += len(b)
	if p.n > flood && !IsClosed(p.over) {
		close(p.over)
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

// take returns what was printed and forgets it.
func (p *printed) take() string {
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
