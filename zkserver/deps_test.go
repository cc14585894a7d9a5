package zkserver_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that imports the server gets nothing else with it, and not the flags of go test.
func TestTheServerIsMadeOfTheStandardLibrary(t *testing.T) {
	embedded(t)
	list := func(format string) []string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, ".").CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.Fields(string(out))
	}
	require.Equal(t, []string{"example.com/zklock/internal/jute", "example.com/zklock/zkserver"}, list("{{if not .Standard}}{{.ImportPath}}{{end}}"))
	require.NotContains(t, list("{{.ImportPath}}"), "testing")
	require.NotContains(t, list("{{.ImportPath}}"), "flag")
}
