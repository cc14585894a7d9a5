// Tests of several benchmarks that contend for the same locks, with -join.
package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// A process is a benchmark that runs with -join. It is a goroutine of the test with connections
// of its own, so the others cannot tell it from a process.
type process struct {
	interrupt   context.CancelFunc
	ended       chan int     // its exit status
	out, errOut bytes.Buffer // complete when it has ended
}

// join starts a process with -join. Unless args say otherwise, two take part, with naive and 5 goroutines each.
func join(t *testing.T, addr string, args ...string) *process {
	ctx, interrupt := context.WithCancel(t.Context())
	p := &process{interrupt: interrupt, ended: make(chan int, 1)}
	args = append([]string{"-zk", addr, "-join", "-warmup", "0s", "-n", "5", "-locks", "naive", "-path", "/a/b"}, args...)
	go func() { p.ended <- run(ctx, args, &p.out, &p.errOut) }()
	return p
}

// wait waits for the end of the process, requires its exit status, and returns the line that says why it has failed.
func (p *process) wait(t *testing.T, status int) string {
	require.Equal(t, status, <-p.ended, &p.errOut)
	progress := regexp.MustCompile(`(?m)^.* ….*\n`)
	complaint := progress.ReplaceAllString(p.errOut.String(), "")
	if status != exitOK {
		requireOneLine(t, complaint, "bench: ")
	}
	return complaint
}

// waitUntilStuck waits until two processes with the lock waitsInVain wait for the node that nobody creates.
func waitUntilStuck(t *testing.T, srv *zkserver.Server) {
	isOther := func(w zkserver.Watch) bool { return !strings.HasSuffix(w.Path, "/never") }
	waitFor(t, "contenders that wait", func() bool {
		return len(slices.DeleteFunc(srv.Watches(), isOther)) == 2 // one for each session
	})
}

// Processes that join count together, and print what docs/several-machines.md shows, except numbers and server.
func TestProcessesThatJoinCountTogether(t *testing.T) {
	runBeside(t)
	const command = "-join -procs 3 -locks naive,predecessor -n 100 2>/dev/null\n"
	_, page, ok := strings.Cut(fileText(t, "../docs/several-machines.md"), command)
	require.True(t, ok)
	page, _, _ = strings.Cut(page, "```")               // the output
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	dir := t.TempDir()
	jsonFile := func(process int) string { return filepath.Join(dir, fmt.Sprint(process)) }
	var all []*process
	for i := range 3 {
		all = append(all, join(t, addr, "-procs", "3", "-n", "100", "-locks", "naive,predecessor", "-json", jsonFile(i)))
	}
	shape := func(output string) string { // without the server; a row with numbers is its first word and a #
		output = regexp.MustCompile(`(?m)^ZooKeeper: .*$`).ReplaceAllString(output, "")
		output = regexp.MustCompile(`(?m)^(\w+) +\d+ +\d+ .*$`).ReplaceAllString(output, "$1 #")
		return strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(output, " "))
	}
	for i, p := range all {
		require.Empty(t, p.wait(t, exitOK))
		require.Regexp(t, `(?m)^predecessor +100 +100 +300 `, p.out.String())
		require.Equal(t, shape(page), shape(p.out.String()))
		for _, r := range readJSON[[]report.Run](t, jsonFile(i)) {
			require.Equal(t, []int{3, 100, 300}, []int{r.Processes, r.Count, r.Total})
			if r.Lock == "predecessor" {
				require.LessOrEqual(t, r.Requests, int64(5*100), "the counter's requests are not the lock's")
			}
		}
	}
	requireNoNodes(t, srv)
	waitFor(t, "the end of all sessions", func() bool { return len(srv.Sessions()) == 0 })
}

// Two holders of a lock that excludes nobody show as a bad version: both read the counter before either writes it.
func TestTwoHoldersShowAsABadVersion(t *testing.T) {
	excludesNobody := fakeLock{lock: func() error { return nil }}
	setContestants(t, inNode("naive", func(*zk.Conn, string) zookeeper.Locker { return excludesNobody }))
	srv, addr := listen(t)
	writesCount := func(r zkserver.Request) bool { return r.Op == jute.OpSetData && strings.HasSuffix(r.Path, "/count") }
	one, two := srv.Hold(writesCount), srv.Hold(writesCount)
	both := []*process{join(t, addr, "-n", "1"), join(t, addr, "-n", "1")}
	<-one.Hit()
	<-two.Hit()
	one.Release()
	two.Release()
	complaints := "" // of both: the one whose write met a bad version says it
	for _, p := range both {
		complaints += p.wait(t, exitFailure)
		require.Regexp(t, `(?m)^naive +1 +FAILED +- +- `, p.out.String())
	}
	require.Contains(t, complaints, "the total is 1, not 2, and 1 writes of the counter met a bad version: two held the lock")
	requireNoNodes(t, srv)
}

// A process that is interrupted, or that is killed, so that the server ends its session, ends the others.
func TestAProcessThatIsGoneEndsTheOthers(t *testing.T) {
	setContestants(t, inNode("naive", waitsInVain))
	srv, addr := listen(t)
	a, b := join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	a.interrupt()
	require.Equal(t, "bench: interrupted\n", a.wait(t, exitInterrupted))
	require.Regexp(t, "process-.* has gone: it has failed or was ended", b.wait(t, exitFailure))
	requireNoNodes(t, srv)

	a, b = join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	for _, s := range srv.Sessions() {
		isFirst := len(s.Ephemerals) > 0 && strings.HasSuffix(s.Ephemerals[0], "0") // its node has the number 0000000000
		if isFirst {
			srv.Expire(s.ID)
		}
	}
	complaints := a.wait(t, exitFailure) + b.wait(t, exitFailure)
	require.Contains(t, complaints, "our session has ended: "+zk.ErrSessionExpired.Error())
	requireNoNodes(t, srv)
}
