//go:build !js

package exploretest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/zklock/internal/explore"
)

// inProcesses runs a random search on all cores: each process has a seed of
// its own, and this test fails if any of them does. Virtual time and the
// garbage collector belong to a process, so goroutines would not do. False: this
// process is one of them, or there is one core.
func inProcesses(t *testing.T) bool {
	const variable = "EXPLORE_PROCESS"
	n := runtime.GOMAXPROCS(0)
	if os.Getenv(variable) != "" || n == 1 {
		return false
	}
	var wg sync.WaitGroup
	for i := range n {
		own := *seed + uint64(i)<<32
		wg.Go(func() {
			cmd := command(t, "-explore.seed="+strconv.FormatUint(own, 10))
			cmd.Env = append(cmd.Env, variable+"="+strconv.Itoa(i))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("seed %d: %v\n%s", own, err, out)
				return
			}
			t.Logf("seed %d:\n%s", own, out)
		})
	}
	wg.Wait()
	return true
}

// command is this test alone, in a process of its own.
func command(t *testing.T, flags ...string) *exec.Cmd {
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { // files that are this process's
		return strings.HasPrefix(arg, "-test.testlogfile") || strings.Contains(arg, "profile=")
	})
	var pattern []string
	for _, name := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(name)+"$")
	}
	args = append(append(args, "-test.run="+strings.Join(pattern, "/")), flags...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}

// A process that goes through parts of a search for another one finds that
// search in this variable. It reads tasks and writes answers, one JSON text a
// line; the lines that begin with the mark are its answers.
const (
	partsOf = "EXPLORE_PARTS_OF"
	mark    = "explore-part: "
)

type (
	task struct {
		N    int
		Part explore.Part
		For  time.Duration
	}
	answer struct {
		N         int
		Schedules int             // so far, of this part
		Report    json.RawMessage `json:",omitempty"` // at the end of the part; null would be a report, too
	}
)

func identity(w explore.World, s explore.Search) string {
	w.Name = w.Lock.Name
	s.Progress, s.For = nil, 0
	text, err := json.Marshal(struct {
		explore.World
		explore.Search
	}{w, s})
	if err != nil {
		panic(err) // both are plain data
	}
	return string(text)
}

// Explore is explore.Explore, depth first, in that number of processes of this
// test. Its report is the same whatever the number, because the parts are, and
// each forgets the situations of the others.
func Explore(t *testing.T, w explore.World, s explore.Search, processes int) *explore.Report {
	t.Helper()
	if search := os.Getenv(partsOf); search != "" {
		if search == identity(w, s) {
			serve(t, w, s)
			t.SkipNow() // the parent goes on
		}
		return &explore.Report{World: w, Complete: true} // not the one that this process is for
	}
	began := time.Now()
	parts, rest := explore.Split(t, w, s)
	p := &partedSearch{world: w, search: s, began: began, parts: parts, reports: make([]*explore.Report, len(parts)), running: make(map[int]int), last: len(parts)}
	if processes <= 1 {
		for x, ok := p.take(); ok; x, ok = p.take() {
			p.done(x.N, within(t, w, s, x))
		}
	} else {
		var wg sync.WaitGroup
		for range min(processes, len(parts)) {
			wg.Go(func() { p.fail(worker(t, identity(w, s), p.take, p.receive)) })
		}
		wg.Wait()
	}
	if p.failure != nil {
		t.Fatalf("a process that goes through a part of the search: %v", p.failure)
	}
	r := explore.Whole(t, w, s, parts, rest, func(i int) *explore.Report { return p.reports[i] })
	r.Took = time.Since(began)
	return r
}

// A partedSearch is a search whose parts are searched by workers.
type partedSearch struct {
	world  explore.World
	search explore.Search
	began  time.Time
	parts  []explore.Part

	mu       sync.Mutex // guards the fields below
	reports  []*explore.Report
	running  map[int]int // schedules of the parts that are under way
	next     int         // part to be taken
	last     int         // part that need not be
	finished int         // schedules
	failure  error
}

