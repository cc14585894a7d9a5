//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.com/zklock/cmd/zklock/internal/leash"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// A program is a zklock in a process of its own.
type program struct {
	*exec.Cmd
	in             io.WriteCloser
	stdout, stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), "/proc/self/exe", args...)}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = time.Minute
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals from the test's own terminal do not reach it
	var err error
	p.in, err = p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
		p.Wait() // unless the test has
		if t.Failed() {
			t.Log(args, p.ProcessState, &p.stderr)
		}
	})
	return p
}

// status waits until the program has ended.
func (p *program) status(t *testing.T) int {
	t.Helper()
	p.Wait()
	ws := p.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ws.Exited(), "zklock itself was killed: %v", p.ProcessState)
	return p.ProcessState.ExitCode()
}

// children are the processes that a process has started and that have not ended.
func children(t *testing.T, pid int) (all []int) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		text, _ := os.ReadFile(file) // it may have ended
		_, fields, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(fields); len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(strings.Split(file, "/")[2])
			require.NoError(t, err)
			all = append(all, child)
		}
	}
	return all
}

// ended waits until processes have ended.
func ended(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(text), ") Z ")
		}, patience, time.Millisecond, "process %d is left", pid)
	}
}

// appears waits for a file that a command makes, and returns what it has.
func appears(t *testing.T, file string) (text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(file)
		text = strings.TrimSpace(string(b))
		return err == nil && text != ""
	}, patience, time.Millisecond, "%s", file)
	return text
}

// alone waits until the session of the test's own client is the only one, and no node is at
// the path of the lock.
func alone(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	require.Eventually(t, func() bool { return len(srv.Sessions()) == 1 && len(srv.Children("/q")) == 0 }, patience, time.Millisecond)
}

func TestTheExitStatusIsThatOfTheCommand(t *testing.T) {
	srv, _, conn := onServer(t)
	for _, c := range []struct {
		args   string
		status int
		stderr string
	}{
		{"run /q -- true", 0, ""},
		{"run /q true", 0, ""},
		{"run /q -- sh -c exit+7", 7, ""},
		{"run /q -- sh -c kill+-USR1+$$", 128 + int(syscall.SIGUSR1), ""},
		{"run /q -- no-such-command", exitNotFound, "executable file not found"},
		{"run /q -- /etc/passwd", exitNotRunnable, "permission denied"},
		{"run -zk 127.0.0.1:1 -wait 100ms /q -- true", exitUnavailable, "run /q at 127.0.0.1:1, after "},
		{"run -grace 5s /q -- true", exitUsage, "-grace: 5s is not less than a fifth of the session timeout, 10s"},
		{"run /q/ -- true", exitUsage, "invalid path"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "+", " ")
		}
		p := start(t, args...)
		require.Equal(t, c.status, p.status(t), "%s: %s", c.args, &p.stderr)
		require.Contains(t, p.stderr.String(), c.stderr)
		require.Equal(t, min(1, len(c.stderr)), strings.Count(p.stderr.String(), "\n"), &p.stderr)
		alone(t, srv)
	}

	m, err := zklock.New(conn, "/q")
	require.NoError(t, err)
	lease, err := m.Lock(t.Context(), nil)
	require.NoError(t, err)
	refused := func(args ...string) int {
		p := start(t, append(append([]string{"run"}, args...), "/q", "--", "true")...)
		status := p.status(t)
		oneLine(t, p.stderr.String(), "zklock: run /q at ")
		require.Len(t, srv.Children("/q"), 1, "it has left its node")
		return status
	}
	require.Equal(t, exitHeld, refused("-try"))
	status := exitUnavailable // in so short a time, on a busy machine
	for wait := 50 * time.Millisecond; status == exitUnavailable && wait < time.Minute; wait *= 2 {
		status = refused("-wait", wait.String(), "-E", "9")
	}
	require.Equal(t, 9, status)
	require.NoError(t, lease.Unlock(t.Context()))
}

func TestTheCommandHasItsStandardStreamsAndTheLockInItsEnvironment(t *testing.T) {
	srv, _, _ := onServer(t)
	p := start(t, "run", "-name", "nightly", "-data", "web 7", "/q", "--",
		"sh", "-c", "echo $ZKLOCK_PATH $ZKLOCK_NODE $ZKLOCK_TOKEN; read x; echo $x >&2; [ ! -e /proc/$$/fd/3 ]")
	require.Eventually(t, func() bool { return strings.HasPrefix(queueOf(t, "/q"), "zklock web 7 *") }, patience, time.Millisecond)
	io.WriteString(p.in, "from stdin\n")
	require.Zero(t, p.status(t), "no other file is open")
	require.Regexp(t, `^/q /q/_c_[0-9a-f]{32}-lock-0000000000 \d+\n$`, p.stdout.String())
	require.Equal(t, "from stdin\n", p.stderr.String())
	alone(t, srv)
}

// traps is a command that writes down that it runs and which signals it gets, and has a process
// of its own.
func traps(dir string) []string {
	script := `for s in TERM INT HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>got" $s; done; sleep 60 & echo $! >child; echo $$ >runs; while :; do wait; done`
	return []string{"sh", "-c", "cd " + dir + "; " + script}
}

