package listings

import (
	"strconv"

	"github.com/go-zookeeper/zk"
)

// countingLock does what article B says of sequential nodes: it takes its number for the number of contenders before
// it, and waits for as many releases. It has the bug B1.
type countingLock struct {
	conn       *zk.Conn
	path, node string
}

// NewCountingLock makes a contender for the queue in path, which must exist.
func NewCountingLock(conn *zk.Conn, path string) Lock { return &countingLock{conn: conn, path: path} }

func (l *countingLock) Lock() (err error) {
	l.node, err = l.conn.Create(l.path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	children, _, changed, err := l.conn.ChildrenW(l.path)
	before, _ := strconv.Atoi(l.node[len(l.path+"/lock-"):])
	for before > 0 && err == nil {
		<-changed // the number is not a count of those that are there [B1]
		were := len(children)
		children, _, changed, err = l.conn.ChildrenW(l.path)
		if len(children) < were {
			before--
		}
	}
	return err
}

func (l *countingLock) Unlock() error { return l.conn.Delete(l.node, -1) }
