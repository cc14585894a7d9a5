package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// Needs skips the test unless the environment variable has the address of a server of this kind: only
// then does a test take the time to start one of its own. If the program is missing, the test is skipped
// as testenv.Missing does.
func Needs(t testing.TB, program, debian, variable string) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skipf("starts and kills %s: set %s, the address of one for the other tests", program, variable)
	}
	if _, err := exec.LookPath(program); err != nil {
		testenv.Missing(t, fmt.Sprintf("starts and kills %s (Debian: %s), which is not here", program, debian))
	}
}

// Addr returns a free address at which a server may listen.
func Addr(t testing.TB) string {
	address, err := FreeAddr()
	require.NoError(t, err)
	return address
}

// Start runs a server until the test ends, and returns when ready returns no error.
// kill kills it as a power cut would, and returns when it has gone.
func Start(t testing.TB, ready func() error, program string, args ...string) (kill func()) {
	p, err := begin(t.Context(), filepath.Join(t.TempDir(), "log"), ready, exec.Command(program, args...))
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p.Kill
}
