package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	naive "example.com/zklock/01-naive-ephemeral"
	"example.com/zklock/internal/museum"
)

// A2. Article A, unlock():
//
//	zooKeeper.delete(current_path,-1);
//
// The node at the path need not be the one that this lock has made, and
// version -1 takes any. Nor does it help that unlock stands in a finally.
func TestBugA2_UnlockDeletesItsSuccessorsNode(t *testing.T) {
	bug := museum.Bug{ID: "A2", Kind: museum.TwoHolders, Cure: 1, What: "unlock deletes its successor's node"}
	play := func(s *museum.Stage) (b, c *museum.Client, unlocked error) {
		a := s.Client()
		b = s.Client()
		c = s.Client()
		a.Lock()
		a.Expire()
		b.Lock()
		unlocked = a.Unlock()
		c.Start()
		return b, c, unlocked
	}
	bug.Happens(t, newZookeeperLock, func(s *museum.Stage) {
		b, c, _ := play(s)
		s.TwoHolders(b, c)
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		b, c, unlocked := play(s)
		require.ErrorIs(s, unlocked, naive.ErrNotLocked)
		s.OnlyHolder(b)
		c.Waits()
		require.NoError(s, b.Unlock())
		c.GetsIn()
		s.OnlyHolder(c)
	})
}
