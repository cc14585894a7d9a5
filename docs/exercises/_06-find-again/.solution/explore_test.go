package findagain

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore does not allow the lost reply to create as an error: it is cured.
func TestExplore(t *testing.T) {
	exploretest.Test(t, explore.Subject{
		Name: "findagain",
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return steps.FromPlain(New(conn, path)) }
		},
		NotLocked: func(err error) bool { return errors.Is(err, ErrNotLocked) },
		Requests:  func(n int) int { return 5*n - 2 },
		Events:    func(n int) int { return n - 1 },
		Queue:     true,
		Known:     []explore.Known{steps.Wrap},
	})
}
