//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

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
	keys("$zklock run -session 40s /q -- sh -c 'trap \"\" TERM; trap \"exit 6\" USR1; echo be''gins; while :; do " +
		"sleep 0.01; done' &\n")
	shows("begins")
	keys("kill -TSTP $!; until [ -n \"$(jobs -s)\" ]; do sleep 0.01; done; bg; kill -USR1 $!; wait $!; echo status $?\n")
	shows("status 6")

	keys("sh -c '$zklock run /q -- true; read x; echo \"then $x\"'; exit\n") // the terminal is the script's again
	keys("next\n")
	shows("then next")
	require.NoError(t, shell.Wait())
	alone(t, srv)
}
