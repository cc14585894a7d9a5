package giveup

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
)

type lock = Lock

type explored struct{ *lock }

func (e explored) TryLock(context.Context) (bool, error) { return e.lock.TryLock() }
func (e explored) Unlock(context.Context) error          { return e.lock.Unlock() }

func TestExplore(t *testing.T) {
	exploretest.Test(t, explore.Subject{
		Name: "giveup",
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return explored{New(conn, path)} }
		},
		NotLocked: func(err error) bool { return errors.Is(err, ErrNotLocked) },
		Queue:     true,
		Contexts:  true,
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
