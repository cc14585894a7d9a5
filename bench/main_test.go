// Tests of a whole run: its output, what it shows meanwhile, its exit status, what it leaves behind; and what these tests share.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// programVariable is an environment variable. If it is set, the test binary runs as the benchmark.
const programVariable = "ZKLOCK_BENCH_PROGRAM"

const patience = 5 * time.Minute // the longest time that a test waits for a state

func TestMain(m *testing.M) {
	withTrials, withLongHolds = false, false // trials are tested in internal/counter
	if os.Getenv(programVariable) != "" {
		main() // exits
	}
	goleak.VerifyTestMain(m)
}

// listen starts an embedded server that other processes can reach, and returns its address, too.
func listen(t *testing.T, options ...zkserver.Option) (*zkserver.Server, string) {
	srv := zkserver.Run(t, options...)
	return srv, srv.Addr()
}

// waitFor waits until a state is there; what names it.
func waitFor(t *testing.T, what string, ok func() bool) {
	require.Eventually(t, ok, patience, time.Millisecond, what)
}

func requireNoNodes(t *testing.T, srv *zkserver.Server) {
	require.Equal(t, []string{"zookeeper"}, srv.Children("/"))
}

// bench runs the benchmark, on the ZooKeeper that ZK names unless args name one. It returns exit status and output.
func bench(t *testing.T, args ...string) (status int, stdout, stderr string) {
	return benchWith(t.Context(), args...)
}

func benchWith(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	status = run(ctx, append([]string{"-warmup", "100ms"}, args...), &out, &errOut)
	return status, out.String(), errOut.String()
}

func benchResults(t *testing.T, args ...string) (rs []report.Run, stdout string) {
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := bench(t, append(args, "-json", file)...)
	require.Zero(t, status, stderr)
	return readJSON[[]report.Run](t, file), stdout
}

func readJSON[T any](t *testing.T, file string) (value T) {
	t.Helper()
	b := testenv.Must(os.ReadFile(file))(t)
	require.NoError(t, json.Unmarshal(b, &value), "%s", b)
	return value
}

func fileText(t *testing.T, file string) string { return string(testenv.Must(os.ReadFile(file))(t)) }

// benchFails runs the benchmark without a warm-up. A run must fail, and stderr must contain want.
func benchFails(t *testing.T, want string, args ...string) (stderr string) {
	status, stdout, stderr := bench(t, append(args, "-warmup", "0s")...)
	require.Equal(t, exitFailure, status, stderr)
	require.Contains(t, stdout, "FAILED")
	require.Contains(t, stderr, want)
	return stderr
}

// runBeside has a test run beside others, because it mostly waits. On a server that they share, tests run one by one.
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

// setContestants replaces the contestants, the locks that the benchmark knows, during a test.
func setContestants(t *testing.T, cs ...contestant) { setDuring(t, &contestants, cs) }

// requireOneLine asserts that text is a single line that says want.
func requireOneLine(t *testing.T, text, want string) {
	require.Contains(t, text, want)
	require.Equal(t, 1, strings.Count(text, "\n"), "more than one line: %s", text)
	require.True(t, strings.HasPrefix(text, "bench: "), text)
}

func TestNothingIsLeftBehind(t *testing.T) {
	runBeside(t)
	srv, addr := listen(t, zkserver.WithTick(patience)) // no session ends by itself
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{addr}, 10*time.Second))(t)
	_ = testenv.Must(conn.Create("/mine", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	conn.Close()
	status, stdout, stderr := bench(t, "-zk", addr, "-warmup", "10ms", "-n", "10", "-path", "/mine/a/b")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "ZooKeeper: "+addr+" (embedded, served by another process: in memory, no disk)")
	require.Empty(t, srv.Children("/mine"))
	require.Equal(t, []string{"mine", "zookeeper"}, srv.Children("/"), "what was there stays")
	waitFor(t, "the end of all sessions", func() bool { return len(srv.Sessions()) == 0 })
}

