//go:build unix

package clients_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
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

// TestCuratorTakesACachedNodeAway: it has the lock after four requests, each of which waits for the
// answer to the one before, however long zklock would keep the node.
func TestCuratorTakesACachedNodeAway(t *testing.T) {
	classPath := compileCurator(t)
	g := newCounterTest(t)
	conn, err := ensemble.OverPipes(g.srv).Connect(t.Context(), ensemble.Options{SessionTimeout: sessionTimeout})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	m, err := zklock.New(conn, "/cached", zklock.WithSessionTimeout(sessionTimeout), zklock.WithCaching(time.Hour))
	require.NoError(t, err)
	for m.Stats().HandedOn < 10 { // by a node that was cached
		require.NoError(t, m.Do(t.Context(), nil, func(context.Context, *zklock.Lease) error { return nil }))
	}
	require.Equal(t, 1, m.Stats().Cached)
	curator := g.startCurator(classPath, "mutex", "/cached", 1, 1)
	g.all(g.processes, "ready")
	var sent []jute.Op
	inside := g.hold(jute.OpGetData)
	log := g.srv.Hold(func(r zkserver.Request) bool {
		if r.Session != conn.SessionID() && strings.HasPrefix(r.Path, "/cached") {
			sent = append(sent, r.Op)
		}
		return false
	})
	say([]*process{curator}, "")
	g.hit(inside, "Curator has the lock")
	log.Release()
	require.NotEmpty(t, sent)
	require.LessOrEqual(t, len(sent), 4, "%v", sent)
	require.Zero(t, m.Stats().Cached)
	inside.Release()
	g.all(g.processes, "done")
	require.NoError(t, m.Shutdown(t.Context()))
	conn.Close()
	g.leave()
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
