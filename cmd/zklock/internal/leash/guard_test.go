//go:build linux

// Tests of the starter and the guards, which end a command whose lease is over.
package leash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) {
	Helper(os.Args[1:])
	os.Exit(m.Run())
}

// TestTheStarterActsByWhatIsLeftOfTheLease: it starts, warns and kills the command by the clock that leaves less, and
// ends what the command leaves behind. Beside an hour of grace and margin the test's own time does not count.
func TestTheStarterActsByWhatIsLeftOfTheLease(t *testing.T) {
	const grace, margin = 2 * time.Hour, time.Hour
	// What is left of the lease when the command may begin, when it gets SIGTERM, and when it gets SIGKILL.
	const enough, little, none = grace + time.Hour, margin + 30*time.Minute, margin - time.Minute
	// What the starter reports: the number behind ended is a wait status.
	exited := func(code int) string { return fmt.Sprintf("begun \\d+\nended %d\n", code<<8) }
	killed := fmt.Sprintf("begun \\d+\nended %d\n", syscall.SIGKILL)
	// leaves is a script that exits with 3 and leaves a process behind. That one traps SIGTERM and stops, twice.
	leaves := func(atTERM string) string {
		return `sh -c 'trap "` + atTERM + `" TERM; kill -STOP $$; kill -STOP $$' & ` +
			"until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; exit 3"
	}
	signal.Ignore(syscall.SIGHUP) // as nohup does; the command inherits that
	for _, c := range []struct {
		name, script, want string        // the script of the command, which does not begin without one, and the reports
		littleFirst        bool          // little is left of the lease for a while, before its last end is told
		monotonic, wall    time.Duration // what the last end leaves by each clock
		closes             bool          // the starter is told no last end: the pipe is closed
	}{
		{name: "closed before it begins", closes: true},
		{name: "nothing left by monotonic clock", script: "echo; sleep 600", want: killed, monotonic: none, wall: enough},
		{name: "nothing left by wall clock", script: "echo; sleep 600", want: killed, monotonic: enough, wall: none},
		{name: "closed", script: "echo; sleep 60", want: killed, closes: true},
		{name: "it ends after the warning", script: `trap 'trap "" TERM; sleep 0.1; exit 5' TERM; echo; sleep 60 & wait`,
			want: strings.Replace(exited(5), "ended", "warned 0\nended", 1), monotonic: little, wall: enough},
		{name: "SIGHUP is ignored", script: "echo; kill -HUP $$; exit 4", want: exited(4), monotonic: enough, wall: enough},
		{name: "it leaves a process", script: leaves("echo; exit"), want: exited(3), monotonic: enough, wall: enough},
		{name: "it leaves a process that ignores SIGTERM", script: leaves("echo"), want: exited(3),
			littleFirst: true, monotonic: none, wall: enough},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := testenv.Must(json.Marshal(
				plan{Grace: grace, Margin: margin, Program: "/bin/sh", Command: []string{"sh", "-c", c.script}}))(t)
			reports, reportsEnd := testenv.Must2(os.Pipe())(t)
			leaseEnd, lease := testenv.Must2(os.Pipe())(t)
			defer lease.Close() // not earlier, as garbage
			starter := exec.CommandContext(t.Context(), "/proc/self/exe", verbs[0], string(text))
			starter.ExtraFiles = []*os.File{reportsEnd, leaseEnd}
			out := testenv.Must(starter.StdoutPipe())(t)
			unread := func(fd uintptr) int { return testenv.Must(unix.IoctlGetInt(int(fd), unix.TIOCINQ))(t) }
			leaseFD, reportsFD := leaseEnd.Fd(), reports.Fd() // not later: Fd sets the pipes to blocking
			// tell writes two ends of the lease at once. The starter must act by the last one alone: the first has passed. A
			// line has what is left of the lease, the time of its end, and the command's group, which is not known yet.
			tell := func(monotonic, wall time.Duration) {
				fmt.Fprintf(lease, "0 0 0\n%d %d 0\n", monotonic, time.Now().Add(wall).UnixNano())
			}
			// tellAndAwait tells these in turn, each when the starter has read the one before, and so has acted on all others.
			tellAndAwait := func(monotonic ...time.Duration) {
				for i := range 20 {
					tell(monotonic[i%len(monotonic)], enough)
					require.Eventually(t, func() bool { return unread(leaseFD) == 0 }, time.Minute, time.Millisecond)
				}
			}

			require.NoError(t, starter.Start())
			reportsEnd.Close()
			tellAndAwait(none, little)
			require.Zero(t, unread(reportsFD), "the command has begun")
			if c.script != "" {
				tell(enough, enough)
				testenv.Must(bufio.NewReader(out).ReadString('\n'))(t) // the command prints a line when it has begun
			}
			if c.littleFirst {
				tellAndAwait(little)
			}
			if c.closes {
				lease.Close()
			} else {
				tell(c.monotonic, c.wall)
			}
			require.Regexp(t, "^"+c.want+"$", string(testenv.Must(io.ReadAll(reports))(t)))
			require.NoError(t, starter.Wait())
		})
	}
}

// TestAProcessThatBeginsWhileTheOthersAreSignalledGetsTheSignal: here each one that is signalled starts another.
func TestAProcessThatBeginsWhileTheOthersAreSignalledGetsTheSignal(t *testing.T) {
	const most = 10 // processes
	all, signalled := []int{os.Getpid()}, []int(nil)
	getsSignal := func(pid int) {
		if signalled = append(signalled, pid); len(all) < most {
			child := exec.CommandContext(t.Context(), "sleep", "600")
			require.NoError(t, child.Start())
			t.Cleanup(func() { child.Wait() })
			all = append(all, child.Process.Pid)
		}
	}
	getsSignal(os.Getpid())
	eachBelow(0, getsSignal) // Linux needs no group
	require.Equal(t, all, signalled)
}

func TestAProcessThatIsBeingReapedHasNoNumber(t *testing.T) {
	for status, want := range map[string][]string{ // of /proc/PID/status
		"Name:\tx\nPPid:\t7\nNSpid:\t8\t1\nNSpgid:\t0\n": {"8", "1"},
		"Name:\tx\nPPid:\t7\nNSpid:\t0\n":                nil,
	} {
		parent, own := numbers(status)
		require.Equal(t, "7", parent)
		require.Equal(t, want, own)
	}
}