// A fakeLock is a contender whose Lock is the function. Its Unlock does nothing.
type fakeLock struct{ lock func() error }

func (f fakeLock) Lock() error   { return f.lock() }
func (f fakeLock) Unlock() error { return nil }

// inNode returns a contestant, a lock that the benchmark can run, whose path is the lock's own node.
func inNode(name string, newContender zookeeper.Maker) contestant {
	return contestant{counter.Lock{Name: name}, zookeeper.Kind{OwnNode: true, Make: newContender}}
}

// waitsInVain makes a contender that waits for a node that nobody creates.
func waitsInVain(conn *zk.Conn, path string) zookeeper.Locker {
	return fakeLock{lock: func() error {
		_, _, changed, err := conn.ExistsW(path + "/never")
		if err != nil {
			return err
		}
		return (<-changed).Err
	}}
}

// ofLock reports whether a request does op to a node below the lock's path.
func ofLock(r zkserver.Request, op jute.Op) bool {
	return r.Op == op && path.Base(path.Dir(r.Path)) == "lock"
}

// The session of the contenders expires at their tenth request of the kind op. The contenders of the floor wait for
// their turn in memory, without a watch, so they learn of the end of the session by their next request.
func TestALostSessionEndsTheRun(t *testing.T) {
	srv, addr := listen(t)
	for _, tc := range []struct {
		lock string
		op   jute.Op
	}{{"predecessor", jute.OpDelete}, {"floor", jute.OpCreate}, {"floor", jute.OpDelete}} {
		requests := 0
		fault := srv.Hold(func(r zkserver.Request) bool {
			if !ofLock(r, tc.op) {
				return false
			}
			requests++
			return requests == 10
		})
		go func() {
			srv.Expire((<-fault.Hit()).Session)
			fault.Release()
		}()
		stderr := benchFails(t, tc.lock+" with 50 goroutines on "+addr, "-n", "50", "-zk", addr, "-locks", tc.lock)
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
	setContestants(t, contestants[0], stuck)
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := benchWith(ctx, "-n", "10", "-warmup", "0s", "-json", file)
	require.Equal(t, exitInterrupted, status)
	require.Regexp(t, `(?m)^naive +10 +10 `, stdout)
	require.NotContains(t, stdout, "stuck")
	require.True(t, strings.HasSuffix(stderr, "bench: interrupted\n"), stderr)
	require.Equal(t, "naive", readJSON[[]report.Run](t, file)[0].Lock)
}

// A run that is interrupted before it has a result leaves the files as they are. So does one
// whose table cannot be printed, and so does an output that cannot be completed.
func TestWithoutAResultAFileStaysAsItIs(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	setContestants(t, inNode("stuck", func(conn *zk.Conn, path string) zookeeper.Locker {
		interrupt()
		return waitsInVain(conn, path)
	}))
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o640))
	unchanged := func() {
		t.Helper()
		require.Equal(t, "old", fileText(t, file))
		require.Len(t, testenv.Must(os.ReadDir(dir))(t), 1, "nothing is left beside it")
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

func TestOneRunWritesEverything(t *testing.T) {
	jsonFile, htmlFile := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "r.html")
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-n", "5,10", "-rounds", "2", "-locks", "all", "-explain",
		"-json", jsonFile, "-report", htmlFile)
	require.Zero(t, status, stderr)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len(line), 100+len("\n"), "too wide: %q", line)
	}
	require.Contains(t, stdout, "On the wire, per acquisition:")
	require.Contains(t, stdout, "overtaken")
	require.Contains(t, stdout, "  5 - 2/N: predecessor, reentrant, zk.Lock, curator", "a formula, and its locks")

	page := fileText(t, htmlFile)
	for _, want := range []string{
		"ZooKeeper</dt>", "go-zookeeper", "cannot run: java is not on PATH", "no lock",
		"-n 5,10 -rounds 2 -locks all", "predecessor, article A", `id="elapsed"`, `id="requests"`, `id="waits-5"`,
		`id="waits-10"`, "wait p50", "overtaken", "predicted", "wake-ups",
	} {
		require.Contains(t, page, want)
	}
	require.Contains(t, page, "<dd>"+strings.TrimPrefix(strings.SplitN(stdout, "\n", 2)[0], "ZooKeeper: ")+"</dd>")
	require.Equal(t, 4, strings.Count(page, "<svg"), "elapsed, requests, and the waits of each number of goroutines")
	// The page loads nothing. The address of a namespace is only a name.
	require.NotRegexp(t, `(?i)<script|<link|<img|src=|@import|url\(`, page)
	require.Empty(t, regexp.MustCompile(`https?://[^"\s]*`).FindAllString(
		regexp.MustCompile(`xmlns(:\w+)?="[^"]*"`).ReplaceAllString(page, ""), -1))

	rows := readJSON[[]map[string]any](t, jsonFile)
	const sizes, rounds = 2, 2       // of -n and -rounds
	others := len(onZooKeeper()) - 1 // without Curator, which cannot run: it has a row for each size, whatever the rounds
	require.Len(t, rows, others*sizes*rounds+sizes)
	for _, row := range rows {
		require.Subset(t, slices.Collect(maps.Keys(row)), []string{"lock", "server", "goroutines", "sessions", "times",
			"round", "count", "rtt_ns", "elapsed_ns", "requests", "watch_events", "bytes", "error"}, "other people's programs rely on these keys")
		if row["lock"] == "curator" {
			require.Equal(t, "cannot run", row["status"])
			continue
		}
		require.Equal(t, row["goroutines"], row["count"])
		require.NotZero(t, row["elapsed_ns"])
	}
	requireFacts(t, readJSON[[]report.Run](t, jsonFile)[0])
}

