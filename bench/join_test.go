package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/bench/internal/group"
	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/zkserver"
)

// roleVariable makes the test binary a benchmark process: an honest one, one
// whose lock no contender gets, the same but with little patience for a silent
// server, or one whose lock lets everybody in.
const roleVariable = "ZKLOCK_BENCH_ROLE"

const (
	honest = "honest"
	stuck  = "stuck"
	hasty  = "stuck, and hasty"
	broken = "broken"
)

func TestMain(m *testing.M) {
	joinTimeout = 40 * time.Second // the longest that the server grants: no session ends because the machine pauses
	role := os.Getenv(roleVariable)
	tries, holds = role == "" || role == honest, false
	calmPolls, patientCalm = 2, 2 // the locks here are right, or fail otherwise; programs that are built have all
	switch role {
	case "":
		build = builtOnce
		flag.Parse()
		if most := flag.Lookup("test.parallel"); most.Value.String() == most.DefValue {
			most.Value.Set("8") // those that run beside others mostly wait
		}
		// A Redis client that has been closed while it could not connect
		// sleeps for a second before it sees that.
		locktest.Main(removing{m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		return
	case hasty:
		group.Silence = time.Second
		fallthrough
	case stuck:
		contestants = []contestant{{name: "naive", open: onZoo(each(waitsInVain))}}
	case broken:
		contestants = []contestant{{name: "naive", open: onZoo(each(func(*zk.Conn, string) locker { return fake{} }))}}
		meet = func() {
			fmt.Fprintln(os.Stderr, "inside …")
			bufio.NewReader(os.Stdin).ReadByte()
		}
	}
	main()
}

// A child is a benchmark process that has joined.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout bytes.Buffer
	lines  chan string // of stderr
	stderr []string    // those that were read
	races  string      // what the race detector's reports begin with
}

// join starts a process. It takes part with one other, unless args say else.
func join(t *testing.T, role, addr string, args ...string) *child {
	t.Helper()
	usual := []string{"-zk", addr, "-join", "-warmup", "0s", "-n", "5", "-locks", "naive", "-path", "/a/b"}
	args = append(usual, args...)
	c := &child{
		t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], args...),
		lines: make(chan string, 1000), races: filepath.Join(t.TempDir(), "race"),
	}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=exitcode=0 log_path="+c.races)
	c.cmd.Stdout = &c.stdout
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stderr, err := c.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	return c
}

// name is what the others call it.
func (c *child) name() string {
	host, err := os.Hostname()
	require.NoError(c.t, err)
	return fmt.Sprintf("process %s:%d", host, c.cmd.Process.Pid)
}

const patience = 5 * time.Minute

// line returns the next line of stderr, false if the process has ended.
func (c *child) line() (line string, ok bool) {
	c.t.Helper()
	select {
	case line, ok = <-c.lines:
		if ok {
			c.stderr = append(c.stderr, line)
		}
	case <-time.After(patience):
		require.Fail(c.t, "it neither ends nor says more", "%q", c.stderr)
	}
	return line, ok
}

// says waits for a line on stderr.
func (c *child) says(want string) {
	c.t.Helper()
	for {
		line, ok := c.line()
		require.True(c.t, ok, "it ended, and did not say %q: %q", want, c.stderr)
		if strings.Contains(line, want) {
			return
		}
	}
}

// ends waits for the end of the process, and returns the line that says why.
func (c *child) ends(status int) string {
	c.t.Helper()
	for open := true; open; {
		_, open = c.line()
	}
	c.cmd.Wait()
	c.noRaces()
	require.Equal(c.t, status, c.cmd.ProcessState.ExitCode(), "%q\n%s", c.stderr, &c.stdout)
	complaints := slices.DeleteFunc(slices.Clone(c.stderr), func(line string) bool {
		return strings.HasSuffix(line, " …") // what it is doing
	})
	if status == exitOK || status < 0 {
		require.Empty(c.t, complaints)
		return ""
	}
	require.Len(c.t, complaints, 1)
	oneLine(c.t, complaints[0]+"\n", "bench: ")
	return complaints[0]
}

// noRaces allows one of go-zookeeper 1.0.4's own: while it still sees to its
// watches after it has connected, a reply to a request can come.
func (c *child) noRaces() {
	c.t.Helper()
	files, err := filepath.Glob(c.races + "*")
	require.NoError(c.t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(c.t, err)
		for report := range strings.SplitSeq(string(b), "WARNING: ") {
			if strings.HasPrefix(report, "DATA RACE") {
				require.Contains(c.t, report, "zk.(*Conn).sendSetWatches()")
			}
		}
	}
}

// kill leaves the process no time for a word. Its sessions live on.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.ends(-1)
}

