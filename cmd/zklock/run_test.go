//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// A program is a zklock in a process of its own.
type program struct {
	*exec.Cmd
	in             io.WriteCloser
	stdout, stderr bytes.Buffer
	mark           string // in its environment
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startAs(t, &syscall.SysProcAttr{Setsid: true}, args...) // signals from the test's own terminal do not reach it
}

func startAs(t *testing.T, attributes *syscall.SysProcAttr, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), "/proc/self/exe", args...)}
	p.mark = fmt.Sprintf("ZKLOCK_TEST_MARK=%x", rand.Int64())
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.Env, p.WaitDelay, p.SysProcAttr = append(os.Environ(), p.mark), time.Minute, attributes
	p.in = testenv.Must(p.StdinPipe())(t)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Process.Kill()
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
	require.True(t, p.ProcessState.Exited(), "zklock itself was killed: %v", p.ProcessState)
	return p.ProcessState.ExitCode()
}

// family returns the processes that a program has started, by the mark in their environment: the
// command, its guards and their starter, and all that the command has started.
func (p *program) family(t *testing.T) (all []int) {
	t.Helper()
	for _, file := range testenv.Must(filepath.Glob("/proc/[0-9]*/environ"))(t) {
		environ, _ := os.ReadFile(file) // it may have ended
		pid := testenv.Must(strconv.Atoi(strings.Split(file, "/")[2]))(t)
		if pid != p.Process.Pid && strings.Contains(string(environ), p.mark) {
			all = append(all, pid)
		}
	}
	return all
}

// ended waits until processes have ended.
func ended(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(text), ") Z ")
		}, "process %d is left", pid)
	}
}

// appears waits for a file that a command makes, and returns what it has.
func appears(t *testing.T, file string) (text string) {
	t.Helper()
	eventually(t, func() bool {
		b, err := os.ReadFile(file)
		text = strings.TrimSpace(string(b))
		return err == nil && text != ""
	}, "%s", file)
	return text
}

// alone waits until the session of the test's own client is the only one, and no node is at the path of the lock.
func alone(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	eventually(t, func() bool { return len(srv.Sessions()) == 1 && len(srv.Children("/q")) == 0 })
}

func TestTheExitStatusIsThatOfTheCommand(t *testing.T) {
	srv, _, conn := onServer(t)
	garbled := filepath.Join(t.TempDir(), "garbled")
	require.NoError(t, os.WriteFile(garbled, []byte("\x7fELF\n"), 0o700))
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
		{"run /q -- " + garbled, exitNotRunnable, "exec format error"},
		{"run -zk 127.0.0.1:1 -wait 100ms /q -- true", exitUnavailable, "run /q at 127.0.0.1:1, after "},
		{"run -grace 208ms /q -- true", exitUsage, "-grace: 208ms is not"},
		{"run -grace 5s /q -- true", exitUsage, "-grace: 5s is not between a 48th and a fifth of the session timeout, 10s"},
		{"run /q/ -- true", exitUsage, "invalid path"},
		{"run -once 11-25 /q -- sh -c exit+7", 7, ""}, // the key is not noted
		{"run -once 11-25 /q -- sh -c kill+$$", 128 + int(syscall.SIGTERM), ""},
		{"run -once 11-25 /q -- true", 0, ""},
		{"run -once 11-25 /q -- sh -c exit+7", 0, ""}, // the command has run
		{"run -once 11-24 /q -- sh -c exit+7", 0, ""}, // on a machine whose clock is late
		{"run -once 11-26 /q -- true", 0, ""},
		{"run -once 11-26 /q -- sh -c exit+7", 0, ""},
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

	m := testenv.Must(zklock.New(conn, "/q"))(t)
	lease := testenv.Must(m.Lock(t.Context(), nil))(t)
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
		"sh", "-c", "echo $ZKLOCK_PATH $ZKLOCK_NODE $ZKLOCK_TOKEN; read x; echo $x >&2; ! ls /proc/$$/fd/[3-6] 2>&-")
	eventually(t, func() bool { return strings.HasPrefix(queueOf(t, "/q"), "zklock web 7 *") })
	io.WriteString(p.in, "from stdin\n")
	require.Zero(t, p.status(t), "no other file is open")
	require.Regexp(t, `^/q /q/_c_[0-9a-f]{32}-lock-0000000000 13194139\d{6}\n$`, p.stdout.String())
	require.Equal(t, "from stdin\n", p.stderr.String())
	alone(t, srv)
}

