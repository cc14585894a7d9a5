package zklock_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// A page has the program of README.md, its commands and its output.
type page struct {
	program  string
	commands []string // that make its folder a module
	printed  string
}

func readme(t *testing.T) page {
	text := testenv.Must(os.ReadFile("README.md"))(t)
	found := regexp.MustCompile("(?ms)^```go\n(package main\n.*?)^```$.*?^```\n(.*?)^```$.*?^```\n(.*?)^```$").FindAllSubmatch(text, -1)
	require.Len(t, found, 1, "programs in README.md, each with its commands and its output")
	commands := strings.Split(strings.TrimSpace(string(found[0][2])), "\n")
	require.Equal(t, "go run .", commands[len(commands)-1])
	return page{string(found[0][1]), commands[:len(commands)-1], string(found[0][3])}
}

// with returns the program with another text in the place of one that it has once.
func (p page) with(t *testing.T, before, after string) page {
	require.Equal(t, 1, strings.Count(p.program, before), "%q in the program", before)
	p.program = strings.Replace(p.program, before, after, 1)
	return p
}

// module makes a module of its own for the program, as the page does, and returns
// its folder.
func (p page) module(t *testing.T) (dir string) {
	root := testenv.Must(filepath.Abs(".."))(t)
	dir = t.TempDir()
	p.write(t, dir)
	sums := testenv.Must(os.ReadFile("../go.sum"))(t) // what this module has verified need not be looked up again
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	for _, command := range p.commands {
		run(t, dir, strings.Fields(strings.Replace(command, "../zklock", root, 1))...)
	}
	return dir
}

func (p page) write(t *testing.T, dir string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(p.program), 0o600))
}

func run(t *testing.T, dir string, args ...string) {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	testenv.Must(cmd.CombinedOutput())(t, args)
}

// TestTheProgramInTheReadmeRuns takes the program out of README.md, builds it
// and runs it. Its output is that of the page, numbers aside. If it gives up or gets
// SIGTERM, it leaves nothing behind.
func TestTheProgramInTheReadmeRuns(t *testing.T) {
	testenv.Landing(t, "compiles a module of its own")
	testenv.NotRaced(t, "it runs another program")
	t.Parallel()
	zoo := locktest.Real(t)
	if zoo == nil {
		zoo = testenv.Must(ensemble.Open(t.Context(), ensemble.SpecEmbedded))(t)
		defer zoo.Close()
	}
	servers := strconv.Quote(strings.Join(zoo.Servers(), `", "`))
	p := readme(t).with(t, `"127.0.0.1:2181"`, strings.ReplaceAll(servers, `\"`, `"`)).
		with(t, "time.Minute", "time.Hour") // a busy machine must not end it
	dir := p.module(t)
	binaries := make(map[string]string) // by the program's text
	start := func(t *testing.T, p page) (program *exec.Cmd, printed *bytes.Buffer) {
		binary := binaries[p.program]
		if binary == "" {
			p.write(t, dir)
			binary = filepath.Join(dir, fmt.Sprintf("program%d.exe", len(binaries)))
			run(t, dir, "go", "build", "-ldflags=-s -w", "-o", binary)
			binaries[p.program] = binary
		}
		program, printed = exec.CommandContext(t.Context(), binary), new(bytes.Buffer)
		program.Stdout, program.Stderr = printed, printed
		require.NoError(t, program.Start())
		return program, printed
	}
	other := func(t *testing.T) (*zk.Conn, *zklock.Mutex) {
		conn := testenv.Must(zoo.Connect(t.Context(), ensemble.Options{SessionTimeout: 40 * time.Second}))(t) // a busy machine must not lose it
		t.Cleanup(conn.Close)
		m := testenv.Must(zklock.New(conn, "/locks/orders"))(t)
		return conn, m
	}
	queued := func(t *testing.T, conn *zk.Conn, n int) {
		require.Eventually(t, func() bool {
			names, _, err := conn.Children("/locks/orders") // there is none at first
			return err == nil && len(names) == n
		}, 10*time.Minute, 10*time.Millisecond)
	}

	alone := func(t *testing.T, conn *zk.Conn) {
		testenv.Must(conn.Sync("/locks/orders"))(t) // the program has another server, perhaps
		names, _ := testenv.Must2(conn.Children("/locks/orders"))(t)
		require.Len(t, names, 1, "the holder's node alone")
	}

	t.Run("alone", func(t *testing.T) {
		program, printed := start(t, p)
		require.NoError(t, program.Wait(), "%s", printed)
		want, got := p.printed, printed.String()
		if !zoo.Embedded() { // the page's token is that of a new embedded server
			number := regexp.MustCompile(`token \d+`)
			want, got = number.ReplaceAllString(want, "token #"), number.ReplaceAllString(got, "token #")
		}
		require.Equal(t, want, got)
	})

	t.Run("gives up", func(t *testing.T) {
		conn, m := other(t)
		lease := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("holder")))(t)
		program, printed := start(t, p.with(t, "time.Hour", "500*time.Millisecond"))
		require.Error(t, program.Wait())
		require.Contains(t, printed.String(), context.DeadlineExceeded.Error())
		alone(t, conn)
		require.NoError(t, lease.Unlock(t.Context()))
		require.NoError(t, m.Shutdown(t.Context()))
	})

	for what, waits := range map[string]bool{"SIGTERM while it waits": true, "SIGTERM while it holds the lock": false} {
		t.Run(what, func(t *testing.T) {
			conn, m := other(t)
			if waits {
				lease := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("holder")))(t)
				program, printed := start(t, p)
				queued(t, conn, 2)
				require.NoError(t, program.Process.Signal(syscall.SIGTERM))
				require.Error(t, program.Wait())
				require.Contains(t, printed.String(), context.Canceled.Error())
				alone(t, conn)
				require.NoError(t, lease.Unlock(t.Context()))
			} else {
				program, _ := start(t, p.with(t, "return nil\n\t})", "<-ctx.Done()\n\t\treturn ctx.Err()\n\t})"))
				queued(t, conn, 1)
				next := lockAside(t.Context(), m, zklock.NewOwner("next"))
				queued(t, conn, 2)
				require.NoError(t, program.Process.Signal(syscall.SIGTERM))
				require.Error(t, program.Wait())
				alone(t, conn) // the program's node has gone with it, and not when its session expires
				got := <-next
				require.NoError(t, got.err)
				require.NoError(t, got.lease.Unlock(t.Context()))
			}
			require.NoError(t, m.Shutdown(t.Context()))
		})
	}
}
