package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D5. Article D, the constructor:
//
//	this.zookeeper = new zookeeper("localhost:2181", 10000,this);
//
// It returns before there is a session. If the first attempt to connect fails,
// the requests that waited for it fail, too: getLock returns false, although
// the lock is free and the second attempt succeeds.
func TestBugD5_TheConstructorDoesNotWaitForTheSession(t *testing.T) {
	bug := museum.Exhibit("D5")
	play := func(s *museum.Stage) (a *museum.Client, err error) {
		a, refuse := s.ClientNotConnected()
		a.Start()
		a.Waits()
		refuse()
		err = a.Fails()
		s.Pass(museum.SessionTimeout)
		require.Equal(s, zk.StateHasSession, a.Conn.State())
		return a, err
	}
	bug.Happens(t, listings.NewZkLock, func(s *museum.Stage) {
		_, err := play(s)
		require.ErrorIs(s, err, listings.ErrFalse)
		s.Note("nobody has ever held the lock")
		require.Empty(s, s.Server.Children(s.Path))
	})
	// Our lock returns the error, and does not say that the lock is held.
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, err := play(s)
		require.ErrorIs(s, err, zk.ErrNoServer)
		a.Lock()
	})
}
