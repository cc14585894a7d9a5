// Package spin checks a model of steps 1 to 3 in Promela.
package spin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/when"
)

var (
	row    = regexp.MustCompile(`(?m)^(-DHOW.*\S) +(\d+) states  (.*)$`)
	stored = regexp.MustCompile(`(?m)^ *(\d+) states, stored$`)
	found  = regexp.MustCompile(`(?m)^pan:1: ([a-z ]*[a-z])`)
)

// TestTheModel has Spin check each variant of the page, and compares what it says.
func TestTheModel(t *testing.T) {
	when.Landing(t, "needs spin and gcc")
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			when.Missing(t, fmt.Sprintf("%s is not installed: apt-get install %s", tool, tool))
		}
	}
	model, err := filepath.Abs("lock.pml")
	require.NoError(t, err)
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	rows := row.FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 10)
	for _, want := range rows {
		t.Run(want[1], func(t *testing.T) {
			dir := t.TempDir()
			run := func(name string, args ...string) string {
				cmd := exec.CommandContext(t.Context(), name, args...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				return string(out)
			}
			run("spin", append(append([]string{"-a"}, strings.Fields(want[1])...), model)...)
			run("gcc", "-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c")
			said := run("./pan", "-m100000")
			states := stored.FindStringSubmatch(said)
			require.NotNil(t, states, "%s", said)
			result := "right"
			if m := found.FindStringSubmatch(said); m != nil {
				result = m[1]
			} else {
				require.Contains(t, said, "errors: 0")
			}
			require.Equal(t, want[2:], []string{states[1], result}, "%s", said)
		})
	}
}
