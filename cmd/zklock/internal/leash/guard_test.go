//go:build linux

package leash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
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

// TestWhatTheStarterDoesWithWhatIsLeft of the lease, by the two clocks, and of the command. Two hours of grace, and one
// of margin, are more than what passes. It reads two ends at once, as if it had been stopped. nohup has SIGHUP ignored.
func TestWhatTheStarterDoesWithWhatIsLeft(t *testing.T) {
	const enough, little, none, closed, begins = 3 * time.Hour, 90 * time.Minute, 59 * time.Minute, 0, `begun \d+\n`
	leaves := func(atTERM string) string {
		return `sh -c 'trap "` + atTERM + `" TERM; kill -STOP $$; kill -STOP $$' & ` +
			"until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; exit 3"
	}
	signal.Ignore(syscall.SIGHUP)
	for _, c := range []struct {
		script, says            string
		margin, monotonic, wall time.Duration
	}{
		{"", "", time.Hour, enough, closed}, // it has not begun
		{"echo; sleep 600", begins + "ended 9\n", time.Hour, none, enough},
		{"echo; sleep 600", begins + "ended 9\n", time.Hour, enough, none},
		{"echo; sleep 60", begins + "ended 9\n", time.Hour, enough, closed},
		{`trap 'trap "" TERM; sleep 0.1; exit 5' TERM; echo; sleep 60 & wait`, begins + "warned 0\nended 1280\n", time.Hour, little, enough},
		{"echo; kill -HUP $$; exit 4", begins + "ended 1024\n", time.Hour, enough, enough},
		{leaves("echo; exit"), begins + "ended 768\n", time.Hour, enough, enough},
		{leaves("echo"), begins + "ended 768\n", 1, 0, enough}, // it has its SIGTERM, and little is left, before none is
	} {
		command := plan{Grace: 2 * time.Hour, Margin: c.margin, Program: "/bin/sh", Command: []string{"sh", "-c", c.script}}
		text := testenv.Must(json.Marshal(command))(t)
		reports, report := testenv.Must2(os.Pipe())(t)
		lease, end := testenv.Must2(os.Pipe())(t)
		defer end.Close() // not earlier, as garbage
		starter := exec.CommandContext(t.Context(), "/proc/self/exe", verbs[0], string(text))
		starter.ExtraFiles = []*os.File{report, lease}
		out := testenv.Must(starter.StdoutPipe())(t)
		unread := func(fd uintptr) int { return testenv.Must(unix.IoctlGetInt(int(fd), unix.TIOCINQ))(t) }
		told, said := lease.Fd(), reports.Fd() // not later: Fd has all those wait that read it
		tell := func(monotonic, wall time.Duration) {
			fmt.Fprintf(end, "0 0 0\n%d %d 0\n", monotonic, time.Now().Add(wall).UnixNano())
		}
		tellLittle := func() {
			for i := range 20 { // when it has read one more, it has done all that it does by those before
				tell([]time.Duration{none, little}[i%2], enough)
				require.Eventually(t, func() bool { return unread(told) == 0 }, time.Minute, time.Millisecond)
			}
		}
		require.NoError(t, starter.Start())
		report.Close()
		tellLittle()
		require.Zero(t, unread(said), "the command has begun")
		if c.says != "" {
			tell(enough, enough)
			testenv.Must(bufio.NewReader(out).ReadString('\n'))(t)
		}
		if c.monotonic == 0 {
			tellLittle()
		}
		if c.wall == closed {
			end.Close()
		} else {
			tell(c.monotonic, c.wall)
		}
		require.Regexp(t, `^`+c.says+`$`, string(testenv.Must(io.ReadAll(reports))(t)), c.script)
		require.NoError(t, starter.Wait())
	}
}

// TestAProcessThatBeginsWhileTheOthersAreSignalledGetsTheSignal, too.
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
	below(0, gets)
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
