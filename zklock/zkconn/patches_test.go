package zkconn

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// The tests of these faults are about a whole client. Those of the others are
// about a connection of Connect's, or about a function that the patch adds.
var patched = []string{
	"TestFaultCloseHangsTheClient",
	"TestFaultARepeatedCredentialHangsTheClient",
	"TestFaultASilentServerIsKeptForMinutes",
	"TestFaultAServerThatFallsSilentInItsAnswerIsKeptForAllTime",
	"TestFaultAReplyIsReadBeforeTheWatchesArePutDown",
	"TestFaultTheNextSetWatchesLeavesAChangeOut",
	"TestFaultARequestIsSentInTheNextSession",
}

// The patches of docs/client.md fit the library, and an ordinary client of the
// patched library passes the tests that it fails without them.
func TestThePatchesOfThePageCureAnOrdinaryClient(t *testing.T) {
	testenv.NotRaced(t, "it runs another program")
	require.Subset(t, faults, patched)
	out := testenv.Must(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output())(t)
	library := strings.TrimSpace(string(out))
	page := testenv.Must(os.ReadFile("../../docs/client.md"))(t)
	diffs := regexp.MustCompile("(?ms)^```diff\n--- a/(.*?)\n\\+\\+\\+ b/(.*?)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, diffs, 8)
	files := make(map[string]string)
	for _, diff := range diffs {
		name := diff[1]
		require.Equal(t, name, diff[2])
		if files[name] == "" {
			text := testenv.Must(os.ReadFile(filepath.Join(library, name)))(t)
			files[name] = string(text)
		}
		files[name] = apply(t, files[name], diff[3])
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, "zk")
	require.NoError(t, os.CopyFS(copied, os.DirFS(library)))
	for name, text := range files {
		require.NoError(t, os.Remove(filepath.Join(copied, name))) // it cannot be written
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), []byte(text), 0o600))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text := testenv.Must(os.ReadFile("../../" + name))(t)
		if name == "go.mod" {
			text = append(text, "replace github.com/go-zookeeper/zk => "+strconv.Quote(copied)+"\n"...)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	testenv.Landing(t, "compiles the patched library, and what uses it")
	tests := "^(" + strings.Join(patched, "|") + ")$"
	run := exec.Command("go", "test", "-modfile", filepath.Join(dir, "go.mod"), "-timeout", "5m", "-v", "-run", tests, ".", "-connect.ordinary")
	out = testenv.Must(run.CombinedOutput())(t)
	require.Equal(t, len(patched), strings.Count(string(out), "--- PASS: "), "%s", out)
}

// apply applies the hunks of a unified diff, each where its lines are.
func apply(t *testing.T, text, diff string) string {
	for _, hunk := range regexp.MustCompile(`(?m)^@@.*\n`).Split(diff, -1)[1:] {
		var before, after strings.Builder
		for line := range strings.Lines(hunk) {
			switch rest := line[1:]; line[0] {
			case ' ':
				before.WriteString(rest)
				after.WriteString(rest)
			case '-':
				before.WriteString(rest)
			case '+':
				after.WriteString(rest)
			default:
				t.Fatalf("%q is not a line of a diff", line)
			}
		}
		require.Equal(t, 1, strings.Count(text, before.String()), "the page's patch does not fit the library:\n%s", hunk)
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text
}
