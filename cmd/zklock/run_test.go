//go:build linux

// Tests of the verb run, with zklock in a process of its own. Each process starts the one to its right: zklock → guard
// → guard → starter → the command. When the lease or zklock ends, the guards and the starter end the command, with all
// that it has started. If the starter is killed, the kernel kills the command.
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

// A program is the command zklock in a process of its own: the test's binary, which is zklock if its first argument is
// a verb, see TestMain in main_test.go.
type program struct {
	*exec.Cmd
	in             io.WriteCloser
	stdout, stderr bytes.Buffer
	mark           string // in its environment
}

func start(t *testing.T, args ...string) *program {
	return startAs(t, &syscall.SysProcAttr{Setsid: true}, args...) // signals from the test's own terminal do not reach it
}

func startAs(t *testing.T, attributes *syscall.SysProcAttr, args ...string) *program {
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

func (p *program) awaitStatus(t *testing.T) int {
	p.Wait()
	require.True(t, p.ProcessState.Exited(), "zklock itself was killed: %v", p.ProcessState)
	return p.ProcessState.ExitCode()
}

// family returns all processes to the right of zklock: they have inherited the mark in its environment.
func (p *program) family(t *testing.T) (all []int) {
	for _, file := range testenv.Must(filepath.Glob("/proc/[0-9]*/environ"))(t) {
		environ, _ := os.ReadFile(file) // it may have ended
		pid := testenv.Must(strconv.Atoi(strings.Split(file, "/")[2]))(t)
		if pid != p.Process.Pid && strings.Contains(string(environ), p.mark) {
			all = append(all, pid)
		}
	}
	return all
}

func waitForEnd(t *testing.T, pids ...int) {
	for _, pid := range pids {
		eventually(t, func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(text), ") Z ") // a zombie has ended, too
		}, "process %d is left", pid)
	}
}

func waitForFile(t *testing.T, file string) (text string) {
	eventually(t, func() bool {
		b, err := os.ReadFile(file)
		text = strings.TrimSpace(string(b))
		return err == nil && text != ""
	}, "%s", file)
	return text
}

// waitUntilReleased waits until the session of the test's own client is the only one, and no node is at the path of the lock.
func waitUntilReleased(t *testing.T, srv *zkserver.Server) {
	eventually(t, func() bool { return len(srv.Sessions()) == 1 && len(srv.Children("/q")) == 0 })
}

func TestTheExitStatusIsThatOfTheCommand(t *testing.T) {
	srv, _, conn := onServer(t)
	garbled := filepath.Join(t.TempDir(), "garbled")
	require.NoError(t, os.WriteFile(garbled, []byte("\x7fELF\n"), 0o700))
	// A line has the exit status, the arguments, in which + is a blank, and what zklock prints.
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/statuses.txt"))(t))) {
		part := strings.Split(strings.TrimSpace(line), " |")
		if len(part) < 3 {
			continue // a comment
		}
		args := strings.Fields(strings.ReplaceAll(part[1], "$GARBLED", garbled))
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "+", " ")
		}
		p := start(t, args...)
		require.Equal(t, part[0], fmt.Sprint(p.awaitStatus(t)), "%s: %s", line, &p.stderr)
		if want := strings.TrimSpace(part[2]); want != "" {
			requireOneLine(t, p.stderr.String(), want)
		} else {
			require.Empty(t, p.stderr.String())
		}
		waitUntilReleased(t, srv)
	}

	m := testenv.Must(zklock.New(conn, "/q"))(t)
	lease := testenv.Must(m.Lock(t.Context(), nil))(t)
	refused := func(args ...string) int { // the exit status of a run that does not get the lock
		p := start(t, append(append([]string{"run"}, args...), "/q", "--", "true")...)
		status := p.awaitStatus(t)
		requireOneLine(t, p.stderr.String(), "zklock: run /q at ")
		require.Len(t, srv.Children("/q"), 1, "it has left its node")
		return status
	}
	require.Equal(t, exitHeld, refused("-try"))
	// On a busy machine, a short wait ends before there is a connection: then it waits for longer.
	status := exitUnavailable
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
	require.Zero(t, p.awaitStatus(t), "no other file is open")
	// The token is that of a server in epoch 3: 3<<42 is 13194139533312.
	require.Regexp(t, `^/q /q/_c_[0-9a-f]{32}-lock-0000000000 13194139\d{6}\n$`, p.stdout.String())
	require.Equal(t, "from stdin\n", p.stderr.String())
	waitUntilReleased(t, srv)
}

