// Package servertest starts a server of Debian's that a test can kill.
package servertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Needs skips the test unless the environment variable has the address of such a server: then
// the test may take the time that a server of its own needs, whatever is installed. If CI is set,
// too, the program must be there.
func Needs(t testing.TB, program, debian, variable string) {
	if os.Getenv(variable) == "" {
		t.Skipf("starts and kills %s: set %s, the address of one for the other tests", program, variable)
	}
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("starts and kills %s (Debian: %s), which is not here", program, debian)
	}
}

// Addr is a free address. While its server is away nobody else gets it: on Linux it is
// not that of the loopback which programs bind and dial from.
func Addr(t testing.TB) string {
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), rand.N(250), 1+rand.N(250))
	}
	listener, err := net.Listen("tcp", host+":0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Start runs a server until the test ends, and returns when ready returns no error.
// kill kills it as a power cut would, and returns when it has gone.
func Start(t testing.TB, ready func() error, program string, args ...string) (kill func()) {
	var said bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	dead := false
	kill = func() {
		if !dead {
			cmd.Process.Kill()
			cmd.Wait()
		}
		dead = true
	}
	t.Cleanup(kill)
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := ready()
		if err == nil {
			return kill
		}
		if time.Since(begin) > 2*time.Minute {
			kill()
			t.Fatalf("%s does not start: %v\n%s", program, err, said.String())
		}
	}
}
