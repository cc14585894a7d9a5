package client

import (
	"fmt"
	"math"
	"regexp"

	"github.com/go-zookeeper/zk"
)

// lowWater is a low-water mark, which is the data of the parent: all nodes of the queue up to a number have gone. That
// stays true: numbers grow, and a parent that is made again has another czxid, born. The mark is written in the
// transaction that deletes the last of these nodes, so servers that lose the delete lose the mark, too.
func lowWater(born int64, number int32) string {
	return fmt.Sprintf("zklock %016x %010d", uint64(born), number)
}

var lowWaterForm = regexp.MustCompile(`^zklock [0-9a-f]{16} [0-9]{10}$`)

// lowWaterSize is the size of every mark, by which a list tells it from most other data.
const lowWaterSize = len("zklock 0123456789abcdef 0123456789")

// HaveGone reports whether the parent's mark says that all nodes up to a number have gone. The mark counts only if
// the parent is the one in which n was made. If HaveGone returns false, the nodes may have gone or not.
func (n *Node) HaveGone(stop <-chan struct{}, number int32) bool {
	mark, stat := n.parent.read(stop)
	// A mark has a fixed width, so the marks of one parent compare as their numbers do.
	return stat.Czxid == n.Born && lowWater(n.Born, number) <= mark && mark <= lowWater(n.Born, math.MaxInt32)
}

// read returns the parent's mark, or "" if it has none. The first time it sets p.mode: how nodes are made there.
func (p *Parent) read(stop <-chan struct{}) (mark string, stat *zk.Stat) {
	data, stat, err := p.c.Get(stop, p.path)
	if err != nil {
		return "", new(zk.Stat)
	}
	mode := int32(counting) // the data may be written over
	if len(data) > 0 && !lowWaterForm.Match(data) {
		mode, data = creating, nil // it is another program's
	}
	p.mode.CompareAndSwap(unread, mode)
	return string(data), stat
}