func TestSignalsArePassedOnAndTheSecondKills(t *testing.T) {
	srv, _, _ := onServer(t)
	dir := t.TempDir()
	const script = `for s in TERM INT HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>got" $s; done
		sleep 60 & echo $$ >runs
		while :; do wait; done`
	p := start(t, "run", "/q", "--", "sh", "-c", "cd "+dir+"; "+script)
	waitForFile(t, filepath.Join(dir, "runs"))
	require.Len(t, p.family(t), 2+1+1+1, "two guards, the starter, the command and its child")
	for _, pid := range p.family(t) {
		require.NotEqual(t, p.Process.Pid, testenv.Must(syscall.Getpgid(pid))(t),
			"what kills zklock's group leaves none that ends the command")
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM} {
		require.NoError(t, p.Process.Signal(s))
		name := strings.TrimPrefix(unix.SignalName(s), "SIG")
		eventually(t, func() bool { return strings.HasSuffix(waitForFile(t, filepath.Join(dir, "got")), name) }, name)
	}
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, 128+int(syscall.SIGKILL), p.awaitStatus(t))
	require.Empty(t, p.stderr.String(), "it was asked for")
	require.Empty(t, p.family(t), "what is left")
	waitUntilReleased(t, srv)
}

// escapes are ways out of the command's group, or of a signal. In each, the command's shell starts the program "$@" in
// the background. sh -c 'SCRIPT' - "$@" hands the program on to the script of another shell.
var escapes = map[string]string{
	"group":   `"$@" &`,                                       // none: it stays in the command's group
	"timeout": `timeout 600 "$@" &`,                           // timeout makes a group of its own
	"job":     `bash -c 'set -m; "$@" & wait' - "$@" &`,       // with job control, each job has a group of its own
	"session": `setsid "$@" &`,                                // a session and a group of its own
	"orphan":  `(setsid sh -c '"$@" &' - "$@" &)`,             // its parent ends at once
	"nohup":   `nohup "$@" >/dev/null 2>&1 &`,                 // it ignores SIGHUP
	"stopped": `setsid sh -c '"$@" & kill -STOP $$' - "$@" &`, // its parent stops itself
	// Beside it, a chain of processes, each of which starts the next, and ends.
	"no end": `(chain() { (sleep 0.001; chain) & }; chain); "$@" &`,
	// It starts once another orphan, p, has ended and is reaped.
	"reaped":   `p=$(true & echo $!); while kill -0 $p 2>&-; do sleep 0.01; done; "$@" &`,
	"own lock": `"$ZKLOCK" run /other -- "$@" &`, // with guards of its own
}

// Nothing of the command outlives the lock, however it has left the command's group, and however the command or zklock
// ends. In a namespace of its own (CLONE_NEWPID) zklock is process 1, and /proc shows the numbers of another namespace.
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
	ends := map[string]int{ // how the command or zklock ends, and the exit status of zklock
		"exit":                3,                          // the command, at the end of its input
		"SIGTERM":             128 + int(syscall.SIGTERM), // which zklock passes on to the command
		"two signals":         128 + int(syscall.SIGKILL), // which the command ignores: at the second, zklock kills it
		"its node is deleted": 128 + int(syscall.SIGKILL), // the lock is lost, and zklock kills the command
		"panic":               2,                          // of zklock
		"SIGKILL":             -1,                         // for zklock, which then has no exit status
	}
	const noFlags = 0 // of clone(2)
	for end, want := range ends {
		requireNothingOutlives(t, ways, end, want, noFlags)
		if os.Geteuid() == 0 && testenv.AtLanding() { // only root may make a namespace
			requireNothingOutlives(t, ways, end, want, syscall.CLONE_NEWPID)
		}
	}
}

