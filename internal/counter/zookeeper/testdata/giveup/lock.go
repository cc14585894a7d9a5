// Package giveup does not look at the queue again after waking: it lets a
// waiter in when another one gives up.
package giveup

import (
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// A Lock is one contender in a queue.
type Lock struct {
	conn *zk.Conn
	path string
	node string
}

// New returns a contender.
func New(conn *zk.Conn, path string) *Lock { return &Lock{conn: conn, path: path} }

// Lock makes a node and waits for the end of the one before it.
func (l *Lock) Lock() error {
	_, err := l.conn.Create(l.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if err != nil && err != zk.ErrNodeExists {
		return err
	}
	l.node, err = l.conn.Create(l.path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	queue, _, err := l.conn.Children(l.path)
	if err != nil {
		return err
	}
	slices.Sort(queue)
	place := slices.Index(queue, path.Base(l.node))
	if place == 0 {
		return nil
	}
	_, _, gone, err := l.conn.ExistsW(l.path + "/" + queue[place-1])
	if err != nil {
		return err
	}
	return (<-gone).Err
}

// Unlock removes the node.
func (l *Lock) Unlock() error { return l.conn.Delete(l.node, -1) }
