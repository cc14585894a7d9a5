package main

import (
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/cmd/exercises/confine"
	"example.com/zklock/internal/testenv"
)

// TestACommandThatIsEndedLeavesNothing ends the command while it grades: no process of the attempt is left, no folder.
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
			cmd := exec.Command(self, commandArg, "grade", "-limit", "1h", dir) // TestMain becomes the command
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			cells := func() []string { return testenv.Must(filepath.Glob(filepath.Join(temp, "exercises-*")))(t) }
			for len(cells()) < 2 { // one cell builds the attempt, and then a second one runs it
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
			require.Equal(t, 130, cmd.ProcessState.ExitCode(), "the status of a command that was interrupted")
		})
	}
}

// TestAnAttemptHasNoNetwork: an attempt cannot even reach this machine. The compiler, which runs in the same cell, can.
func TestAnAttemptHasNoNetwork(t *testing.T) {
	if !confine.Offline(exec.Command("")) {
		t.Skip("the kernel, or the container around this test, allows no network namespace, and README.md says that attempts have a network then")
	}
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	c := testenv.Must(newCell(t.Context(), generous))(t)
	defer c.close()
	self := testenv.Must(os.Executable())(t)
	dial := []string{dialArg, l.Addr().String()}
	out, err := c.ofStudent(self, dial).CombinedOutput()
	require.Error(t, err, "an attempt has reached the network: %s", out)
	require.Contains(t, string(out), "unreachable")

	testenv.Must(c.command(self, dial, c.bare()).CombinedOutput())(t, "the compiler can do the same")

	files := c.ofStudent("sh", []string{"-c", "echo x >$HOME/file && cat $HOME/file"})
	testenv.Must(files.CombinedOutput())(t, "it can use its own folder")
}
