// Package testenv says which tests run. A test that takes long, that needs a tool, or that is not for
// the race detector or for another server says so itself, and why; no list of names does.
//
// The environment variable ZKLOCK_TESTS asks for more than go test plays otherwise:
//
//	landing  what each change must pass: .ci/run. A test whose tool is missing fails.
//	long     all that there is, too, and more with the race detector: .ci/long
package testenv

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// T is the part of a *testing.T that these helpers need.
type T interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

const variable = "ZKLOCK_TESTS"

// asked returns the value of the variable. It reads it each time: so go test knows that a cached result depends on it.
func asked() string {
	switch value := os.Getenv(variable); value {
	case "", "landing", "long":
		return value
	default:
		panic(fmt.Sprintf("%s=%q: want landing or long", variable, value))
	}
}

// AtLanding reports whether ZKLOCK_TESTS is landing or long.
func AtLanding() bool { return asked() != "" }

// AtLength reports whether ZKLOCK_TESTS is long.
func AtLength() bool { return asked() == "long" }

// Landing skips a test unless ZKLOCK_TESTS is landing or long, or -run names a subtest.
func Landing(t T, why string) {
	t.Helper()
	if run := flag.Lookup("test.run"); !AtLanding() && (run == nil || !strings.Contains(run.Value.String(), "/")) {
		t.Skip(why + ": asked for by " + variable + "=landing")
	}
}

// Long skips a test unless ZKLOCK_TESTS is long.
func Long(t T, why string) {
	t.Helper()
	if !AtLength() {
		t.Skip(why + ": asked for by " + variable + "=long")
	}
}

// NotRaced skips a test that runs with the race detector; Raced is in race.go and norace.go.
func NotRaced(t T, why string) {
	t.Helper()
	if Raced {
		t.Skip("not with the race detector: " + why)
	}
}

// RacedAtLength skips a test with the race detector unless ZKLOCK_TESTS is long: other tests race the same lines.
func RacedAtLength(t T, why string) {
	t.Helper()
	if Raced && !AtLength() {
		t.Skip("with the race detector, asked for by " + variable + "=long: " + why)
	}
}

// Elsewhere reports whether ZK names another server than the embedded one.
func Elsewhere() bool {
	zk := os.Getenv("ZK")
	return zk != "" && zk != "embedded"
}

// Embedded skips a test where ZK names another server than the embedded one.
func Embedded(t T, why string) {
	t.Helper()
	if Elsewhere() {
		t.Skip(why + " (unset ZK)")
	}
}

// EmbeddedMain runs the tests of a package that brings its own server. Where ZK names another one, they have been run.
func EmbeddedMain(m interface{ Run() int }) {
	if Elsewhere() {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Again plays a trial in real time, again and again until one is not Spoiled.
func Again(t *testing.T, play func(t *testing.T)) {
	t.Helper()
	go watch(t.Context())
	done := false
	for try := 1; !done && !t.Failed(); try++ {
		if try > 5 {
			t.Fatal("each trial was spoiled")
		}
		t.Run(strconv.Itoa(try), func(t *testing.T) {
			play(t)
			done = true
		})
	}
}

// Spoiled ends a trial of Again whose outcome a stopped machine can cause. It fails if the machine has not stopped.
func Spoiled(t *testing.T, outcome string) {
	t.Helper()
	if at := stopped.Load(); at == nil || time.Since(*at) > 5*time.Minute {
		t.Fatal(outcome + ", and the machine has not stopped")
	}
	t.Skip(outcome + ", and the machine has stopped meanwhile: Again plays another trial")
}

var stopped atomic.Pointer[time.Time] // when the machine was last seen to stop; nil: never

// watch notes when this process gets no processor for a second, or the disk takes one to write.
func watch(ctx context.Context) {
	f, err := os.CreateTemp("", "")
	if err == nil {
		os.Remove(f.Name())
		defer f.Close()
	}
	for last := time.Now(); ctx.Err() == nil; last = time.Now() {
		time.Sleep(250 * time.Millisecond)
		f.WriteAt([]byte{0}, 0) // without a file, both calls return an error at once
		f.Sync()
		if now := time.Now(); now.Sub(last) > time.Second {
			stopped.Store(&now)
		}
	}
}

// Missing skips a test whose tool is missing. If ZKLOCK_TESTS is landing or long, it fails the test.
func Missing(t T, what string) {
	t.Helper()
	if AtLanding() {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Err returns the error of a call whose value is of no interest.
func Err[V any](_ V, err error) error { return err }

// Must returns the value of a call that must not fail: Must(os.ReadFile(name))(t). If it fails, the test does, with
// the error, the value and the texts in otherwise.
func Must[V any](value V, err error) func(t testing.TB, otherwise ...any) V {
	return func(t testing.TB, otherwise ...any) V {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s %v", err, any(value), otherwise)
		}
		return value
	}
}

// Must2 is Must for a call that returns two values.
func Must2[V, W any](v V, w W, err error) func(t testing.TB, otherwise ...any) (V, W) {
	return func(t testing.TB, otherwise ...any) (V, W) {
		t.Helper()
		return Must(v, err)(t, otherwise...), w
	}
}

// Must3 is Must for a call that returns three values.
func Must3[V, W, X any](v V, w W, x X, err error) func(t testing.TB, otherwise ...any) (V, W, X) {
	return func(t testing.TB, otherwise ...any) (V, W, X) {
		t.Helper()
		return Must(v, err)(t, otherwise...), w, x
	}
}

// A Buffer keeps what goroutines write, for a test that reads it meanwhile.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
