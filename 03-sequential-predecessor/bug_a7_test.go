package predecessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
)

// A7. Article A, waitForRelease():
//
//	if (countDownLatch != null) { countDownLatch.countDown(); }
//	…
//	if (this.client.exists(beforePath)) {
//	    countDownLatch = new CountDownLatch(1);
//
// Between the two lines there is no latch yet: the listener drops what it is
// told, and nobody is told twice.
func TestBugA7_AReleaseBeforeThereIsALatchIsLost(t *testing.T) {
	bug := museum.Bug{ID: "A7", Kind: museum.Hang, Cure: 3, What: "a release before there is a latch is lost"}
	bug.Happens(t, newZkClientLock, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		withParent(s, a)
		a.Lock()
		gap := s.HoldGap("A7", 1)
		b.Start()
		gap.Reached()
		b.Note("comes no further for a moment")
		require.NoError(s, a.Unlock())
		b.Note("no latch yet, so the event is dropped")
		gap.Release()
		b.WaitsForEver()
		require.Len(s, s.Server.Children(s.Path), 1, "nodes besides its own")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, b, c := s.Client(), s.Client(), s.Client()
		withParent(s, a)
		a.Lock()
		// It has looked, and the watch is set, but it does not know yet.
		slow := b.HoldReply(jute.OpGetData)
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		b.GetsIn()
		// It has looked, and the watch is not set yet.
		slow = c.HoldRequest(jute.OpGetData)
		c.Start()
		slow.Reached()
		require.NoError(s, b.Unlock())
		slow.Release()
		c.GetsIn()
	})
}
