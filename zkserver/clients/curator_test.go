//go:build unix

package clients_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
)

const jars = "/usr/share/java/"

// curatorPath is the class path of Curator. Each jar names what it needs in
// turn, except those of which Debian has several to choose from.
var curatorPath = strings.Join([]string{
	jars + "curator-recipes.jar", jars + "curator-framework.jar", jars + "curator-client.jar",
	jars + "zookeeper.jar", jars + "zookeeper-jute.jar", jars + "guava.jar", jars + "slf4j-api.jar", jars + "slf4j-nop.jar",
}, ":")

// compileCurator compiles our programs for Curator and returns the class path
// to run them.
func compileCurator(t *testing.T) string {
	t.Helper()
	needs(t, map[string]string{
		"java":                       "default-jdk-headless",
		"javac":                      "default-jdk-headless",
		jars + "curator-recipes.jar": "libcurator-recipes-java",
	})
	classes := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "javac", "-cp", curatorPath, "-d", classes,
		filepath.Join("testdata", "Counter.java"), filepath.Join("testdata", "Watchers.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return classes + ":" + curatorPath
}

func (g *counterTest) startJava(classPath, program string, args ...string) *process {
	g.Helper()
	java := []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, program} // starts faster
	return g.start(nil, append(java, args...)...)
}

func (g *counterTest) startCurator(classPath, kind, path string, threads, turns int) *process {
	g.Helper()
	return g.startJava(classPath, "Counter", g.addr, kind, path, g.counter, strconv.Itoa(threads), strconv.Itoa(turns))
}

func TestCuratorInterProcessReadWriteLockCountsTo100(t *testing.T) {
	const lock = "/curator/rw"
	classPath := compileCurator(t)
	g := newCounterTest(t)
	var readers, writers []*process
	for range 2 {
		readers = append(readers, g.startCurator(classPath, "read", lock, 1, total/2))
		writers = append(writers, g.startCurator(classPath, "write", lock, 1, total/2))
	}
	g.all(g.processes, "ready")

	// Both readers are held where they have the lock: a read lock is shared.
	one, two := g.hold(jute.OpExists), g.hold(jute.OpExists)
	say(readers, "")
	g.hit(one, "a reader gets the lock")
	g.hit(two, "the other reader gets the lock while the first has it")
	// The writers come, and wait behind them.
	say(writers, "")
	g.eventually("both writers queue behind the readers", func() bool {
		readers, writers := 0, 0
		for _, child := range g.srv.Children(lock) {
			switch {
			case strings.Contains(child, "__READ__"):
				readers++
			case strings.Contains(child, "__WRIT__"):
				writers++
			}
		}
		return readers == 2 && writers == 2
	})
	one.Release()
	two.Release()

	g.all(g.processes, "done")
	g.counted(lock)
	g.leave()
}
