package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A8. Article A, tryLock():
//
//	int i = Collections.binarySearch(children, sequenceNodeName);
//	beforePath = lock_path + '/' + children.get(i - 1);
//
// The waiter's node is deleted with its session. Then it is not among the
// children, the index is negative, and get throws.
func TestBugA8_AWaiterWhoseNodeIsGonePanics(t *testing.T) {
	bug := museum.Exhibit("A8")
	play := func(s *museum.Stage, gone func(b, c *museum.Client)) (b *museum.Client) {
		a := s.Client()
		withParent(s, a)
		b = s.Client()
		c := s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		// A third contender is behind them in the queue.
		_, err := c.Create(s.Path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(s, err)
		gone(b, c)
		require.NoError(s, a.Unlock())
		return b
	}
	sessionEnds := func(b, _ *museum.Client) { b.Expire() }
	bug.Happens(t, listings.NewZkClientLock, func(s *museum.Stage) {
		b := play(s, sessionEnds)
		require.ErrorContains(s, b.Fails(), "panic: runtime error: index out of range [-")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		b := play(s, sessionEnds)
		require.ErrorIs(s, b.Fails(), zk.ErrSessionExpired)
		require.Empty(s, b.Nodes())
		s.Path = "/another"
		b = play(s, func(b, c *museum.Client) {
			require.NoError(s, c.Delete(b.Nodes()[0], -1))
		})
		require.ErrorIs(s, b.Fails(), zk.ErrNoNode)
		require.Empty(s, b.Nodes())
	})
}
