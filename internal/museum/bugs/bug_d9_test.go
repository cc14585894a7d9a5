package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D9. Article D, wait-time version:
//
//	zkclient.create(root_node + "/" + lockname + "_", …
//	…
//	list<string> children = zkclient.getchildren(root_node, false);
//
// All locks have one parent, and their nodes are sorted together: a contender
// for the lock b waits for the holder of the lock a.
func TestBugD9_TheLockBWaitsForTheLockA(t *testing.T) {
	bug := museum.Exhibit("D9")
	play := func(s *museum.Stage) (b *museum.Client) {
		a := s.ClientAt("/lock/a")
		b = s.ClientAt("/lock/b")
		a.Lock()
		b.Start()
		return b
	}
	bug.Happens(t, listings.NewDistributedLock, func(s *museum.Stage) {
		b := play(s)
		b.Note("asks for the lock b, which is free")
		require.ErrorIs(s, b.Fails(), listings.ErrWaitTime)
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		play(s).GetsIn()
	})
}
