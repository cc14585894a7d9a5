package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// programVariable makes the test binary the benchmark.
const programVariable = "ZKLOCK_BENCH_PROGRAM"

const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	tries, holds = false, false // the tests of internal/counter try locks
	if os.Getenv(programVariable) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// listen starts an embedded server that other processes can reach.
func listen(t *testing.T, options ...zkserver.Option) (*zkserver.Server, string) {
	srv := zkserver.Run(t, options...)
	return srv, srv.Addr()
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, time.Millisecond, what)
}

func nothingIsLeft(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	require.Equal(t, []string{"zookeeper"}, srv.Children("/"))
}

// bench runs the benchmark against the ZooKeeper that ZK names, unless args
// name one, and returns its exit status and its output.
func bench(t *testing.T, args ...string) (status int, stdout, stderr string) {
	return benchWith(t.Context(), args...)
}

func benchWith(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	status = run(ctx, append([]string{"-warmup", "100ms"}, args...), &out, &errOut)
	return status, out.String(), errOut.String()
}

// benchFails runs the benchmark, which must fail, print such a table and say all that is wanted.
func benchFails(t *testing.T, table string, args []string, want ...string) (stderr string) {
	t.Helper()
	status, stdout, stderr := bench(t, args...)
	require.Equal(t, exitFailure, status, stderr)
	require.Regexp(t, table, stdout)
	for _, want := range want {
		require.Contains(t, stderr, want)
	}
	return stderr
}

// soonFlags are the flags of a run with n goroutines that begins at once.
func soonFlags(n string, more ...string) []string {
	return append([]string{"-n", n, "-warmup", "0s"}, more...)
}

// runBeside has a test run beside others. Such a test mostly waits, because each lock is tried
// before it counts. On the server that ZK names, which the tests share, they run one by one.
func runBeside(t *testing.T) {
	if os.Getenv("ZK") == "" {
		t.Parallel()
	}
}

// setDuring changes a variable during a test, which does not run beside others.
func setDuring[T any](t *testing.T, variable *T, value T) {
	old := *variable
	*variable = value
	t.Cleanup(func() { *variable = old })
}

// compete replaces the contestants.
func compete(t *testing.T, cs ...contestant) { setDuring(t, &contestants, cs) }

// requireOneLine asserts that text is a single line that says want.
func requireOneLine(t *testing.T, text, want string) {
	t.Helper()
	require.Contains(t, text, want)
	require.Equal(t, 1, strings.Count(text, "\n"), "more than one line: %s", text)
	require.True(t, strings.HasPrefix(text, "bench: "), text)
}

// jsonKeys are names in JSON that programs of others rely on.
var jsonKeys = []string{
	"lock", "server", "goroutines", "sessions", "times", "round", "count", "rtt_ns", "elapsed_ns", "requests", "watch_events", "bytes", "error",
}

func TestNothingIsLeftBehind(t *testing.T) {
	runBeside(t)
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{addr}, 10*time.Second))(t)
	_ = testenv.Must(conn.Create("/mine", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	conn.Close()
	status, stdout, stderr := benchWith(t.Context(), "-zk", addr, "-warmup", "10ms", "-n", "10", "-path", "/mine/a/b")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "ZooKeeper: "+addr+" (embedded, served by another process: in memory, no disk)")
	require.Empty(t, srv.Children("/mine"))
	require.Equal(t, []string{"mine", "zookeeper"}, srv.Children("/"), "what was there stays")
	waitFor(t, "the end of all sessions", func() bool { return len(srv.Sessions()) == 0 })
}

