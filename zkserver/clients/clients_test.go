//go:build unix

// Package clients_test lets clients that are not ours count to 100 on the
// embedded server: it serves ZooKeeper's protocol, not only the part that one Go
// library needs.
//
// Each client runs as several operating-system processes. A process takes the
// lock under test, reads the counter, writes it back plus one, and releases
// the lock. It writes with the version that it has read. So two processes that
// hold the lock at once are found out: the later write fails, and with it the
// process.
//
// One game is about a lock of ours: zklock shares its path with Curator's and
// zk.Lock. It is played on the server that ZK names, too.
//
// The processes of zk.Lock and Curator keep in step with the test over
// their standard streams: each says "ready" when it is connected, starts at a
// line, says "done" after its last turn, and at the end of its input closes
// its session and exits with status 0. An end that comes too early means that
// the test has died; the process ends at once.
package clients_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		workAsCounter()
		return
	}
	locktest.Main(m)
}

const (
	total    = 100             // to which the processes of a client count, together
	patience = 5 * time.Minute // how long something that must happen may take
	counter  = "/counter"
)

// aboutTheEmbeddedServer skips a test where another server is asked for.
func aboutTheEmbeddedServer(t *testing.T) {
	t.Helper()
	testenv.Embedded(t, "is about the embedded server alone")
}

// needs skips a test of a foreign client unless it is asked for, and unless
// all that it is made of is there: files, and commands on PATH, each with the
// Debian package that has it. At a landing nothing may be missing.
func needs(t *testing.T, packages map[string]string) {
	t.Helper()
	testenv.Landing(t, "runs clients that we did not write: Curator, zkCli.sh, the test suites of others")
	testenv.NotRaced(t, "the clients are other processes")
	var missing []string
	for file, debian := range packages {
		var err error
		if strings.Contains(file, "/") {
			_, err = os.Stat(file)
		} else {
			_, err = exec.LookPath(file)
		}
		if err != nil {
			missing = append(missing, debian)
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	testenv.Missing(t, "not installed: Debian's "+strings.Join(slices.Compact(missing), ", "))
}

// A counterTest is one counter and the processes that count.
type counterTest struct {
	*testing.T
	srv       *zkserver.Server // nil: whatever ZK names
	addr      string
	counter   string // its path
	processes []*process
}

// newCounterTest starts a server with a counter of 0.
func newCounterTest(t *testing.T) *counterTest {
	t.Helper()
	aboutTheEmbeddedServer(t)
	g := &counterTest{T: t, srv: zkserver.Run(t), counter: counter}
	g.addr = g.srv.Addr()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn := testenv.Must(ensemble.OverPipes(g.srv).Connect(ctx, ensemble.Options{}))(t)
	defer conn.Close()
	testenv.Must(conn.Create(counter, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	return g
}

// start runs one more process, which is killed when the test ends if it still
// lives.
func (g *counterTest) start(env []string, argv ...string) *process {
	g.Helper()
	p := &process{
		name:   fmt.Sprintf("process %d", len(g.processes)+1),
		said:   make(chan struct{}),
		exited: make(chan struct{}),
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = p, p // the same one: so both keep their order
	// A group of its own: zkCli.sh is a script, whose JVM has to go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	p.stdin, err = cmd.StdinPipe()
	require.NoError(g, err)
	require.NoError(g, cmd.Start())
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	g.Cleanup(func() {
		select {
		case <-p.exited:
		default:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-p.exited
		}
	})
	g.processes = append(g.processes, p)
	return p
}

// all waits until every one of the processes has said a line.
func (g *counterTest) all(processes []*process, line string) {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), patience)
	defer cancel()
	for _, p := range processes {
		testenv.Must(p.nextLine(ctx, regexp.MustCompile("^"+regexp.QuoteMeta(line)+"$")))(g)
	}
}

// say sends a line to each of the processes.
func say(processes []*process, line string) {
	for _, p := range processes {
		// If that fails, it has ended; reading its output shows that.
		io.WriteString(p.stdin, line+"\n")
	}
}

// hold keeps the next request of a kind for the counter from the server until
// Release, and with it the process that sent it in its critical section.
func (g *counterTest) hold(op jute.Op) *zkserver.Fault {
	return g.srv.Hold(func(r zkserver.Request) bool { return r.Op == op && r.Path == counter })
}

// hit waits until a process has met a fault.
func (g *counterTest) hit(f *zkserver.Fault, what string) {
	g.Helper()
	g.eventually(what, func() bool {
		select {
		case <-f.Hit():
			return true
		default:
			return false
		}
	})
}

// eventually waits for a state of the server. It polls, because no event reports
// it. It gives up when a process ends, because no process may end before it gets
// the order to.
func (g *counterTest) eventually(what string, ok func() bool) {
	g.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		for _, p := range g.processes {
			select {
			case <-p.exited:
				g.Fatalf("never happens: %s; %v", what, p.ended())
			default:
			}
		}
		if time.Now().After(deadline) {
			g.Fatalf("never happens: %s", what)
		}
	}
}

// exits waits until a process has ended.
func (g *counterTest) exits(p *process) {
	g.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		g.Fatalf("%s does not exit; it said:\n%s", p.name, p.all())
	}
}

// leave lets the processes end, and checks that each ends well and in good
// order: with its session closed, not left to expire, as far as the server
// can be asked.
func (g *counterTest) leave() {
	g.Helper()
	for _, p := range g.processes {
		p.stdin.Close()
	}
	for _, p := range g.processes {
		g.exits(p)
		require.NoError(g, p.err, "%v", p.ended())
	}
	if g.srv != nil {
		require.Empty(g, g.srv.Sessions(), "a client goes without closing its session")
	}
}

// counted fails unless the turns of all processes are on the counter, each written
// once, and the lock has no child left.
func (g *counterTest) counted(lock string) {
	g.Helper()
	n, ok := g.srv.Node(counter)
	require.True(g, ok)
	require.Equal(g, strconv.Itoa(total), string(n.Data))
	require.EqualValues(g, total, n.Stat.Version, "the counter was written this often")
	_, there := g.srv.Node(lock)
	require.True(g, there, "no process has made the lock")
	require.Empty(g, g.srv.Children(lock), "nodes are left behind")
}

// A process is one client. As a writer it takes the output of the process.
type process struct {
	name   string
	stdin  io.WriteCloser
	exited chan struct{} // closed when it has ended and its output has been read
	err    error         // what it ended with; to be read after exited

	mu   sync.Mutex // guards the fields below
	text string     // all that it has said
	next int        // offset of the first line in text that nextLine has not seen
	said chan struct{}
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text += string(b)
	close(p.said)
	p.said = make(chan struct{})
	return len(b), nil
}

// nextLine returns the next line that matches, and drops those before it.
func (p *process) nextLine(ctx context.Context, want *regexp.Regexp) (string, error) {
	for over := false; ; {
		p.mu.Lock()
		for {
			line, _, whole := strings.Cut(p.text[p.next:], "\n")
			if !whole {
				break
			}
			p.next += len(line) + 1
			if want.MatchString(line) {
				p.mu.Unlock()
				return line, nil
			}
		}
		said := p.said
		p.mu.Unlock()
		if over {
			return "", p.ended()
		}
		select {
		case <-said:
		case <-p.exited:
			over = true // look once more at its last lines
		case <-ctx.Done():
			return "", fmt.Errorf("%s does not say %q; it said:\n%s", p.name, want, p.all())
		}
	}
}

func (p *process) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

// ended describes how a process has ended.
func (p *process) ended() error {
	return fmt.Errorf("%s has ended (%v); it said:\n%s", p.name, p.err, p.all())
}
