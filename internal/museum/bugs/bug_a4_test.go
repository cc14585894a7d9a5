package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A4. Article A, waitForRelease():
//
//	if (Watcher.Event.EventType.NodeDeleted.equals(type)){
//
// A watch ends with its session, or with the client. The event that it
// delivers then is of another type, and it is the last one.
func TestBugA4_AWaiterWhoseSessionIsGoneNeverWakes(t *testing.T) {
	bug := museum.Exhibit("A4")
	play := func(s *museum.Stage) (b, c *museum.Client) {
		a := s.Client()
		b = s.Client()
		c = s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		c.Start()
		c.Waits()
		b.Expire()
		c.Note("is closed")
		c.Close()
		require.NoError(s, a.Unlock())
		return b, c
	}
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		b, c := play(s)
		_, held := s.Server.Node(s.Path)
		require.False(s, held, "the lock is free")
		b.WaitsForever()
		c.WaitsForever()
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		b, c := play(s)
		require.ErrorIs(s, b.Fails(), zk.ErrSessionExpired)
		require.ErrorIs(s, c.Fails(), zk.ErrClosing)
		b.Lock()
	})
}
