//go:build unix

// Tests that other clients' own test suites pass on the embedded server as on a real one.
package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// A suite is the tests of a client that others wrote, at one version.
type suite struct {
	name, version string
	// run returns the result of each test: whether it passed. A test that was skipped has none.
	run   func(t *testing.T, version string, onReal bool) map[string]bool
	apart map[string]i18n.Text // by the name of a test: what it needs that the embedded server does not have
}

var suites = []suite{
	{name: "go-zookeeper", version: "v1.0.4", run: goZookeeper, apart: map[string]i18n.Text{
		"TestIntegration_NoQuorum": "a quorum",
	}},
	{name: "go-kit `sd/zk`", version: "v0.13.0", run: func(t *testing.T, version string, onReal bool) map[string]bool {
		return goTests(t, copyModule(t, "github.com/go-kit/kit", version), "ZK_ADDR="+address(t, onReal), "-tags=integration", "./sd/zk")
	}},
	{name: "kazoo `test_lock`, `test_election`", version: "2.8.0", run: kazoo},
}

// What passes on the real server passes on the embedded one. The test starts both, whatever ZK names.
func TestForeignSuites(t *testing.T) {
	testenv.Long(t, "runs the test suites of clients that others wrote, and downloads them")
	testenv.NotRaced(t, "the suites are other processes")
	testenv.Embedded(t, "is about the embedded server alone")
	rows := make([]i18n.Text, len(suites))
	t.Run("all", func(t *testing.T) {
		for i, s := range suites {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				rows[i] = s.compare(t)
			})
		}
	})
	if t.Failed() || slices.Contains(rows, "") { // one is left out by -run
		return
	}
	head := rowOf("suite", "version", "tests", "pass on the embedded server", "pass on ZooKeeper 3.8.0", "apart")
	site.HoldsBoth(t, "docs/tests.md", "suites", tableOf(6, append([]i18n.Text{head}, rows...)))
}

// compare runs the suite on both servers, and returns its row of the table.
func (s suite) compare(t *testing.T) i18n.Text {
	const realServer, embeddedServer = true, false
	onReal, embedded := s.results(t, realServer), s.results(t, embeddedServer)
	require.NotEmpty(t, onReal)
	require.Equal(t, slices.Sorted(maps.Keys(onReal)), slices.Sorted(maps.Keys(embedded)), "the tests that ran")
	var apart []i18n.Text
	for _, test := range slices.Sorted(maps.Keys(onReal)) {
		reason, known := s.apart[test]
		if known {
			apart = append(apart, i18n.Textf("`%s` needs %s", test, reason))
		}
		require.True(t, known || embedded[test] || !onReal[test], "%s passes on the real server alone", test)
		require.False(t, known && embedded[test], "%s passes on the embedded server, too: it is not apart", test)
	}
	require.Len(t, apart, len(s.apart), "a test that is apart did not run")

	number := func(n int) i18n.Text { return i18n.Textf("%d", n) }
	row := rowOf(i18n.Same(s.name), i18n.Same(s.version), number(len(onReal)), number(passed(embedded)),
		number(passed(onReal)), i18n.Join(apart, ", "))
	t.Log(row)
	return row
}

// results runs the suite until all tests that should pass have passed once, up to three times for a busy machine.
func (s suite) results(t *testing.T, onReal bool) map[string]bool {
	results := map[string]bool{}
	for range 3 {
		for test, pass := range s.run(t, s.version, onReal) {
			results[test] = results[test] || pass
		}
		expected := len(results)
		if !onReal {
			expected -= len(s.apart)
		}
		if len(results) > 0 && passed(results) == expected {
			break
		}
	}
	return results
}

func passed(results map[string]bool) (n int) {
	for _, pass := range results {
		if pass {
			n++
		}
	}
	return n
}

// address starts a server until the test ends, and returns its address.
func address(t *testing.T, onReal bool) string {
	if !onReal {
		return zkserver.Run(t).Addr()
	}
	started := testenv.Must(servers.Begin(t.Context(), "zookeeper"))(t)
	t.Cleanup(started.End)
	return strings.TrimPrefix(started.Env[0], "ZK=")
}

