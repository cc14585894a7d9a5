package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// beTheCommand is an environment variable. If it is set, the test binary runs as the command.
const beTheCommand = "SHELL_TEST_IS_THE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(beTheCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, server *zkserver.Server) *exec.Cmd {
	t.Helper()
	self := testenv.Must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, server.Addr())
	cmd.Env = append(os.Environ(), "LC_ALL=C", beTheCommand+"=1")
	return cmd
}

// The shell answers each of its commands with a line, or with what it lists, and its session ends with it.
func TestTheShell(t *testing.T) {
	server := zkserver.Run(t, zkserver.WithTick(time.Hour)) // no session ends by itself
	cmd := shell(t, server)
	in, out := testenv.Must(cmd.StdinPipe())(t), testenv.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	io.WriteString(in, "create /a\ncreate /a\nnumber /b-\nls /\nget /a\ndelete /nothing\nls\n"+
		"watch /a\ndelete /a\nwatch /a\nnonsense\nhelp\n")
	text, lines := "\n", bufio.NewScanner(out)
	// The event of the watch is printed by another goroutine. An unknown word lists the words, and so does help.
	for !strings.Contains(text, "EventNodeDeleted") || strings.Count(text, "\nnumber /a-   makes") < 2 {
		require.True(t, lines.Scan(), "the shell has ended: %s", text)
		text += lines.Text() + "\n"
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	for _, line := range []string{"/a", "zk: node already exists", "/b-0000000001", "zk: node does not exist",
		"zk: invalid path", "watching", "deleted"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	require.Regexp(t, `(?m)^\[.*\bb-0000000001\b.*\]$`, text, "the list")
	require.Regexp(t, `(?m)^&\{Czxid:\d+ .* Version:0 .* EphemeralOwner:[1-9]`, text, "the fields have names")
	require.Equal(t, 1, strings.Count(text, "\ndeleted\n"), "a refused delete says only that")
	require.Eventually(t, func() bool { return len(server.Sessions()) == 0 }, 5*time.Minute, time.Millisecond, "its session has ended")
}

// The shell goes on after its server has started again, empty. That takes one and a half session timeouts.
func TestTheShellOutlivesItsServer(t *testing.T) {
	testenv.Landing(t, "waits for one and a half session timeouts")
	t.Parallel()
	server := zkserver.Run(t)
	cmd := shell(t, server)
	in := testenv.Must(cmd.StdinPipe())(t)
	out := testenv.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	create := func() bool {
		io.WriteString(in, "create /a\n")
		require.True(t, lines.Scan(), "the shell has ended")
		return lines.Text() == "/a"
	}
	require.True(t, create())
	server.Stop()
	server.StartEmpty()
	for begin := time.Now(); !create(); {
		require.Less(t, time.Since(begin), 5*time.Minute)
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}
