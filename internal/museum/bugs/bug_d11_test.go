package bugs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D11. Article D, heartbeat version, the thread:
//
//	while (true) {
//	    try { zkclient.setdata(…); thread.sleep(heartbeat_rate);
//	    } catch (exception e) { system.out.println(…); }
//
// interrupt() causes such an exception: the thread swallows it and continues.
// After the release setdata fails, so the sleep is not reached any more: the
// loop keeps a processor busy until the process ends.
func TestBugD11_TheHeartbeatNeverStops(t *testing.T) {
	bug := museum.Exhibit("D11")
	bug.Happens(t, listings.NewHeartbeatLock, func(s *museum.Stage) {
		s.Path = "/lock/order"
		a := s.Client()
		a.Lock()
		s.Pass(listings.HeartbeatRate + listings.HeartbeatRate/2)
		first := s.HoldGap("D11", 10)
		a.Note("deletes its node, interrupts the thread, closes the client")
		s.Aside(func() { // it is chance whether a heartbeat is sent before the close
			require.NoError(s, a.Unlock())
			first.Reached()
		})
		released := time.Now()
		last := s.HoldGap("D11", 1000)
		first.Release()
		last.Reached()
		require.Zero(s, time.Since(released), "time in which 1000 heartbeats have failed")
		require.Equal(s, 1, museum.Threads("example.com/zklock/internal/museum/java.StartThread"))
		a.Note("1000 more heartbeats fail, and no time has passed")
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a := s.Client()
		a.Lock()
		s.Pass(museum.SessionTimeout)
		require.NotZero(s, museum.Threads("example.com/zklock/05-timeout."), "threads that watch over the lock")
		require.NoError(s, a.Unlock())
		s.Settle()
		require.Zero(s, museum.Threads("example.com/zklock/05-timeout."), "threads after Unlock")
	})
}
