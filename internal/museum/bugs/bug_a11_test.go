package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A11. Article A, waitForRelease():
//
//	Stat exists = zooKeeper.exists(current_path, watcher);
//	…
//	} catch (KeeperException e) {
//	    e.printStackTrace();
//	}
//
// If the connection breaks during exists, the exception is printed and the
// method ends. Then lock() ends, too, and its caller goes on as if it held
// the lock.
func TestBugA11_AnExceptionWhileWaitingEndsLockAsIfItWereHeld(t *testing.T) {
	bug := museum.Exhibit("A11")
	play := func(s *museum.Stage, look jute.Op) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		a.Lock()
		slow := b.HoldRequest(look)
		b.Start()
		slow.Reached()
		b.Note("loses its connection")
		require.True(s, s.Server.Cut(b.SessionID()))
		s.Settle()
		slow.Release()
		return a, b
	}
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		a, b := play(s, jute.OpExists)
		b.GetsIn()
		s.TwoHolders(a, b)
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		a, b := play(s, jute.OpGetData)
		require.ErrorIs(s, b.Fails(), zk.ErrConnectionClosed)
		s.OnlyHolder(a)
		require.NoError(s, a.Unlock())
		b.Noticed()
		b.Lock()
	})
}
