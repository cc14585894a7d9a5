package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D7. Article D, wait-time version:
//
//	if (stat != null) { … }
//
// and no else. If the previous node was deleted after the children were
// listed, lock returns as if its own node were the first. But the previous
// node may have been a waiter's.
func TestBugD7_ThePreviousNodeIsGoneAndTheWaiterTakesTheLock(t *testing.T) {
	bug := museum.Exhibit("D7")
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
	bug.Happens(t, listings.NewDistributedLock, func(s *museum.Stage) {
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
