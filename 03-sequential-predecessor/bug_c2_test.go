package predecessor_test

import (
	"path"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
)

// C2. Article C, await():
//
//	client.getData().usingWatcher(w).forPath(prior_path);
//	…
//	latch.await(WAIT_TIME, TimeUnit.SECONDS);
//
// If prior_path was deleted after the children were listed, forPath throws
// NoNode. The call must not fail then, but list the children again: its own
// node may be the first.
type awaitLock struct {
	client          *zk.Conn
	path            string
	lockedPath      string
	lockedShortPath string
	priorPath       string
}

func newAwaitLock(conn *zk.Conn, path string) museum.Lock {
	return &awaitLock{client: conn, path: path}
}

func (l *awaitLock) Lock() (err error) {
	l.lockedPath, err = l.client.Create(l.path+"/seq-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	l.lockedShortPath = path.Base(l.lockedPath)
	for {
		waiters, _, err := l.client.Children(l.path)
		if err != nil {
			return err
		}
		if l.checkLocked(waiters) {
			return nil
		}
		if err := l.await(); err != nil {
			return err
		}
	}
}

func (l *awaitLock) checkLocked(waiters []string) bool {
	slices.Sort(waiters)
	if l.lockedShortPath == waiters[0] {
		return true
	}
	l.priorPath = l.path + "/" + waiters[slices.Index(waiters, l.lockedShortPath)-1]
	return false
}

func (l *awaitLock) await() error {
	_, _, w, err := l.client.GetW(l.priorPath)
	if err != nil {
		return err
	}
	<-w
	return nil
}

func (l *awaitLock) Unlock() error { return l.client.Delete(l.lockedPath, -1) }

func TestBugC2_TheNextWaiterFailsWhenTheHolderUnlocks(t *testing.T) {
	bug := museum.Bug{ID: "C2", Kind: museum.Crash, Cure: 3, What: "the lock call fails just when its node becomes the first"}
	play := func(s *museum.Stage) (b *museum.Client) {
		a := s.Client()
		withParent(s, a)
		b = s.Client()
		a.Lock()
		slow := b.HoldRequest(jute.OpGetData)
		b.Start()
		slow.Reached()
		require.NoError(s, a.Unlock())
		slow.Release()
		return b
	}
	bug.Happens(t, newAwaitLock, func(s *museum.Stage) {
		b := play(s)
		require.ErrorIs(s, b.Fails(), zk.ErrNoNode)
		require.Equal(s, s.Server.Children(s.Path), []string{"seq-0000000001"}, "its own node, the first")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		play(s).GetsIn()
	})
}
