// Package second has two queues, and lets the first contender of each in.
package second

import (
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

var contenders atomic.Int64

// New returns a contender.
func New(conn *zk.Conn, path string) *zk.Lock {
	return zk.NewLock(conn, fmt.Sprint(path, "/queue-", contenders.Add(1)%2), zk.WorldACL(zk.PermAll))
}
