package servers

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// A server that ends before it serves is not waited for, and says why.
func TestAServerThatDoesNotStartPrintsItsLog(t *testing.T) {
	notServing := func() error { return errors.New("no answer") }
	_, err := begin(t.Context(), filepath.Join(t.TempDir(), "log"), notServing, exec.Command("go", "no-such-command"))
	require.ErrorContains(t, err, "no answer")
	require.ErrorContains(t, err, "no-such-command: unknown command")
	require.EqualError(t, testenv.Err(Begin(t.Context(), "oracle")), "oracle: there is no such server")
}
