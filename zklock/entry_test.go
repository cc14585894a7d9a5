package zklock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/zkserver"
	"example.com/zklock/zklock"
)

// TestAnUnlockThatIsTriedTwiceTouchesNobodyElsesNode: the second try finds no
// server, and the third must still know of the first.
func TestAnUnlockThatIsTriedTwiceTouchesNobodyElsesNode(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connectAs(ordinary{wrap: watchesFirst}), tb.connect()
		id := conn.SessionID()
		back, unlocked := tb.unlockUnanswered(id, tb.mustLock(tb.mutexWith(conn), zklock.NewOwner("holder")))
		tb.remakeTop(admin)
		next := tb.mustLock(tb.mutexWith(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		synctest.Wait() // until the client is back, and the second try is due
		back = tb.srv.Hold(handshakeOf(id))
		tb.srv.Cut(id)
		<-back.Hit()
		time.Sleep(time.Second) // until the second try has failed
		back.Release()
		require.NoError(tb, <-unlocked)
		require.Len(tb, tb.srv.Children(top), 1, "the Unlock has deleted the node of the next holder: two holders")
		require.NoError(tb, next.Unlock(context.Background()))
	})
}

// TestANodeThatIsGoneBeforeItIsFoundIsMadeAgain: the create was carried out in
// the client's next session, and somebody deletes the node before the
// contender has looked in which session it is.
func TestANodeThatIsGoneBeforeItIsFoundIsMadeAgain(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		tb.makeTop(admin)
		id := conn.SessionID()
		back := tb.srv.Hold(handshakeOf(id))
		tb.srv.Cut(id)
		<-back.Hit()
		waiter := lockAside(context.Background(), tb.mutexWith(conn), zklock.NewOwner("owner"))
		synctest.Wait() // its create waits in the client
		tb.srv.Expire(id)
		looks := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpSync && r.Session != admin.SessionID() })
		back.Release()
		<-looks.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		looks.Release()
		got := <-waiter
		require.NoError(tb, got.err)
		require.Contains(tb, tokens(tb), got.lease.Token())
		require.NoError(tb, got.lease.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestASecondLostCreateIsFoundByASearchOfItsOwn: what the first search has
// seen is of no use to it.
func TestASecondLostCreateIsFoundByASearchOfItsOwn(t *testing.T) {
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		conn := tb.connectAs(ordinary{})
		m := tb.mutexWith(conn)
		for i := range 3 {
			lost := tb.srv.LoseReply(creates(conn.SessionID()))
			l := tb.mustLock(m, zklock.NewOwner("owner"))
			require.Len(tb, lost.Hit(), 1)
			require.Len(tb, tb.srv.Children(top), 1)
			require.True(tb, strings.HasSuffix(tb.node(0), fmt.Sprintf("-lock-%010d", i)), tb.node(0))
			require.NoError(tb, l.Unlock(context.Background()))
			require.Empty(tb, tb.srv.Children(top))
		}
	})
}

// TestASearchAndADeleteThatAreBothRefusedAreSurvived: an operator has taken
// away both rights, and gives back one after the other.
func TestASearchAndADeleteThatAreBothRefusedAreSurvived(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		tb.makeTop(admin)
		may := func(perms int32) {
			_, err := admin.SetACL(top, zk.WorldACL(perms|zk.PermAdmin), -1)
			require.NoError(tb, err)
		}
		conn := tb.connectAs(ordinary{})
		may(zk.PermCreate)
		lost := tb.srv.LoseReply(creates(conn.SessionID()))
		_, err := tb.mutexWith(conn).Lock(context.Background(), zklock.NewOwner("owner"))
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		may(zk.PermRead | zk.PermCreate)
		time.Sleep(5 * time.Minute) // until it has been found, and its delete refused often
		require.Len(tb, tb.srv.Children(top), 1)
		may(zk.PermAll)
		time.Sleep(5 * time.Minute) // until the next try
		require.Empty(tb, tb.srv.Children(top))
	})
}
