// Tests of the requests that the locks and the yardsticks send, each on a server of the test's own, and of Curator's
// rows. In most of these a shell script takes the place of Java.
package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// A contender that is alone creates and deletes its node, and sets no watch.
func TestAloneTheMinimumIsTwoRequests(t *testing.T) {
	const times = 7
	rs, _ := benchResults(t, "-n", "1", "-closed", strconv.Itoa(times), "-locks", "least,floor")
	for _, r := range rs {
		require.EqualValues(t, 2*times, r.Requests, r.Lock)
		require.Zero(t, r.WatchEvents, r.Lock)
	}
}

// The floor deletes its nodes in the order of their numbers, and none before all have been made.
func TestTheFloorKeepsItsOrder(t *testing.T) {
	const n = 20
	srv, addr := listen(t)
	var deleted []string
	made := 0
	observer := srv.Hold(func(r zkserver.Request) bool { // it holds no request back
		switch {
		case ofLock(r, jute.OpCreate):
			made++
		case ofLock(r, jute.OpDelete):
			require.Equal(t, n, made)
			deleted = append(deleted, filepath.Base(r.Path))
		}
		return false
	})
	defer observer.Release()
	status, _, stderr := bench(t, "-zk", addr, "-warmup", "0s", "-n", strconv.Itoa(n), "-locks", "floor", "-sessions", "4")
	require.Zero(t, status, stderr)
	require.Len(t, deleted, n)
	require.IsIncreasing(t, deleted)
}

