package locktest

import (
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest/stage"
)

// Main is TestMain for a package whose tests use the ZooKeeper that ZK names:
// it stops what was started for them, and then no goroutine may be left, but
// those that the options except.
func Main(m goleak.TestingM, except ...goleak.Option) {
	except = append(except,
		// Idle connections to the Docker daemon, which testcontainers keeps.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
	goleak.VerifyTestMain(closingSuite{m, except}, except...)
}

type closingSuite struct {
	goleak.TestingM
	except []goleak.Option
}

func (c closingSuite) Run() int {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	status := c.TestingM.Run()
	ensemble.CloseShared()
	if status == 0 {
		// Package goleak waits for half a second. A client that has been closed may
		// need longer: it ends once it has dialed.
		for end := time.Now().Add(time.Minute); goleak.Find(c.except...) != nil && time.Now().Before(end); {
		}
	}
	return status
}

// Real returns the ZooKeeper that ZK names, nil if that is the embedded one.
// It stays open until the package's tests have ended.
func Real(t require.TestingT) *ensemble.Ensemble { return stage.Real(t) }
