package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/when"
)

// The folders of the steps, and of locks of readers.
var (
	steps   = []string{"../01-naive-ephemeral", "../02-herd-effect", "../03-sequential-predecessor", "../04-reentrant", "../05-timeout", "../zklock"}
	readers = []string{folder("everybody"), folder("second"), folder("giveup"), folder("panics"), folder("background"), folder("latch")}
)

func folder(name string) string { return "./testdata/" + name }

// whole builds a program that has all of them and the locks that are not on
// ZooKeeper. A program for each test would be the same with fewer locks.
var whole = sync.OnceValues(func() (program string, err error) {
	if wholeDir, err = os.MkdirTemp("", "zklock-bench-"); err != nil {
		return "", err
	}
	return buildWith(context.Background(), slices.Concat(steps, readers), []string{"others"}, wholeDir)
})

var wholeDir string

// programs has what programs were asked for.
var programs sync.Map

// builtOnce returns the whole program, if it has what is asked for.
func builtOnce(ctx context.Context, folders, tags []string, dir string) (string, error) {
	programs.Store(fmt.Sprint(folders, tags), true)
	missing := func(name string) bool { return !slices.Contains(readers, name) && !slices.Contains(steps, name) }
	if slices.ContainsFunc(folders, missing) || slices.Contains(tags, "etcd") {
		return buildWith(ctx, folders, tags, dir)
	}
	return whole()
}

// execute runs a program and returns its exit status and its output.
func execute(t *testing.T, program string, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// removing removes the program after the tests.
type removing struct{ goleak.TestingM }

func (r removing) Run() int {
	defer func() { os.RemoveAll(wholeDir) }()
	return r.TestingM.Run()
}

// TestBrokenLocksAreCaught runs locks of readers through the benchmark as
// go run ./bench would, from one program that has them all.
func TestBrokenLocksAreCaught(t *testing.T) {
	when.NotRaced(t, "it runs another program")
	beside(t)
	program, err := whole()
	require.NoError(t, err)
	bench := func(t *testing.T, args ...string) (status int, stdout, stderr string) {
		return execute(t, program, onReal(t, args)...)
	}
	for name, want := range map[string]string{
		"everybody": "a contender got the lock although its holder had not unlocked: two goroutines held the lock at once",
		"second":    "a contender got the lock although its holder had not unlocked: two goroutines held the lock at once",
		"giveup": "when the session of a waiter ended another contender got the lock, although its holder had not unlocked: " +
			"two goroutines held the lock at once",
		"latch":  "a contender got the lock after 30s of waiting, although its holder had not unlocked: two goroutines held the lock at once",
		"panics": "Lock panicked: runtime error: index out of range [0] with length 0 (lock.go:17)",
	} {
		t.Run(name, func(t *testing.T) {
			beside(t)
			status, stdout, stderr := bench(t, "-locks", "predecessor,"+folder(name)+",../02-herd-effect", "-n", "5,10")
			require.Equal(t, exitFailure, status, stderr)
			require.True(t, strings.HasSuffix(stderr, want+"\n"), stderr)
			require.Equal(t, 1, strings.Count(stderr, "bench: "), stderr)
			require.Contains(t, stderr, "bench: "+name+", tried with 5 contenders on ")
			require.Regexp(t, `(?m)^`+name+` +5 +FAILED `, stdout)
			for _, other := range []string{"predecessor +5", "02-herd-effect +5", "predecessor +10", name + " +10", "02-herd-effect +10"} {
				require.Regexp(t, `(?m)^`+other+` +not run: `+name+` with 5 failed`, stdout)
			}
		})
	}
	t.Run("locks that are right are measured, whichever step's API they have", func(t *testing.T) {
		beside(t)
		file := filepath.Join(t.TempDir(), "out.json")
		status, stdout, stderr := bench(t, "-locks", strings.Join(steps, ",")+",naive", "-n", "20", "-json", file)
		require.Zero(t, status, stderr)
		rs := written[[]report.Run](t, file)
		require.Len(t, rs, 7)
		// zklock is built in, so that its folder is named as it was typed.
		names := strings.Fields("01-naive-ephemeral 02-herd-effect 03-sequential-predecessor 04-reentrant 05-timeout ../zklock naive")
		for i, name := range names {
			require.Regexp(t, `(?m)^\Q`+name+`\E +20 +20 `, stdout)
			require.Equal(t, name, rs[i].Lock)
			require.Equal(t, 20, rs[i].Count)
		}
		for _, r := range rs[2:6] {
			most := 5
			if r.Lock == "05-timeout" {
				most = 6 // it reads its own node
			}
			require.LessOrEqual(t, r.Requests, int64(most*20), "the parent of the queue was there before the clock started")
		}
	})
}

func TestAPanicInAnotherGoroutineIsReported(t *testing.T) {
	when.NotRaced(t, "it runs another program")
	when.Embedded(t, "is about what is built")
	beside(t)
	status, _, stderr := bench(t, "-n", "5", "-locks", "naive,./testdata/background,../02-herd-effect")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "trying background …\n")
	require.Contains(t, stderr, "panic: no queue")
	require.True(t, strings.HasSuffix(stderr,
		"bench: the benchmark crashed (exit status 2): a goroutine of background or of 02-herd-effect panicked, see above\n"), stderr)
	_, ok := programs.Load("[./testdata/background ../02-herd-effect] []")
	require.True(t, ok, "the program has the folders")
}

