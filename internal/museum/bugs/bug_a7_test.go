package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A7. Article A, waitForRelease():
//
//	if (countDownLatch != null) { countDownLatch.countDown(); }
//	…
//	if (this.client.exists(beforePath)) {
//	    countDownLatch = new CountDownLatch(1);
//
// Between the two lines there is no latch yet: the listener drops the event,
// and no second event comes.
func TestBugA7_AReleaseBeforeTheLatchExistsIsLost(t *testing.T) {
	bug := museum.Exhibit("A7")
	bug.Happens(t, listings.NewZkClientLock, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		withParent(s, a)
		a.Lock()
		gap := s.HoldGap("A7", 1)
		b.Start()
		gap.Reached()
		b.Note("is stopped here for a moment")
		require.NoError(s, a.Unlock())
		b.Note("no latch yet, so the event is dropped")
		gap.Release()
		b.WaitsForever()
		require.Len(s, s.Server.Children(s.Path), 1, "nodes besides its own")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, b, c := s.Client(), s.Client(), s.Client()
		withParent(s, a)
		a.Lock()
		// The server has set the watch, but the client has no reply yet.
		slow := b.HoldReply(jute.OpGetData)
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		b.GetsIn()
		// The client has listed the children, and the watch is not set yet.
		slow = c.HoldRequest(jute.OpGetData)
		c.Start()
		slow.Reached()
		require.NoError(s, b.Unlock())
		slow.Release()
		c.GetsIn()
	})
}
