//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/when"
)

// A screen is what a terminal shows. Reads and writes take turns.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) string() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestACommandHasTheTerminal of a shell with job control: it reads from it, gets Ctrl-C, is
// stopped with Ctrl-Z, and goes on with fg.
func TestACommandHasTheTerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		when.Missing(t, "not installed: Debian's bsdutils")
	}
	srv, _, _ := onServer(t)
	self, err := os.Executable()
	require.NoError(t, err)
	shell := exec.CommandContext(t.Context(), "script", "-qec", "bash --norc --noprofile -i", "/dev/null")
	shell.Env = append(os.Environ(), "TERM=dumb", "zklock="+self)
	show := new(screen)
	shell.Stdout, shell.Stderr = show, show
	in, err := shell.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	seen := 0
	shows := func(pattern string) {
		t.Helper()
		want := regexp.MustCompile(pattern)
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			text := show.string()[seen:]
			if at := want.FindStringIndex(text); at != nil {
				seen += at[1]
				return
			}
			require.True(t, time.Now().Before(end), "want %s in %q", pattern, text)
		}
	}
	keys := func(text string) {
		_, err := io.WriteString(in, text)
		require.NoError(t, err)
	}
	shows(`bash-.*[#$] `)
	keys("$zklock run /q -- sh -c 'echo be''gins; read x </dev/tty; echo \"read $x\"'; echo status $?\n")
	shows("begins")
	keys("a line\n")
	shows("read a line")
	shows("status 0")

	keys("$zklock run /q -- sh -c 'trap \"echo inter''rupted; exit 4\" INT; echo be''gins; while :; do sleep 0.01; done'; echo status $?\n")
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
	keys("stty -a; exit\n") // the terminal is the shell's again
	shows("speed")
	require.NoError(t, shell.Wait())
	alone(t, srv)
}