// take returns the next part; false: none is left.
func (p *partedSearch) take() (task, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.search.For - time.Since(p.began)
	if p.next >= p.last || p.failure != nil {
		return task{}, false
	}
	if p.search.For > 0 && left <= 0 {
		left = 1 // one schedule
	}
	p.next++
	return task{p.next - 1, p.parts[p.next-1], max(left, 0)}, true
}

func (p *partedSearch) done(n int, r *explore.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports[n] = r
	delete(p.running, n)
	p.finished += r.Schedules + r.Cut
	if r.Found != nil && !p.search.All {
		p.last = min(p.last, n+1)
	}
	p.progressLocked()
}

func (p *partedSearch) progressLocked() {
	if p.search.Progress == nil {
		return
	}
	n := p.finished
	for _, schedules := range p.running {
		n += schedules
	}
	p.search.Progress(&explore.Report{World: p.world, Schedules: n})
}

// receive handles a worker's answer: its progress, or its report.
func (p *partedSearch) receive(a answer) error {
	p.mu.Lock()
	again := p.reports[a.N] != nil
	if a.Report == nil {
		p.running[a.N] = a.Schedules
		p.progressLocked()
	}
	p.mu.Unlock()
	if again {
		return fmt.Errorf("part %d is answered after its report", a.N)
	}
	if a.Report == nil {
		return nil
	}
	r, err := explore.DecodeReport(a.Report)
	if err != nil {
		return err
	}
	if r.Found != nil {
		r.Found.World.Lock = p.world.Lock
	}
	p.done(a.N, r)
	return nil
}

// fail keeps the first error.
func (p *partedSearch) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = err
	}
}

func within(t *testing.T, w explore.World, s explore.Search, x task) *explore.Report {
	s.For = x.For
	return explore.ExplorePart(t, w, s, x.Part)
}

var reportEvery = time.Second // how far a part has got

// serve searches the parts that the parent asks for.
func serve(t *testing.T, w explore.World, s explore.Search) {
	send := func(a answer) {
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\n%s%s\n", mark, text)
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var x task
		if err := in.Decode(&x); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		var reported time.Time
		s.Progress = func(r *explore.Report) {
			if time.Since(reported) > reportEvery {
				reported = time.Now()
				send(answer{N: x.N, Schedules: r.Schedules + r.Cut})
			}
		}
		text, err := within(t, w, s, x).Encode()
		if err != nil {
			t.Fatal(err)
		}
		send(answer{N: x.N, Report: text})
	}
}

// worker runs a process that serves, gives it tasks, and takes its answers.
func worker(t *testing.T, search string, take func() (task, bool), took func(answer) error) (err error) {
	x, ok := take()
	if !ok {
		return nil
	}
	cmd := command(t)
	cmd.Env = append(cmd.Env, partsOf+"="+search)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ask := json.NewEncoder(in)
	err = ask.Encode(x)
	asked := true
	lines := bufio.NewReader(out)
	var other strings.Builder
	for err == nil {
		var line string
		if line, err = lines.ReadString('\n'); err != nil {
			break
		}
		text, ours := strings.CutPrefix(line, mark)
		if !ours {
			other.WriteString(line)
			continue
		}
		var a answer
		if err = json.Unmarshal([]byte(text), &a); err == nil {
			err = took(a)
		}
		if err != nil || a.Report == nil {
			continue
		}
		if x, asked = take(); asked {
			err = ask.Encode(x)
		} else {
			in.Close()
		}
	}
	in.Close()
	if err != io.EOF {
		cmd.Process.Kill()
	}
	if failed := cmd.Wait(); err == io.EOF && failed == nil && !asked {
		return nil
	}
	return fmt.Errorf("%w\n%s%s", err, other.String(), complaint.String())
}

// progress returns a function that shows on a terminal how many schedules
// have been played, about once a second.
func progress() func(schedules int) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	rate := newRate()
	return func(n int) {
		if perSecond, ok := rate(n); ok {
			fmt.Fprintf(os.Stderr, "\r%d schedules, %d a second ", n, perSecond)
		}
	}
}