func TestAFolderWithoutAUsableLockIsOneLine(t *testing.T) {
	when.NotRaced(t, "it runs another program")
	when.Embedded(t, "is about what is built")
	t.Chdir(t.TempDir()) // a folder need not be in the repository
	lock := func(name, text string) string {
		require.NoError(t, os.Mkdir(name, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(name, "lock.go"), []byte(text), 0o600))
		return "./" + name
	}
	const start = "package mine\n\nimport \"github.com/go-zookeeper/zk\"\n\ntype Lock struct{}\n\n"
	require.NoError(t, os.Mkdir("empty", 0o700))
	for _, tc := range []struct{ locks, want string }{
		{"naive,./missing", "bench: -locks: ./missing: there is no such folder\n"},
		{"./empty", "bench: -locks: ./empty: the folder has no Go files\n"},
		{lock("nonew", "package mine\n"), "./nonew: it has no function New; the benchmark needs New(conn *zk.Conn, path string) *Lock"},
		{lock("program", "package main\n\nfunc main() {}\n"), "./program: package main cannot be imported: give the package another name\n"},
		{lock("nounlock", start+"func New(conn *zk.Conn, path string) *Lock { return nil }\n\nfunc (l *Lock) Lock() error { return nil }\n"),
			"./nounlock: New is not what the benchmark needs: New(conn *zk.Conn, path string) *Lock, with " +
				"Lock() error and Unlock() error, as in 03-sequential-predecessor; the compiler says: cannot use New(conn, path)"},
		{lock("syntax", "package mine\n\nfunc {"), "bench: -locks: ./syntax: does not compile: lock.go:3:6: expected 'IDENT', found '{'"},
		{lock("types", start+"func New(conn *zk.Conn, path string) *Lock { return nothing }\n"),
			"bench: -locks: does not compile: types/lock.go:7:53: undefined: nothing\n"},
		{lock("import", "package mine\n\nimport \"example.com/not/there\"\n\nfunc New() { there.Be() }\n"),
			"bench: -locks: does not compile: import/lock.go:3:8: no required module provides package example.com/not/there"},
		{lock("value", start+"func New(conn *zk.Conn, path string) (Lock, error) { return Lock{}, nil }\n"),
			"./value: New is not what the benchmark needs: New(conn *zk.Conn, path string) (*Mutex, error)"},
	} {
		status, stdout, stderr := bench(t, "-n", "5", "-locks", tc.locks)
		require.Equal(t, exitFailure, status, tc.locks)
		oneLine(t, stderr, tc.want)
		require.Empty(t, stdout)
	}
	for locks, want := range map[string]string{
		"./types,types/":  "-locks: types/ is named twice",
		"./types,./types": "-locks: ./types is named twice",
		"types":           `no lock is called "types"; there are naive, herd, predecessor`,
	} {
		status, _, stderr := bench(t, "-locks", locks)
		require.Equal(t, exitUsage, status)
		oneLine(t, stderr, want)
	}
}

