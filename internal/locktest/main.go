package locktest

import (
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest/stage"
)

// Main is TestMain for a package whose tests use the ZooKeeper that ZK names. When they have ended,
// no goroutine may be left, but those that the options except.
func Main(m goleak.TestingM, except ...goleak.Option) {
	goleak.VerifyTestMain(patientSuite{m, except}, except...)
}

// A patientSuite gives goroutines more time to end than package goleak does.
type patientSuite struct {
	goleak.TestingM
	except []goleak.Option
}

func (s patientSuite) Run() int {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	status := s.TestingM.Run()
	if status == 0 {
		// Package goleak waits for half a second. A client that has been closed may
		// need longer: it ends once it has dialed.
		for end := time.Now().Add(time.Minute); goleak.Find(s.except...) != nil && time.Now().Before(end); {
		}
	}
	return status
}

// Real returns the ZooKeeper that ZK names, nil if that is the embedded one.
func Real(t require.TestingT) *ensemble.Ensemble { return stage.Real(t) }