func requireFacts(t *testing.T, r report.Run) {
	require.NotEmpty(t, r.Members)
	require.Equal(t, runtime.Version(), r.Go)
	require.Equal(t, runtime.NumCPU(), r.CPUs)
	require.NotEmpty(t, r.OS)
	require.NotEmpty(t, r.CPU)
	require.Contains(t, r.Client, "go-zookeeper")
	require.WithinDuration(t, time.Now(), r.Began, time.Hour)
	require.IsNonDecreasing(t, []time.Duration{1, r.WaitP50, r.WaitP99, r.WaitMax}, "and none of them is 0")
	var kinds int64
	for _, k := range r.Kinds {
		kinds += k
	}
	require.Equal(t, r.Requests, kinds)
}

// program is a command that runs the benchmark in a process of its own.
func program(t *testing.T, stdout *os.File, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	return cmd, &stderr
}

func opened(t *testing.T, name string, mode int) *os.File {
	f, err := os.OpenFile(name, mode, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("this system has no %s", name) // only Linux has /dev/full
	}
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAResultThatCannotBePrintedIsAFailure(t *testing.T) {
	runBeside(t)
	reader, broken := testenv.Must2(os.Pipe())(t)
	defer broken.Close()
	reader.Close()
	for _, tc := range []struct {
		name   string
		stdout *os.File
		want   string
	}{
		{"a full disk", opened(t, "/dev/full", os.O_WRONLY), "bench: standard output: write /dev/stdout: no space left on device\n"},
		{"a pipe without a reader", broken, "bench: standard output: write /dev/stdout: broken pipe\n"},
	} {
		for _, args := range [][]string{{"-n", "2", "-locks", "naive"}, {"-help"}} {
			cmd, stderr := program(t, tc.stdout, args...)
			require.Error(t, cmd.Run(), "%s: %q", tc.name, args)
			require.Equal(t, exitFailure, cmd.ProcessState.ExitCode(), "%s: %q: %s", tc.name, args, stderr)
			require.Equal(t, tc.want, stderr.String(), "%s: %q: before anything is measured", tc.name, args)
		}
	}
	cmd, stderr := program(t, opened(t, os.DevNull, os.O_WRONLY), "-n", "2", "-locks", "naive")
	require.NoError(t, cmd.Run(), stderr.String())
}

// The nodes of a benchmark whose terminal is closed are removed, as at Ctrl-C.
func TestAClosedTerminalLeavesNoNodes(t *testing.T) {
	srv, addr := listen(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) {
			continue // under nohup a hang-up ends nothing
		}
		deletes := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		cmd, stderr := program(t, opened(t, os.DevNull, os.O_WRONLY), "-zk", addr, "-warmup", "0s",
			"-n", "100", "-rounds", "999", "-locks", "least", "-path", "/a/b")
		require.NoError(t, cmd.Start())
		<-deletes.Hit() // a run has begun
		require.NotEmpty(t, srv.Children("/a/b"))
		require.NoError(t, cmd.Process.Signal(sig))
		deletes.Release()
		require.Error(t, cmd.Wait())
		require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%v: %s", sig, stderr)
		require.Equal(t, []string{"zookeeper"}, srv.Children("/"), sig)
	}
}

