package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
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
	out, errOut bytes.Buffer // to be read then
}

// join starts a process. Unless args say otherwise, two take part.
func join(t *testing.T, addr string, args ...string) *process {
	ctx, interrupt := context.WithCancel(t.Context())
	p := &process{interrupt: interrupt, ended: make(chan int, 1)}
	args = append([]string{"-zk", addr, "-join", "-warmup", "0s", "-n", "5", "-locks", "naive", "-path", "/a/b"}, args...)
	go func() { p.ended <- run(ctx, args, &p.out, &p.errOut) }()
	return p
}

// ends waits for the end of the process, and returns the line that says why.
func (p *process) ends(t *testing.T, status int) string {
	t.Helper()
	require.Equal(t, status, <-p.ended, &p.errOut)
	complaint := regexp.MustCompile(`(?m)^.* ….*\n`).ReplaceAllString(p.errOut.String(), "") // without the progress
	if status != exitOK {
		requireOneLine(t, complaint, "bench: ")
	}
	return complaint
}

// waitUntilStuck waits until the contenders of two processes wait for the node that waitsInVain waits for. Nobody makes
// that node.
func waitUntilStuck(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	waitFor(t, "contenders that wait", func() bool {
		waiting := 0
		for _, w := range srv.Watches() {
			if strings.HasSuffix(w.Path, "/never") {
				waiting++
			}
		}
		return waiting == 2 // one for each session
	})
}

// The processes print what docs/several-machines.md shows, apart from the numbers and the server.
func TestProcessesThatJoinCountTogether(t *testing.T) {
	runBeside(t)
	command, page, ok := strings.Cut(fileText(t, "../docs/several-machines.md"), " -n 100 2>/dev/null\n")
	require.True(t, ok && strings.HasSuffix(command, "-join -procs 3 -locks naive,predecessor"))
	page, _, _ = strings.Cut(page, "```")               // the output
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	dir := t.TempDir()
	file := func(of int) string { return filepath.Join(dir, fmt.Sprint(of)) }
	var all []*process
	for i := range 3 {
		all = append(all, join(t, addr, "-procs", "3", "-n", "100", "-locks", "naive,predecessor", "-json", file(i)))
	}
	server := regexp.MustCompile(`(?m)^ZooKeeper: .*$`)
	shape := func(output string) string { return tableShape(server.ReplaceAllString(output, "")) }
	for i, p := range all {
		require.Empty(t, p.ends(t, exitOK))
		require.Regexp(t, `(?m)^predecessor +100 +100 +300 `, p.out.String())
		require.Equal(t, shape(page), shape(p.out.String()))
		for _, r := range written[[]report.Run](t, file(i)) {
			require.Equal(t, []int{3, 100, 300}, []int{r.Processes, r.Count, r.Total})
			if r.Lock == "predecessor" {
				require.LessOrEqual(t, r.Requests, int64(500), "the counter's requests are not the lock's")
			}
		}
	}
	requireNoNodes(t, srv)
	waitFor(t, "the end of all sessions", func() bool { return len(srv.Sessions()) == 0 })
}

// The lock excludes nobody: both processes read the counter before either writes it.
func TestTwoHoldersShowAsABadVersion(t *testing.T) {
	compete(t, inNode("naive", func(*zk.Conn, string) zookeeper.Locker { return fakeLock{lock: func() error { return nil }} }))
	srv, addr := listen(t)
	writesCount := func(r zkserver.Request) bool { return r.Op == jute.OpSetData && strings.HasSuffix(r.Path, "/count") }
	one, two := srv.Hold(writesCount), srv.Hold(writesCount)
	both := []*process{join(t, addr, "-n", "1"), join(t, addr, "-n", "1")}
	<-one.Hit()
	<-two.Hit()
	one.Release()
	two.Release()
	var ends string
	for _, p := range both {
		ends += p.ends(t, exitFailure)
		require.Regexp(t, `(?m)^naive +1 +FAILED +- +- `, p.out.String())
	}
	require.Contains(t, ends, "the total is 1, not 2, and 1 writes of the counter met a bad version: two held the lock")
	requireNoNodes(t, srv)
}

// A process that fails, is interrupted or is killed ends the others. The server ends the session
// of one that is killed.
func TestAProcessThatIsGoneEndsTheOthers(t *testing.T) {
	compete(t, inNode("naive", waitsInVain))
	srv, addr := listen(t)
	a, b := join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	a.interrupt()
	require.Equal(t, "bench: interrupted\n", a.ends(t, exitInterrupted))
	require.Regexp(t, "process-.* has gone: it has failed or was ended", b.ends(t, exitFailure))
	requireNoNodes(t, srv)

	a, b = join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	for _, s := range srv.Sessions() {
		if len(s.Ephemerals) > 0 && strings.HasSuffix(s.Ephemerals[0], "0") { // the process that came first, not both
			srv.Expire(s.ID)
		}
	}
	lines := a.ends(t, exitFailure) + b.ends(t, exitFailure)
	require.Contains(t, lines, "our session has ended: "+zk.ErrSessionExpired.Error())
	requireNoNodes(t, srv)
}
