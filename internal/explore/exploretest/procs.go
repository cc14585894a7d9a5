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
	var mu sync.Mutex
	reports := make([]*explore.Report, len(parts))
	running := make(map[int]int) // schedules of the parts that are under way
	next, last, finished := 0, len(parts), 0
	var failure error
	progress := func() {
		if s.Progress == nil {
			return
		}
		n := finished
		for _, schedules := range running {
			n += schedules
		}
		s.Progress(&explore.Report{World: w, Schedules: n})
	}
	take := func() (task, bool) {
		mu.Lock()
		defer mu.Unlock()
		left := s.For - time.Since(began)
		if next >= last || failure != nil {
			return task{}, false
		}
		if s.For > 0 && left <= 0 {
			left = 1 // one schedule
		}
		next++
		return task{next - 1, parts[next-1], max(left, 0)}, true
	}
	done := func(n int, r *explore.Report) {
		mu.Lock()
		defer mu.Unlock()
		reports[n] = r
		delete(running, n)
		finished += r.Schedules + r.Cut
		if r.Found != nil && !s.All {
			last = min(last, n+1)
		}
		progress()
	}
	if processes <= 1 {
		for {
			x, ok := take()
			if !ok {
				break
			}
			done(x.N, within(t, w, s, x))
		}
	} else {
		var wg sync.WaitGroup
		for range min(processes, len(parts)) {
			wg.Go(func() {
				err := worker(t, identity(w, s), take, func(a answer) error {
					mu.Lock()
					again := reports[a.N] != nil
					if a.Report == nil {
						running[a.N] = a.Schedules
						progress()
					}
					mu.Unlock()
					if again {
						return fmt.Errorf("part %d is answered after its report", a.N)
					}
					if a.Report == nil {
						return nil
					}
					r, err := explore.DecodeReport(a.Report)
					if err == nil {
						if r.Found != nil {
							r.Found.World.Lock = w.Lock
						}
						done(a.N, r)
					}
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				if failure == nil {
					failure = err
				}
			})
		}
		wg.Wait()
	}
	if failure != nil {
		t.Fatalf("a process that goes through a part of the search: %v", failure)
	}
	r := explore.Whole(t, w, s, parts, rest, func(i int) *explore.Report { return reports[i] })
	r.Took = time.Since(began)
	return r
}

func within(t *testing.T, w explore.World, s explore.Search, x task) *explore.Report {
	s.For = x.For
	return explore.ExplorePart(t, w, s, x.Part)
}

var tellEvery = time.Second // how far a part has got

// serve goes through the parts that the parent asks for.
func serve(t *testing.T, w explore.World, s explore.Search) {
	tell := func(a answer) {
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
		var told time.Time
		s.Progress = func(r *explore.Report) {
			if time.Since(told) > tellEvery {
				told = time.Now()
				tell(answer{N: x.N, Schedules: r.Schedules + r.Cut})
			}
		}
		text, err := within(t, w, s, x).Encode()
		if err != nil {
			t.Fatal(err)
		}
		tell(answer{N: x.N, Report: text})
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
