package bugs_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
	"example.com/zklock/zklock"
)

// A5. Article A, tryLock():
//
//	zooKeeper.create(current_path, …, CreateMode.EPHEMERAL);
//	…
//	} catch (Exception e) {
//
// A connection that breaks after the request and before the reply is an
// exception, too, but the node exists: the client waits for its own release.
func TestBugA5_AClientWhoseReplyToCreateIsLostWaitsForItself(t *testing.T) {
	bug := museum.Exhibit("A5")
	play := func(s *museum.Stage, prepare func(a *museum.Client)) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		prepare(a)
		lost := a.LoseReply(jute.OpCreate)
		// Its next request has to wait until the client is connected again, in
		// the same session: before that it might fail, and lock() would return.
		gap := s.HoldGap("A5", 1)
		a.Start()
		lost.Reached()
		s.Pass(museum.SessionTimeout)
		gap.Release()
		b.Start()
		return a, b
	}
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		a, b := play(s, func(*museum.Client) {})
		require.Equal(s, []string{s.Path}, a.Nodes())
		a.WaitsForever()
		b.WaitsForever()
	})
	bug.Cured(t, newZklock, func(s *museum.Stage) {
		a, b := play(s, func(a *museum.Client) { // without a parent the first create would be another request
			_, err := a.Create(s.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(s, err)
		})
		a.GetsIn()
		require.Len(s, a.Nodes(), 1)
		b.Waits()
		require.NoError(s, a.Unlock())
		require.Empty(s, a.Nodes())
		b.GetsIn()
	})
}

// newZklock returns the complete lock, with a context that does not end.
func newZklock(conn *zk.Conn, path string) museum.Lock {
	mutex, err := zklock.New(conn, path)
	if err != nil {
		panic(err)
	}
	var lease *zklock.Lease
	return museum.Calls{
		CallLock: func() (err error) {
			lease, err = mutex.Lock(context.Background(), zklock.NewOwner("somebody"))
			return err
		},
		CallUnlock: func() error { return lease.Unlock(context.Background()) },
	}
}
