package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D6. Article D, wait-time version:
//
//	if (latch.await(waittime, timeunit.milliseconds)) {
//	    // 等待成功,重新执行获取锁操作
//	    lock(waittime);
//
// lock begins with a create: a waiter that is woken queues a second time,
// behind its own first node, and waits for itself until its time is up. Then
// it deletes the second node. The first node stays, and blocks all later
// contenders.
func TestBugD6_AWaiterThatIsWokenQueuesBehindItself(t *testing.T) {
	bug := museum.Exhibit("D6")
	play := func(s *museum.Stage) (b *museum.Client) {
		s.Path = "/lock/order"
		a := s.Client()
		b = s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		require.NoError(s, a.Unlock())
		return b
	}
	bug.Happens(t, listings.NewDistributedLock, func(s *museum.Stage) {
		b := play(s)
		require.Equal(s, []string{"/lock/order_0000000001", "/lock/order_0000000002"}, b.Nodes())
		require.ErrorIs(s, b.Fails(), listings.ErrWaitTime)
		require.Error(s, b.Unlock(), "close has no node to delete, and does not get to close the client")
		b.Note("close throws, the client stays open")
		s.Pass(10 * museum.SessionTimeout)
		require.Equal(s, []string{"/lock/order_0000000001"}, b.Nodes())
		c := s.Client()
		c.Start()
		require.ErrorIs(s, c.Fails(), listings.ErrWaitTime)
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		b := play(s)
		b.GetsIn()
		require.Len(s, b.Nodes(), 1)
		require.NoError(s, b.Unlock())
		require.Empty(s, s.Server.Children(s.Path))
		s.Client().Lock()
	})
}
