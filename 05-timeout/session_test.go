package timeout

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/zkserver"
)

// TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing: a goroutine that had an
// answer in the old session is resumed after the new one has been noted.
func TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		conn := open(t, servers[:1], zk.WithDialer(srv.Dial))
		l := newLink(conn, "/lock")
		write := func() error { return conn.Delete("/lock", -1) }
		require.ErrorIs(t, l.call(aQuorum, write), zk.ErrNoNode)
		old := conn.SessionID()
		late := exchange{sent: time.Now(), answered: time.Now()}
		srv.Expire(old)
		for conn.SessionID() == old || conn.State() != zk.StateHasSession {
			time.Sleep(time.Millisecond) // of virtual time, until the client has its new session
		}
		require.ErrorIs(t, l.call(aQuorum, write), zk.ErrNoNode)
		until := l.safeUntil(conn.SessionID())
		require.True(t, until.After(time.Now()))
		require.False(t, l.safeUntil(old).After(time.Now()), "the old session has expired, and is taken for the new one")
		l.note(old, aQuorum, late)
		require.Equal(t, until, l.safeUntil(conn.SessionID()))
	})
}
