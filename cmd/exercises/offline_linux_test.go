package main

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/cmd/exercises/confine"
	"example.com/zklock/internal/testenv"
)

// TestAnAttemptHasNoNetwork: an attempt cannot even reach this machine. The compiler, which runs in the same cell, can.
func TestAnAttemptHasNoNetwork(t *testing.T) {
	if !confine.Offline(exec.Command("")) {
		t.Skip("the kernel, or the container around this test, allows no network namespace, and README.md says that attempts have a network then")
	}
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	c := testenv.Must(newCell(t.Context(), generous))(t)
	defer c.close()
	self := testenv.Must(os.Executable())(t)
	dial := []string{dialArg, l.Addr().String()}
	out, err := c.ofStudent(self, dial).CombinedOutput()
	require.Error(t, err, "an attempt has reached the network: %s", out)
	require.Contains(t, string(out), "unreachable")

	out, err = c.command(self, dial, c.bare()).CombinedOutput()
	require.NoError(t, err, "the compiler can do the same: %s", out)

	files := c.ofStudent("sh", []string{"-c", "echo x >$HOME/file && cat $HOME/file"})
	out, err = files.CombinedOutput()
	require.NoError(t, err, "it can use its own folder: %s", out)
}
