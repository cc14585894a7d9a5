package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// program is a command that runs the benchmark in a process of its own.
func program(t *testing.T, stdout *os.File, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	return cmd, &stderr
}

func opened(t *testing.T, name string, mode int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, mode, 0)
	if errors.Is(err, os.ErrNotExist) {
		// Only Linux has /dev/full, so elsewhere there is nothing to write to.
		t.Skipf("this system has no %s", name)
	}
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAResultThatCannotBePrintedIsAFailure(t *testing.T) {
	runBeside(t)
	reader, broken := testenv.Must2(os.Pipe())(t)
	defer broken.Close()
	reader.Close()
	for _, tc := range []struct {
		name   string
		stdout *os.File
		want   string
	}{
		{"a full disk", opened(t, "/dev/full", os.O_WRONLY), "bench: standard output: write /dev/stdout: no space left on device\n"},
		{"a pipe without a reader", broken, "bench: standard output: write /dev/stdout: broken pipe\n"},
	} {
		for _, args := range [][]string{{"-n", "2", "-locks", "naive"}, {"-help"}} {
			cmd, stderr := program(t, tc.stdout, args...)
			require.Error(t, cmd.Run(), "%s: %q", tc.name, args)
			require.Equal(t, exitFailure, cmd.ProcessState.ExitCode(), "%s: %q: %s", tc.name, args, stderr)
			require.Equal(t, tc.want, stderr.String(), "%s: %q: before anything is measured", tc.name, args)
		}
	}
	cmd, stderr := program(t, opened(t, os.DevNull, os.O_WRONLY), "-n", "2", "-locks", "naive")
	require.NoError(t, cmd.Run(), stderr.String())
}

// The nodes of a benchmark whose terminal is closed are removed, as at Ctrl-C.
func TestAClosedTerminalLeavesNoNodes(t *testing.T) {
	srv, addr := listen(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) {
			continue // under nohup a hang-up ends nothing
		}
		deletes := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		cmd, stderr := program(t, opened(t, os.DevNull, os.O_WRONLY), "-zk", addr, "-warmup", "0s",
			"-n", "100", "-rounds", "999", "-locks", "least", "-path", "/a/b")
		require.NoError(t, cmd.Start())
		<-deletes.Hit() // a run has begun
		require.NotEmpty(t, srv.Children("/a/b"))
		require.NoError(t, cmd.Process.Signal(sig))
		deletes.Release()
		require.Error(t, cmd.Wait())
		require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%v: %s", sig, stderr)
		require.Equal(t, []string{"zookeeper"}, srv.Children("/"), sig)
	}
}
