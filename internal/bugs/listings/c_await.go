package listings

import (
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// awaitLock is article C's lock without its count. It has the bug C2.
type awaitLock struct {
	client          *zk.Conn
	path            string
	lockedPath      string
	lockedShortPath string
	priorPath       string
}

// NewAwaitLock makes a contender for the queue in p, which must exist.
func NewAwaitLock(conn *zk.Conn, p string) Lock { return &awaitLock{client: conn, path: p} }

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

// checkLocked panics if its own node is not among the waiters: article C's lock shares the bug A8 of article A's queue.
func (l *awaitLock) checkLocked(waiters []string) bool {
	slices.Sort(waiters)
	if l.lockedShortPath == waiters[0] {
		return true
	}
	l.priorPath = l.path + "/" + waiters[slices.Index(waiters, l.lockedShortPath)-1]
	return false
}

func (l *awaitLock) await() error {
	_, _, w, err := l.client.GetW(l.priorPath) // NoNode is an error, though its own node may be the first now [C2]
	if err != nil {
		return err
	}
	<-w
	return nil
}

func (l *awaitLock) Unlock() error { return l.client.Delete(l.lockedPath, -1) }
