package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D2. Article D, ZkLock:
//
//	zookeeper.exists(…, true);
//	…
//	synchronized (this){ wait(); }
//
// and in process(), on another thread: notify(). An event that comes between
// the two lines wakes nobody, and no other event follows.
func TestBugD2_ANotifyBeforeTheWaitIsLost(t *testing.T) {
	bug := museum.Exhibit("D2")
	bug.Happens(t, listings.NewZkLock, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		gap := s.HoldGap("D2", 1)
		b.Start()
		gap.Reached()
		b.Note("is stopped here for a moment")
		require.NoError(s, a.Unlock())
		b.Note("nobody waits yet, so notify wakes nobody")
		gap.Release()
		b.WaitsForever()
		require.Equal(s, b.Nodes(), []string{"/lock/lock_0000000001"}, "it is the first")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		// The event comes right behind the answer, before anybody waits for it.
		slow := b.HoldReply(jute.OpGetData)
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		b.GetsIn()
	})
}