// What can be wrong with a server is a test of internal/ensemble.
func TestAnErrorIsOneLine(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-nonsense"}, exitUsage, "-nonsense"},
		{[]string{"rubbish"}, exitUsage, `unexpected argument "rubbish"`},
		{[]string{"-locks", "naive,nave"}, exitUsage, `no lock is called "nave"; there are naive, herd, predecessor`},
		{[]string{"-locks", ""}, exitUsage, `no lock is called ""`},
		{[]string{"-locks", "naive,naive"}, exitUsage, "twice"},
		{[]string{"-n", "0"}, exitUsage, `"0" is not a number of goroutines`},
		{[]string{"-n", "100001"}, exitUsage, "not a number of goroutines between 1 and 100000"},
		{[]string{"-n", "ten"}, exitUsage, "goroutines"},
		{[]string{"-n", "5,5"}, exitUsage, "twice"},
		{[]string{"-sessions", "0"}, exitUsage, "-sessions"},
		{[]string{"-n", "5,10", "-sessions", "6"}, exitUsage, "-sessions"},
		{[]string{"-rounds", "0"}, exitUsage, "-rounds"},
		{[]string{"-rounds", "x"}, exitUsage, "-rounds"},
		{[]string{"-closed", "0"}, exitUsage, "-closed: 0 is not between 1 and 10000, the most for 100 goroutines"},
		{[]string{"-n", "1000", "-closed", "1001"}, exitUsage, "-closed: 1001 is not between 1 and 1000"},
		{[]string{"-rtt", "-1ms"}, exitUsage, "-rtt: -1ms is negative"},
		{[]string{"-limit", "5"}, exitUsage, `invalid value "5" for flag -limit: it has no unit: write 5s`},
		{[]string{"-warmup", "1.5"}, exitUsage, "write 1.5s"},
		{[]string{"-rtt", "20"}, exitUsage, "write 20ms"},
		{[]string{"-limit", "five"}, exitUsage, "it is not a time such as 5s"},
		{[]string{"-warmup", "-1s"}, exitUsage, "-warmup"},
		{[]string{"-json", "out", "-report", "./out"}, exitUsage, "-report: ./out is the file of -json, too: give each its own"},
		{[]string{"-json", "-rtt"}, exitUsage, `-json: "-rtt" begins with a dash: it looks like a flag; a file of that name is ./-rtt`},
		{[]string{"-json", "-"}, exitUsage, `-json: "-" begins with a dash`},
		{[]string{"-report", "--zk", "-n", "5"}, exitUsage, `-report: "--zk" begins with a dash`},
		{[]string{"-zk", "embedded", "-join"}, exitUsage, "-join: other processes cannot reach a server of this process"},
		{[]string{"-procs", "3"}, exitUsage, "-procs: is for processes that take part with -join"},
		{[]string{"-zk", "127.0.0.1:1", "-join", "-procs", "0"}, exitUsage, "-procs: 0 is not between 1 and 100"},
		{[]string{"-path", "lock"}, exitUsage, "-path"},
		{[]string{"-path", "/"}, exitUsage, "-path"},
		{[]string{"-path", "/a//b"}, exitUsage, "-path"},
		{[]string{"-path", "/a/../b"}, exitUsage, "-path"},
		{[]string{"-path", "/a/"}, exitUsage, "-path"},
		{[]string{"-path", "/zookeeper"}, exitUsage, "-path: /zookeeper is ZooKeeper's own"},
		{[]string{"-path", "/zookeeper/config/x"}, exitUsage, "-path: /zookeeper/config/x is ZooKeeper's own"},
		{[]string{"-zk", ""}, exitUsage, "-zk: its value is empty"},
		{[]string{"-json", ""}, exitUsage, "-json: its value is empty"},
		{[]string{"-zk", "127.0.0.1"}, exitUsage, `bench: -zk: "127.0.0.1" is neither embedded`},
		{[]string{"-zk", "127.0.0.1:1"}, exitFailure, "connection refused"},
		{[]string{"-json", t.TempDir() + "/no/such/file"}, exitFailure, "/no/such/file: no such file or directory"},
		{[]string{"-report", t.TempDir() + "/no/such/file"}, exitFailure, "-report: open "},
	} {
		status, stdout, stderr := bench(t, tc.args...)
		require.Equal(t, tc.status, status, "%q: %s", tc.args, stderr)
		require.Empty(t, stdout, "%q: it is said before anything runs", tc.args)
		requireOneLine(t, stderr, tc.want)
	}
}

// A fakeLock is a lock with this Lock.
type fakeLock struct{ lock func() error }

func (f fakeLock) Lock() error   { return f.lock() }
func (f fakeLock) Unlock() error { return nil }

// inNode is a contestant with a node of its own.
func inNode(name string, m zookeeper.Maker) contestant {
	return contestant{counter.Lock{Name: name}, zookeeper.Kind{Node: true, Make: m}}
}

// waitsInVain makes a contender of a lock that no contender gets.
func waitsInVain(conn *zk.Conn, path string) zookeeper.Locker {
	return fakeLock{lock: func() error {
		_, _, changed, err := conn.ExistsW(path + "/never")
		if err != nil {
			return err
		}
		return (<-changed).Err
	}}
}

// ofLock reports whether a request is of this kind, and for a node below the lock's path.
func ofLock(r zkserver.Request, op jute.Op) bool {
	return r.Op == op && path.Base(path.Dir(r.Path)) == "lock"
}

// The session of the contenders expires at the tenth request of a kind. Those of the
// floor that wait for their turn ask no server.
func TestALostSessionEndsTheRun(t *testing.T) {
	srv, addr := listen(t)
	for _, tc := range []struct {
		lock string
		op   jute.Op
	}{{"predecessor", jute.OpDelete}, {"floor", jute.OpCreate}, {"floor", jute.OpDelete}} {
		requests := 0
		fault := srv.Hold(func(r zkserver.Request) bool {
			if ofLock(r, tc.op) {
				requests++
			}
			return requests == 10
		})
		go func() {
			srv.Expire((<-fault.Hit()).Session)
			fault.Release()
		}()
		stderr := benchFails(t, "FAILED", soonFlags("50", "-zk", addr, "-locks", tc.lock), tc.lock+" with 50 goroutines on "+addr)
		require.Regexp(t, ": session 0x[0-9a-f]+: ", stderr, "the contender's")
		require.Empty(t, srv.Children("/zklock-bench"))
	}
}

