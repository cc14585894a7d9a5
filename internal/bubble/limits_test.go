package bubble_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

const childVariable = "BUBBLE_TEST_HANGS" // an environment variable: the process plays one of hangs, and is to panic

// hangs are tests that do not end. The first limit that is reached ends each of them, with a message that has want.
var hangs = []struct {
	name   string
	limits bubble.Limits
	play   func(t *testing.T)
	want   []string
}{
	{name: "spins", limits: bubble.Limits{Processor: 300 * time.Millisecond, Idle: 100 * time.Millisecond}, play: spins,
		want: []string{"has used 300ms of the processor", "bubble_test.spins(", "bubble_test.waits("}},
	{name: "waits beside a clock", limits: bubble.Limits{Virtual: time.Hour}, play: func(t *testing.T) {
		zkserver.Run(t)
		waits()
	}, want: []string{"has not happened in 1h0m0s of virtual time", "bubble_test.waits(", "zkserver.(*Server).clock("}},
	{name: "waits without a clock", play: func(*testing.T) { waits() }, // the default of Virtual is a day
		want: []string{"has not happened in 24h0m0s of virtual time", "bubble_test.waits("}},
	{name: "waits for a lock", limits: bubble.Limits{Idle: 300 * time.Millisecond, Doing: seed7}, play: func(t *testing.T) {
		zkserver.Run(t)
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	}, want: []string{"none of its goroutines could run", "with the seed 7", "sync.(*Mutex).Lock(", "zkserver.(*Server).clock("}},
	{name: "waits for something outside", limits: bubble.Limits{Idle: 300 * time.Millisecond}, play: func(*testing.T) { <-outside },
		want: []string{"none of its goroutines could run"}},
	// A wait for the system may last ten times Idle: here 1 s.
	{name: "waits for the system", limits: bubble.Limits{Idle: 100 * time.Millisecond}, play: func(*testing.T) {
		r, w, _ := os.Pipe()
		defer w.Close()
		r.Read(make([]byte, 1))
	}, want: []string{"for 1.0", "none of its goroutines could run", "os.(*File).Read("}},
	{name: "waits in its end", limits: bubble.Limits{Virtual: time.Hour}, play: func(t *testing.T) {
		zkserver.Run(t)
		t.Cleanup(waits)
	}, want: []string{"has not happened in 1h0m0s of virtual time", "bubble_test.waits("}},
}

var outside = make(chan struct{}) // of the bubbles

func seed7() string { return "with the seed 7" } // what a test is doing, for the message

func waits() { <-make(chan int) } // for all time

func spins(*testing.T) {
	go waits()
	for {
	}
}

// A test that does not end panics with its name and the stacks of its bubble. Each runs in a process of its own.
func TestATestThatDoesNotEndFailsWithItsNameAndItsGoroutines(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			if os.Getenv(childVariable) != "" {
				go func() { <-outside }() // like the test's own goroutines, it is outside of the bubble, and not printed
				h.limits.Test(t, h.play)
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "5m")
			cmd.Env = append(os.Environ(), childVariable+"=1", "GOTRACEBACK=single")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Regexp(t, "(?m)^panic: "+t.Name()+" ", string(out))
			for _, want := range h.want {
				require.Contains(t, string(out), want)
			}
			require.NotContains(t, string(out), "testing.(*M)", "goroutines outside of the bubble")
			require.NotContains(t, string(out), "test timed out")
		})
	}
}

// A right test may take longer than Idle, as on a busy machine: a goroutine that computes is not idle, nor is one that
// waits for the system for a while. It may also take long in virtual time, up to its limit.
func TestATestThatGoesOnMayTakeItsTime(t *testing.T) {
	limits := bubble.Limits{Idle: 500 * time.Millisecond}
	limits.Test(t, func(*testing.T) {
		for begin := bubble.ProcessorTime(); bubble.ProcessorTime()-begin < 1500*time.Millisecond; {
		}
	})
	r, w := testenv.Must2(os.Pipe())(t)
	time.AfterFunc(1500*time.Millisecond, func() { w.Close() })
	limits.Test(t, func(*testing.T) { r.Read(make([]byte, 1)) })
	bubble.Limits{Virtual: 100 * 24 * time.Hour}.Test(t, func(*testing.T) { time.Sleep(99 * 24 * time.Hour) })
}

// No file but limits.go calls synctest.Test, so that each bubble has limits; page_test.go is an example for users.
func TestEveryBubbleHasLimits(t *testing.T) {
	var without []string
	tree := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		const call = "synctest." + "Test("
		code := strings.ReplaceAll(string(text), "testing/"+call, "") // a line of a stack in a string is not a call
		if strings.Contains(code, call) {
			without = append(without, name)
		}
		return err
	}))
	require.Equal(t, []string{"internal/bubble/limits.go", "zklock/zklocktest/page_test.go"}, without)
}