// requireNothingOutlives plays one end of a command that has left a process in each way: a program that stamps a file
// with the name of the way, and ignores signals. want is the exit status of zklock, which is started with these flags.
func requireNothingOutlives(t *testing.T, ways map[string]string, end string, want int, cloneFlags uintptr) {
	t.Setenv(endBy, end) // with panic, zklock panics when its command has begun
	srv, _, _ := onServer(t)
	isKilled, losesLock := end == "SIGKILL", end == "its node is deleted" // in these two, zklock sends no delete
	deletes := srv.Hold(zkserver.On(jute.OpDelete, "/q/*"))               // which release the lock
	script := ""
	if end == "two signals" {
		script = "trap '' TERM INT\n"
	}
	dir := t.TempDir()
	for name, way := range ways {
		script += "set -- $ZKLOCK " + stampVerb + " '" + filepath.Join(dir, name) + "'; " + way + "\n"
	}
	p := startAs(t, &syscall.SysProcAttr{Setsid: cloneFlags == 0, Cloneflags: cloneFlags},
		"run", "-session", "40s", "/q", "--", "sh", "-c", script+"read x; exit 3")
	for name := range ways {
		if end != "panic" { // which may come before the first stamp
			waitForFile(t, filepath.Join(dir, name))
		}
	}

	switch end {
	case "exit":
		p.in.Close()
	case "two signals":
		p.Process.Signal(syscall.SIGTERM)
		p.Process.Signal(syscall.SIGINT)
	case "its node is deleted":
		require.True(t, srv.Delete("/q/"+srv.Children("/q")[0]))
	case "SIGTERM", "SIGKILL":
		p.Process.Signal(unix.SignalNum(end))
	}
	if !isKilled && !losesLock {
		<-deletes.Hit()
		require.Empty(t, p.family(t), "it runs while the lock is released")
	}
	deletes.Release()
	p.Wait()

	require.Equal(t, want, p.ProcessState.ExitCode(), "%s: %s", end, &p.stderr)
	if isKilled { // the guards end the command a moment later
		eventually(t, func() bool { return len(p.family(t)) == 0 })
		return
	}
	require.Empty(t, p.family(t), "what is left")
	require.Equal(t, end == "panic", strings.Contains(p.stderr.String(), "panic: "), &p.stderr)
	wasKilled := strings.Contains(p.stderr.String(), "the command was ended: signal: killed")
	require.Equal(t, losesLock, wasKilled)
	require.Empty(t, srv.Children("/q"), "the lock is released")
}

func TestASignalEndsTheWaitForTheLock(t *testing.T) {
	srv, _, conn := onServer(t)
	m := testenv.Must(zklock.New(conn, "/q"))(t)
	lease := testenv.Must(m.Lock(t.Context(), nil))(t)
	for _, names := range []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGHUP SIGTERM"} {
		sent := strings.Fields(names)
		if len(sent) > 1 { // the first one is ignored, as under nohup: the second one ends the wait
			signal.Ignore(unix.SignalNum(sent[0]))
			defer signal.Notify(make(chan os.Signal, 1), unix.SignalNum(sent[0])) // Reset would leave it ignored
		}
		p := start(t, "run", "/q", "--", "true")
		eventually(t, func() bool { return len(srv.Children("/q")) == 2 })
		for _, name := range sent {
			require.NoError(t, p.Process.Signal(unix.SignalNum(name)))
		}
		require.Equal(t, 128+int(unix.SignalNum(sent[len(sent)-1])), p.awaitStatus(t))
		require.Len(t, srv.Children("/q"), 1, "it has left its node")
		require.Empty(t, p.stderr.String())
	}
	require.NoError(t, lease.Unlock(t.Context()))
	waitUntilReleased(t, srv)
}

func TestARequestEndsARevocableCommand(t *testing.T) {
	srv, _, _ := onServer(t)
	for _, c := range []struct {
		revocable, wait string
		status          int // of revoke
	}{{revocable: "true", wait: patience.String()}, {revocable: "false", wait: "1s", status: exitHeld}} {
		runs := filepath.Join(t.TempDir(), "runs")
		p := start(t, "run", "-revocable="+c.revocable, "/q", "--",
			"sh", "-c", "trap 'exit 5' TERM; echo >"+runs+" .; while :; do sleep 0.01; done")
		waitForFile(t, runs)
		status, _, stderr := runHere(t.Context(), t, "revoke", "-wait", c.wait, "/q")
		require.Equal(t, c.status, status, stderr)
		p.Process.Signal(syscall.SIGTERM) // if it was not asked
		require.Equal(t, 5, p.awaitStatus(t))
		waitUntilReleased(t, srv)
	}
}

// A command runs once for each key of -once, though several come at the same time. That a key is not noted is reported.
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
		require.Zero(t, p.awaitStatus(t), &p.stderr)
	}
	require.Equal(t, ".", waitForFile(t, file))

	note := srv.Hold(func(r zkserver.Request) bool { return r.Path == "/q"+onceNode && r.Op == jute.OpSetData })
	late := start(t, "run", "-once", "2026-11-28", "/q", "--", "true")
	<-note.Hit()
	require.Len(t, srv.Children("/q"), 1, "it holds the lock until the key is noted")
	require.NoError(t, conn.Delete("/q/"+srv.Children("/q")[0], -1))
	require.Zero(t, start(t, "run", "-once", "2026-11-29", "/q", "--", "true").awaitStatus(t))
	note.Release()
	require.Equal(t, exitUnavailable, late.awaitStatus(t))
	requireOneLine(t, late.stderr.String(), "-once could not be noted, so it may run again: ")
	noted, _ := testenv.Must2(conn.Get("/q" + onceNode))(t)
	require.Equal(t, "2026-11-29", string(noted))
}

