package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/counter/zookeeper"
)

// floor is the minimum cost of any queue of N contenders on this server: N nodes are made at once, then deleted one
// after the other, each after the one before it has been deleted. It is not a lock: its contenders find their turn in
// the memory of this process, without asking ZooKeeper, and nothing keeps another process out.
type floor struct {
	mu     sync.Mutex // guards what follows
	coming int        // contenders that have not made their first node yet
	held   bool       // a contender has the turn, and has not deleted its node
	queue  []*floorContender
	err    error         // of the first contender that failed
	failed chan struct{} // closed when a contender has failed: the others would wait forever
}

type floorContender struct {
	*floor
	conn *zk.Conn
	path string
	node string
	came bool          // this contender has made its first node
	turn chan struct{} // closed when the nodes before its own have been deleted
}

// newFloor begins a run, and returns the function that makes its contenders.
func newFloor(r zookeeper.Run) zookeeper.Maker {
	f := &floor{coming: r.N, failed: make(chan struct{})}
	return func(conn *zk.Conn, path string) zookeeper.Locker {
		return &floorContender{floor: f, conn: conn, path: path}
	}
}

func (c *floorContender) Lock() error {
	node, err := c.conn.Create(c.path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return c.fail(err)
	}
	c.mu.Lock()
	c.node = node
	c.turn = make(chan struct{})
	c.queue = append(c.queue, c)
	slices.SortFunc(c.queue, func(a, b *floorContender) int { return cmp.Compare(a.node, b.node) })
	if !c.came {
		c.came = true
		c.coming--
	}
	c.nextLocked()
	c.mu.Unlock()

	select {
	case <-c.turn:
		return nil
	case <-c.failed:
		return c.err // written before failed was closed
	}
}

func (c *floorContender) Unlock() error {
	if err := c.conn.Delete(c.node, -1); err != nil {
		return c.fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	c.nextLocked()
	return nil
}

// nextLocked gives the turn to the first in the queue, when all contenders have come and none has it.
func (f *floor) nextLocked() {
	if len(f.queue) > 0 && f.coming == 0 && !f.held {
		f.held = true
		close(f.queue[0].turn)
		f.queue = f.queue[1:]
	}
}

// fail ends the run for all contenders, and returns err.
func (f *floor) fail(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		close(f.failed)
	}
	return err
}
