package bugs_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	predecessor "example.com/zklock/03-sequential-predecessor"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/museum"
)

// E1. Article E: 不怕中间截断吗? Does the chain break? 着实…能担保, it cannot,
// because the node of a client that is cut off is deleted with its session.
//
// That is what breaks it. The node is deleted, the next contender gets the
// lock, and the holder that was cut off or paused does not notice it: it
// continues where it was. No lock can prevent that, and ours cannot either.
// But our lock has a fencing token, and with it the resource can refuse a
// write that comes late.
//
// The article has no listing of it. So it happens to step 3's lock, which is
// the article's chain without a mistake.

// A register is protected by the lock: a number that two clients read,
// add one to, and write back.
type register struct {
	value   int
	highest int64 // token seen so far
}

var errStale = errors.New("the register refuses a token that is lower than one it has seen")

func (r *register) write(value int) { r.value = value }

func (r *register) writeFenced(value int, token int64) error {
	if token < r.highest {
		return errStale
	}
	r.value, r.highest = value, token
	return nil
}

func TestBugE1_AHolderPausedBeyondItsSessionWritesLate(t *testing.T) {
	bug := museum.Exhibit("E1")
	// A reads, and is paused. B reads, adds one and writes. A continues.
	type write = func(c *museum.Client, value int) error
	play := func(s *museum.Stage, r *register, write write) (a, b *museum.Client, late error) {
		a = s.Client()
		b = s.Client()
		a.Lock()
		valueOfA := r.value
		a.Note("reads %d", "读到 %d", valueOfA)
		b.Start()
		b.Waits()
		back := a.CutOff()
		s.Note("the session of client A expires, and its nodes are deleted", "客户端 A 的会话过期，节点随之删除")
		b.GetsIn()
		s.TwoHolders(a, b)
		require.NoError(s, write(b, r.value+1))
		b.Note("reads 0, adds one, writes %d", "读到 0，加一，写入 %d", r.value)
		back()
		late = write(a, valueOfA+1)
		return a, b, late
	}
	newChain := func(conn *zk.Conn, path string) museum.Lock { return predecessor.New(conn, path) }
	bug.Happens(t, newChain, func(s *museum.Stage) {
		var r register
		a, _, late := play(s, &r, func(_ *museum.Client, value int) error {
			r.write(value)
			return nil
		})
		require.NoError(s, late)
		require.Equal(s, 1, r.value, "after two clients each added one")
		a.Note("adds one to what it has read, writes %d: one addition is lost", "在读到的数上加一，写入 %d：有一次加一丢失了", r.value)
	})
	bug.Cured(t, newTimeout, func(s *museum.Stage) {
		var r register
		a, b, late := play(s, &r, func(c *museum.Client, value int) error {
			return r.writeFenced(value, leaseOf(c).Token())
		})
		require.ErrorIs(s, late, errStale)
		require.True(s, isLost(a), "and its Lost is closed")
		require.ErrorIs(s, a.Unlock(), timeout.ErrLost)
		require.NoError(s, b.Unlock())
		a.Lock()
		require.NoError(s, r.writeFenced(r.value+1, leaseOf(a).Token()))
		require.Equal(s, 2, r.value)
	})
}
