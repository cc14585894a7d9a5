// Tests that the numbers, tables and programs of zklock's pages are those of the code. helpers_test.go has the helpers.
package zklock_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

var productionPages = []string{"../docs/production.md", "../docs/production.zh-CN.md"}

// A deployment is a server and clients that have one session timeout, in virtual time. The tap counts their requests.
type deployment struct {
	*serverTest
	timeout time.Duration
	tap     *wiretap.Tap
}

// client opens a client, and the line to its server.
func (s *deployment) client() (*zk.Conn, *bubble.Line) {
	line := &bubble.Line{Server: s.srv}
	conn := testenv.Must(zkconn.Connect(context.Background(), threeServers, s.timeout,
		zkconn.WithZK(zk.WithMaxConnBufferSize(1<<16)), zkconn.WithDialer(s.tap.Dialer(line.Dial))))(s)
	s.Cleanup(conn.Close)
	return conn, line
}

// lock acquires the lock at a path, or waits for it, aside.
func (s *deployment) lock(conn *zk.Conn, path string) <-chan lockResult {
	return startQueuedWaiter(testenv.Must(zklock.New(conn, path))(s))
}

// idle counts the requests and pings per second while nothing happens.
func (s *deployment) idle() float64 {
	time.Sleep(2 * s.timeout)
	const periods = 12 // each is a session timeout
	before := s.tap.Counts()
	time.Sleep(periods * s.timeout)
	return float64(sum(s.tap.Counts().Since(before).Requests)) / (periods * s.timeout).Seconds()
}

// docs/production.md says how long the next contender waits for a holder that breaks, what clients, holders and waiters
// send, and how long a stop takes, for each session timeout.
func TestProductionSaysWhatASessionTimeoutCosts(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of locks")
	var rows strings.Builder
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 30 * time.Second} {
		on := func(play func(s *deployment)) {
			onServer(t, func(tb *serverTest) { play(&deployment{tb, timeout, new(wiretap.Tap)}) })
		}

		const phases = 8
		least, most := time.Hour, time.Duration(0) // from a holder's break until the next one holds it
		for phase := range phases {
			on(func(s *deployment) {
				holder, line := s.client()
				<-s.lock(holder, lockPath)
				other, _ := s.client()
				next := s.lock(other, lockPath)
				time.Sleep(timeout + timeout*time.Duration(phase)/phases)
				line.Down.Store(true) // the holder cannot come back
				s.srv.Cut(holder.SessionID())
				began := time.Now()
				<-next
				least, most = min(least, time.Since(began)), max(most, time.Since(began))
			})
		}

		var session, holder, hundredHolders, waiter, before float64 // requests a second, of each; before: without the waiters
		on(func(s *deployment) {                                    // a client, a holder, and a hundred locks of one client
			conn, _ := s.client()
			session = s.idle()
			s.lock(conn, lockPath)
			holder = s.idle() - session
			for i := range 99 {
				s.lock(conn, fmt.Sprintf("%s-%d", lockPath, i))
			}
			hundredHolders = s.idle() - session
		})
		on(func(s *deployment) { // a waiter, of many that come behind others
			const others, waiters = 10, 20
			for n := range others + waiters {
				if n == others {
					before = s.idle()
				}
				conn, _ := s.client()
				s.lock(conn, lockPath)
			}
			waiter = (s.idle() - before) / waiters
		})

		var stops time.Duration
		on(func(s *deployment) { // a program stops, as docs/production/leader does
			conn, _ := s.client()
			m := testenv.Must(zklock.New(conn, lockPath))(s)
			ctx, stop := context.WithCancel(context.Background())
			done := inBackground(func() error {
				return m.Do(ctx, nil, func(ctx context.Context, _ *zklock.Lease) error { <-ctx.Done(); return nil })
			})
			time.Sleep(timeout)
			silence := s.srv.Hold(func(zkserver.Request) bool { return true }).Every()
			began := time.Now()
			stop()
			require.NoError(s, <-done)
			m.Shutdown(s.within(5 * time.Second))
			conn.Close()
			stops = time.Since(began)
			silence.Release()
		})
		fmt.Fprintf(&rows, "| %v | %v | %.1f–%.1f s | %.2f | %.2f | %.0f | %.2f | %.1f s |\n", timeout, timeout/2,
			least.Seconds(), most.Seconds(), session, session+holder, session+hundredHolders, waiter, stops.Seconds())
	}
	site.HoldsBoth(t, "docs/production.md", "session timeouts", i18n.Textf("| session timeout | the only server stops, or the leader: no lease is lost "+
		"| the holder crashes: the next one is in after | requests/s of a client: no lock | 1 held | 100 held | each more that waits on a path "+
		"| SIGTERM while no server answers: the leader has ended after |\n|---|---:|---:|---:|---:|---:|---:|---:|\n%s", rows.String()))
}

