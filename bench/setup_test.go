package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/zkserver"
)

// programVariable makes the test binary the benchmark.
const programVariable = "ZKLOCK_BENCH_PROGRAM"

const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	tries, holds = false, false // the tests of internal/counter try locks
	if os.Getenv(programVariable) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// listen starts an embedded server that other processes can reach.
func listen(t *testing.T, options ...zkserver.Option) (*zkserver.Server, string) {
	srv := zkserver.Run(t, options...)
	return srv, srv.Addr()
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, time.Millisecond, what)
}

func nothingIsLeft(t *testing.T, srv *zkserver.Server) {
	t.Helper()
	require.Equal(t, []string{"zookeeper"}, srv.Children("/"))
}
