package predecessor_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
)

// D5. Article D, the constructor:
//
//	this.zookeeper = new zookeeper("localhost:2181", 10000,this);
//
// It returns before there is a session. If the first attempt to connect
// fails, so does what was asked meanwhile: getLock says false, though the lock
// is free and the second attempt succeeds.
func TestBugD5_TheConstructorDoesNotWaitForTheSession(t *testing.T) {
	bug := museum.Bug{ID: "D5", Kind: museum.Crash, Cure: 3, What: "no session yet is taken for held"}
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
	bug.Happens(t, newZkLock, func(s *museum.Stage) {
		_, err := play(s)
		require.ErrorIs(s, err, museum.ErrFalse)
		s.Note("nobody has ever held the lock")
		require.Empty(s, s.Server.Children(s.Path))
	})
	// Ours says what is wrong, and not that somebody holds the lock.
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, err := play(s)
		require.ErrorIs(s, err, zk.ErrNoServer)
		a.Lock()
	})
}
