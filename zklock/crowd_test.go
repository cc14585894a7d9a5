package zklock_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

// A crowd is so many contenders that the first of them marks in the parent's data that it has
// gone: number 5 holds the lock, and has found five before it.
type crowd struct {
	*table
	admin   *zk.Conn
	conns   []*zk.Conn
	holder  *zklock.Lease
	waiters []<-chan locked // by number
	giveUp  []func()
}

const last = 10 // of a crowd

// crowded plays one schedule of a crowd.
func crowded(t *testing.T, play func(c *crowd)) {
	t.Helper()
	onTable(t, func(tb *table) {
		c := &crowd{table: tb, admin: tb.makeTop()}
		for i := range last + 1 {
			conn := tb.connect()
			if i == last { // it misses what happens to its node
				conn = tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn { return withoutEvents(nc, fmt.Sprintf("-lock-%010d", last)) }})
			}
			waiter, giveUp := tb.mayGiveUp(tb.mutex(conn), nil)
			time.Sleep(time.Second) // until it waits
			c.conns, c.waiters, c.giveUp = append(c.conns, conn), append(c.waiters, waiter), append(c.giveUp, giveUp)
		}
		for i := range 5 {
			passes(tb, c.waiters[i])
			time.Sleep(time.Second) // until the others have noticed
		}
		c.holder = gets(tb, c.waiters[5])
		play(c)
	})
}

// mark returns the mark that all up to a number have gone.
func (c *crowd) mark(n int) string {
	parent, _ := c.srv.Node(top)
	return fmt.Sprintf("zklock %016x %010d", parent.Stat.Czxid, n)
}

func (tb *table) data() string {
	parent, _ := tb.srv.Node(top)
	return string(parent.Data)
}

// TestAMarkIsOnlyAboutThoseUpToItsNumber: both that the last one watches give up, and 5 holds the
// lock. No mark says that 7 has gone, which is before these two.
func TestAMarkIsOnlyAboutThoseUpToItsNumber(t *testing.T) {
	for name, mark := range map[string]func(c *crowd) string{
		"none":                      func(*crowd) string { return "" },
		"up to 4, of the holder":    func(c *crowd) string { return c.data() },
		"up to 6":                   func(c *crowd) string { return c.mark(6) },
		"of an earlier parent":      func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 7, last) },
		"of a later parent":         func(*crowd) string { return fmt.Sprintf("zklock %016x %010d", 1<<62, last) },
		"not as they are written":   func(c *crowd) string { return c.mark(last)[:33] },
		"and a word more, up to 10": func(c *crowd) string { return c.mark(last) + " " },
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // a list has any order
				crowded(t, func(c *crowd) {
					require.Equal(c, c.mark(4), c.data(), "what the first one before the holder has marked")
					c.set(c.admin, top, mark(c))
					for _, i := range []int{8, 9} {
						c.giveUp[i]()
						time.Sleep(time.Second) // for the last one to get in by mistake
						require.Empty(c, c.waiters[last], "two holders: 5, and the last one")
					}
					require.Equal(c, mark(c), c.data(), "one that gives up marks nothing")
				})
			}
		})
	}
}

// TestAMarkIsOfOneParent: all nodes are deleted by hand, and the parent is made again with the mark of
// the old one. The last one has missed the event of its own node.
func TestAMarkIsOfOneParent(t *testing.T) {
	crowded(t, func(c *crowd) {
		mark, id := c.mark(last), c.conns[last].SessionID()
		late := c.srv.Hold(of(id, jute.OpGetData, top))
		c.giveUp[8]()
		<-late.Hit()
		for _, i := range []int{6, 7, 9} {
			c.giveUp[i]()
		}
		time.Sleep(time.Second) // until their nodes have gone
		for range 2 {
			require.NoError(c, c.admin.Delete(c.node(0), -1))
		}
		c.remakeTop(c.admin)
		c.set(c.admin, top, mark)
		next := c.mustLock(c.mutex(c.connect()), nil)
		late.Release()
		time.Sleep(time.Second) // for the last one to get in by mistake
		require.Empty(c, c.waiters[last], "two holders: the last one has no node")
		require.Len(c, c.srv.Children(top), 2)
		handsOver(c.table, next, c.waiters[last])
	})
}

// TestACrowdIsNotMarkedWhereTheParentHasDataOrMayNotBeWritten, and each has its turn.
func TestACrowdIsNotMarkedWhereTheParentHasDataOrMayNotBeWritten(t *testing.T) {
	crowded(t, func(c *crowd) {
		c.allow(c.admin, top, zk.PermAll&^zk.PermWrite)
		handsOver(c.table, c.holder, c.waiters[6])
		require.Equal(c, c.mark(4), c.data())
	})
	onMeter(t, func(m *meter) {
		m.set(m.connect(), top, "the lock of the orders and no mark") // of the same size
		sent := m.behind(m.newMutex(), 9, 0)
		require.Equal(m, requests{jute.OpCreate: 1, jute.OpGetChildren2: 2, jute.OpGetData: 4, jute.OpDelete: 1}, sent)
		require.Equal(m, "the lock of the orders and no mark", m.data())
	})
}

// TestALostReplyToADeleteThatMarks: the node has gone, and Unlock says so once the client is back.
func TestALostReplyToADeleteThatMarks(t *testing.T) {
	crowded(t, func(c *crowd) {
		back, unlocked := c.unlockUnanswered(c.conns[5].SessionID(), c.holder)
		next := gets(c.table, c.waiters[6])
		require.Equal(c, c.mark(5), c.data())
		back.Release()
		require.NoError(c, <-unlocked)
		handsOver(c.table, next, c.waiters[7])
	})
}

// TestCostOfACrowd: a Mutex that has found one asks nothing of its next create, and so needs one list to
// see that it is alone again. One that finds a mark reads it once.
func TestCostOfACrowd(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		alone := func() { m.mustUnlock(m.mustLock(ours, nil)) }
		alone()
		require.Equal(m, requests{jute.OpMulti: 2, jute.OpGetChildren2: 2, jute.OpGetData: 3}, m.behind(ours, 4, 0), "not so many")
		require.Equal(m, requests{jute.OpMulti: 2, jute.OpGetChildren2: 1, jute.OpGetData: 4}, m.behind(ours, 9, 0))
		want := requests{jute.OpCreate: 1, jute.OpMulti: 1, jute.OpGetChildren2: 1, jute.OpGetData: 4}
		require.Equal(m, want, m.behind(ours, 9, 0))
		want[jute.OpMulti]++ // of the proof
		require.Equal(m, want, m.behind(ours, 9, 10*time.Second/11), "after a wait")
		first := requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpDelete: 1}
		require.Equal(m, first, m.sent(alone))
		m.behind(m.mutex(m.connectWith(ensemble.Options{})), 9, 0) // the last one leaves a mark
		cold := m.newMutex()
		require.Equal(m, first, m.sent(func() { m.mustUnlock(m.mustLock(cold, nil)) }))
		ours = cold
		require.Equal(m, requests{jute.OpGetData: 1, jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
		require.Equal(m, requests{jute.OpMulti: 1, jute.OpDelete: 1}, m.sent(alone))
	})
}