// zklock and its guards know of each other's end by the end of a file. The collector closes a file that only garbage
// points to. Here it runs all the time, as it does after hours otherwise, and the command goes on.
func TestACommandOutlivesWhatIsGarbage(t *testing.T) {
	testenv.Landing(t, "collects garbage all the time")
	onServer(t)
	t.Setenv("GOMEMLIMIT", "1")
	require.Zero(t, start(t, "run", "/q", "--", "sleep", "3").awaitStatus(t))
}

// zklock is stopped: the guards end the command when the lease of its short session ends. The starter is killed, or all
// are, as by pkill: the kernel kills the command. zklock reports it if it is there to do so.
func TestACommandThatItsGuardsHaveEndedIsSaidToBe(t *testing.T) {
	onServer(t)
	for _, c := range []struct {
		word, session string           // the signals are for the processes that have the word in their command lines
		signals       []syscall.Signal // each to all of them in turn: none that is stopped sees the end of another one
	}{
		{"-session", "4s", []syscall.Signal{syscall.SIGSTOP}},                  // zklock itself
		{"__start", "40s", []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL}}, // the starter
		{"", "40s", []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL}},        // all but the command
	} {
		runs := filepath.Join(t.TempDir(), "runs")
		p := start(t, "run", "-session", c.session, "/q", "--", "sh", "-c",
			"trap 'exit 143' TERM; echo $$ >"+runs+"; while :; do read x; done")
		command := testenv.Must(strconv.Atoi(waitForFile(t, runs)))(t)
		for _, s := range c.signals {
			for _, pid := range append(p.family(t), p.Process.Pid) {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				if pid != command && strings.Contains(string(line), c.word) {
					require.NoError(t, syscall.Kill(pid, s))
				}
			}
		}
		waitForEnd(t, command)
		if c.word != "" { // zklock is there, and goes on if it was stopped
			require.NoError(t, p.Process.Signal(syscall.SIGCONT))
			require.Contains(t, []int{128 + int(syscall.SIGTERM), 128 + int(syscall.SIGKILL)}, p.awaitStatus(t))
			requireOneLine(t, p.stderr.String(), "")
			require.Regexp(t, "the lease had less than|the lock was lost", p.stderr.String()) // lost if the machine has stopped
		}
	}
}

// A command has the terminal of a shell with job control: it gets Ctrl-C, is stopped with Ctrl-Z, goes on with fg, and
// then reads from the terminal. Stopped in the background, it goes on with one bg.
func TestACommandHasTheTerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		testenv.Missing(t, "not installed: Debian's bsdutils")
	}
	srv, _, _ := onServer(t)
	shell := exec.CommandContext(t.Context(), "script", "-qec", "bash --norc --noprofile -i", "/dev/null")
	shell.Env = append(os.Environ(), "TERM=dumb", "zklock="+testenv.Must(os.Executable())(t))
	in, out := testenv.Must(shell.StdinPipe())(t), testenv.Must(shell.StdoutPipe())(t)
	require.NoError(t, shell.Start())
	text, buffer := "", make([]byte, 4096) // text is what the terminal has shown behind the last pattern
	// shows waits until the terminal shows a pattern. The commands below write be''gins, so that their echo differs.
	shows := func(pattern string) {
		require.NoError(t, out.(*os.File).SetReadDeadline(time.Now().Add(patience)))
		for want := regexp.MustCompile(pattern); !want.MatchString(text); {
			n, err := out.Read(buffer)
			require.NoError(t, err, "want %s in %q", pattern, text)
			text += string(buffer[:n])
		}
		text = text[regexp.MustCompile(pattern).FindStringIndex(text)[1]:]
	}
	keys := func(text string) { testenv.Must(io.WriteString(in, text))(t) }
	shows(`bash-.*[#$] `) // the shell's prompt

	keys("$zklock run /q -- sh -c 'trap \"echo inter''rupted; exit 4\" INT; echo be''gins; while :; do sleep 0.01; " +
		"done'; echo status $?\n")
	shows("begins")
	keys("\x03") // Ctrl-C
	shows("interrupted")
	shows("status 4")

	keys("$zklock run /q -- sh -c 'echo be''gins; read x; echo \"read $x\"; exit 5'\n")
	shows("begins")
	keys("\x1a") // Ctrl-Z
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

	keys("sh -c '$zklock run /q -- true; read x; echo \"then $x\"'; exit\n")
	keys("next\n")
	shows("then next")
	require.NoError(t, shell.Wait())
	waitUntilReleased(t, srv)
}
