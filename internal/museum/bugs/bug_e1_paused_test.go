//go:build unix

package bugs_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
)

const (
	pausedSession = 8 * time.Second
	nextSession   = 40 * time.Second
)

// TestBugE1_AProcessThatIsPausedWritesLate is E1 with a process that is really
// paused, on a real server: its kernel stops it, pings and all, and it goes on
// with the very next instruction.
func TestBugE1_AProcessThatIsPausedWritesLate(t *testing.T) {
	const variable = "ZKLOCK_PAUSED"
	if at := os.Getenv(variable); at != "" {
		paused(t, at)
		return
	}
	zoo := locktest.Real(t)
	if zoo == nil {
		t.Skip("pauses a process for longer than its session, in real time: needs a real server (set ZK)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	path := "/museum-" + rand.Text()

	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "ZK=", variable+"="+strings.Join(zoo.Servers(), ",")+path)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	defer child.Wait()
	defer child.Process.Kill()
	lines := bufio.NewScanner(out)
	next := func(what string) (rest string) {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), what+" "); ok {
				return rest
			}
		}
		t.Fatalf("the child has not said %q: %v", what, lines.Err())
		return ""
	}

	var unfenced, fenced register
	next("holds")
	require.NoError(t, child.Process.Signal(syscall.SIGSTOP))
	fmt.Fprintln(in, "go on") // the child reads it when it is woken

	// The next one's session is long: a busy machine does not end it.
	conn, err := zoo.Connect(ctx, ensemble.Options{SessionTimeout: nextSession})
	require.NoError(t, err)
	defer conn.Close()
	l, err := timeout.New(conn, path, nextSession).Lock(ctx)
	require.NoError(t, err, "the next contender does not get the lock")
	unfenced.write(unfenced.value + 1)
	require.NoError(t, fenced.writeFenced(fenced.value+1, l.Token()))

	require.NoError(t, child.Process.Signal(syscall.SIGCONT))
	token, err := strconv.ParseInt(next("writes"), 10, 64)
	require.NoError(t, err)
	unfenced.write(0 + 1) // it had read 0
	require.Equal(t, 1, unfenced.value, "without a token one of two additions is lost")
	require.ErrorIs(t, fenced.writeFenced(0+1, token), errStale)
	require.Equal(t, "true", next("lost"), "the lease of the paused process is lost")
	io.Copy(io.Discard, out)

	require.NoError(t, fenced.writeFenced(fenced.value+1, l.Token()))
	require.NoError(t, l.Unlock(ctx))
	require.Equal(t, 2, fenced.value)
	if err := conn.Delete(path, -1); err != nil && err != zk.ErrNoNode {
		t.Errorf("clean up: %v", err)
	}
}

// paused is the child.
func paused(t *testing.T, at string) {
	servers, path, _ := strings.Cut(at, "/")
	path = "/" + path
	ctx := context.Background()
	zoo, err := ensemble.Open(ctx, servers)
	require.NoError(t, err)
	defer zoo.Close()
	conn, err := zoo.Connect(ctx, ensemble.Options{SessionTimeout: pausedSession})
	require.NoError(t, err)
	defer conn.Close()
	l, err := timeout.New(conn, path, pausedSession).Lock(ctx)
	require.NoError(t, err)
	fmt.Println("holds the lock")
	bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println("writes", l.Token())
	select {
	case <-l.Lost():
	case <-time.After(pausedSession):
	}
	err = l.Unlock(ctx)
	fmt.Println("lost", err != nil && strings.Contains(err.Error(), timeout.ErrLost.Error()))
}