// listen starts an embedded server that other processes can reach.
func listen(t *testing.T, options ...zkserver.Option) (*zkserver.Server, string) {
	srv := zkserver.Run(t, options...)
	return srv, srv.Addr()
}

// processes returns the names of the process- nodes.
func processes(srv *zkserver.Server) []string {
	return slices.DeleteFunc(srv.Children("/a/b/join"), func(name string) bool {
		return !strings.HasPrefix(name, "process-")
	})
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, time.Millisecond, what)
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

// expire ends the n sessions of processes that were killed.
func expire(t *testing.T, srv *zkserver.Server, n int) {
	t.Helper()
	dead := make(map[int64]bool)
	waitFor(t, "the server notices the dead", func() bool {
		for _, s := range srv.Sessions() {
			if !s.Connected {
				dead[s.ID] = true
			}
		}
		return len(dead) >= n
	})
	for id := range dead {
		srv.Expire(id)
	}
}

func nothingIsLeft(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	require.Equal(t, []string{"zookeeper"}, srv.Children("/"))
}

func TestProcessesThatJoinCountTogether(t *testing.T) {
	beside(t)
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	dir := t.TempDir()
	var all []*child
	for i := range 3 {
		all = append(all, join(t, honest, addr, "-procs", "3", "-n", "4,10", "-rounds", "2", "-sessions", "2",
			"-locks", "naive,herd,predecessor", "-warmup", "1ms", "-json", filepath.Join(dir, fmt.Sprint(i))))
	}
	for i, c := range all {
		c.ends(exitOK)
		require.Contains(t, c.stdout.String(), "3 processes that share a counter")
		require.Regexp(t, `(?m)^lock +N +count +total +elapsed`, c.stdout.String())
		require.Regexp(t, `(?m)^naive +10 +10 +30 `, c.stdout.String())
		require.Regexp(t, `(?m)^predecessor +4 +4 +12 `, c.stdout.String())
		rows := written[[]report.Run](t, filepath.Join(dir, fmt.Sprint(i)))
		require.NotEmpty(t, rows)
		for _, r := range rows {
			require.Equal(t, 3, r.Processes)
			require.Equal(t, r.Goroutines, r.Count)
			require.Equal(t, 3*r.Goroutines, r.Total)
			require.Empty(t, r.Error)
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
	beside(t)
	_, transcript, ok := strings.Cut(text(t, "../docs/several-machines.md"), "-join -procs 3 -locks naive,predecessor -n 100 2>/dev/null\n")
	require.True(t, ok)
	transcript, _, ok = strings.Cut(transcript, "```")
	require.True(t, ok)
	_, addr := listen(t)
	var all []*child
	for range 3 {
		all = append(all, join(t, honest, addr, "-procs", "3", "-locks", "naive,predecessor", "-n", "100"))
	}
	server := regexp.MustCompile(`(?m)^ZooKeeper: .*$`)
	for _, c := range all {
		c.ends(exitOK)
		require.Equal(t, shape(withoutLive(server.ReplaceAllString(c.stdout.String(), ""))), shape(server.ReplaceAllString(transcript, "")))
	}
}

func TestAProcessAloneCanJoin(t *testing.T) {
	srv, addr := listen(t)
	status, stdout, stderr := runWithOutput(t.Context(), "-zk", addr, "-join", "-procs", "1",
		"-n", "3", "-warmup", "0s", "-locks", "naive")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^naive +3 +3 `, stdout)
	nothingIsLeft(t, srv)
}

// Both hold the lock that is none, read the counter, and only then write it.
func TestTwoHoldersShowAsABadVersion(t *testing.T) {
	srv, addr := listen(t)
	file := filepath.Join(t.TempDir(), "out.json")
	both := []*child{
		join(t, broken, addr, "-n", "1", "-json", file),
		join(t, broken, addr, "-n", "1", "-json", file+"2"),
	}
	for _, c := range both {
		c.says("inside")
	}
	for _, c := range both {
		io.WriteString(c.stdin, "\n")
	}
	var ends []string
	for _, c := range both {
		ends = append(ends, c.ends(exitFailure))
		require.Regexp(t, `(?m)^naive +1 +FAILED +- +- `, c.stdout.String())
	}
	if !strings.Contains(ends[0], "bad version") {
		slices.Reverse(ends)
	}
	require.Contains(t, ends[0],
		"1 of 1 writes of the counter met a bad version, the total is 1: two held the lock at once")
	require.Contains(t, ends[1], "the total is 1, not 2: two held the lock at once")
	require.Contains(t, written[[]report.Run](t, file)[0].Error, "two held the lock at once")
	nothingIsLeft(t, srv)
}

func TestFlagsThatDifferAreNamed(t *testing.T) {
	srv, addr := listen(t)
	first := join(t, honest, addr)
	first.says("waiting at /a/b/join, 1 of 2 processes are there")
	for _, tc := range []struct{ flag, value, first string }{
		{"-procs", "3", "2"},
		{"-locks", "naive,herd", "naive"},
		{"-n", "6", "5"},
		{"-sessions", "2", "1"},
		{"-rounds", "2", "1"},
	} {
		other := join(t, honest, addr, tc.flag, tc.value)
		require.Contains(t, other.ends(exitFailure),
			fmt.Sprintf("%s is %s here and %s in %s, which came first: start all with the same flags",
				tc.flag, tc.value, tc.first, first.name()))
	}
	second := join(t, honest, addr)
	first.ends(exitOK)
	second.ends(exitOK)
	nothingIsLeft(t, srv)
}

func TestAProcessThatIsKilledEndsTheOthers(t *testing.T) {
	srv, addr := listen(t)
	a, b := join(t, stuck, addr), join(t, stuck, addr)
	waitUntilStuck(t, srv)
	a.kill()
	expire(t, srv, 2)
	line := b.ends(exitFailure)
	require.Contains(t, line, a.name()+" has gone: it was killed, or has lost its connection to ZooKeeper")
	require.Contains(t, b.stdout.String(), "FAILED")
	nothingIsLeft(t, srv)
}

func TestALostSessionIsSaid(t *testing.T) {
	beside(t)
	srv, addr := listen(t)
	a, b := join(t, stuck, addr), join(t, stuck, addr)
	waitUntilStuck(t, srv)
	for _, s := range srv.Sessions() {
		if slices.Contains(s.Ephemerals, "/a/b/join/process-0000000000") {
			srv.Expire(s.ID)
		}
	}
	lines := a.ends(exitFailure) + b.ends(exitFailure)
	require.Contains(t, lines, "our session has ended: "+zk.ErrSessionExpired.Error())
	require.Contains(t, lines, " has gone: ")
	nothingIsLeft(t, srv)
}

func TestCtrlCInOneEndsAll(t *testing.T) {
	srv, addr := listen(t)
	a, b := join(t, stuck, addr), join(t, stuck, addr)
	waitUntilStuck(t, srv)
	require.NoError(t, a.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, "bench: interrupted", a.ends(exitInterrupted))
	require.Contains(t, b.ends(exitFailure), a.name()+" has given up: interrupted")
	nothingIsLeft(t, srv)
}

func TestCtrlCWhileWaiting(t *testing.T) {
	srv, addr := listen(t)
	a := join(t, honest, addr)
	a.says("waiting at")
	require.NoError(t, a.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, "bench: interrupted", a.ends(exitInterrupted))
	nothingIsLeft(t, srv)
}

// All are killed. The next come with other flags, while the dead still have
// their sessions, and wait for these to end.
func TestLeftoversOfAKilledRun(t *testing.T) {
	srv, addr := listen(t)
	dead := []*child{join(t, stuck, addr, "-n", "3"), join(t, stuck, addr, "-n", "3")}
	waitUntilStuck(t, srv)
	for _, c := range dead {
		c.kill()
	}
	next := []*child{join(t, honest, addr), join(t, honest, addr)}
	for _, c := range next {
		c.says("a run of other processes is under way at /a/b/join, waiting for its end")
	}
	require.Len(t, processes(srv), 4)
	expire(t, srv, 4)
	for _, c := range next {
		c.ends(exitOK)
		require.Regexp(t, `(?m)^naive +5 +5 +10 `, c.stdout.String())
	}
	nothingIsLeft(t, srv)
}

// A third process where two take part waits for a fourth.
func TestAProcessThatComesTooLateWaitsForTheNextLineUp(t *testing.T) {
	srv, addr := listen(t)
	early := []*child{join(t, broken, addr, "-n", "1"), join(t, broken, addr, "-n", "1")}
	for _, c := range early {
		c.says("inside")
	}
	late := join(t, honest, addr, "-n", "1")
	late.says("a run of other processes is under way")
	for _, c := range early {
		io.WriteString(c.stdin, "\n")
		defer c.ends(exitFailure)
	}
	late.says("1 of 2 processes are there")
	last := join(t, honest, addr, "-n", "1")
	late.ends(exitOK)
	last.ends(exitOK)
	nothingIsLeft(t, srv)
}

func TestAServerThatGoesAwayEndsAll(t *testing.T) {
	beside(t)
	srv, addr := listen(t)
	// Of each session one waits: a request that is under way when the server goes has another error.
	all := []*child{join(t, hasty, addr, "-n", "1"), join(t, hasty, addr, "-n", "1")}
	waitUntilStuck(t, srv)
	late := join(t, hasty, addr, "-n", "1")
	late.says("a run of other processes is under way")
	srv.Close()
	for _, c := range append(all, late) {
		require.Contains(t, c.ends(exitFailure), "no server has answered for 1s: "+addr)
	}
}
