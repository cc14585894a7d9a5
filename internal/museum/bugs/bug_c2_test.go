package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// C2. Article C, await():
//
//	client.getData().usingWatcher(w).forPath(prior_path);
//	…
//	latch.await(WAIT_TIME, TimeUnit.SECONDS);
//
// If prior_path was deleted after the children were listed, forPath throws
// NoNode. The call must not fail then, but list the children again: its own
// node may be the first.
func TestBugC2_TheNextWaiterFailsWhenTheHolderUnlocks(t *testing.T) {
	bug := museum.Exhibit("C2")
	play := func(s *museum.Stage) (b *museum.Client) {
		a := s.Client()
		withParent(s, a)
		b = s.Client()
		a.Lock()
		slow := b.HoldRequest(jute.OpGetData)
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		return b
	}
	bug.Happens(t, listings.NewAwaitLock, func(s *museum.Stage) {
		b := play(s)
		require.ErrorIs(s, b.Fails(), zk.ErrNoNode)
		require.Equal(s, s.Server.Children(s.Path), []string{"seq-0000000001"}, "its own node, the first")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		play(s).GetsIn()
	})
}
