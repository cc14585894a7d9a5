package listings

import (
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
)

// heartbeatLock is article D's third version, with a heartbeat. It has the bugs D11 to D13.
type heartbeatLock struct {
	rootNode            string
	zkClient            *zk.Conn
	lockName            string
	locked              bool
	heartbeatThread     *java.Thread
	currentLockNodePath string
}

// HeartbeatRate is how often a heartbeat is sent.
const HeartbeatRate = time.Second

// NewHeartbeatLock makes a contender for the lock at p.
func NewHeartbeatLock(conn *zk.Conn, p string) Lock {
	l := &heartbeatLock{rootNode: path.Dir(p), zkClient: conn, lockName: path.Base(p)}
	conn.Create(l.rootNode, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return l
}

func (l *heartbeatLock) Lock() (err error) {
	l.currentLockNodePath, err = l.zkClient.Create(l.rootNode+"/"+l.lockName+"_", nil,
		zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	for !l.locked {
		sortedNodes, _, err := l.zkClient.Children(l.rootNode) // its last look: nothing sets locked to false [D12]
		if err != nil {
			return err
		}
		slices.Sort(sortedNodes)
		currentNodeIndex := slices.Index(sortedNodes, path.Base(l.currentLockNodePath))
		if currentNodeIndex == 0 {
			l.locked = true
			l.startHeartbeatThread()
			break
		}
		latch := java.NewCountDownLatch()
		stat, _, events, err := l.zkClient.ExistsW(l.rootNode + "/" + sortedNodes[currentNodeIndex-1])
		if err != nil {
			return err
		}
		go func() {
			if event := <-events; event.Type == zk.EventNodeDeleted {
				latch.CountDown()
			}
		}()
		if stat {
			latch.Await() // a heartbeat may have used up the watch: no event comes [D13]
		}
	}
	return nil
}

// Unlock is close.
func (l *heartbeatLock) Unlock() error {
	if err := l.zkClient.Delete(l.currentLockNodePath, -1); err != nil {
		return err
	}
	l.stopHeartbeatThread()
	l.zkClient.Close() // the heartbeat goes on [D11]
	return nil
}

func (l *heartbeatLock) startHeartbeatThread() {
	l.heartbeatThread = java.StartThread(func(t *java.Thread) {
		for {
			_, err := l.zkClient.Set(l.currentLockNodePath, nil, -1)
			if err == nil {
				err = t.Sleep(HeartbeatRate)
			}
			if err != nil {
				java.Preemptible("D11") // catch (Exception e): failed to send heartbeat signal, also if it was interrupted [D11]
			}
		}
	})
}

func (l *heartbeatLock) stopHeartbeatThread() {
	if l.heartbeatThread != nil {
		l.heartbeatThread.Interrupt()
		l.heartbeatThread = nil
	}
}
