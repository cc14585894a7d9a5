package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	naive "example.com/zklock/01-naive-ephemeral"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A2. Article A, unlock():
//
//	zooKeeper.delete(current_path,-1);
//
// The node at the path may be another client's, and version -1 matches any
// version. The articles call unlock in a finally, which makes it worse: a
// lock() that failed deletes the holder's node, too.
func TestBugA2_UnlockDeletesItsSuccessorsNode(t *testing.T) {
	bug := museum.Exhibit("A2")
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
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
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
