package listings

import (
	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
)

// zookeeperLock is article A's first lock, from section 2, with the same methods in the same order. An exception that
// the article catches is an error that is ignored here. It has the bugs A1 to A6 and A11.
type zookeeperLock struct {
	currentPath string
	zooKeeper   *zk.Conn
}

// NewZookeeperLock makes a contender for the node at path.
func NewZookeeperLock(conn *zk.Conn, path string) Lock {
	return &zookeeperLock{currentPath: path, zooKeeper: conn}
}

// Lock reports neither that it has failed nor why.
func (l *zookeeperLock) Lock() error {
	if !l.tryLock() {
		l.waitForRelease() // whatever it has met, Lock returns nil [A11]
	}
	return nil
}

func (l *zookeeperLock) tryLock() bool {
	_, err := l.zooKeeper.Create(l.currentPath, []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)) // catch (Exception e): any error is false [A1, A5, A6]
	return err == nil
}

func (l *zookeeperLock) waitForRelease() {
	countDownLatch := java.NewCountDownLatch()
	java.Preemptible("A5")
	exists, _, watcher, err := l.zooKeeper.ExistsW(l.currentPath) // if it fails, lock returns as well [A11]
	if err != nil {
		return // e.printStackTrace()
	}
	go func() {
		for watchedEvent := range watcher {
			if watchedEvent.Type == zk.EventNodeDeleted { // and nothing else
				countDownLatch.CountDown()
			}
		}
	}()
	if !exists {
		l.Lock() // one frame deeper [A1]
	} else {
		countDownLatch.Await() // another event does not end the wait, and uses up the watch [A4]
		l.Lock()               // one frame deeper for each lost race [A3]
	}
}

func (l *zookeeperLock) Unlock() error {
	l.zooKeeper.Delete(l.currentPath, -1) // even if it is another client's node [A2]
	return nil
}
