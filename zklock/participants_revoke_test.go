package zklock_test

import (
	"context"
	"path"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// notExactly are paths that lead to a node of the queue only after a clean-up that
// no server does.
func notExactly(name string) []string {
	return []string{
		top + "//" + name, "/" + top + "/" + name, top + "/./" + name,
		top + "/x/../" + name, top + "/" + name + "/", "lock/" + name, top + "/_c_x/y-lock-0000000000",
	}
}

func TestRevokeTakesTheNodeOfAParticipantExactlyAsItIs(t *testing.T) {
	onTable(t, func(tb *table) {
		tap := wiretap.New()
		conn := tb.connectAs(ordinary{wrap: tapped(tap)})
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		m := tb.mutex(conn)
		for _, node := range notExactly(path.Base(holder.Node())) {
			before := tap.Counts()
			err := m.Revoke(context.Background(), zklock.Participant{Node: node})
			require.Error(tb, err, node)
			require.NotErrorIs(tb, err, zk.ErrInvalidPath, "it has come as far as the client")
			require.Zero(tb, tap.Counts().Since(before).Total(), "requests for %s", node)
		}
		require.False(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: tb.node(0)}))
		time.Sleep(2 * time.Second) // until the holder's node is watched
		require.True(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestAnErrorOfTheClientAloneDoesNotKeepTheLease: the holder is cut off,
// and Revoke of a name that the client refuses is called again and again.
func TestAnErrorOfTheClientAloneDoesNotKeepTheLease(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		id := conn.SessionID()
		m := tb.mutex(conn)
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		synctest.Wait()
		sent := time.Now() // the last packet that the server receives from it
		silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == id })
		for time.Since(sent) < 20*time.Second && !tb.isLost(holder) {
			for _, node := range notExactly("lock-0000000000") {
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				m.Revoke(ctx, zklock.Participant{Node: node})
				cancel()
			}
			time.Sleep(100 * time.Millisecond) // until the next round
		}
		require.True(tb, tb.isLost(holder), "Lost is open %v after the holder's last request", time.Since(sent))
		require.LessOrEqual(tb, time.Since(sent), 10*time.Second+200*time.Millisecond)
		time.Sleep(5 * time.Second) // until the session has ended
		releaseAll(silence)
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
	})
}

// TestAHolderIsAskedByTheTokenOfItsLease, which may be higher than the czxid of its
// node: the node before it has gone since.
func TestAHolderIsAskedByTheTokenOfItsLease(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		before := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("before"))
		m := tb.mutex(conn)
		list := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
		turn := lockAside(context.Background(), m, zklock.NewOwner("holder"))
		<-list.Hit()
		require.NoError(tb, before.Unlock(context.Background()))
		list.Release()
		l := (<-turn).lease
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: l.Node(), Token: l.Token()}))
		select {
		case <-l.RevokeRequested():
		case <-time.After(10 * time.Second):
			require.Fail(tb, "the holder is not asked")
		}
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestAHolderMayBeAskedInBothWays: a second request finds the first one's channel
// closed already, and must not end the process.
func TestAHolderMayBeAskedInBothWays(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		m := tb.mutex(admin)
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until its node is watched
		for range 2 {
			require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: tb.node(0)}))
			synctest.Wait()
			require.True(tb, isClosed(holder.RevokeRequested()))
			_, err := admin.Set(tb.node(0), []byte("__REVOKE__"), -1) // as Curator's Revoker does
			require.NoError(tb, err)
			synctest.Wait()
			require.False(tb, tb.isLost(holder))
		}
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}
