package zklock_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
)

// TestTheProgramInTheReadmeRuns takes the program out of README.md, builds it
// and runs it. It prints what the page says, numbers aside.
func TestTheProgramInTheReadmeRuns(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?ms)^```go\n(package main\n.*?)^```$.*?^```\n(.*?)^```$").FindAllSubmatch(page, -1)
	require.Len(t, programs, 1, "programs in README.md, each with its output")
	program, printed := string(programs[0][1]), string(programs[0][2])

	zoo := locktest.Real(t)
	if zoo == nil {
		zoo, err = ensemble.Open(t.Context(), ensemble.SpecEmbedded)
		require.NoError(t, err)
		defer zoo.Close()
	}
	const addr = `"127.0.0.1:2181"`
	require.Equal(t, 1, strings.Count(program, addr), "the program names its server once")
	servers := strconv.Quote(strings.Join(zoo.Servers(), `", "`))
	program = strings.Replace(program, addr, strings.ReplaceAll(servers, `\"`, `"`), 1)

	// The program needs this module, so an overlay puts it into a folder of it.
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	source, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program.exe")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	replace, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(root, "program-of-the-readme", "main.go"): source},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", binary, "./program-of-the-readme")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "go build: %s", out)

	run := exec.CommandContext(ctx, binary)
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	number := regexp.MustCompile(`token \d+`)
	require.Equal(t, number.ReplaceAllString(printed, "token #"), number.ReplaceAllString(string(out), "token #"))
}