func TestSignalsArePassedOnAndTheSecondKills(t *testing.T) {
	srv, _, _ := onServer(t)
	dir := t.TempDir()
	script := `for s in TERM INT HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>got" $s; done; sleep 60 & echo $$ >runs; while :; do wait; done`
	p := start(t, "run", "/q", "--", "sh", "-c", "cd "+dir+"; "+script)
	appears(t, filepath.Join(dir, "runs"))
	require.Len(t, p.family(t), 5, "two guards, the starter, the command and its child")
	for _, pid := range p.family(t) {
		require.NotEqual(t, p.Process.Pid, testenv.Must(syscall.Getpgid(pid))(t),
			"what kills zklock's group leaves none that ends the command")
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM} {
		require.NoError(t, p.Process.Signal(s))
		name := strings.TrimPrefix(unix.SignalName(s), "SIG")
		eventually(t, func() bool { return strings.HasSuffix(appears(t, filepath.Join(dir, "got")), name) }, name)
	}
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, 128+int(syscall.SIGKILL), p.status(t))
	require.Empty(t, p.stderr.String(), "it was asked for")
	require.Empty(t, p.family(t), "what is left")
	alone(t, srv)
}

// escapes are ways out of the command's group, or of a signal: each starts "$@" in the background. A
// way whose tool is missing is left out.
var escapes = map[string]string{
	"group":    `"$@" &`,
	"timeout":  `timeout 600 "$@" &`,
	"job":      `bash -c 'set -m; "$@" & wait' - "$@" &`,
	"session":  `setsid "$@" &`,
	"orphan":   `(setsid sh -c '"$@" &' - "$@" &)`,
	"nohup":    `nohup "$@" >/dev/null 2>&1 &`,
	"stopped":  `setsid sh -c '"$@" & kill -STOP $$' - "$@" &`,
	"no end":   `(chain() { (sleep 0.001; chain) & }; chain); "$@" &`,
	"reaped":   `p=$(true & echo $!); while kill -0 $p 2>&-; do sleep 0.01; done; "$@" &`,
	"own lock": `"$ZKLOCK" run /other -- "$@" &`,
}

// TestNothingOfTheCommandOutlivesTheLock, however it has left the command's group, and however the command, or zklock,
// ends: it panics because of a pulse of 0. In a namespace of processes zklock is the first one, its group is none, and
// the /proc is of another.
func TestNothingOfTheCommandOutlivesTheLock(t *testing.T) {
	t.Setenv("ZKLOCK", testenv.Must(os.Executable())(t))
	ways := maps.Clone(escapes)
	for _, tool := range []string{"bash", "nohup", "setsid", "timeout"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.False(t, testenv.AtLanding(), "%v", err)
			t.Log("its ways are left out:", err)
			maps.DeleteFunc(ways, func(_, way string) bool { return strings.Contains(way, tool+" ") })
		}
	}
	for _, flags := range []uintptr{0, syscall.CLONE_NEWPID} {
		for end, want := range map[string]int{"exit": 3, "SIGTERM": 143, "twice": 137, "SIGKILL": -1, "panic": 2, "deleted": 137} {
			if flags != 0 && (os.Geteuid() != 0 || !testenv.AtLanding()) {
				continue // it takes root
			}
			srv, _, _ := onServer(t)
			release := srv.Hold(zkserver.On(jute.OpDelete, "/q/*"))
			t.Setenv(panics, map[string]string{"panic": "1"}[end])
			dir, script := t.TempDir(), map[string]string{"twice": "trap '' TERM INT\n"}[end]
			for name, way := range ways {
				script += "set -- $ZKLOCK " + stampVerb + " '" + filepath.Join(dir, name) + "'; " + way + "\n"
			}
			p := startAs(t, &syscall.SysProcAttr{Setsid: flags == 0, Cloneflags: flags},
				"run", "-session", "40s", "/q", "--", "sh", "-c", script+"read x; exit 3")
			for name := range ways {
				if end != "panic" {
					appears(t, filepath.Join(dir, name))
				}
			}
			switch end {
			case "exit":
				p.in.Close()
			case "twice":
				p.Process.Signal(syscall.SIGTERM)
				p.Process.Signal(syscall.SIGINT)
			case "deleted": // the node
				require.True(t, srv.Delete("/q/"+srv.Children("/q")[0]))
			default:
				p.Process.Signal(unix.SignalNum(end))
			}
			if end != "SIGKILL" && end != "deleted" {
				<-release.Hit()
				require.Empty(t, p.family(t), "it runs while the lock is released")
			}
			release.Release()
			p.Wait()
			require.Equal(t, want, p.ProcessState.ExitCode(), "%s: %s", end, &p.stderr)
			if end == "SIGKILL" {
				eventually(t, func() bool { return len(p.family(t)) == 0 })
				continue
			}
			require.Empty(t, p.family(t), "what is left")
			require.Equal(t, end == "panic", strings.Contains(p.stderr.String(), "panic: "), &p.stderr)
			require.Equal(t, end == "deleted", strings.Contains(p.stderr.String(), "the command was ended: signal: killed"))
			require.Empty(t, srv.Children("/q"), "the lock is released")
		}
	}
}

