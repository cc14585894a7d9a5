package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
)

// Needs skips the test unless the environment variable has the address of a server of this kind. The variable says that
// the machine runs tests with real servers, which take long. If the program is missing, see testenv.Missing.
func Needs(t testing.TB, program, debian, variable string) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skipf("starts and kills %s: set %s, the address of one for the other tests", program, variable)
	}
	if _, err := exec.LookPath(program); err != nil {
		testenv.Missing(t, fmt.Sprintf("starts and kills %s (Debian: %s), which is not here", program, debian))
	}
}

// Start runs a server until the test ends, and returns when ready returns no error. kill kills it as a power cut does.
func Start(t testing.TB, ready func() error, program string, args ...string) (kill func()) {
	p := testenv.Must(begin(t.Context(), filepath.Join(t.TempDir(), "log"), ready, exec.Command(program, args...)))(t)
	t.Cleanup(p.Kill)
	return p.Kill
}

// A ZooKeeper is a server that a test can stop, restart, and rob of its data.
type ZooKeeper struct {
	Addr string
	Data string // the folder of its snapshots and logs

	location location
	process  *Process // nil before it has started
}

// ZooKeepers starts an ensemble of n servers, or one alone, until the test ends. It skips the test as Needs does.
func ZooKeepers(t testing.TB, n int) (nodes []*ZooKeeper) {
	t.Helper()
	Needs(t, "java", "zookeeper", "ZK")
	settings := "initLimit=10\nsyncLimit=5\n"
	for i := range n {
		at := location{dir: t.TempDir(), addr: testenv.Must(FreeAddr())(t)}
		at.host, at.port, _ = net.SplitHostPort(at.addr)
		z := &ZooKeeper{Addr: at.addr, Data: at.file("data"), location: at}
		nodes = append(nodes, z)
		t.Cleanup(func() {
			if z.process != nil {
				z.process.Kill()
			}
		})
		require.NoError(t, os.Mkdir(z.Data, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(z.Data, "myid"), []byte(strconv.Itoa(i+1)), 0o644))
		_, peers, _ := net.SplitHostPort(testenv.Must(FreeAddr())(t))
		_, elections, _ := net.SplitHostPort(testenv.Must(FreeAddr())(t))
		settings += fmt.Sprintf("server.%d=%s:%s:%s\n", i+1, at.host, peers, elections)
	}
	if n == 1 {
		settings = ""
	}
	var wg sync.WaitGroup
	for _, z := range nodes { // all at once: none of them serves before the others run
		wg.Go(func() {
			prepare := zookeeper(settings) // it writes the configuration
			_, cmd, _, err := prepare(t.Context(), z.location, exec.Command)
			if err == nil {
				err = z.start(t, cmd)
			}
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	require.False(t, t.Failed(), "the servers do not serve") // by assert above
	return nodes
}

func (z *ZooKeeper) start(t testing.TB, cmd *exec.Cmd) (err error) {
	z.process, err = begin(t.Context(), z.location.file("log"), z.location.serves, cmd)
	return err
}

// Start starts a server again, and returns when it serves.
func (z *ZooKeeper) Start(t testing.TB) {
	t.Helper()
	require.NoError(t, z.start(t, exec.Command(z.process.cmd.Args[0], z.process.cmd.Args[1:]...)))
}

// Stop ends a server as an administrator does, and returns when it has gone.
func (z *ZooKeeper) Stop() { z.process.end() }

// Kill ends it as a power cut does.
func (z *ZooKeeper) Kill() { z.process.Kill() }

// Pause stops its process until Continue.
func (z *ZooKeeper) Pause(t testing.TB) {
	require.NoError(t, z.process.cmd.Process.Signal(syscall.SIGSTOP))
}

// Continue ends a pause.
func (z *ZooKeeper) Continue(t testing.TB) {
	require.NoError(t, z.process.cmd.Process.Signal(syscall.SIGCONT))
}

// Mode is leader, follower or standalone.
func (z *ZooKeeper) Mode(t testing.TB) string {
	_, mode := testenv.Must2(ensemble.Ask(t.Context(), z.Addr))(t)
	return mode
}
