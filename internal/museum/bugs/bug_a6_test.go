package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	herd "example.com/zklock/02-herd-effect"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A6. Article A, section 2, step 4 of the idea: 重复步骤1, start over at step 1.
// All waiters start over together with every new contender, and nothing
// decides whose turn it is. A waiter on a slow connection loses every time.
func TestBugA6_AWaiterOnASlowConnectionNeverGetsIn(t *testing.T) {
	bug := museum.Exhibit("A6")
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		b.Start()
		turn := func() {
			late := b.HoldRequest(jute.OpCreate)
			require.NoError(s, a.Unlock())
			late.Reached()
			a.Lock()
			late.Release()
			b.Waits()
		}
		turn()
		turn()
		s.Note("and so on")
		s.Aside(func() {
			for range 98 {
				turn()
			}
		})
		b.Note("still waits, after 100 releases")
	})
	newHerd := func(conn *zk.Conn, path string) museum.Lock { return herd.New(conn, path) }
	bug.Cured(t, newHerd, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		b.Start()
		for range 10 {
			late := b.HoldRequest(jute.OpGetChildren2)
			require.NoError(s, a.Unlock())
			late.Reached()
			a.Start()
			late.Release()
			b.GetsIn()
			a.Waits()
			require.NoError(s, b.Unlock())
			a.GetsIn()
			b.Start()
			b.Waits()
		}
	})
}
