// Package kill is exercise 11: schedules that distinguish a right lock from a wrong
// one.
package kill

import (
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/stage"
)

// Schedules are played one after the other, on each lock, each on a stage of
// its own.
var Schedules = []stage.Schedule{
	{Name: "a holder dies", Play: holderDies},
	{Name: "a waiter leaves", Play: waiterLeaves},
	{Name: "a release between looking and watching", Play: releaseBeforeWatch},
	{Name: "another child", Play: anotherChild},
	{Name: "a release with three waiters", Play: threeWaiters},
	{Name: "a waiter's node is deleted", Play: nodeDeleted},
	{Name: "a waiter leaves between looking and watching", Play: waiterLeavesBeforeWatch},
	{Name: "an Unlock that fails", Play: unlockFails},
	{Name: "the reply to create is lost", Play: createLost},
	{Name: "the connection breaks in Lock", Play: brokenInLock},
}

// queue brings a holder and waiters onto the stage, in their order.
func queue(s *stage.Stage, waiters int) (holder *stage.Client, waiting []*stage.Client) {
	holder = s.Client()
	holder.Lock()
	for range waiters {
		c := s.Client()
		c.Start()
		c.Waits()
		waiting = append(waiting, c)
	}
	return holder, waiting
}

func holderDies(s *stage.Stage) {
	a, w := queue(s, 1)
	a.Expire()
	w[0].GetsIn()
}

func waiterLeaves(s *stage.Stage) {
	a, w := queue(s, 2)
	w[0].Expire()
	w[1].Waits()
	s.OnlyHolder(a)
	require.NoError(s, a.Unlock())
	w[1].GetsIn()
}

// watching is a client whose Lock has listed the queue; the request that sets its
// watch is on its way. It may be a get or an exists.
func watching(s *stage.Stage) (c *stage.Client, watch *stage.Held) {
	c = s.Client()
	watch = c.HoldAny(jute.OpGetData, jute.OpExists)
	c.Start()
	watch.Reached()
	return c, watch
}

func releaseBeforeWatch(s *stage.Stage) {
	a, _ := queue(s, 0)
	b, watch := watching(s)
	require.NoError(s, a.Unlock())
	watch.Release()
	b.GetsIn()
}

func anotherChild(s *stage.Stage) {
	a, w := queue(s, 1)
	_, err := a.Create(s.Path+"/a-child", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(s, err)
	b := s.Client()
	b.Start()
	require.NoError(s, a.Unlock())
	w[0].GetsIn()
	require.NoError(s, w[0].Unlock())
	b.GetsIn()
}

func threeWaiters(s *stage.Stage) {
	a, w := queue(s, 3)
	require.NoError(s, a.Unlock())
	w[0].GetsIn()
	for _, c := range w[1:] {
		require.Zero(s, c.Events(), "%v has been woken and must go on waiting", c)
	}
}

func nodeDeleted(s *stage.Stage) {
	a, w := queue(s, 2)
	nodes := w[1].Nodes()
	require.Len(s, nodes, 1)
	require.NoError(s, a.Delete(nodes[0], -1))
	require.NoError(s, a.Unlock())
	w[0].GetsIn()
	require.NoError(s, w[0].Unlock())
	w[1].Fails()
}

func waiterLeavesBeforeWatch(s *stage.Stage) {
	a, w := queue(s, 1)
	c, watch := watching(s)
	w[0].Expire()
	watch.Release()
	c.Waits()
	s.OnlyHolder(a)
}

func unlockFails(s *stage.Stage) {
	a, w := queue(s, 1)
	a.FailNext(jute.OpDelete, jute.ErrRuntimeInconsistency)
	require.Error(s, a.Unlock())
	require.NoError(s, a.Unlock(), "the second Unlock")
	w[0].GetsIn()
}

func createLost(s *stage.Stage) {
	queue(s, 0)
	b := s.Client()
	b.LoseReply(jute.OpCreate)
	b.Start()
	b.Fails()
}

func brokenInLock(s *stage.Stage) {
	a, _ := queue(s, 0)
	b := s.Client()
	b.LoseReply(jute.OpGetChildren2)
	b.Start()
	b.Fails()
	require.Empty(s, b.Nodes(), "Lock has failed, and its node is there")
	require.NoError(s, a.Unlock())
}
