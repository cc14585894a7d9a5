//go:build unix

package clients_test

import (
	"path/filepath"
	"strconv"
	"testing"
)

// Debian's kazoo is for Debian's Python, not for one that comes first on PATH.
const python = "/usr/bin/python3"

func needsKazoo(t *testing.T) {
	t.Helper()
	module := "/usr/lib/python3/dist-packages/kazoo"
	needs(t, map[string]string{python: "python3", module: "python3-kazoo"})
}

func (g *counterTest) startKazoo(kind, path string, turns int) {
	g.Helper()
	g.start(nil, python, filepath.Join("testdata", "counter.py"), g.addr, kind, path, counter, strconv.Itoa(turns))
}

func TestKazooLockCountsTo100(t *testing.T) {
	needsKazoo(t)
	g := newCounterTest(t)
	for range 4 {
		g.startKazoo("lock", "/kazoo/lock", total/4)
	}
	g.queueing("/kazoo/lock")
}

func TestKazooSemaphoreOfOneCountsTo100(t *testing.T) {
	needsKazoo(t)
	g := newCounterTest(t)
	for range 4 {
		g.startKazoo("semaphore", "/kazoo/semaphore", total/4)
	}
	// The lease of the holder, and the lock that the others queue for.
	g.queueing("/kazoo/semaphore", "/kazoo/semaphore-__lock__")
}
