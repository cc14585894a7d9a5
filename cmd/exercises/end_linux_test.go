package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// TestACommandThatIsEndedLeavesNothing: neither the process of an attempt that never ends, nor its folder.
func TestACommandThatIsEndedLeavesNothing(t *testing.T) {
	takesMinutes(t)
	self := testenv.Must(os.Executable())(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		if sig == syscall.SIGHUP && signal.Ignored(sig) {
			continue // this test runs under nohup, and the command goes on then
		}
		t.Run(sig.String(), func(t *testing.T) {
			dir := writeAttempt(t, exercises[0], fileText(t, rootOf(t), exercises[0].answer)+"\nfunc init() { for {} }\n").dir
			temp := t.TempDir()
			cmd := exec.Command(self, commandArg, "grade", "-limit", "1h", dir)
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			cells := func() []string { return testenv.Must(filepath.Glob(filepath.Join(temp, "exercises-*")))(t) }
			for len(cells()) < 2 { // to build, and to run
				select {
				case err := <-ended:
					t.Fatal("the command has ended by itself: ", err)
				case <-time.After(poll):
				}
			}
			require.NoError(t, cmd.Process.Signal(sig))
			<-ended
			left := 0
			eachProcess(func(pid int, proc string) {
				if env, _ := os.ReadFile(filepath.Join(proc, "environ")); strings.Contains(string(env), temp) {
					left++
					syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			require.Zero(t, left, "processes")
			require.Empty(t, cells())
			require.Equal(t, 130, cmd.ProcessState.ExitCode())
		})
	}
}
