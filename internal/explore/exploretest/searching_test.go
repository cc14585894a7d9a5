package exploretest_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/locktest/broken"
)

// A searchingLock looks for its node when the reply to create is lost, as
// zklock does: the node carries an id. The last Unlock removes the parent, so
// that names come again. TryLock makes no node; if the lock is held, it asks
// the holder to leave, by a write to the holder's node.
type searchingLock struct {
	bug        string
	conn       *zk.Conn
	path, name string
	node, id   string
	made       int64 // the czxid of node
	calls      int
	known      map[string]bool // names of nodes that were ours
}

// What a lost reply and a late write can do to a searching lock.
const (
	searchedOnce  = "a search that fails is not repeated"
	skipsKnown    = "the search skips names that it has seen before"
	foreignRecord = "a foreign id means a foreign node"
)

// insist repeats a request until it gets a definite answer. unsure: a request
// before the last one may have been carried out.
func insist(f func() error) (unsure bool, err error) {
	for range 50 {
		err = f()
		if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			break
		}
		unsure = unsure || errors.Is(err, zk.ErrConnectionClosed)
		time.Sleep(100 * time.Millisecond) // virtual
	}
	return unsure, err
}

func (l *searchingLock) create() (err error) {
	l.calls++
	l.id = fmt.Sprint(l.name, l.calls)
	for range 50 {
		l.node, err = l.conn.Create(l.path+"/lock-", []byte(l.id), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			_, err = insist(func() error {
				_, err := l.conn.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
				return err
			})
			if err == nil || errors.Is(err, zk.ErrNodeExists) {
				continue
			}
		case errors.Is(err, zk.ErrNoServer): // it was not sent
			time.Sleep(100 * time.Millisecond)
			continue
		case errors.Is(err, zk.ErrConnectionClosed):
			if l.node, err = l.find(); err == nil && l.node == "" {
				continue
			}
		}
		break
	}
	if err != nil {
		return err
	}
	_, err = insist(func() error {
		_, stat, err := l.conn.Get(l.node)
		if err == nil {
			l.made = stat.Czxid
		}
		return err
	})
	return err
}

// find returns the node that carries the id, "" if there is none.
func (l *searchingLock) find() (node string, err error) {
	again := func(f func() error) error {
		if l.bug == searchedOnce {
			return f()
		}
		_, err := insist(f)
		return err
	}
	var names []string
	err = again(func() (err error) { names, _, err = l.conn.Children(l.path); return err })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return "", err
	}
	for _, name := range names {
		if l.bug == skipsKnown && l.known[name] {
			continue
		}
		var data []byte
		err := again(func() (err error) { data, _, err = l.conn.Get(l.path + "/" + name); return err })
		switch {
		case err == nil && string(data) == l.id:
			return l.path + "/" + name, nil
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return "", err
		}
	}
	return "", nil
}

