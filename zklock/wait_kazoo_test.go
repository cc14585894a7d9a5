package zklock_test

import (
	"context"
	"path"
	"strings"
	"testing"
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
		kazoo := tb.makeTop()
		tb.srv.SetSequence(top, 7)
		node := tb.create(kazoo, top+"/"+kazooID+"__lock__", "host of kazoo's", zk.FlagEphemeralSequential)
		require.Equal(tb, top+"/"+kazooID+"__lock__0000000007", node)

		m := tb.mutex(tb.connectAs(ordinary{}))
		tb.isHeld(m, "two holders: kazoo's and ours")
		waiter := waits(m)
		require.Empty(tb, waiter, "two holders: kazoo's and ours")
		queue := tb.participants(m)
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
		tb.makeTop()
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
		node := tb.create(kazoo, top+"/"+strings.Repeat("f", 32)+"__lock__", "", zk.FlagEphemeralSequential)
		last := waits(tb.mutex(tb.connectAs(ordinary{})))
		tb.create(kazoo, top+"/"+kazooID+"__lock__", "", zk.FlagEphemeralSequential)
		require.NoError(tb, holder.Unlock(context.Background()))
		time.Sleep(time.Second) // for the last one to get in by mistake
		require.Empty(tb, last, "it has overtaken kazoo's")
		require.NoError(tb, kazoo.Delete(node, -1))
		passes(tb, last)
	})
}