func TestASignalEndsTheWaitForTheLock(t *testing.T) {
	srv, _, conn := onServer(t)
	m := testenv.Must(zklock.New(conn, "/q"))(t)
	lease := testenv.Must(m.Lock(t.Context(), nil))(t)
	for _, names := range []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGHUP SIGTERM"} {
		sent := strings.Fields(names)
		if len(sent) > 1 { // as by nohup
			signal.Ignore(unix.SignalNum(sent[0]))
			defer signal.Notify(make(chan os.Signal, 1), unix.SignalNum(sent[0])) // Reset would leave it ignored
		}
		p := start(t, "run", "/q", "--", "true")
		eventually(t, func() bool { return len(srv.Children("/q")) == 2 })
		for _, name := range sent {
			require.NoError(t, p.Process.Signal(unix.SignalNum(name)))
		}
		require.Equal(t, 128+int(unix.SignalNum(sent[len(sent)-1])), p.status(t))
		require.Len(t, srv.Children("/q"), 1, "it has left its node")
		require.Empty(t, p.stderr.String())
	}
	require.NoError(t, lease.Unlock(t.Context()))
	alone(t, srv)
}

func TestARequestEndsARevocableCommand(t *testing.T) {
	srv, _, _ := onServer(t)
	wait := map[string]string{"true": patience.String(), "false": "1s"}
	for revocable, want := range map[string]int{"true": 0, "false": exitHeld} {
		runs := filepath.Join(t.TempDir(), "runs")
		p := start(t, "run", "-revocable="+revocable, "/q", "--",
			"sh", "-c", "trap 'exit 5' TERM; echo >"+runs+" .; while :; do sleep 0.01; done")
		appears(t, runs)
		status, _, stderr := do(t.Context(), t, "revoke", "-wait", wait[revocable], "/q")
		require.Equal(t, want, status, stderr)
		p.Process.Signal(syscall.SIGTERM) // if it was not asked
		require.Equal(t, 5, p.status(t))
		alone(t, srv)
	}
}

// TestACommandRunsOnceForEachKey though several come at the same time: each waits for the one before.
func TestACommandRunsOnceForEachKey(t *testing.T) {
	srv, _, conn := onServer(t)
	lease := testenv.Must(testenv.Must(zklock.New(conn, "/q"))(t).Lock(t.Context(), nil))(t)
	file, all := filepath.Join(t.TempDir(), "ran"), []*program{}
	for range 3 {
		all = append(all, start(t, "run", "-once", "2026-11-27", "/q", "--", "sh", "-c", "echo >>"+file+" ."))
	}
	eventually(t, func() bool { return len(srv.Children("/q")) == 4 })
	require.NoError(t, lease.Unlock(t.Context()))
	for _, p := range all {
		require.Zero(t, p.status(t), &p.stderr)
	}
	require.Equal(t, ".", appears(t, file))

	note := srv.Hold(func(r zkserver.Request) bool { return r.Path == "/q"+onceNode && r.Op == jute.OpSetData })
	late := start(t, "run", "-once", "2026-11-28", "/q", "--", "true")
	<-note.Hit()
	require.Len(t, srv.Children("/q"), 1, "it holds the lock until the key is noted")
	require.NoError(t, conn.Delete("/q/"+srv.Children("/q")[0], -1))
	require.Zero(t, start(t, "run", "-once", "2026-11-29", "/q", "--", "true").status(t))
	note.Release()
	require.Equal(t, exitUnavailable, late.status(t))
	oneLine(t, late.stderr.String(), "-once could not be noted, so it may run again: ")
	noted, _ := testenv.Must2(conn.Get("/q" + onceNode))(t)
	require.Equal(t, "2026-11-29", string(noted))
}

// TestACommandOutlivesWhatIsGarbage: zklock and its guards collect theirs all the time here, as after hours
// otherwise. A file that only garbage points to is closed, and the end of a file is how they know of each other's end.
func TestACommandOutlivesWhatIsGarbage(t *testing.T) {
	testenv.Landing(t, "collects garbage all the time")
	onServer(t)
	t.Setenv("GOMEMLIMIT", "1")
	require.Zero(t, start(t, "run", "/q", "--", "sleep", "3").status(t))
}

