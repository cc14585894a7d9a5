package naive_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
)

// A5. Article A, tryLock():
//
//	zooKeeper.create(current_path, …, CreateMode.EPHEMERAL);
//	…
//	} catch (Exception e) {
//
// A connection that breaks after the request and before the reply is an
// exception, too, but the node is there: "somebody else", whose release is
// waited for, is oneself.
func TestBugA5_WhoseReplyToCreateIsLostWaitsForItself(t *testing.T) {
	bug := museum.Bug{ID: "A5", Kind: museum.Hang, Cure: 5, What: "the reply to create is lost: it waits for its own node"}
	play := func(s *museum.Stage, prepare func(a *museum.Client)) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		prepare(a)
		lost := a.LoseReply(jute.OpCreate)
		// What it asks next, it asks when it is connected again, to the same
		// session. Before, that might fail, too, and lock() would return.
		gap := s.HoldGap("A5", 1)
		a.Start()
		lost.Reached()
		s.Pass(museum.SessionTimeout)
		gap.Release()
		b.Start()
		return a, b
	}
	bug.Happens(t, newZookeeperLock, func(s *museum.Stage) {
		a, b := play(s, func(*museum.Client) {})
		require.Equal(s, []string{s.Path}, a.Nodes())
		a.WaitsForEver()
		b.WaitsForEver()
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		a, b := play(s, func(a *museum.Client) { // else the first create is the one that finds no parent
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

// newTimeout is step 5's lock, with a context that does not end.
func newTimeout(conn *zk.Conn, path string) museum.Lock {
	mutex, err := timeout.New(conn, path)
	if err != nil {
		panic(err)
	}
	var lease *timeout.Lease
	return museum.Calls{
		CallLock: func() (err error) {
			lease, err = mutex.Lock(context.Background(), timeout.NewOwner("somebody"))
			return err
		},
		CallUnlock: func() error { return lease.Unlock(context.Background()) },
	}
}
