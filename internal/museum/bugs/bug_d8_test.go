package bugs_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// D8. Article D, wait-time version:
//
//	if (latch.await(waittime, timeunit.milliseconds)) {
//	    lock(waittime);
//
// The call starts the wait time again. A waiter that is woken before its time
// is up, and finds another waiter before it, waits the whole time again,
// without a bound.
func TestBugD8_EachWakeUpStartsTheWaitTimeAgain(t *testing.T) {
	bug := museum.Exhibit("D8")
	const rounds = 20
	// Each time when B's time is nearly up, the waiter before it gives up, and
	// another waiter is then the one before it.
	play := func(s *museum.Stage, queue string) (b *museum.Client) {
		a := s.Client()
		b = s.Client()
		c := s.Client()
		comes := func() string {
			node, err := c.Create(queue, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			require.NoError(s, err)
			s.Settle()
			return node
		}
		a.Lock()
		before := comes()
		b.Start()
		round := func() {
			next := comes()
			s.Pass(listings.WaitTime * 9 / 10)
			require.NoError(s, c.Delete(before, -1))
			s.Settle()
			before = next
		}
		round()
		s.Note("and so on")
		s.Aside(func() {
			for range rounds - 1 {
				round()
			}
		})
		return b
	}
	bug.Happens(t, listings.NewDistributedLock, func(s *museum.Stage) {
		s.Path = "/lock/order"
		b := play(s, "/lock/order_")
		b.Waits()
		b.Note("has waited %.0f times as long as it wanted to", float64(b.Took())/float64(listings.WaitTime))
		require.Equal(s, rounds*listings.WaitTime*9/10, b.Took())
	})
	newTimeout := func(conn *zk.Conn, path string) museum.Lock {
		l := timeout.New(conn, path, museum.SessionTimeout)
		return museum.Calls{CallLock: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), listings.WaitTime)
			defer cancel()
			_, err := l.Lock(ctx)
			return err
		}}
	}
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		b := play(s, "/lock/lock-")
		require.ErrorIs(s, b.Fails(), context.DeadlineExceeded)
		require.Equal(s, listings.WaitTime, b.Took())
		require.Empty(s, b.Nodes())
	})
}
