package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D4. Article D, ZkLock.getLock():
//
//	Stat stat = zookeeper.exists("/" + businesscode, false);
//	if (stat==null){ zookeeper.create("/" + businesscode, …
//
// Two clients may both find no parent. The second create throws, and getLock
// returns false: not because the lock is held, but because the parent exists.
func TestBugD4_TwoClientsCreateTheParentAtOnce(t *testing.T) {
	bug := museum.Exhibit("D4")
	play := func(s *museum.Stage) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		slow := b.HoldRequest(jute.OpCreate, s.Path)
		b.Start()
		slow.Reached()
		a.Lock()
		require.NoError(s, a.Unlock())
		require.Empty(s, s.Server.Children(s.Path), "nobody holds the lock")
		slow.Release()
		return a, b
	}
	bug.Happens(t, listings.NewZkLock, func(s *museum.Stage) {
		_, b := play(s)
		require.ErrorIs(s, b.Fails(), listings.ErrFalse)
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		_, b := play(s)
		b.GetsIn()
	})
}
