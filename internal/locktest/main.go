package locktest

import (
	"context"
	"os"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/ensemble"
)

// Main is TestMain for a package whose tests use the ZooKeeper that ZK names:
// it stops what was started for them, and then no goroutine may be left, but
// those that the options except.
func Main(m goleak.TestingM, except ...goleak.Option) {
	goleak.VerifyTestMain(closing{m}, append(except,
		// Idle connections to the Docker daemon, which testcontainers keeps.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))...)
}

type closing struct{ goleak.TestingM }

func (c closing) Run() int {
	defer ensemble.CloseShared()
	return c.TestingM.Run()
}

// Real returns the ZooKeeper that ZK names, nil if that is the embedded one.
// It stays open until the package's tests have ended.
func Real(t require.TestingT) *ensemble.Ensemble {
	spec := os.Getenv("ZK")
	if spec == "" || spec == ensemble.SpecEmbedded {
		return nil
	}
	zoo, err := ensemble.Shared(context.Background(), spec)
	require.NoError(t, err)
	return zoo
}
