package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A3. Article A, waitForRelease():
//
//	countDownLatch.await();
//	lock();
//
// A waiter that is woken and loses the race is one call deeper, and returns
// from all the calls only when it holds the lock.
func TestBugA3_EachLostRaceAddsAFrameToTheStack(t *testing.T) {
	bug := museum.Exhibit("A3")
	const races = 20
	play := func(s *museum.Stage, function string) (frames []int) {
		a, b := s.Client(), s.Client()
		a.Lock()
		b.Start()
		race := func() {
			late := b.HoldRequest(jute.OpCreate)
			require.NoError(s, a.Unlock())
			late.Reached()
			a.Lock()
			late.Release()
			b.Waits()
			frames = append(frames, museum.Frames(function))
		}
		race()
		s.Note("and so on")
		s.Aside(func() {
			for range races - 1 {
				race()
			}
		})
		b.Note("%d races lost, calls of lock on the stack: %d", races, frames[races-1])
		s.Aside(func() {
			require.NoError(s, a.Unlock())
			b.GetsIn()
		})
		return frames
	}
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		for i, frames := range play(s, "(*zookeeperLock).Lock") {
			require.Equal(s, i+2, frames, "calls of Lock on the stack after %d lost races", i+1)
		}
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		for i, frames := range play(s, "(*Lock).Lock") {
			require.Equal(s, 1, frames, "calls of Lock on the stack after %d lost races", i+1)
		}
	})
}
