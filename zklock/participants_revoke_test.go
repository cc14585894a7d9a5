package zklock_test

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
)

// notExactly are paths that lead to a node of the queue only after a clean-up that
// no server does, and paths of something else.
func notExactly(name string) []string {
	return []string{
		top + "//" + name, "/" + top + "/" + name, top + "/./" + name,
		top + "/x/../" + name, top + "/" + name + "/", "lock/" + name, top + "/_c_x/y-lock-0000000000",
		"", top, top + "/config", "/elsewhere/lock-0000000000", "lock-0000000000",
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

// TestRevokeAsksNoOtherNodeOfTheName: the parent was made again, and its numbers begin again.
func TestRevokeAsksNoOtherNodeOfTheName(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.makeTop()
		m := tb.mutex(admin)
		enqueue := func() string { return tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential) }
		node := enqueue()
		all := tb.participants(m)
		require.NoError(tb, admin.Delete(node, -1))
		tb.remakeTop(admin)
		require.Equal(tb, node, enqueue())
		require.NoError(tb, m.Revoke(context.Background(), all[0]))
		another, ok := tb.srv.Node(node)
		require.True(tb, ok)
		require.Empty(tb, another.Data, "it was asked")
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
		l := gets(tb, turn)
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: l.Node(), Token: l.Token()}))
		time.Sleep(10 * time.Second) // by then its node has been read
		require.True(tb, isClosed(l.RevokeRequested()), "the holder is not asked")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}
