package predecessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
)

// D1. Article D, ZkLock.getLock():
//
//	zookeeper.exists("/"+businesscode+"/"+lastnode,true);
//	break;
//
// The answer is thrown away. If lastnode has gone since the children were
// listed, the watch waits for a node that nobody will ever make.
func TestBugD1_TheAnswerOfExistsIsThrownAway(t *testing.T) {
	bug := museum.Bug{ID: "D1", Kind: museum.Hang, Cure: 3, What: "a watch on a node that has gone never fires"}
	play := func(s *museum.Stage, look jute.Op) (b *museum.Client) {
		a := s.Client()
		b = s.Client()
		a.Lock()
		slow := b.HoldRequest(look, a.Nodes()[0])
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		return b
	}
	bug.Happens(t, newZkLock, func(s *museum.Stage) {
		b := play(s, jute.OpExists)
		require.Equal(s, b.Nodes(), []string{"/lock/lock_0000000001"}, "it is the first")
		b.WaitsForEver()
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		b := play(s, jute.OpGetData)
		b.GetsIn()
		for _, watch := range s.Server.Watches() {
			require.NotEqual(s, "/lock/lock-0000000000", watch.Path, "a watch that never fires is left behind")
		}
	})
}
