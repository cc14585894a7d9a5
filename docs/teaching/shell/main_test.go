package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/zkserver"
)

// TestTheShell plays a session in it, beside another client.
func TestTheShell(t *testing.T) {
	server := zkserver.Run(t)
	address := server.Addr()
	binary := filepath.Join(t.TempDir(), "shell.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary, address)
	cmd.Stdin = strings.NewReader("create /a\ncreate /a\nnumber /b-\nls /\nget /a\ndelete /nothing\nls\nwatch /a\ndelete /a\nwatch /a\nnonsense\nhelp\n")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err = cmd.Output()
	require.NoError(t, err)
	text := "\n" + string(out)
	for _, line := range []string{"/a", "zk: node already exists", "/b-0000000001", "zk: node does not exist", "zk: invalid path", "watching", "deleted"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	require.Regexp(t, `(?m)^\[.*\bb-0000000001\b.*\]$`, text, "the list")
	require.Regexp(t, `(?m)^&\{Czxid:\d+ .* Version:0 .* EphemeralOwner:[1-9]`, text, "the fields have names")
	require.Equal(t, 1, strings.Count(text, "\ndeleted\n"), "a refused delete says only that")
	require.Equal(t, 2, strings.Count(text, "\nnumber /a-   makes"), "an unknown word lists the words, and so does help")
	require.Contains(t, text, "EventNodeDeleted", "the event of the watch")
	require.Empty(t, server.Sessions(), "its session has ended with it")
}
