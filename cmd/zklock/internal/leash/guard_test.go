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

// TestWhatTheStarterDoesWithWhatIsLeft of the lease, by the two clocks. A grace of two hours and a margin of one are more
// than what passes meanwhile. The machine may have been suspended, and nohup has SIGHUP ignored.
func TestWhatTheStarterDoesWithWhatIsLeft(t *testing.T) {
	const enough, little, none = 3 * time.Hour, 90 * time.Minute, 59 * time.Minute
	signal.Ignore(syscall.SIGHUP)
	for _, c := range []struct {
		script, says    string
		monotonic, wall time.Duration
	}{
		{"echo; sleep 600", "ended 9\n", none, enough},
		{"echo; sleep 600", "ended 9\n", enough, none},
		{"echo; kill -HUP $$; exit 4", "ended 1024\n", enough, enough},
		{`sh -c 'trap exit TERM; kill -STOP $$; :' & until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; echo; exit 3`, "ended 768\n", enough, enough},
	} {
		text := testenv.Must(json.Marshal(plan{Grace: 2 * time.Hour, Margin: time.Hour, Program: "/bin/sh", Command: []string{"sh", "-c", c.script}}))(t)
		reports, report := testenv.Must2(os.Pipe())(t)
		lease, end := testenv.Must2(os.Pipe())(t)
		starter := exec.CommandContext(t.Context(), "/proc/self/exe", verbs[0], string(text))
		starter.ExtraFiles = []*os.File{report, lease}
		out := testenv.Must(starter.StdoutPipe())(t)
		unread := func(fd uintptr) int { return testenv.Must(unix.IoctlGetInt(int(fd), unix.TIOCINQ))(t) }
		told, said := lease.Fd(), reports.Fd() // not later: Fd has all those wait that read it
		tell := func(monotonic, wall time.Duration) {
			fmt.Fprintln(end, int64(monotonic), time.Now().Add(wall).UnixNano(), 0)
		}
		require.NoError(t, starter.Start())
		report.Close()
		for range 20 { // when it has read one more, it has done all that it does by those before
			tell(little, enough)
			require.Eventually(t, func() bool { return unread(told) == 0 }, time.Minute, time.Millisecond)
		}
		require.Zero(t, unread(said), "the command has begun")
		tell(enough, enough)
		testenv.Must(bufio.NewReader(out).ReadString('\n'))(t)
		tell(c.monotonic, c.wall)
		require.Regexp(t, `^begun \d+\n`+c.says+`$`, string(testenv.Must(io.ReadAll(reports))(t)), c.script)
		require.NoError(t, starter.Wait())
	}
}

func TestAProcessThatIsBeingReapedHasNoNumber(t *testing.T) {
	for status, want := range map[string][]string{"Name:\tx\nPPid:\t7\nNSpid:\t8\t1\nNSpgid:\t0\n": {"8", "1"}, "Name:\tx\nPPid:\t7\nNSpid:\t0\n": nil} {
		parent, own := numbers(status)
		require.Equal(t, "7", parent)
		require.Equal(t, want, own)
	}
}
