// Package extra has the locks that take part in the benchmark and are not steps, each
// in a file of its own.
package extra

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// A Least is a contender that does as little as a queue through the server can do: it
// creates a node, watches the one before it and deletes its own; alone it need not watch.
// It is not a lock: the one before n is n - 1, whatever has become of the nodes
// before that, so where a waiter gives up its successor gets in too early. It
// cannot give up, and a lost reply to create leaves a node that stops them all.
type Least struct {
	conn *zk.Conn
	path string // the parent, of these nodes alone
	mine int    // the number of its node, or of the last one that it has deleted; -1: none
}

// NewLeast makes a contender.
func NewLeast(conn *zk.Conn, path string) *Least { return &Least{conn: conn, path: path, mine: -1} }

func (l *Least) Lock() error {
	node, err := l.conn.Create(l.node(""), nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	last := l.mine
	if l.mine, err = strconv.Atoi(node[len(l.node("")):]); err != nil {
		return err
	}
	before := l.mine - 1
	if before == last { // it has gone, or there is none
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
