package zklock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/zkserver"
	"example.com/zklock/zklock/zkconn"
)

const asked = 10 * time.Second

func open(t *testing.T, srv *zkserver.Server) *zk.Conn {
	conn, err := zkconn.Connect(t.Context(), []string{"127.0.0.1:2181"}, asked, zk.WithDialer(srv.Dial))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing: a goroutine that had an
// answer in the old session is resumed after the new one has been noted.
func TestAnAnswerThatIsNotedLateCostsTheNewSessionNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		conn := open(t, srv)
		l := sessionOf(conn, 0)
		require.NoError(t, l.call(aQuorum, l.probe))
		old := conn.SessionID()
		late := exchange{sent: time.Now(), answered: time.Now()}
		srv.Expire(old)
		for conn.SessionID() == old || conn.State() != zk.StateHasSession {
			time.Sleep(time.Millisecond) // of virtual time, until the client has its new session
		}
		require.NoError(t, l.call(aQuorum, l.probe))
		until := l.safeUntil(conn.SessionID())
		require.True(t, until.After(time.Now()))
		require.False(t, l.safeUntil(old).After(time.Now()), "the old session has expired, and is taken for the new one")
		l.note(old, aQuorum, late)
		require.Equal(t, until, l.safeUntil(conn.SessionID()))
	})
}

// A proofreader tells a link what was answered, in parts of the session timeout.
func proofreader(t *testing.T) (l *session, note func(by answerer, sent float64), until func() float64) {
	conn := open(t, zkserver.Run(t))
	l = sessionOf(conn, 0)
	l.users = 1
	began := time.Now()
	return l, func(by answerer, sent float64) {
			at := began.Add(time.Duration(sent * float64(asked)))
			l.note(conn.SessionID(), by, exchange{sent: at, answered: at.Add(time.Millisecond)})
		}, func() float64 {
			return float64(l.safeUntil(conn.SessionID()).Sub(began)) / float64(asked)
		}
}

// TestAWriteAloneAddsNothingToAProof: what the leader knows of the session by
// then may be older than a client's ping, if the process was suspended.
func TestAWriteAloneAddsNothingToAProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, note, until := proofreader(t)
		note(aQuorum, 0)
		require.InDelta(t, 3./8, until(), 1e-6, "presumed")
		note(theLeader, 0.3)
		note(aQuorum, 0.31)
		require.InDelta(t, 1, until(), 1e-6, "proved")
		note(aQuorum, 0.9)
		require.InDelta(t, 1, until(), 1e-6)
	})
}

// TestAProofIsOfOneSessionTimeout: in the next handshake the session may get
// another one, and what was proved before says nothing of that.
func TestAProofIsOfOneSessionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, note, until := proofreader(t)
		note(aQuorum, 0)
		note(theLeader, 0.3)
		note(aQuorum, 0.31)
		l.told = asked / 2
		require.Negative(t, until())
		note(aQuorum, 0.4)
		require.InDelta(t, 0.4+3./16, until(), 1e-6, "presumed")
	})
}
