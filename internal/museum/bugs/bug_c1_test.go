package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// C1. Article C, lock():
//
//	if (lockCount.get() == 0) { thread = Thread.currentThread(); lockCount.incrementAndGet(); }
//	else { if (!thread.equals(Thread.currentThread())) { return false; }
//
// and only then tries to get the lock. If that fails, the count stays: from
// then on lock() returns true in this thread, which holds nothing, and false
// in all other threads of the process, forever and without waiting.
func TestBugC1_TheCountIsSetBeforeTheLockIsHeld(t *testing.T) {
	bug := museum.Exhibit("C1")
	// Lock is called in the thread "main" of the process.
	play := func(s *museum.Stage) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		s.Aside(func() {
			_, err := a.Create(s.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(s, err)
		})
		a.FailNext(jute.OpCreate, jute.ErrRuntimeInconsistency)
		a.Start()
		require.Error(s, a.Fails())
		b.Lock()
		a.Start()
		return a, b
	}
	bug.Happens(t, listings.NewCountedLock, func(s *museum.Stage) {
		a, b := play(s)
		s.TwoHolders(a, b)
		require.False(s, a.Contender().(*listings.CountedLock).LockFor("another thread"), "another thread does not wait")
		a.Note("another thread of client A gets false at once")
	})

	var mutexes []*reentrant.Mutex
	owner := reentrant.NewOwner("main")
	newReentrant := func(conn *zk.Conn, path string) museum.Lock {
		m := reentrant.New(conn, path)
		mutexes = append(mutexes, m)
		return museum.Calls{
			CallLock:   func() error { return m.Lock(owner) },
			CallUnlock: func() error { return m.Unlock(owner) },
		}
	}
	bug.Cured(t, newReentrant, func(s *museum.Stage) {
		a, b := play(s)
		s.OnlyHolder(b)
		a.Waits()
		require.Zero(s, mutexes[0].Holds(owner))
		require.NoError(s, b.Unlock())
		a.GetsIn()
		require.Equal(s, 1, mutexes[0].Holds(owner))
		another := make(chan error, 1)
		go func() { another <- mutexes[0].Lock(reentrant.NewOwner("another thread")) }()
		s.Settle()
		require.Empty(s, another, "another thread does not wait")
		require.NoError(s, a.Unlock())
		s.Settle()
		require.NoError(s, <-another)
	})
}