func (l *searchingLock) Lock(context.Context) error {
	if err := l.create(); err != nil {
		return err
	}
	l.known[path.Base(l.node)] = true
	for {
		var names []string
		if _, err := insist(func() (err error) { names, _, err = l.conn.Children(l.path); return err }); err != nil {
			return err
		}
		slices.Sort(names)
		i := slices.Index(names, path.Base(l.node))
		if i < 0 {
			return broken.ErrNotLocked
		}
		if i == 0 {
			return nil
		}
		var gone <-chan zk.Event
		_, err := insist(func() (err error) { _, _, gone, err = l.conn.GetW(l.path + "/" + names[i-1]); return err })
		if err == nil {
			err = (<-gone).Err
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
}

func (l *searchingLock) TryLock(context.Context) (bool, error) {
	names, _, err := l.conn.Children(l.path)
	if errors.Is(err, zk.ErrNoNode) || err == nil && len(names) == 0 {
		return false, nil // it would have to make a node
	}
	if err != nil {
		return false, err
	}
	holder := l.path + "/" + slices.Min(names)
	data, stat, err := l.conn.Get(holder)
	if err == nil {
		_, err = l.conn.Set(holder, data, stat.Version)
	}
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		err = nil // the holder has left
	}
	return false, err
}

func (l *searchingLock) Unlock(context.Context) error {
	if l.node == "" {
		return broken.ErrNotLocked
	}
	node := l.node
	l.node = ""
	ours := false
	_, err := insist(func() error {
		data, stat, err := l.conn.Get(node)
		ours = err == nil && stat.Czxid == l.made && (l.bug != foreignRecord || string(data) == l.id)
		return err
	})
	if err == nil && !ours {
		return broken.ErrNotLocked
	}
	var unsure bool
	if err == nil {
		unsure, err = insist(func() error { return l.conn.Delete(node, -1) })
	}
	switch {
	case errors.Is(err, zk.ErrNoNode) && !unsure:
		return broken.ErrNotLocked
	case err != nil && !errors.Is(err, zk.ErrNoNode):
		return err
	}
	l.conn.Delete(l.path, -1) // unless other contenders are there
	return nil
}

// TestTheExplorerFindsWhatLostRepliesAndLateWritesDo: three mistakes that a
// lock can make which looks for its node after a lost reply.
func TestTheExplorerFindsWhatLostRepliesAndLateWritesDo(t *testing.T) {
	world := func(bug string, kinds []explore.Fault, faults int, scripts ...[]explore.Op) explore.World {
		return explore.World{
			Lock: explore.Subject{
				Name: bug,
				Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
					return func(name string) explore.Lock {
						return &searchingLock{bug: bug, conn: conn, path: path, name: name, known: make(map[string]bool)}
					}
				},
				NotLocked: func(err error) bool { return errors.Is(err, broken.ErrNotLocked) },
				Queue:     true,
				Ignore:    []explore.Kind{explore.HidesLoss},
			},
			Contenders: len(scripts), Kinds: kinds, Faults: faults, Scripts: scripts,
		}
	}
	lock, unlock, try := explore.LockOp, explore.UnlockOp, explore.TryLockOp
	once, twice, asks := []explore.Op{lock, unlock}, []explore.Op{lock, unlock, lock, unlock}, []explore.Op{try}
	lost := []explore.Fault{explore.LoseReply, explore.LoseRequest}
	for _, test := range []struct {
		bug   string
		world func(bug string) explore.World
		kinds []explore.Kind
		// How many the trace has.
		choices int
	}{
		{searchedOnce, func(bug string) explore.World { return world(bug, lost, 2, once) },
			[]explore.Kind{explore.NodeLeft, explore.Hang}, 1},
		{skipsKnown, func(bug string) explore.World { return world(bug, lost[:1], 1, twice) },
			[]explore.Kind{explore.Hang}, 9},
		{foreignRecord, func(bug string) explore.World { return world(bug, nil, 0, twice, asks) },
			[]explore.Kind{explore.NodeLeft, explore.Failure}, 13},
	} {
		t.Run(test.bug, func(t *testing.T) {
			r := explore.Explore(t, test.world(test.bug), explore.Search{})
			require.NotNil(t, r.Found, "%v shows nothing", r)
			require.Contains(t, test.kinds, r.Found.Violation.Kind, "%v", r.Found)
			require.Len(t, r.Found.Choices, test.choices, "docs/explorer.md says otherwise: %v", r.Found)
			require.Less(t, r.Schedules, 100, "docs/explorer.md says otherwise: %v", r)
			t.Logf("%d schedules, %v, %q: %v", r.Schedules, r.Took.Round(time.Millisecond), r.Found.Choices, r.Found.Violation)
			right := explore.Explore(t, test.world("none"), explore.Search{})
			require.Nil(t, right.Found, "%v", right.Found)
			require.True(t, right.Complete)
			t.Log(right)
		})
	}
}