// copyModule copies a Go module, at a version, to a folder where it can be changed.
func copyModule(t *testing.T, module, version string) (dir string) {
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = dir
	out := testenv.Must(cmd.Output())(t)
	var downloaded struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &downloaded))
	require.NoError(t, os.CopyFS(dir, os.DirFS(downloaded.Dir)))
	return dir
}

// replace replaces a text that must be in a file exactly once.
func replace(t *testing.T, file, old, replacement string) {
	text := testenv.Must(os.ReadFile(file))(t)
	require.Equal(t, 1, bytes.Count(text, []byte(old)), "%s: %s", file, old)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o644))
}

func goZookeeper(t *testing.T, version string, onReal bool) map[string]bool {
	dir := copyModule(t, "github.com/go-zookeeper/zk", version)
	helper := filepath.Join(dir, "server_help_test.go")
	// FLWSrvr cannot parse the date in the answer of Debian's build.
	replace(t, helper, "_, ok := FLWSrvr(serverAddrs, time.Second)", `ok := true
		for _, addr := range serverAddrs {
			answer, _ := fourLetterWord(addr, "srvr", time.Second)
			ok = ok && strings.Contains(string(answer), "Mode: ")
		}`)
	if onReal {
		return goTests(t, dir, "ZOOKEEPER_BIN_PATH=/usr/share/zookeeper/bin", ".")
	}

	replace(t, helper, "func StartTestCluster(", "func startJava(")
	replace(t, helper, "Srv    *server", "Srv    interface{ Start() error; Stop() error }")
	files := map[string]string{"embedded_test.go": "testdata/suites/go-zookeeper.go", "go.sum": "../../go.sum"}
	addOurs(t, dir, files, "-go=1.25")
	return goTests(t, dir, "", ".")
}

// goTests runs the tests of a module, with one more setting in the environment.
func goTests(t *testing.T, dir, setting string, args ...string) map[string]bool {
	args = append([]string{"test", "-json", "-count=1", "-mod=mod", "-vet=off", "-timeout=30m"}, args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), setting)
	out, err := cmd.Output() // an error if one test fails
	results, printed := map[string]bool{}, ""
	for lines := json.NewDecoder(bytes.NewReader(out)); lines.More(); {
		var event struct{ Action, Test, Output string }
		require.NoError(t, lines.Decode(&event), "%s", out)
		printed += event.Output
		if (event.Action == "pass" || event.Action == "fail") && event.Test != "" && !strings.Contains(event.Test, "/") {
			results[event.Test] = event.Action == "pass"
		}
	}
	if err != nil {
		t.Logf("%v\n%s", err, printed)
	}
	return results
}

const python = "/usr/bin/python3" // Debian's kazoo is for Debian's Python, not for one that comes first on PATH

// kazoo runs the tests that Debian's package has.
func kazoo(t *testing.T, version string, onReal bool) map[string]bool {
	const packages = "/usr/lib/python3/dist-packages/"
	needsPackages(t, map[string]string{python: "python3", packages + "kazoo": "python3-kazoo",
		packages + "pytest": "python3-pytest", packages + "mock": "python3-mock"})
	installed := testenv.Must(exec.CommandContext(t.Context(), python, "-c", "import kazoo; print(kazoo.__version__)").Output())(t)
	require.Equal(t, version, strings.TrimSpace(string(installed)))
	source := testenv.Must(os.ReadFile(packages + "kazoo/tests/test_lock.py"))(t)
	lockTests := filepath.Join(t.TempDir(), "test_lock.py")
	require.NoError(t, os.WriteFile(lockTests, source, 0o644))
	// As it is, this thread waits forever if the next thread has the lock before it looks.
	replace(t, lockTests, "                while self.active_thread:", "                while self.active_thread == contender:")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "at_zk", "-vrA",
		"-o", "faulthandler_timeout=60", lockTests, "--pyargs", "kazoo.tests.test_election")
	cmd.Env = append(os.Environ(), "PYTHONPATH=testdata/suites", "PYTHONDONTWRITEBYTECODE=1", "ZK="+address(t, onReal))
	out, err := cmd.CombinedOutput() // an error if one test fails
	results := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^(PASSED|FAILED|ERROR) \S*?::(\S+)`).FindAllSubmatch(out, -1) {
		results[string(line[2])] = string(line[1]) == "PASSED"
	}
	if err != nil {
		t.Logf("%v\n%s", err, out)
	}
	return results
}
