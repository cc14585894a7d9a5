package listings

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
)

// zkLock is article D's first version, ZkLock, an AutoCloseable and a Watcher. It has the bugs D1 to D5.
type zkLock struct {
	java.Monitor // wait and notify
	zookeeper    *zk.Conn
	znode        string
	businessCode string
}

// NewZkLock is the constructor: it waits for no session.
func NewZkLock(conn *zk.Conn, path string) Lock {
	return &zkLock{zookeeper: conn, businessCode: path[1:]}
}

func (l *zkLock) getLock(businessCode string) bool {
	found, err := l.exists("/"+businessCode, false) // perhaps before there is a session [D5]
	if err == nil && !found {
		_, err = l.create("/"+businessCode, zk.FlagPersistent) // another client may have created it meanwhile [D4]
	}
	if err == nil {
		l.znode, err = l.create("/"+businessCode+"/"+businessCode+"_", zk.FlagEphemeralSequential)
	}
	var childrenNodes []string
	if err == nil {
		childrenNodes, _, err = l.zookeeper.Children("/" + businessCode)
	}
	if err != nil {
		return false // catch (Exception e), for any kind of error
	}
	slices.Sort(childrenNodes)
	firstNode := childrenNodes[0]
	if strings.HasSuffix(l.znode, firstNode) {
		return true
	}
	lastNode := firstNode
	for _, node := range childrenNodes {
		if strings.HasSuffix(l.znode, node) {
			l.exists("/"+businessCode+"/"+lastNode, true) // and if it does not exist? [D1]
			break
		}
		lastNode = node
	}
	java.Preemptible("D2") // a notify at this moment wakes nobody [D2]
	l.Wait()               // once, in no loop, and without another list of the children [D3]
	return true
}

func (l *zkLock) Lock() error { return False(l.getLock(l.businessCode)) }

// Unlock is close.
func (l *zkLock) Unlock() error {
	err := l.zookeeper.Delete(l.znode, -1)
	l.zookeeper.Close()
	return err
}

func (l *zkLock) process(event zk.Event) {
	if event.Type == zk.EventNodeDeleted {
		l.Notify()
	}
}

func (l *zkLock) create(path string, flags int32) (string, error) {
	return l.zookeeper.Create(path, []byte(l.businessCode), flags, zk.WorldACL(zk.PermAll))
}

// exists sets a watch if watch is true; the event goes to process.
func (l *zkLock) exists(path string, watch bool) (bool, error) {
	if !watch {
		found, _, err := l.zookeeper.Exists(path)
		return found, err
	}
	found, _, events, err := l.zookeeper.ExistsW(path)
	if err == nil {
		go func() { l.process(<-events) }()
	}
	return found, err
}