// The table of errors in both editions of docs/production.md has each exported error of zklock and zkconn, and each
// other text in it is a part of a message of these packages or of the client.
func TestProductionHasEveryError(t *testing.T) {
	library := testenv.Must(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output())(t)
	sources := context.DeadlineExceeded.Error()
	for _, file := range []string{"/conn.go", "/constants.go"} {
		sources += string(testenv.Must(os.ReadFile(strings.TrimSpace(string(library)) + file))(t))
	}
	var names []string
	exported := regexp.MustCompile(`(?m)^(?:var |\t)(Err[A-Z]\w*) += `)
	for pkg, dir := range map[string]string{"zklock": ".", "zkconn": "zkconn", "": "internal/client"} {
		for _, file := range testenv.Must(filepath.Glob(dir + "/*.go"))(t) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text := testenv.Must(os.ReadFile(file))(t)
			sources += string(text)
			for _, found := range exported.FindAllStringSubmatch(string(text), -1) {
				if pkg != "" { // zklock exports the errors of internal/client as its own
					names = append(names, pkg+"."+found[1])
				}
			}
		}
	}
	require.Contains(t, names, "zklock.ErrLost")
	for _, page := range productionPages {
		text := testenv.Must(os.ReadFile(page))(t)
		table := string(text[bytes.LastIndex(text, []byte("\n## ")):])
		for _, name := range names {
			require.True(t, strings.Contains(table, "\n| `"+name+"` |"), "%s: the table of errors lacks %s", page, name)
		}
		for _, row := range regexp.MustCompile("(?m)^\\| `([^|]*?) \\|").FindAllStringSubmatch(table, -1) {
			for i, said := range strings.Split(row[1], "`") {
				isCode := i%2 == 0 // the first text is that after the row's first backquote
				isName := strings.HasPrefix(said, "zklock.Err") || said == "Lock" || said == "Unlock" || said == "Shutdown"
				if isCode && !isName {
					require.True(t, strings.Contains(sources, said), "%s: no message has the text %q", page, said)
				}
			}
		}
	}
}

// The table of metrics in both editions of docs/production.md has each field of Stats.
func TestProductionHasEveryCount(t *testing.T) {
	for _, page := range productionPages {
		text := testenv.Must(os.ReadFile(page))(t)
		for _, f := range reflect.VisibleFields(reflect.TypeFor[zklock.Stats]()) {
			row := regexp.MustCompile("(?m)^\\| `zklock_[a-z_]+` \\| [a-z]+ \\| `" + f.Name + "`")
			require.True(t, row.Match(text), "%s: the table of metrics lacks %s", page, f.Name)
		}
	}
}

// A readmeProgram has the program of README.md, its commands and its output.
type readmeProgram struct {
	program  string
	commands []string // that make its folder a module
	printed  string
}

func readme(t *testing.T) readmeProgram {
	text := testenv.Must(os.ReadFile("README.md"))(t)
	const program, commandsOf, output = "^```go\n(package main\n.*?)^```$", "^```\n(.*?)^```$", "^```\n(.*?)^```$"
	found := regexp.MustCompile("(?ms)"+program+".*?"+commandsOf+".*?"+output).FindAllSubmatch(text, -1)
	require.Len(t, found, 1, "programs in README.md, each with its commands and its output")
	commands := strings.Split(strings.TrimSpace(string(found[0][2])), "\n")
	require.Equal(t, "go run .", commands[len(commands)-1])
	return readmeProgram{string(found[0][1]), commands[:len(commands)-1], string(found[0][3])}
}

