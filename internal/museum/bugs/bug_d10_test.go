package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D10. Article D, wait-time version, close():
//
//	zkclient.delete(currentlocknodepath, -1);
//	zkclient.close();
//
// If lock() failed before it had a node, the path is null: delete throws, and
// the next line is not reached. The client keeps its session alive with pings.
func TestBugD10_CloseAfterAFailedLockLeavesTheSession(t *testing.T) {
	bug := museum.Exhibit("D10")
	play := func(s *museum.Stage) (a *museum.Client, unlocked error) {
		admin := s.Client()
		_, err := admin.Create("/private", nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead))
		require.NoError(s, err)
		a = s.ClientAt("/private/lock")
		a.Start()
		require.ErrorIs(s, a.Fails(), zk.ErrNoAuth)
		return a, a.Unlock()
	}
	bug.Happens(t, listings.NewDistributedLock, func(s *museum.Stage) {
		a, unlocked := play(s)
		require.ErrorIs(s, unlocked, listings.ErrNullPath)
		a.Note("close throws, the client stays open")
		s.Pass(100 * museum.SessionTimeout)
		require.Len(s, s.Server.Sessions(), 2, "sessions")
		s.Note("the session of client B still exists")
	})
	// The caller closes its client itself, even after a Lock that failed.
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, unlocked := play(s)
		require.ErrorIs(s, unlocked, predecessor.ErrNotLocked)
		a.Close()
		s.Settle()
		require.Len(s, s.Server.Sessions(), 1, "sessions")
	})
}
