//go:build !js

package exploretest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
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
			args := append(append([]string{}, os.Args[1:]...), "-test.run=^"+t.Name()+"$", "-explore.seed="+strconv.FormatUint(own, 10))
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(i), "GOMAXPROCS=1")
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