// TestACommandThatItsGuardsHaveEndedIsSaidToBe: here zklock itself is stopped meanwhile, or the
// starter is killed. If all of them are killed, as by pkill, the kernel ends the command.
func TestACommandThatItsGuardsHaveEndedIsSaidToBe(t *testing.T) {
	onServer(t)
	for i, which := range []string{"-session", "__start", ""} { // a word of zklock itself, of its starter, of all
		session := []string{"4s", "40s", "40s"}[i]
		runs := filepath.Join(t.TempDir(), "runs")
		p := start(t, "run", "-session", session, "/q", "--", "sh", "-c",
			"trap 'exit 143' TERM; echo $$ >"+runs+"; while :; do read x; done")
		pid := testenv.Must(strconv.Atoi(appears(t, runs)))(t)
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // none of them sees the end of another one
			for _, zklock := range append(p.family(t), p.Process.Pid) {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", zklock))
				if zklock != pid && strings.Contains(string(line), which) && (s == syscall.SIGSTOP || which != "-session") {
					require.NoError(t, syscall.Kill(zklock, s))
				}
			}
		}
		ended(t, pid)
		if which != "" {
			require.NoError(t, p.Process.Signal(syscall.SIGCONT))
			require.Contains(t, []int{128 + int(syscall.SIGTERM), 128 + int(syscall.SIGKILL)}, p.status(t))
			oneLine(t, p.stderr.String(), "the l") // the lease had little left; or, if the machine has stopped, the lock was lost
		}
	}
}

// TestACommandHasTheTerminal of a shell with job control: it gets Ctrl-C, is stopped with Ctrl-Z,
// goes on with fg, and then reads from it. Stopped in the background, it goes on with one bg.
func TestACommandHasTheTerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		testenv.Missing(t, "not installed: Debian's bsdutils")
	}
	srv, _, _ := onServer(t)
	shell := exec.CommandContext(t.Context(), "script", "-qec", "bash --norc --noprofile -i", "/dev/null")
	shell.Env = append(os.Environ(), "TERM=dumb", "zklock="+testenv.Must(os.Executable())(t))
	in, out := testenv.Must(shell.StdinPipe())(t), testenv.Must(shell.StdoutPipe())(t)
	require.NoError(t, shell.Start())
	text, buffer := "", make([]byte, 4096)
	shows := func(pattern string) {
		t.Helper()
		require.NoError(t, out.(*os.File).SetReadDeadline(time.Now().Add(patience)))
		for want := regexp.MustCompile(pattern); !want.MatchString(text); {
			n, err := out.Read(buffer)
			require.NoError(t, err, "want %s in %q", pattern, text)
			text += string(buffer[:n])
		}
		text = text[regexp.MustCompile(pattern).FindStringIndex(text)[1]:]
	}
	keys := func(text string) { testenv.Must(io.WriteString(in, text))(t) }
	shows(`bash-.*[#$] `)
	keys("$zklock run /q -- sh -c 'trap \"echo inter''rupted; exit 4\" INT; echo be''gins; while :; do sleep 0.01; " +
		"done'; echo status $?\n")
	shows("begins")
	keys("\x03")
	shows("interrupted")
	shows("status 4")
	keys("$zklock run /q -- sh -c 'echo be''gins; read x; echo \"read $x\"; exit 5'\n")
	shows("begins")
	keys("\x1a")
	shows("Stopped")
	shows(`bash-.*[#$] `)
	require.Len(t, srv.Children("/q"), 1, "it holds the lock while it is stopped")
	keys("fg\n")
	shows("zklock")
	keys("again\n")
	shows("read again")
	shows(`bash-.*[#$] `)
	keys("echo status $?\n")
	shows("status 5")
	keys("$zklock run -session 40s /q -- sh -c 'trap \"\" TERM; trap \"exit 6\" USR1; echo be''gins; while :; " +
		"do sleep 0.01; done' &\n")
	shows("begins")
	keys("kill -TSTP $!; until [ -n \"$(jobs -s)\" ]; do sleep 0.01; done; bg; kill -USR1 $!; wait $!; echo status $?\n")
	shows("status 6")

	keys("sh -c '$zklock run /q -- true; read x; echo \"then $x\"'; exit\n") // the terminal is the script's again
	keys("next\n")
	shows("then next")
	require.NoError(t, shell.Wait())
	alone(t, srv)
}
