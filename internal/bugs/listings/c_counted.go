package listings

import (
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// A CountedLock is article C's lock with its count. It has the bug C1.
type CountedLock struct {
	client     *zk.Conn
	path       string
	lockCount  int
	thread     string
	lockedPath string
}

// NewCountedLock makes a contender for the queue in p, which must exist. Its Lock is called in the thread "main".
func NewCountedLock(conn *zk.Conn, p string) Lock { return &CountedLock{client: conn, path: p} }

// Lock calls LockFor in the thread "main". False makes an error of its result if that is false.
func (l *CountedLock) Lock() error { return False(l.LockFor("main")) }

// LockFor is the article's lock(). A goroutine has no name, so the caller says which thread it is.
func (l *CountedLock) LockFor(thread string) bool {
	if l.lockCount == 0 {
		l.thread = thread
		l.lockCount++ // before the lock is held [C1]
	} else {
		if thread != l.thread {
			return false
		}
		l.lockCount++
		return true
	}
	return l.tryLock() // the article leaves the rest out, as "//....": if it fails, the count stays [C1]
}

func (l *CountedLock) tryLock() bool {
	var err error
	l.lockedPath, err = l.client.Create(l.path+"/seq-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return false
	}
	waiters, _, err := l.client.Children(l.path)
	return err == nil && slices.Min(waiters) == path.Base(l.lockedPath)
}

// Unlock deletes the node.
func (l *CountedLock) Unlock() error { return l.client.Delete(l.lockedPath, -1) }
