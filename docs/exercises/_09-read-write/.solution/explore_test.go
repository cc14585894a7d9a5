package rwlock

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// explored shows one contender to the explorer, with a TryLock that the exercise
// does not ask for.
type explored struct {
	l      *Lock
	prefix string
}

func (e explored) Lock(context.Context) error   { return e.l.acquire(e.prefix) }
func (e explored) Unlock(context.Context) error { return e.l.release(e.prefix) }

func (e explored) TryLock(context.Context) (bool, error) {
	node, err := e.l.enqueue(e.prefix)
	if err != nil {
		return false, err
	}
	before, err := e.l.obstacle(node)
	if err == nil && before == "" {
		e.l.node = node
		return true, nil
	}
	return false, e.l.giveUp(node, err)
}

// TestExplore has one reader, B, among writers: no two contenders may be inside
// together, as the explorer expects.
func TestExplore(t *testing.T) {
	exploretest.Test(t, explore.Subject{
		Name: "rwlock",
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(name string) explore.Lock {
				if name == "B" {
					return explored{New(conn, path), readPrefix}
				}
				return explored{New(conn, path), writePrefix}
			}
		},
		NotLocked: func(err error) bool { return errors.Is(err, ErrNotLocked) },
		Requests:  func(n int) int { return 5*n - 2 },
		Events:    func(n int) int { return n - 1 },
		Queue:     true,
		Known:     []explore.Known{steps.LostReply, steps.Wrap},
	})
}
