//go:build unix

// Package clients_test has clients that others wrote use our servers and our lock. On the embedded server
// they show that it serves ZooKeeper's protocol, not only the part that one Go library needs; on the server
// that ZK names, what the libraries do. Their locks meet on one path, two by two, which fills the table of
// docs/sharing-a-path.md; the test suites of other clients run on both servers.
package clients_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// patience is the time that something may take that must happen.
const patience = 5 * time.Minute

// needs skips a test of a foreign client unless it is asked for, and unless the files of some Debian packages are
// there. At a landing none may be missing.
func needs(t *testing.T, packages map[string]string) {
	t.Helper()
	testenv.Landing(t, "runs clients that we did not write: Curator, zkCli.sh, the test suites of others")
	testenv.NotRaced(t, "the clients are other processes")
	for file, debian := range packages {
		if _, err := os.Stat(file); err != nil {
			testenv.Missing(t, "not installed: Debian's "+debian)
		}
	}
}

// A game is a server and the clients that use it.
type game struct {
	*testing.T
	srv       *zkserver.Server // nil: whatever ZK names
	addr      string
	processes []*process
}

// start runs one more process, which is killed when the test ends if it still
// lives.
func (g *game) start(env []string, argv ...string) *process {
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
	p.stdin = testenv.Must(cmd.StdinPipe())(g)
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

// say sends a line to each of the processes.
func say(processes []*process, line string) {
	for _, p := range processes {
		// If that fails, it has ended; reading its output shows that.
		io.WriteString(p.stdin, line+"\n")
	}
}

// eventually waits for a state of the server. It polls, because no event reports
// it. It gives up when a process ends, because no process may end before it gets
// the order to.
func (g *game) eventually(what string, ok func() bool) {
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

// leave lets the processes end, and checks that each ends well and in good
// order: with its session closed, not left to expire, as far as the server
// can be asked.
func (g *game) leave() {
	g.Helper()
	for _, p := range g.processes {
		p.stdin.Close()
	}
	for _, p := range g.processes {
		select {
		case <-p.exited:
		case <-time.After(patience):
			g.Fatalf("%s does not exit; it said:\n%s", p.name, p.all())
		}
		require.NoError(g, p.err, "%v", p.ended())
	}
	if g.srv != nil {
		require.Empty(g, g.srv.Sessions(), "a client goes without closing its session")
	}
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
func (p *process) nextLine(want *regexp.Regexp) (string, error) {
	late := time.After(patience)
	for over := false; ; {
		p.mu.Lock()
		said := p.said
		for line, rest, whole := strings.Cut(p.text[p.next:], "\n"); whole; line, rest, whole = strings.Cut(rest, "\n") {
			p.next += len(line) + 1
			if want.MatchString(line) {
				p.mu.Unlock()
				return line, nil
			}
		}
		p.mu.Unlock()
		if over {
			return "", p.ended()
		}
		select {
		case <-said:
		case <-p.exited:
			over = true // look once more at its last lines
		case <-late:
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

// newSharedTest opens a session on the server that ZK names, which others may
// use as well, and makes a node for the test alone. The node goes with the
// test.
func newSharedTest(t *testing.T) (g *game, conn *zk.Conn, root string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	zoo := testenv.Must(ensemble.Open(ctx, os.Getenv("ZK")))(t)
	t.Cleanup(zoo.Close)
	conn = testenv.Must(zoo.Connect(ctx, ensemble.Options{SessionTimeout: 30 * time.Second}))(t)
	t.Cleanup(conn.Close)
	root = "/shared-" + rand.Text()
	testenv.Must(conn.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	t.Cleanup(func() { removeAll(t, conn, root) })
	return &game{T: t, addr: strings.Join(zoo.Servers(), ",")}, conn, root
}

func removeAll(t *testing.T, conn *zk.Conn, path string) {
	for _, child := range childrenOf(t, conn, path) {
		removeAll(t, conn, path+"/"+child)
	}
	if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("clean up: %s: %v", path, err)
	}
}

// lines returns what a process has said, of those lines that begin with a word,
// without that word.
func (p *process) lines(word string) (out []string) {
	for line := range strings.Lines(p.all()) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			out = append(out, strings.TrimSuffix(rest, "\n"))
		}
	}
	return out
}

const jars = "/usr/share/java/"

// Each jar names what it needs in turn, except those of which Debian has several to choose from.
var (
	ofCurator = map[string]string{
		"/usr/bin/javac": "default-jdk-headless", jars + "curator-recipes.jar": "libcurator-recipes-java",
		jars + "zookeeper-recipes-lock.jar": "libzookeeper-java",
	}
	curatorPath = jars + strings.Join(strings.Fields("curator-recipes.jar curator-framework.jar curator-client.jar zookeeper.jar "+
		"zookeeper-jute.jar zookeeper-recipes-lock.jar guava.jar slf4j-api.jar slf4j-nop.jar"), ":"+jars)
)

// startJava runs a program of testdata, which Java compiles itself.
func (g *game) startJava(program string, args ...string) *process {
	g.Helper()
	java := []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", curatorPath, filepath.Join("testdata", program)} // starts faster
	return g.start(nil, append(java, args...)...)
}
