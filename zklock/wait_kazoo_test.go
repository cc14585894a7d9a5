package zklock_test

import (
	"context"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/zklock"
)

const kazooID = "0123456789abcdef0123456789abcdef" // a uuid, as kazoo writes it

// TestAHolderOfKazoosIsRespected: kazoo's Lock names its node
// <32 hex digits>__lock__%010d.
func TestAHolderOfKazoosIsRespected(t *testing.T) {
	onTable(t, func(tb *table) {
		kazoo := tb.connect()
		tb.makeTop(kazoo)
		tb.srv.SetSequence(top, 7)
		node, err := kazoo.Create(top+"/"+kazooID+"__lock__", []byte("host of kazoo's"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		require.Equal(tb, top+"/"+kazooID+"__lock__0000000007", node)

		m := tb.mutex(tb.connectAs(ordinary{}))
		_, err = m.TryLock(context.Background(), zklock.NewOwner("hasty"))
		require.ErrorIs(tb, err, zklock.ErrHeld, "two holders: kazoo's and ours")
		waiter := lockAside(context.Background(), m, zklock.NewOwner("patient"))
		synctest.Wait()
		require.Empty(tb, waiter, "two holders: kazoo's and ours")
		queue, err := m.Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, 2)
		require.Equal(tb, node, queue[0].Node)
		require.Equal(tb, "host of kazoo's", string(queue[0].Data))
		freed := time.Now()
		require.NoError(tb, kazoo.Delete(node, -1))
		got := gets(tb, waiter)
		require.Zero(tb, time.Since(freed))
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestAHolderIsRespectedByKazoosUsualPattern: with extra_lock_patterns=["-lock-"],
// which is there for Curator's and zk.Lock's nodes, kazoo's Lock looks for this.
func TestAHolderIsRespectedByKazoosUsualPattern(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		tb.srv.SetSequence(top, 7)
		holder := tb.mustLock(tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("holder"))
		require.Regexp(tb, `(?:__lock__|-lock-)(-?\d{10})$`, path.Base(holder.Node()))
		require.Equal(tb, holder.Node(), tb.node(0), "the name of the node at the server")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestAWaiterOfKazoosIsNotOvertaken: what counts is the number, not the name.
func TestAWaiterOfKazoosIsNotOvertaken(t *testing.T) {
	onTable(t, func(tb *table) {
		kazoo := tb.connect()
		holder := tb.mustLock(tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("holder"))
		// f sorts behind l and 0 before it.
		node, err := kazoo.Create(top+"/"+strings.Repeat("f", 32)+"__lock__", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		last := lockAside(context.Background(), tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("last"))
		synctest.Wait()
		_, err = kazoo.Create(top+"/"+kazooID+"__lock__", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		require.NoError(tb, holder.Unlock(context.Background()))
		time.Sleep(time.Second) // for the last one to get in by mistake
		require.Empty(tb, last, "it has overtaken kazoo's")
		require.NoError(tb, kazoo.Delete(node, -1))
		passes(tb, last)
	})
}

// TestNamesThatAreNobodysLockAreIgnored: each is nearly a name of kazoo's.
func TestNamesThatAreNobodysLockAreIgnored(t *testing.T) {
	for _, name := range []string{
		kazooID[1:] + "__lock__0000000000",             // 31 digits
		kazooID + "0__lock__0000000000",                // 33
		strings.Repeat("x", 32) + "__lock__0000000000", // not hexadecimal
		"__lock__0000000000",
		"lock__0000000000",
		kazooID + "__lock__",
		kazooID + "__lock__000000000",   // 9 digits
		kazooID + "__lock__00000000000", // 11, of which one is too many
		kazooID + "__lock__000000000x",
		kazooID + "__lock__+000000000",
		kazooID + "__lock__0000000000 ",
		kazooID + "__lease__0000000000", // of kazoo's Semaphore
		kazooID + "_lock_0000000000",
		kazooID + "-lock-0000000000",
	} {
		onTables(t, name, func(tb *table) {
			admin := tb.connect()
			tb.makeTop(admin)
			_, err := admin.Create(top+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(tb, err)
			tb.srv.SetSequence(top, 7)
			m := tb.mutex(tb.connectAs(ordinary{}))
			l, err := m.TryLock(context.Background(), zklock.NewOwner("owner"))
			require.NoError(tb, err)
			queue, err := m.Participants(context.Background())
			require.NoError(tb, err)
			require.Len(tb, queue, 1)
			require.Error(tb, m.Revoke(context.Background(), zklock.Participant{Node: top + "/" + name}))
			require.NoError(tb, l.Unlock(context.Background()))
		})
	}
}
