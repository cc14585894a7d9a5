package naive_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
)

// A4. Article A, waitForRelease():
//
//	if (Watcher.Event.EventType.NodeDeleted.equals(type)){
//
// A watch is gone with its session. What it delivers then, or when the client
// is closed, is another event, and the last one.
func TestBugA4_AWaiterWhoseSessionIsGoneNeverWakes(t *testing.T) {
	bug := museum.Bug{ID: "A4", Kind: museum.Hang, Cure: 1, What: "a waiter whose session is gone never wakes"}
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
	bug.Happens(t, newZookeeperLock, func(s *museum.Stage) {
		b, c := play(s)
		_, held := s.Server.Node(s.Path)
		require.False(s, held, "the lock is free")
		b.WaitsForEver()
		c.WaitsForEver()
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		b, c := play(s)
		require.ErrorIs(s, b.Fails(), zk.ErrSessionExpired)
		require.ErrorIs(s, c.Fails(), zk.ErrClosing)
		b.Lock()
	})
}