// with returns the program with another text in the place of one that it has once.
func (p readmeProgram) with(t *testing.T, before, after string) readmeProgram {
	require.Equal(t, 1, strings.Count(p.program, before), "%q in the program", before)
	p.program = strings.Replace(p.program, before, after, 1)
	return p
}

// module makes a module of its own for the program, as the page does, and returns its folder.
func (p readmeProgram) module(t *testing.T) (dir string) {
	root := testenv.Must(filepath.Abs(".."))(t)
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(p.program), 0o600))
	sums := testenv.Must(os.ReadFile("../go.sum"))(t) // what this module has verified need not be looked up again
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	for _, command := range p.commands {
		runIn(t, dir, strings.Fields(strings.Replace(command, "../zklock", root, 1))...)
	}
	return dir
}

func runIn(t *testing.T, dir string, args ...string) {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	testenv.Must(cmd.CombinedOutput())(t, args)
}

// TestTheProgramInTheReadmeRuns takes the program out of README.md, builds it and runs it. Its output is that of the
// page, numbers aside. If it gives up or gets SIGTERM, it leaves nothing behind.
func TestTheProgramInTheReadmeRuns(t *testing.T) {
	testenv.Landing(t, "compiles a module of its own")
	testenv.NotRaced(t, "it runs another program")
	t.Parallel()
	zoo := locktest.Real(t)
	if zoo == nil {
		zoo = testenv.Must(ensemble.Open(t.Context(), ensemble.SpecEmbedded))(t)
		defer zoo.Close()
	}
	servers := `"` + strings.Join(zoo.Servers(), `", "`) + `"`
	p := readme(t).with(t, `"127.0.0.1:2181"`, servers).with(t, "time.Minute", "time.Hour") // a busy machine must not end it
	dir := p.module(t)
	binaries := make(map[string]string) // by the program's text
	start := func(t *testing.T, p readmeProgram) (program *exec.Cmd, printed *bytes.Buffer) {
		binary := binaries[p.program]
		if binary == "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(p.program), 0o600))
			binary = filepath.Join(dir, fmt.Sprintf("program%d.exe", len(binaries)))
			runIn(t, dir, "go", "build", "-ldflags=-s -w", "-o", binary)
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
		t.Cleanup(func() { require.NoError(t, m.Shutdown(context.Background())) }) // before the client is closed
		return conn, m
	}
	waitForNodes := func(t *testing.T, conn *zk.Conn, n int) {
		require.Eventually(t, func() bool {
			names, _, err := conn.Children("/locks/orders") // there is none at first
			return err == nil && len(names) == n
		}, 10*time.Minute, 10*time.Millisecond)
	}

	requireAlone := func(t *testing.T, conn *zk.Conn) {
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
		requireAlone(t, conn)
		require.NoError(t, lease.Unlock(t.Context()))
	})

	terminate := func(t *testing.T, conn *zk.Conn, program *exec.Cmd) {
		waitForNodes(t, conn, 2)
		require.NoError(t, program.Process.Signal(syscall.SIGTERM))
		require.Error(t, program.Wait())
		requireAlone(t, conn) // the program's node has gone with it, and not when its session expires
	}
	t.Run("SIGTERM while it waits", func(t *testing.T) {
		conn, m := other(t)
		lease := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("holder")))(t)
		program, printed := start(t, p)
		terminate(t, conn, program)
		require.Contains(t, printed.String(), context.Canceled.Error())
		require.NoError(t, lease.Unlock(t.Context()))
	})
	t.Run("SIGTERM while it holds the lock", func(t *testing.T) {
		conn, m := other(t)
		program, _ := start(t, p.with(t, "return nil\n\t})", "<-ctx.Done()\n\t\treturn ctx.Err()\n\t})")) // the end of Do's function
		waitForNodes(t, conn, 1)
		next := startLock(t.Context(), m, zklock.NewOwner("next"))
		terminate(t, conn, program)
		got := <-next
		require.NoError(t, got.err)
		require.NoError(t, got.lease.Unlock(t.Context()))
	})
}
