package semaphore

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore explores the semaphore with one permit, which is a lock. It allows the lost
// reply to create as an error: exercise 6 cures it.
func TestExplore(t *testing.T) {
	exploretest.Test(t, explore.Subject{
		Name: "semaphore",
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return steps.FromPlain(onePermit{New(conn, path, 1)}) }
		},
		NotLocked: func(err error) bool { return errors.Is(err, ErrNotAcquired) },
		Requests:  func(n int) int { return 5*n - 2 },
		Events:    func(n int) int { return n - 1 },
		Queue:     true,
		Known:     []explore.Known{steps.LostReply, steps.Wrap},
	})
}
