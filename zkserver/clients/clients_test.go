//go:build unix

// Package clients_test has clients that others wrote use our servers and our lock. On the embedded server
// they show that it serves ZooKeeper's protocol, not only the part that one Go library needs. On the server
// that ZK names they show what the libraries do. Their locks meet on one path, two by two, which fills the table of
// docs/sharing-a-path.md; the test suites of other clients run on both servers.
package clients_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { locktest.Main(m) }

const patience = 5 * time.Minute // the longest wait for something that must happen

// needsPackages skips a test of a foreign client unless it is asked for, and unless the files of some Debian packages
// are there. At a landing, before a change is merged, none may be missing.
func needsPackages(t *testing.T, packages map[string]string) {
	t.Helper()
	testenv.Landing(t, "runs clients that we did not write: Curator, the test suites of others")
	testenv.NotRaced(t, "the clients are other processes")
	for file, debian := range packages {
		if _, err := os.Stat(file); err != nil {
			testenv.Missing(t, "not installed: Debian's "+debian)
		}
	}
}

type process struct {
	stdin  io.WriteCloser
	out    testenv.Buffer // all that it has said
	exited chan struct{}  // closed when it has ended and its output has been read
}

// start runs one more process, which is killed when the test ends if it still lives.
func start(t *testing.T, argv ...string) *process {
	t.Helper()
	p := &process{exited: make(chan struct{})}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second             // a child of its own may keep its output open
	cmd.Stdout, cmd.Stderr = &p.out, &p.out // the same one: so both keep their order
	p.stdin = testenv.Must(cmd.StdinPipe())(t)
	require.NoError(t, cmd.Start())
	go func() {
		cmd.Wait() // its error says no more than its output
		close(p.exited)
	}()
	t.Cleanup(func() { <-p.exited })
	return p
}

// line returns the last line that begins with a text, without that text. If none comes within a time, or before the
// process ends, it returns "".
func (p *process) line(begin string, within time.Duration) (found string) {
	over, late := false, time.Now().Add(within)
	for found == "" && !over && time.Now().Before(late) {
		select {
		case <-p.exited:
			over = true // look once more at its last lines
		default:
		}
		for line := range strings.Lines(p.out.String()) {
			if rest, ok := strings.CutPrefix(line, begin); ok && strings.HasSuffix(rest, "\n") {
				found = strings.TrimSuffix(rest, "\n")
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return found
}

// addOurs gives the Go module in dir files of ours, by their names there, and has it use our module.
func addOurs(t *testing.T, dir string, files map[string]string, modEdits ...string) {
	for name, file := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), testenv.Must(os.ReadFile(file))(t), 0o644))
	}
	ours := testenv.Must(filepath.Abs("../.."))(t)
	modEdits = append(modEdits, "-require=example.com/zklock@v0.0.0", "-replace=example.com/zklock="+ours)
	run(t, dir, "go", append([]string{"mod", "edit"}, modEdits...)...)
}

// run runs a command, which must succeed, in dir.
func run(t *testing.T, dir, name string, args ...string) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	testenv.Must(cmd.CombinedOutput())(t)
}

// newSharedTest opens a session on the server that ZK names, which others may use as well, and
// makes a node for the test alone. The node goes with the test.
func newSharedTest(t *testing.T) (addr string, conn *zk.Conn, root string) {
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
	return strings.Join(zoo.Servers(), ","), conn, root
}

func removeAll(t *testing.T, conn *zk.Conn, path string) {
	for _, child := range childrenOf(t, conn, path) {
		removeAll(t, conn, path+"/"+child)
	}
	if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("clean up: %s: %v", path, err)
	}
}

const jars = "/usr/share/java/"

// A jar names those that it needs, but none of which Debian has several to choose from, such as slf4j-nop.
var (
	ofCurator = map[string]string{
		"/usr/bin/javac": "default-jdk-headless", jars + "curator-recipes.jar": "libcurator-recipes-java",
		jars + "zookeeper-recipes-lock.jar": "libzookeeper-java",
	}
	curatorPath = jars + strings.Join(strings.Fields("curator-recipes.jar curator-framework.jar curator-client.jar "+
		"zookeeper.jar zookeeper-jute.jar zookeeper-recipes-lock.jar guava.jar slf4j-api.jar slf4j-nop.jar"), ":"+jars)
)
