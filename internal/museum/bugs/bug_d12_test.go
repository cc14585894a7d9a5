package bugs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D12. Article D, heartbeat version:
//
//	zkclient.setdata(currentlocknodepath, null, -1);
//	thread.sleep(heartbeat_rate);
//
// This is to keep the session alive, but the client library does that by
// itself, with pings, which write nothing. And no heartbeat brings an expired
// session back: locked stays true, and the next contender gets the lock.
func TestBugD12_TheHeartbeatKeepsNothing(t *testing.T) {
	bug := museum.Exhibit("D12")
	writes := func(s *museum.Stage) int { return s.Requests(jute.OpSetData, jute.OpCreate, jute.OpDelete) }
	bug.Happens(t, listings.NewHeartbeatLock, func(s *museum.Stage) {
		s.Path = "/lock/order"
		a, b := s.Client(), s.Client()
		a.Lock()
		s.Pass(listings.HeartbeatRate + listings.HeartbeatRate/2)
		before := writes(s)
		s.Aside(func() { s.Pass(time.Minute) })
		require.Equal(s, before+60, writes(s))
		a.Note("60 writes a minute")
		b.Start()
		a.CutOff()
		s.Note("the session of client A expires, and its nodes are deleted")
		b.GetsIn()
		s.TwoHolders(a, b)
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b := s.Client(), s.Client()
		a.Lock()
		changes := func() int { return s.Requests(jute.OpSetData, jute.OpCreate) }
		before := changes()
		s.Pass(time.Hour)
		require.Equal(s, before, changes(), "requests of the holder that change a node")
		require.False(s, isLost(a))
		b.Start()
		a.CutOff()
		s.Pass(museum.SessionTimeout)
		require.True(s, isLost(a), "the Lost of a holder that is cut off is closed")
		b.GetsIn()
	})
}

// A heartbeat changes the node that the next waiter watches. The watch fires for
// the change and is used up, and the watcher reacts to nodedeleted alone, so the
// waiter gets no event of the release.
func TestBugD12_AHeartbeatUsesUpTheWaitersWatch(t *testing.T) {
	start := func(s *museum.Stage) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		a.Lock()
		b.Start()
		s.Pass(2 * listings.HeartbeatRate)
		return a, b
	}
	t.Run("it happens to the article's lock", func(t *testing.T) {
		museum.Play(t, listings.NewHeartbeatLock, func(s *museum.Stage) {
			s.Path = "/lock/order"
			a, b := start(s)
			require.Empty(s, s.Server.Watches(), "the heartbeat has used up the watch of B")
			loop := s.HoldGap("D11", 1)
			require.NoError(s, a.Unlock())
			loop.Reached()
			b.WaitsForever()
			require.Len(s, b.Nodes(), 1)
			require.Len(s, s.Server.Children("/lock"), 1, "the node of B is the only one, and B waits")
		})
	})
	t.Run("it does not happen to ours", func(t *testing.T) {
		museum.Play(t, newTimeout, func(s *museum.Stage) {
			a, b := start(s)
			require.NoError(s, a.Unlock())
			b.GetsIn()
		})
	})
}
