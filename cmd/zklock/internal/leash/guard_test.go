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

// TestWhatTheStarterDoesWithWhatIsLeft: a starter starts, warns and kills the command by what two clocks leave of the
// lease, and ends what the command leaves behind. Grace and margin are so long that the test's own time does not count.
func TestWhatTheStarterDoesWithWhatIsLeft(t *testing.T) {
	const enough, little, none = 3 * time.Hour, 90 * time.Minute, 59 * time.Minute // above the grace, the margin, and 0
	exited := func(code int) string { return fmt.Sprintf("begun \\d+\nended %d\n", code<<8) }
	killed := fmt.Sprintf("begun \\d+\nended %d\n", syscall.SIGKILL) // in both, the number is a wait status
	// leaves is a script that exits with 3 and leaves a process behind. That one is stopped, twice, and traps SIGTERM.
	leaves := func(atTERM string) string {
		return `sh -c 'trap "` + atTERM + `" TERM; kill -STOP $$; kill -STOP $$' & ` +
			"until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; exit 3"
	}
	signal.Ignore(syscall.SIGHUP) // as nohup does; the command inherits that
	for _, c := range []struct {
		name, script, want string        // without a script the command does not begin
		littleFirst        bool          // little is left for a while, before the last end of the lease is told
		monotonic, wall    time.Duration // what the last end leaves by each clock
		closes             bool          // the pipe is closed in place of that
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
			command := plan{Grace: 2 * time.Hour, Margin: time.Hour, Program: "/bin/sh", Command: []string{"sh", "-c", c.script}}
			text := testenv.Must(json.Marshal(command))(t)
			reports, report := testenv.Must2(os.Pipe())(t)
			lease, end := testenv.Must2(os.Pipe())(t)
			defer end.Close() // not earlier, as garbage
			starter := exec.CommandContext(t.Context(), "/proc/self/exe", verbs[0], string(text))
			starter.ExtraFiles = []*os.File{report, lease}
			out := testenv.Must(starter.StdoutPipe())(t)
			unread := func(fd uintptr) int { return testenv.Must(unix.IoctlGetInt(int(fd), unix.TIOCINQ))(t) }
			told, said := lease.Fd(), reports.Fd() // before it starts: Fd makes a pipe blocking, for the starter, too
			// tell writes two ends of the lease, the first of which has passed: a starter that has been stopped reads several
			// at once, and counts only the last one. A line has what is left, the wall clock's end, and the group: unknown.
			tell := func(monotonic, wall time.Duration) {
				fmt.Fprintf(end, "0 0 0\n%d %d 0\n", monotonic, time.Now().Add(wall).UnixNano())
			}
			// tellOften tells these again and again: a starter that has read one more has acted on all before.
			tellOften := func(monotonic ...time.Duration) {
				for i := range 20 {
					tell(monotonic[i%len(monotonic)], enough)
					require.Eventually(t, func() bool { return unread(told) == 0 }, time.Minute, time.Millisecond)
				}
			}
			require.NoError(t, starter.Start())
			report.Close()
			tellOften(none, little)
			require.Zero(t, unread(said), "the command has begun")
			if c.script != "" {
				tell(enough, enough)
				testenv.Must(bufio.NewReader(out).ReadString('\n'))(t)
			}
			if c.littleFirst {
				tellOften(little)
			}
			if c.closes {
				end.Close()
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
	all, signalled := []int{os.Getpid()}, []int(nil)
	gets := func(pid int) {
		if signalled = append(signalled, pid); len(all) < 10 {
			child := exec.CommandContext(t.Context(), "sleep", "600")
			require.NoError(t, child.Start())
			t.Cleanup(func() { child.Wait() })
			all = append(all, child.Process.Pid)
		}
	}
	gets(os.Getpid())
	eachBelow(0, gets)
	require.Equal(t, all, signalled)
}

func TestAProcessThatIsBeingReapedHasNoNumber(t *testing.T) {
	for status, want := range map[string][]string{
		"Name:\tx\nPPid:\t7\nNSpid:\t8\t1\nNSpgid:\t0\n": {"8", "1"},
		"Name:\tx\nPPid:\t7\nNSpid:\t0\n":                nil,
	} {
		parent, own := numbers(status)
		require.Equal(t, "7", parent)
		require.Equal(t, want, own)
	}
}
