// Package extra has the locks that take part in the benchmark and are not steps, each in a file of its own.
package extra

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// A Least is a contender that does as little as a queue through the server can do: it creates a node, watches the one
// before it and deletes its own; alone it need not watch. It is not a lock: contender n waits only until node n - 1 has
// gone. If that of a waiter goes, because its session ends, n gets in too early. Lock cannot give up, and a lost reply
// to create leaves a node that stops all later contenders.
type Least struct {
	conn *zk.Conn
	path string // the parent, of these nodes alone
	mine int    // the number of its node, or of the last node that it has deleted; -1: none yet
}

func NewLeast(conn *zk.Conn, path string) *Least { return &Least{conn: conn, path: path, mine: -1} }

func (l *Least) Lock() error {
	node, err := l.conn.Create(l.node(""), nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	deleted := l.mine
	if l.mine, err = strconv.Atoi(node[len(l.node("")):]); err != nil {
		return err
	}
	before := l.mine - 1
	if before == deleted { // the node before was our own last one; or both are -1, and ours is the first of all
		return nil
	}
	_, _, gone, err := l.conn.GetW(l.node(fmt.Sprintf("%010d", before)))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return (<-gone).Err
}

func (l *Least) Unlock() error { return l.conn.Delete(l.node(fmt.Sprintf("%010d", l.mine)), -1) }

func (l *Least) node(number string) string { return l.path + "/lock-" + number }