func TestSignalsArePassedOnAndTheSecondKills(t *testing.T) {
	srv, _, _ := onServer(t)
	dir := t.TempDir()
	p := start(t, append([]string{"run", "/q", "--"}, traps(dir)...)...)
	appears(t, filepath.Join(dir, "runs"))
	all := children(t, p.Process.Pid)
	require.Len(t, all, 3, "the command and two guards")
	child, err := strconv.Atoi(appears(t, filepath.Join(dir, "child")))
	require.NoError(t, err)
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM} {
		require.NoError(t, p.Process.Signal(s))
		name := strings.TrimPrefix(unix.SignalName(s), "SIG")
		require.Eventually(t, func() bool { return strings.HasSuffix(appears(t, filepath.Join(dir, "got")), name) }, patience, time.Millisecond, name)
	}
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, 128+int(syscall.SIGKILL), p.status(t))
	ended(t, append(all, child)...)
	alone(t, srv)
}

func TestWhatTheCommandLeavesBehindInItsGroupIsEnded(t *testing.T) {
	srv, _, _ := onServer(t)
	child := filepath.Join(t.TempDir(), "child")
	p := start(t, "run", "/q", "--", "sh", "-c", "trap '' TERM HUP; sleep 60 <&- >&- 2>&- & echo $! >"+child+"; exit 3")
	require.Equal(t, 3, p.status(t))
	pid, err := strconv.Atoi(appears(t, child))
	require.NoError(t, err)
	ended(t, pid)
	alone(t, srv)
}

func TestASignalEndsTheWaitForTheLock(t *testing.T) {
	srv, _, conn := onServer(t)
	m, err := zklock.New(conn, "/q")
	require.NoError(t, err)
	lease, err := m.Lock(t.Context(), nil)
	require.NoError(t, err)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		p := start(t, "run", "/q", "--", "true")
		require.Eventually(t, func() bool { return len(srv.Children("/q")) == 2 }, patience, time.Millisecond)
		require.NoError(t, p.Process.Signal(s))
		require.Equal(t, 128+int(s), p.status(t))
		require.Len(t, srv.Children("/q"), 1, "it has left its node")
		require.Empty(t, p.stderr.String())
	}
	require.NoError(t, lease.Unlock(t.Context()))
	alone(t, srv)
}

func TestARequestEndsARevocableCommand(t *testing.T) {
	srv, _, _ := onServer(t)
	for _, revocable := range []string{"true", "false"} {
		runs := filepath.Join(t.TempDir(), "runs")
		p := start(t, "run", "-revocable="+revocable, "/q", "--",
			"sh", "-c", "trap 'exit 5' TERM; echo >"+runs+" .; while :; do sleep 0.01; done")
		appears(t, runs)
		status, _, stderr := do(t.Context(), t, "revoke", "-wait", map[string]string{"true": patience.String(), "false": "1s"}[revocable], "/q")
		if revocable == "true" {
			require.Zero(t, status, stderr)
			require.Equal(t, 5, p.status(t))
		} else {
			require.Equal(t, exitHeld, status)
			p.Process.Signal(syscall.SIGTERM)
			require.Equal(t, 5, p.status(t))
		}
		alone(t, srv)
	}
}

func TestACommandWhoseNodeIsDeletedIsKilled(t *testing.T) {
	srv, _, conn := onServer(t)
	dir := t.TempDir()
	p := start(t, append([]string{"run", "-session", "8s", "/q", "--"}, traps(dir)...)...)
	appears(t, filepath.Join(dir, "runs"))
	all := children(t, p.Process.Pid)
	require.NoError(t, conn.Delete("/q/"+srv.Children("/q")[0], -1))
	require.Equal(t, 128+int(syscall.SIGKILL), p.status(t))
	oneLine(t, p.stderr.String(), "the lock was lost, and the command was ended: signal: killed")
	ended(t, all...)
	alone(t, srv)
}

// TestACommandBeginsUnderALeaseThatLasts: its process waits for that, because the start of all three may take long.
func TestACommandBeginsUnderALeaseThatLasts(t *testing.T) {
	runtime.LockOSThread() // a command ends with the thread that has started it
	for want, then := range map[string]time.Time{"exit status 3": time.Now().Add(time.Hour), "signal: killed": {}} {
		calls, soon := 0, time.Now().Add(time.Minute)
		p, err := leash.Start("/bin/sh", []string{"sh", "-c", "exit 3"}, nil, func() time.Time {
			calls++
			return []time.Time{soon, soon, then}[min(calls, 3)-1]
		}, 2*time.Minute)
		require.NoError(t, err)
		p.Follow(make(chan bool, 1))
		require.Equal(t, want, p.End().String())
	}
}

// TestGraceIsBeforeTheEnd: a command gets SIGTERM while the lock is still its own.
func TestGraceIsBeforeTheEnd(t *testing.T) {
	srv, addr, _ := onServer(t)
	dir := t.TempDir()
	p := start(t, "run", "-session", "12s", "-grace", "2350ms", "/q", "--", "sh", "-c", "trap 'exit 6' TERM; echo . >"+dir+"/runs; read x")
	appears(t, filepath.Join(dir, "runs"))
	srv.Stop(addr)
	require.Equal(t, 6, p.status(t))
}
