package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D1. Article D, ZkLock.getLock():
//
//	zookeeper.exists("/"+businesscode+"/"+lastnode,true);
//	break;
//
// The result is ignored. If lastnode was deleted after the children were
// listed, the watch waits for a node that nobody will ever create.
func TestBugD1_TheResultOfExistsIsIgnored(t *testing.T) {
	bug := museum.Exhibit("D1")
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
	bug.Happens(t, listings.NewZkLock, func(s *museum.Stage) {
		b := play(s, jute.OpExists)
		require.Equal(s, b.Nodes(), []string{"/lock/lock_0000000001"}, "it is the first")
		b.WaitsForever()
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		b := play(s, jute.OpGetData)
		b.GetsIn()
		for _, watch := range s.Server.Watches() {
			require.NotEqual(s, "/lock/lock-0000000000", watch.Path, "a watch that never fires is left behind")
		}
	})
}