// If all contenders are in the queue before the first one unlocks, the requests depend only on N.
func TestUnderContentionTheRequestsAreExactlyAsPredicted(t *testing.T) {
	const n = 12
	type prediction struct {
		kinds   map[string]int64 // the requests by kind; nil: only their sum is predicted, by the formula
		wakeUps int64            // as many as watches, when all wait
	}
	predictions := map[string]prediction{
		"predecessor": {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"timeout":     {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": 2*n - 1, "delete": n}, wakeUps: n - 1},
		"zk.Lock":     {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"least":       {kinds: map[string]int64{"create": n, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"floor":       {kinds: map[string]int64{"create": n, "delete": n}},
	}
	// Another peer that has a formula, a reader's lock, is taken for a queue in which each waiter has one watch.
	for _, c := range peers {
		if _, ok := predictions[c.Name]; !ok && c.Name != "curator" && c.Formula.Requests != nil {
			predictions[c.Name] = prediction{wakeUps: n - 1}
		}
	}
	for name, want := range predictions {
		// The session timeout is two ticks, so the test is over long before a lease must be proved by a request.
		srv, addr := listen(t, zkserver.WithTick(time.Minute))

		// The first delete is held until all others wait. Each has a connection of its own.
		firstDelete := srv.Hold(func(r zkserver.Request) bool { return ofLock(r, jute.OpDelete) })
		watches := make(chan int, 1)
		go func() {
			defer firstDelete.Release()
			const mostPolling = 30 * time.Second // the clients give up after 80 s
			set, end := 0, time.Now().Add(mostPolling)
			for set < int(want.wakeUps) && time.Now().Before(end) {
				time.Sleep(time.Millisecond) // a poll: the server does not report a watch that is set
				set = len(srv.Watches())
			}
			watches <- set
		}()

		rs, _ := benchResults(t, "-zk", addr, "-warmup", "0s", "-n", strconv.Itoa(n), "-sessions", strconv.Itoa(n), "-locks", name)
		require.GreaterOrEqual(t, <-watches, int(want.wakeUps), "%s: watches while %d wait. "+
			"A lock that polls has no formula; one with fewer watches needs a line in the table above", name, n-1)
		require.EqualValues(t, rs[0].Predicted, rs[0].Requests, "%s: the formula of its entry, and %v", name, rs[0].Kinds)
		if want.kinds == nil {
			continue
		}
		require.Equal(t, want.kinds, rs[0].Kinds, name)
		require.Equal(t, want.wakeUps, rs[0].WakeUps, name)
		require.Equal(t, want.wakeUps, rs[0].WatchEvents, name)
	}
}

// fakeJava puts a java on PATH: a script for sh, which Windows lacks, that speaks the lines of CuratorCounter.java.
func fakeJava(t *testing.T, script string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh, which takes the place of java here")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "java"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("CLASSPATH", "nowhere")
}

// twoTurns is a script that answers each run as two threads would: it says that they begin, that one has held the lock
// so far, and that both were done after 5 ms; then, of each, when it arrived, when it got the lock, and how many had
// held the lock before it. The times are in ns.
const twoTurns = `echo ready Curator 1.2.3, Java 4
while read servers path threads clients; do
	echo began
	echo at 1
	echo done 5000000 2
	echo turn 0 1000000 0
	echo turn 500000 3000000 1
	echo end
done`

func runCuratorOnly(t *testing.T, args ...string) (rs []report.Run, status int, stdout, stderr string) {
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr = bench(t, append([]string{"-locks=curator", "-warmup=0s", "-n=2", "-json", file}, args...)...)
	return readJSON[[]report.Run](t, file), status, stdout, stderr
}

func TestCuratorsWarmUpIsApart(t *testing.T) {
	fakeJava(t, twoTurns)
	rs, status, stdout, stderr := runCuratorOnly(t, "-rounds", "2")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^curator cold +2 +2 +5\.0 ms +- +- +-( |$)`, stdout, "a cold run has only times")
	require.Regexp(t, `(?m)^curator +2 +2 +5\.0 ms `, stdout)
	require.Len(t, rs, 3)
	for i, r := range rs {
		require.Equal(t, i, r.Round, "the warm-up is round 0")
		require.Equal(t, 2, r.Count)
		require.EqualValues(t, 5e6, r.Elapsed)
		require.EqualValues(t, 1e6, r.WaitP50)
		require.EqualValues(t, 25e5, r.WaitMax)
		require.Equal(t, "Curator 1.2.3, Java 4", r.Client)
	}
	require.Equal(t, report.StatusWarmUp, rs[0].Status)
	require.Equal(t, report.StatusOK, rs[1].Status)
}

// With -rtt the cold run, which is reported, and the measured one have the proxies that delay.
// The run whose requests are counted has another one, without a delay.
func TestTheRunsOfCuratorThatAreReportedAreFar(t *testing.T) {
	const notesServers = `echo ready; while read servers rest; do
	echo $servers >>"$(dirname "$0")/servers"; echo began; echo done 5 2; echo end; done`
	fakeJava(t, notesServers)
	java := testenv.Must(exec.LookPath("java"))(t)
	_, status, _, stderr := runCuratorOnly(t, "-rtt", "20ms")
	require.Zero(t, status, stderr)
	servers := strings.Fields(fileText(t, filepath.Join(filepath.Dir(java), "servers")))
	require.Len(t, servers, 3)
	cold, counted, measured := servers[0], servers[1], servers[2]
	require.Equal(t, measured, cold)
	require.NotEqual(t, measured, counted)
}

func TestWithoutJavaARowSaysSo(t *testing.T) {
	t.Setenv("PATH", "")
	rs, status, stdout, stderr := runCuratorOnly(t, "-n", "2,3", "-rounds", "2", "-locks", "curator,predecessor")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^curator +2 +cannot run: java is not on PATH`, stdout)
	require.Regexp(t, `(?m)^curator +3 +cannot run: java is not on PATH`, stdout)
	require.Regexp(t, `(?m)^predecessor +3 +3 `, stdout)
	require.Equal(t, report.StatusNone, rs[0].Status)
	require.Len(t, rs, 2*(1+2), "one row of Curator's for each number of threads")
}

func TestAJVMThatDoesNotStartSaysWhy(t *testing.T) {
	for script, want := range map[string]string{
		"echo '/x/CuratorCounter.java:8: error: package org.apache.curator does not exist' >&2; exit 1": "cannot run: " +
			"java: package org.apache.curator does not exist",
		"echo 'module jdk.compiler not found' >&2; exit 1": "cannot run: java: java has no compiler with it",
		"exit 3": "cannot run: java: exit status 3",
	} {
		fakeJava(t, script)
		_, status, stdout, stderr := runCuratorOnly(t)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, want)
	}
}

func TestAJVMThatFailsFailsTheBenchmark(t *testing.T) {
	for script, want := range map[string]string{
		"echo began; echo failed two threads held the lock at once": "two threads held the lock at once",
		"echo began; echo done 5 1; echo end":                       "the count is 1, not 2",
		"echo began; echo done five 2":                              `the JVM said "done five 2"`,
		"echo began; echo at 1; echo 'out of memory' >&2; exit 1":   "java: out of memory",
	} {
		fakeJava(t, "echo ready; read line; "+script+"; read line")
		require.Contains(t, benchFails(t, "curator with 2 goroutines on ", "-n", "2", "-locks", "curator"), want)
	}
}

func TestAJVMThatTakesTooLongIsStopped(t *testing.T) {
	fakeJava(t, "echo ready; read line; echo at 1; echo began; read line") // the limit is of what follows began
	rs, status, stdout, stderr := runCuratorOnly(t, "-limit", "100ms", "-n", "2,3", "-rounds", "2")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "stopped after 100ms, at 1 of 2")
	require.Contains(t, stdout, "skipped: stopped after 100ms with 2")
	require.Len(t, rs, 2)
	require.Equal(t, 1, rs[0].Round)
}

func TestCtrlCEndsTheJVM(t *testing.T) {
	fakeJava(t, `echo ready; read line; echo began; touch "$(dirname "$0")/began"; read line`)
	ctx, interrupt := context.WithCancel(t.Context())
	java := testenv.Must(exec.LookPath("java"))(t)
	go func() {
		defer interrupt()
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(filepath.Dir(java), "began"))
			return err == nil
		}, patience, time.Millisecond)
	}()
	status, _, stderr := benchWith(ctx, "-locks", "curator", "-warmup", "0s", "-n", "2")
	require.Equal(t, exitInterrupted, status)
	require.Contains(t, stderr, "bench: interrupted\n")
}

func TestCuratorCountsToN(t *testing.T) {
	testenv.Landing(t, "runs Curator (Debian: default-jdk-headless, libcurator-recipes-java)")
	testenv.NotRaced(t, "Curator is another process")
	const n = 20
	for _, sessions := range []string{"1", strconv.Itoa(n)} {
		rs, stdout := benchResults(t, "-locks", "predecessor,curator", "-n", strconv.Itoa(n), "-sessions", sessions)
		require.Regexp(t, `(?m)^curator +20 +20 `, stdout)
		last := rs[len(rs)-1]
		require.Equal(t, "curator", last.Lock)
		require.Regexp(t, `^Curator \d.*, Java \d`, last.Client)
		require.EqualValues(t, n, last.Kinds["create"])
		require.EqualValues(t, n, last.Kinds["delete"])
		require.Equal(t, n+last.Kinds["get"], last.Kinds["children"], "each lists once, and again after each get")
		// It may take back a watch that is not needed any more, by checkWatches.
		require.LessOrEqual(t, last.Requests-last.OtherKinds(), int64(5*n-2)) // as the formula of its entry
		require.Greater(t, last.Requests, int64(3*n))                         // create, children and delete of each
	}
}
