package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// A process is a benchmark that has joined. It has its own connections, so the
// others cannot tell that it is part of the same program.
type process struct {
	t           *testing.T
	interrupt   context.CancelFunc
	ended       chan int // its exit status
	out, errOut safeBuffer
}

// A safeBuffer may be read while it is written to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// join starts a process. It takes part with one other, unless args say else.
func join(t *testing.T, addr string, args ...string) *process {
	ctx, interrupt := context.WithCancel(t.Context())
	p := &process{t: t, interrupt: interrupt, ended: make(chan int, 1)}
	args = append([]string{"-zk", addr, "-join", "-warmup", "0s", "-n", "5", "-locks", "naive", "-path", "/a/b"}, args...)
	go func() { p.ended <- run(ctx, args, &p.out, &p.errOut) }()
	return p
}

// says waits for a text on stderr.
func (p *process) says(want string) {
	p.t.Helper()
	waitFor(p.t, want, func() bool { return strings.Contains(p.errOut.String(), want) })
}

// ends waits for the end of the process, and returns the line that says why.
func (p *process) ends(status int) string {
	p.t.Helper()
	require.Equal(p.t, status, <-p.ended, p.errOut.String())
	complaint := regexp.MustCompile(`(?m)^.* …\n`).ReplaceAllString(p.errOut.String(), "") // without what it is doing
	if status == exitOK {
		require.Empty(p.t, complaint)
	} else {
		oneLine(p.t, complaint, "bench: ")
	}
	return complaint
}

// waitUntilStuck waits until the contenders of two processes wait for what
// will never come.
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

func TestProcessesThatJoinCountTogether(t *testing.T) {
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	dir := t.TempDir()
	var all []*process
	for i := range 3 {
		all = append(all, join(t, addr, "-procs", "3", "-n", "4,10", "-rounds", "2", "-sessions", "2",
			"-locks", "naive,herd,predecessor", "-warmup", "1ms", "-json", filepath.Join(dir, fmt.Sprint(i))))
	}
	for i, p := range all {
		p.ends(exitOK)
		require.Contains(t, p.out.String(), "3 processes that share a counter")
		require.Regexp(t, `(?m)^lock +N +count +total +elapsed`, p.out.String())
		require.Regexp(t, `(?m)^naive +10 +10 +30 `, p.out.String())
		require.Regexp(t, `(?m)^predecessor +4 +4 +12 `, p.out.String())
		rows := written[[]report.Run](t, filepath.Join(dir, fmt.Sprint(i)))
		require.NotEmpty(t, rows)
		for _, r := range rows {
			require.Equal(t, 3, r.Processes)
			require.Equal(t, r.Goroutines, r.Count)
			require.Equal(t, 3*r.Goroutines, r.Total)
			if r.Lock == "predecessor" {
				require.LessOrEqual(t, r.Requests, int64(5*r.Goroutines), "the counter's requests are not the lock's")
			}
		}
	}
	nothingIsLeft(t, srv)
	waitFor(t, "the end of all sessions", func() bool { return len(srv.Sessions()) == 0 })
}

// TestThePageShowsWhatIsPrinted compares the transcript in the docs with what
// the command prints, numbers and the server aside.
func TestThePageShowsWhatIsPrinted(t *testing.T) {
	_, transcript, ok := strings.Cut(text(t, "../docs/several-machines.md"), "-join -procs 3 -locks naive,predecessor -n 100 2>/dev/null\n")
	require.True(t, ok)
	transcript, _, ok = strings.Cut(transcript, "```")
	require.True(t, ok)
	_, addr := listen(t)
	var all []*process
	for range 3 {
		all = append(all, join(t, addr, "-procs", "3", "-locks", "naive,predecessor", "-n", "100"))
	}
	server := regexp.MustCompile(`(?m)^ZooKeeper: .*$`)
	for _, p := range all {
		p.ends(exitOK)
		require.Equal(t, shape(withoutLive(server.ReplaceAllString(p.out.String(), ""))), shape(server.ReplaceAllString(transcript, "")))
	}
}

