package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D3. Article D, ZkLock.getLock():
//
//	synchronized (this){ wait(); }
//	return true;
//
// The node before its own is deleted, but perhaps that was not the holder's.
// The article's text says 重新执行第四步, list the children again; its code does
// not.
func TestBugD3_AWaiterThatGivesUpLetsTheNextOneIn(t *testing.T) {
	bug := museum.Exhibit("D3")
	play := func(s *museum.Stage) (a, c *museum.Client) {
		a = s.Client()
		b := s.Client()
		c = s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		c.Start()
		c.Waits()
		b.Expire()
		return a, c
	}
	bug.Happens(t, listings.NewZkLock, func(s *museum.Stage) {
		a, c := play(s)
		s.TwoHolders(a, c)
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, c := play(s)
		s.OnlyHolder(a)
		c.Waits()
		require.NoError(s, a.Unlock())
		c.GetsIn()
	})
}
