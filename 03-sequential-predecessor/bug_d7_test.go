package predecessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
)

// D7. Article D, wait-time version:
//
//	if (stat != null) { … }
//
// and no else. The previous node has gone since the children were listed: lock
// returns as if it were the first. The previous one may have been a waiter.
func TestBugD7_ThePreviousOneHasGoneAndItTakesTheLock(t *testing.T) {
	bug := museum.Bug{ID: "D7", Kind: museum.TwoHolders, Cure: 3, What: "the one before has gone: it takes the lock"}
	play := func(s *museum.Stage, look jute.Op) (a, c *museum.Client) {
		s.Path = "/lock/order"
		a = s.Client()
		b := s.Client()
		c = s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		slow := c.HoldRequest(look)
		c.Start()
		slow.Reached()
		b.Expire()
		slow.Release()
		return a, c
	}
	bug.Happens(t, newDistributedLock, func(s *museum.Stage) {
		a, c := play(s, jute.OpExists)
		s.TwoHolders(a, c)
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, c := play(s, jute.OpGetData)
		s.OnlyHolder(a)
		c.Waits()
		require.NoError(s, a.Unlock())
		c.GetsIn()
	})
}