func TestCtrlCPrintsWhatIsFinished(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	stuck := inNode("stuck", func(conn *zk.Conn, path string) zookeeper.Locker {
		interrupt()
		return waitsInVain(conn, path)
	})
	compete(t, contestants[0], stuck)
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := benchWith(ctx, "-n", "10", "-warmup", "0s", "-json", file)
	require.Equal(t, exitInterrupted, status)
	require.Regexp(t, `(?m)^naive +10 +10 `, stdout)
	require.NotContains(t, stdout, "stuck")
	require.True(t, strings.HasSuffix(stderr, "bench: interrupted\n"), stderr)
	require.Equal(t, "naive", written[[]report.Run](t, file)[0].Lock)
}

// A run that has printed nothing yet leaves the files as they are, and so does one whose
// table cannot be printed.
func TestWithoutAResultAFileStaysAsItIs(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	compete(t, inNode("stuck", func(conn *zk.Conn, path string) zookeeper.Locker {
		interrupt()
		return waitsInVain(conn, path)
	}))
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o640))
	unchanged := func() {
		t.Helper()
		require.Equal(t, "old", fileText(t, file))
		entries := testenv.Must(os.ReadDir(dir))(t)
		require.Len(t, entries, 1, "nothing is left beside it")
	}
	status, _, stderr := benchWith(ctx, "-n", "10", "-warmup", "0s", "-json", file)
	require.Equal(t, exitInterrupted, status, stderr)
	unchanged()
	cmd, _ := program(t, opened(t, "/dev/full", os.O_WRONLY), "-n", "2", "-locks", "naive", "-json", file)
	require.Error(t, cmd.Run())
	unchanged()
	require.ErrorContains(t, report.WriteFile(file, func(w io.Writer) error {
		io.WriteString(w, "half")
		return io.ErrShortWrite
	}), io.ErrShortWrite.Error())
	unchanged()
}

// tableShape is a table without its numbers.
func tableShape(s string) string {
	s = regexp.MustCompile(`(?m)^(\w+) +\d+ +\d+ .*$`).ReplaceAllString(s, "$1 #")
	return strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(s, " "))
}

func TestOneRunWritesEverything(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string { return fileText(t, file(name)) }
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-n", "5,10", "-rounds", "2", "-locks", "all", "-explain", "-json", file("r.json"), "-report", file("r.html"))
	require.Zero(t, status, stderr)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len(line), 101, "too wide: %q", line)
	}
	require.Contains(t, stdout, "On the wire, per acquisition:")
	require.Contains(t, stdout, "overtaken")
	require.Contains(t, stdout, "  5 - 2/N: predecessor, reentrant, zk.Lock, curator")

	page := read("r.html")
	for _, want := range []string{
		"ZooKeeper</dt>", "go-zookeeper", "cannot run: java is not on PATH", "no lock",
		"-n 5,10 -rounds 2 -locks all", "predecessor, article A", `id="elapsed"`, `id="requests"`, `id="waits-5"`, `id="waits-10"`,
		"wait p50", "overtaken", "predicted", "wake-ups",
	} {
		require.Contains(t, page, want)
	}
	require.Contains(t, page, "<dd>"+strings.TrimPrefix(strings.SplitN(stdout, "\n", 2)[0], "ZooKeeper: ")+"</dd>")
	require.Equal(t, 4, strings.Count(page, "<svg"))
	// It is complete in itself: nothing is loaded. Namespaces are but names.
	require.NotRegexp(t, `(?i)<script|<link|<img|src=|@import|url\(`, page)
	require.Empty(t, regexp.MustCompile(`https?://[^"\s]*`).FindAllString(
		regexp.MustCompile(`xmlns(:\w+)?="[^"]*"`).ReplaceAllString(page, ""), -1))

	rows := written[[]map[string]any](t, file("r.json"))
	require.Len(t, rows, (len(onZooKeeper())-1)*4+2, "one row of Curator's for each number of threads")
	for _, row := range rows {
		require.Subset(t, slices.Collect(maps.Keys(row)), jsonKeys)
		if row["lock"] == "curator" {
			require.Equal(t, "cannot run", row["status"])
			continue
		}
		require.Equal(t, row["goroutines"], row["count"])
		require.NotZero(t, row["elapsed_ns"])
	}
	holdsFacts(t, written[[]report.Run](t, file("r.json"))[0])
}

// holdsFacts holds that a run names its machine and its server.
func holdsFacts(t *testing.T, r report.Run) {
	require.NotEmpty(t, r.Members)
	require.Equal(t, runtime.Version(), r.Go)
	require.Equal(t, runtime.NumCPU(), r.CPUs)
	require.NotEmpty(t, r.OS)
	require.NotEmpty(t, r.CPU)
	require.Contains(t, r.Client, "go-zookeeper")
	require.WithinDuration(t, time.Now(), r.Began, time.Hour)
	require.IsNonDecreasing(t, []time.Duration{1, r.WaitP50, r.WaitP99, r.WaitMax})
	var kinds int64
	for _, k := range r.Kinds {
		kinds += k
	}
	require.Equal(t, r.Requests, kinds)
}