func TestFoldersWithOneNameAreDistinguished(t *testing.T) {
	cs, err := ownContestants([]string{"./ann/lock", "./ben/lock/", "./naive", "carl/queue"}, []string{"naive"})
	require.NoError(t, err)
	var names []string
	for _, c := range cs {
		names = append(names, c.name)
		require.NotContains(t, c.nodeName(), "/")
	}
	require.Equal(t, []string{"ann/lock", "ben/lock", "naive", "queue"}, names)
}

// Right locks pass the trial that holds for long, and a fault is found in virtual time.
func TestAHolderKeepsTheLockForLongerThanASession(t *testing.T) {
	late := contestant{name: "late", open: onZoo(each(func(*zk.Conn, string) locker {
		return fake{lock: func() error { time.Sleep(longHold - time.Second); return nil }}
	}))}
	require.ErrorContains(t, holdLong(t, late), "after 59s of waiting")
	for _, c := range onZooKeeper() {
		if c.unsafe.En == "" && c.name != "curator" {
			require.NoError(t, holdLong(t, c), c.name)
		}
	}
}

// untried measures locks that would fail a trial.
func untried(t *testing.T) {
	set(t, &tries, false)
}

// wholeTrials makes trials as long as they are elsewhere, or longer: a contender that gets
// in must have the time to say so, on a busy machine.
func wholeTrials(t *testing.T) {
	set(t, &calmPolls, 15)
	set(t, &patientCalm, mostPolls)
}

// yielding is a lock that all waiters get when the context of one of them ends.
type yielding struct {
	fake
	given chan struct{}
}

func (l yielding) LockContext(ctx context.Context) error {
	<-ctx.Done()
	close(l.given)
	return ctx.Err()
}

func TestALockThatYieldsWhenAContextEndsFailsItsTrial(t *testing.T) {
	wholeTrials(t)
	given, made := make(chan struct{}), 0
	compete(t, contestant{name: "yielding", open: onZoo(each(func(*zk.Conn, string) locker {
		if made++; made == 1 {
			return fake{}
		}
		return yielding{fake{lock: func() error { <-given; return nil }}, given}
	}))})
	fails(t, "FAILED", soon("5"), fmt.Sprintf(gaveUpText, "the context of a waiter ended"))
}

// A lock that is only a mutex excludes, but not from another process.
func TestALockThatDoesNotAskZooKeeperFailsItsTrial(t *testing.T) {
	var mutex sync.Mutex
	compete(t, contestant{name: "mutex", open: onZoo(each(func(*zk.Conn, string) locker {
		return fake{
			func() error { mutex.Lock(); return nil },
			func() error { mutex.Unlock(); return nil },
		}
	}))})
	fails(t, "FAILED", soon("5"), ": it sent nothing to ZooKeeper: it excludes no contender of another process\n")
}

// The lock does not even return when its session ends.
func TestALockThatNeverReturnsDoesNotKeepTheBenchmark(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	compete(t, contestant{name: "deaf", open: onZoo(each(func(*zk.Conn, string) locker {
		return fake{lock: func() error { <-over; return errors.New("the test is over") }}
	}))}, contestants[2])
	set(t, &trialPatience, 50*time.Millisecond)
	set(t, &returnTimeout, 50*time.Millisecond)
	fails(t, `(?m)^deaf +5 +FAILED (.|\n)*^predecessor +5 +not run: deaf with 5 failed`, soon("5"),
		"bench: deaf, tried with 5 contenders on ", ": it hangs: for 50ms no contender got the lock although it was free\n")

	untried(t)
	fails(t, "FAILED", soon("5", "-limit", "100ms"), "it hangs: for 50ms no contender got the lock and nothing was sent, at 0 of 5\n")
}

func TestAPanicEndsTheRun(t *testing.T) {
	compete(t, contestant{name: "panicky", open: onZoo(each(func(*zk.Conn, string) locker {
		return fake{unlock: func() error { panic("no such node") }}
	}))})
	untried(t)
	require.Regexp(t, `panicky with 1 goroutine on .*: session 0x\w+: Unlock panicked: no such node \(own_test.go:\d+\)`, fails(t, "FAILED", soon("1")))
}