func TestWithoutATerminalEachRunIsALine(t *testing.T) {
	setDuring(t, &withTrials, true)
	status, _, stderr := bench(t, "-n", "3,5", "-rounds", "2", "-locks", "predecessor,floor", "-warmup", "0s")
	require.Zero(t, status, stderr)
	require.Equal(t, "trying predecessor …\n"+
		"1/8 predecessor, 3 goroutines, round 1 of 2 … T\n"+
		"2/8 floor, 3 goroutines, round 1 of 2 … T\n"+
		"3/8 floor, 3 goroutines, round 2 of 2 … T\n"+ // a round begins with the next lock
		"4/8 predecessor, 3 goroutines, round 2 of 2 … T\n"+
		"5/8 predecessor, 5 goroutines, round 1 of 2 … T\n"+
		"6/8 floor, 5 goroutines, round 1 of 2 … T\n"+
		"7/8 floor, 5 goroutines, round 2 of 2 … T\n"+
		"8/8 predecessor, 5 goroutines, round 2 of 2 … T\n", regexp.MustCompile(`[\d.]+ ms`).ReplaceAllString(stderr, "T"))
}

// The tables, the progress, and the page with its charts have no English word.
func TestAReaderOfChineseReadsNoEnglish(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-lang", "zh", "-n", "3,5", "-rounds", "2",
		"-locks", "naive,predecessor,least,curator", "-explain", "-report", page)
	require.Zero(t, status, stderr)
	html := regexp.MustCompile(`(?s)<style.*?</style>|<code>.*?</code>|<[^>]*>`).ReplaceAllString(fileText(t, page), "\n")
	require.Empty(t, chinesetest.English(stdout+stderr+html))
	header := regexp.MustCompile(`(?m)^锁 +N .*`).FindAllString(stdout, -1)
	require.Len(t, header, 3)
	for _, words := range []string{"elapsed", "count", "events", "rounds", "predicted", "other", "contenders"} {
		require.NotContains(t, strings.Join(header, "")+html, words)
	}
}

func TestOnATerminalTheLinesOfRunsStay(t *testing.T) {
	var screen bytes.Buffer
	setDuring(t, &isTerminal, func(io.Writer) bool { return true })
	p := &progress{w: &screen, rounds: 1, total: 2}
	p.Say(i18n.Same("trying"))
	p.End(report.Run{Status: report.StatusNotRun})
	job := counter.Job{Player: &curatorPlayer{}, Load: counter.Load{N: 2, Sessions: 1, Times: 1}}
	p.Begin(job)
	p.Say(i18n.Same("warming")) // while the first run is under way; nothing is said during the second one
	p.End(report.Run{Status: report.StatusWarmUp})
	p.End(report.Run{Elapsed: time.Millisecond})
	p.Begin(job)
	p.End(report.Run{Status: report.StatusFailed})
	p.finish()
	const one, two = "1/2 , 2 goroutines …", "2/2 , 2 goroutines …" // a player without a name
	require.Equal(t, "trying …"+eraseLine+one+eraseLine+"warming …"+eraseLine+one+" 1.0 ms\n"+two+" FAILED\n", screen.String())
}
