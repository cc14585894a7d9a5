package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) {
	t.Parallel()
	exploretest.Test(t, steps.Zklock())
}

// A foreignLock does what zk.Lock does, which knows nothing of nodes that are cached; but its
// names are not random, so that schedules repeat.
type foreignLock struct {
	conn       *zk.Conn
	path, name string
	node       string // "": it does not hold the lock
}

func (l *foreignLock) enqueue() (node string, err error) {
	return l.conn.Create(l.path+"/_c_"+l.name+"-lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
}

// before returns the name of the node before ours, "" if ours is the first.
func (l *foreignLock) before(node string) (before string, err error) {
	number := func(name string) string { return name[len(name)-10:] }
	names, _, err := l.conn.Children(l.path)
	for _, name := range names {
		if number(name) < number(node) && (before == "" || number(name) > number(before)) {
			before = name
		}
	}
	return before, err
}

func (l *foreignLock) Lock(context.Context) error {
	node, err := l.enqueue()
	if err != nil {
		return err
	}
	for {
		before, err := l.before(node)
		if err == nil && before == "" {
			l.node = node
		}
		if err != nil || before == "" {
			return err
		}
		_, _, gone, err := l.conn.GetW(l.path + "/" + before)
		if err == nil {
			err = (<-gone).Err
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
}

func (l *foreignLock) TryLock(context.Context) (bool, error) {
	node, err := l.enqueue()
	if err != nil {
		return false, err
	}
	before, err := l.before(node)
	if err == nil && before == "" {
		l.node = node
		return true, nil
	}
	return false, errors.Join(err, l.conn.Delete(node, -1))
}

func (l *foreignLock) Unlock(context.Context) error {
	if l.node == "" {
		return zk.ErrNotLocked
	}
	err := l.conn.Delete(l.node, -1)
	l.node = ""
	return err
}

// TestExploreACachedNode lets zk.Lock's shape, or others that cache, contend with a Mutex that keeps
// its node for a second.
func TestExploreACachedNode(t *testing.T) {
	testenv.Embedded(t, "the explorer brings its own server")
	testenv.Landing(t, "plays thousands of schedules")
	testenv.NotRaced(t, "its schedules are ten times as slow, and the forced ones run the same lines")
	ours := steps.ZklockWith(explore.SessionTimeout, zklock.WithCaching(time.Second), zklock.CachingFrom(0))
	ours.Name = "zklock, caching"
	mixed := ours
	mixed.Name = "zklock, caching, and zk.Lock"
	mixed.Requeues, mixed.Reentrant = false, false // zk.Lock returns the errors of its session
	mixed.NotLocked = func(err error) bool { return ours.NotLocked(err) || errors.Is(err, zk.ErrNotLocked) }
	mixed.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		open := ours.Open(conn, path)
		return func(name string) explore.Lock {
			if name == "A" {
				return open(name)
			}
			return &foreignLock{conn: conn, path: path, name: name}
		}
	}
	lock, unlock, try := explore.LockOp, explore.UnlockOp, explore.TryLockOp
	once, twice := []explore.Op{lock, unlock}, []explore.Op{lock, unlock, lock, unlock}
	again := [][]explore.Op{twice, {try, unlock, lock, unlock}}
	drawn := explore.Search{Seed: 1, Limit: 300}
	if testenv.AtLength() {
		drawn = explore.Search{} // all of them
	}
	faults := []explore.Fault{explore.LoseRequest, explore.LoseReply, explore.Cut, explore.Expire, explore.Stop, explore.EndContext}
	for _, p := range []exploretest.Plan{
		{What: "zk.Lock, every packet", World: explore.World{Lock: mixed, Packets: true, Scripts: [][]explore.Op{once, once}}},
		{What: "zk.Lock, and ours locks again", World: explore.World{Lock: mixed, Scripts: [][]explore.Op{twice, once}}},
		{What: "zk.Lock, and both lock again", World: explore.World{Lock: mixed, Scripts: [][]explore.Op{twice, twice}}, Search: drawn},
		{What: "two that cache, every packet", World: explore.World{Lock: ours, Packets: true, Scripts: [][]explore.Op{once, once}}, Search: drawn},
		{What: "two that cache, and lock again", World: explore.World{Lock: ours, Scripts: again}, Search: drawn},
		{What: "two that cache, one fault", World: explore.World{Lock: ours, Scripts: again, Kinds: faults, Faults: 1}, Search: explore.Search{Seed: 1, Limit: 300}},
		{What: "three that cache, two faults", World: explore.World{Lock: ours, Contenders: 3, Scripts: again, Kinds: faults, Faults: 2},
			Search: explore.Search{Seed: 1, Limit: 300}},
	} {
		t.Run(p.What, func(t *testing.T) {
			r := explore.Explore(t, p.World, p.Search)
			t.Log(r)
			require.True(t, r.Found == nil, "%v", r.Found)
		})
	}
}