// Both hold the lock that is none, read the counter, and only then write it.
func TestTwoHoldersShowAsABadVersion(t *testing.T) {
	compete(t, inNode("naive", func(*zk.Conn, string) zookeeper.Locker { return fake{lock: func() error { return nil }} }))
	srv, addr := listen(t)
	counted := func(r zkserver.Request) bool { return r.Op == jute.OpSetData && strings.HasSuffix(r.Path, "/count") }
	one, two := srv.Hold(counted), srv.Hold(counted)
	both := []*process{join(t, addr, "-n", "1"), join(t, addr, "-n", "1")}
	<-one.Hit()
	<-two.Hit()
	one.Release()
	two.Release()
	var ends string
	for _, p := range both {
		ends += p.ends(exitFailure)
		require.Regexp(t, `(?m)^naive +1 +FAILED +- +- `, p.out.String())
	}
	require.Contains(t, ends, "1 of 1 writes of the counter met a bad version, the total is 1: two held the lock at once")
	require.Contains(t, ends, "the total is 1, not 2: two held the lock at once")
	nothingIsLeft(t, srv)
}

func TestFlagsThatDifferAreNamed(t *testing.T) {
	srv, addr := listen(t)
	first := join(t, addr)
	first.says("waiting at /a/b/join, 1 of 2 processes are there")
	for _, tc := range []struct{ flag, value, first string }{
		{"-procs", "3", "2"},
		{"-locks", "naive,herd", "naive"},
		{"-n", "6", "5"},
		{"-sessions", "2", "1"},
		{"-rounds", "2", "1"},
	} {
		require.Regexp(t, fmt.Sprintf("%s is %s here and %s in process .*, which came first: start all with the same flags", tc.flag, tc.value, tc.first),
			join(t, addr, tc.flag, tc.value).ends(exitFailure))
	}
	second := join(t, addr)
	first.ends(exitOK)
	second.ends(exitOK)
	nothingIsLeft(t, srv)
}

// A process that is killed is one whose session the server ends.
func TestAProcessThatIsGoneEndsTheOthers(t *testing.T) {
	compete(t, inNode("naive", waitsInVain))
	srv, addr := listen(t)
	a, b := join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	for _, s := range srv.Sessions() {
		if len(s.Ephemerals) > 0 && strings.HasSuffix(s.Ephemerals[0], "0") {
			srv.Expire(s.ID)
		}
	}
	lines := a.ends(exitFailure) + b.ends(exitFailure)
	require.Contains(t, lines, "our session has ended: "+zk.ErrSessionExpired.Error())
	require.Contains(t, lines, " has gone: it was killed, or has lost its connection to ZooKeeper")
	nothingIsLeft(t, srv)
}

func TestCtrlCInOneEndsAll(t *testing.T) {
	compete(t, inNode("naive", waitsInVain))
	srv, addr := listen(t)
	a, b := join(t, addr), join(t, addr)
	waitUntilStuck(t, srv)
	a.interrupt()
	require.Equal(t, "bench: interrupted\n", a.ends(exitInterrupted))
	require.Contains(t, b.ends(exitFailure), " has given up: interrupted")
	nothingIsLeft(t, srv)

	waits := join(t, addr)
	waits.says("waiting at")
	waits.interrupt()
	require.Equal(t, "bench: interrupted\n", waits.ends(exitInterrupted))
	nothingIsLeft(t, srv)
}

// A third process where two take part waits for a fourth.
func TestAProcessThatComesTooLateWaitsForTheNextLineUp(t *testing.T) {
	srv, addr := listen(t)
	counted := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpSetData && strings.HasSuffix(r.Path, "/count") })
	early := []*process{join(t, addr), join(t, addr)}
	<-counted.Hit()
	late := join(t, addr)
	late.says("a run of other processes is under way")
	counted.Release()
	for _, p := range early {
		p.ends(exitOK)
	}
	late.says("1 of 2 processes are there")
	last := join(t, addr)
	late.ends(exitOK)
	last.ends(exitOK)
	nothingIsLeft(t, srv)
}
