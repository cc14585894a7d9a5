package timeout_test

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/museum"
)

// heartbeatLock is article D's third version, with a heartbeat. It has the
// bugs D11 and D12; each has a test of its own, bug_d11_test.go and
// bug_d12_test.go.
type heartbeatLock struct {
	rootNode            string
	zkClient            *zk.Conn
	lockName            string
	locked              bool
	heartbeatThread     *museum.Thread
	currentLockNodePath string
}

const heartbeatRate = time.Second

func newHeartbeatLock(conn *zk.Conn, p string) museum.Lock {
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
		sortedNodes, _, err := l.zkClient.Children(l.rootNode)
		if err != nil {
			return err
		}
		slices.Sort(sortedNodes)
		currentNodeIndex := slices.Index(sortedNodes, path.Base(l.currentLockNodePath))
		if currentNodeIndex == 0 {
			l.locked = true // nothing sets it to false [D12]
			l.startHeartbeatThread()
			break
		}
		latch := museum.NewCountDownLatch()
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
			latch.Await()
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
	l.zkClient.Close()
	return nil
}

func (l *heartbeatLock) startHeartbeatThread() {
	l.heartbeatThread = museum.StartThread(func(t *museum.Thread) {
		for {
			_, err := l.zkClient.Set(l.currentLockNodePath, nil, -1)
			if err == nil {
				err = t.Sleep(heartbeatRate)
			}
			if err != nil {
				museum.Preemptible("D11") // catch (Exception e): failed to send heartbeat signal [D11]
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

// leaseLock is step 5's lock, for one owner.
type leaseLock struct {
	mutex *timeout.Mutex
	owner *timeout.Owner
	lease *timeout.Lease
}

func newLeaseLock(conn *zk.Conn, path string) museum.Lock {
	mutex, err := timeout.New(conn, path)
	if err != nil {
		panic(err)
	}
	return &leaseLock{mutex: mutex, owner: timeout.NewOwner("somebody")}
}

func (l *leaseLock) Lock() (err error) {
	l.lease, err = l.mutex.Lock(context.Background(), l.owner)
	return err
}

func (l *leaseLock) Unlock() error { return l.lease.Unlock(context.Background()) }

// leaseOf returns the lease that a client holds.
func leaseOf(c *museum.Client) *timeout.Lease { return c.Contender().(*leaseLock).lease }

func isLost(c *museum.Client) bool {
	select {
	case <-leaseOf(c).Lost():
		return true
	default:
		return false
	}
}
