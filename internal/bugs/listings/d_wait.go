package listings

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
)

// distributedLock is article D's second version, with a wait time. It has the bugs D6 to D10.
type distributedLock struct {
	rootNode            string
	zkClient            *zk.Conn
	lockName            string
	currentLockNodePath string
}

// WaitTime is how long its Lock is to wait at most.
const WaitTime = 5 * time.Second

// NewDistributedLock is the constructor. A lock of another name has the same root node.
func NewDistributedLock(conn *zk.Conn, p string) Lock {
	l := &distributedLock{rootNode: path.Dir(p), zkClient: conn, lockName: path.Base(p)}
	if found, _, err := conn.Exists(l.rootNode); err == nil && !found {
		conn.Create(l.rootNode, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	return l
}

func (l *distributedLock) lock(waitTime time.Duration) (err error) {
	l.currentLockNodePath, err = l.zkClient.Create(l.rootNode+"/"+l.lockName+"_", nil, // if this fails, Unlock closes nothing [D10]
		zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return fmt.Errorf("failed to acquire lock: %w", err)
	}
	sortedNodes, _, err := l.zkClient.Children(l.rootNode)
	if err != nil {
		return fmt.Errorf("failed to acquire lock: %w", err)
	}
	slices.Sort(sortedNodes)
	currentNodeIndex := java.BinarySearch(sortedNodes, path.Base(l.currentLockNodePath))
	if currentNodeIndex == 0 {
		return nil
	}
	latch := java.NewCountDownLatch()
	previousNodePath := l.rootNode + "/" + sortedNodes[currentNodeIndex-1]
	stat, _, events, err := l.zkClient.ExistsW(previousNodePath) // if it is gone, this contender holds, though it is not the first [D7]
	if err != nil {
		return fmt.Errorf("failed to acquire lock: %w", err)
	}
	go func() {
		if event := <-events; event.Type == zk.EventNodeDeleted {
			latch.CountDown()
		}
	}()
	if stat {
		if latch.AwaitFor(waitTime) { // perhaps for a lock of another name [D9]
			return l.lock(waitTime) // with a second node, and the whole wait time again [D6, D8]
		}
		l.zkClient.Delete(l.currentLockNodePath, -1)
		return ErrWaitTime
	}
	return nil
}

// ErrWaitTime is the error of a Lock that has waited that long.
var ErrWaitTime = errors.New("failed to acquire lock within wait time")

func (l *distributedLock) Lock() error { return l.lock(WaitTime) }

// Unlock is close.
func (l *distributedLock) Unlock() error {
	if l.currentLockNodePath == "" {
		return ErrNullPath
	}
	if err := l.zkClient.Delete(l.currentLockNodePath, -1); err != nil {
		return fmt.Errorf("failed to release lock: %w", err)
	}
	l.zkClient.Close()
	return nil
}

// ErrNullPath is thrown by delete(null, -1).
var ErrNullPath = errors.New("IllegalArgumentException: Path cannot be null")
