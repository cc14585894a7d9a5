package semaphore

import (
	"errors"
	"math"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore explores the semaphore with one permit, which is a lock.
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
		Known: []explore.Known{
			{
				Name: "the reply to create is lost, and the node stays until the session ends: exercise 6",
				Match: func(v explore.Violation, f explore.Facts) bool {
					return f.OrphanCreate && (v.Kind == explore.Hang || v.Kind == explore.NodeLeft)
				},
			},
			{
				Name: "the numbers pass 2³¹-1, and then the names do not sort by number",
				Match: func(v explore.Violation, f explore.Facts) bool {
					return f.World.Sequence == math.MaxInt32
				},
			},
		},
	})
}
