package museum

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
)

// Found gives an article's lock to the explorer, without a schedule. The world
// says how many contenders there are, what they do, and what may go wrong; of
// its Lock only Queue, Exists and Path are to be set. The explorer must find
// one of the kinds of violation, in at most so many choices.
func Found(t *testing.T, article NewLock, world explore.World, most int, kinds ...explore.Kind) {
	t.Helper()
	NeedsEmbedded(t)
	world.Lock.Name = t.Name()
	world.Lock.Begin = func(gap func(string)) func() {
		s := &Stage{over: make(chan struct{}), preempt: gap}
		onAir.Store(s)
		return func() { close(s.over) }
	}
	world.Lock.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		return func(string) explore.Lock { return listing{lock: article(conn, path)} }
	}
	if world.Lock.Path == "" {
		world.Lock.Path = "/lock" // as on the stage: some listings take the path for a name
	}
	for _, kind := range explore.Kinds {
		if !slices.Contains(kinds, kind) {
			world.Lock.Ignore = append(world.Lock.Ignore, kind)
		}
	}
	search := explore.Search{Limit: 5000}
	if world.Contenders > 2 && world.Faults > 0 { // too many to try them in order
		search.Seed = 1
	}
	r := explore.Explore(t, world, search)
	require.NotNil(t, r.Found, "%v shows nothing", r)
	require.LessOrEqual(t, len(r.Found.Choices), most, "%v", r.Found)
	t.Logf("%d schedules: %v\n%q", r.Schedules, r.Found.Violation, r.Found.Choices)
}

// A listing is an article's lock as the explorer plays it.
type listing struct{ lock Lock }

func (l listing) Lock(context.Context) error            { return l.lock.Lock() }
func (l listing) Unlock(context.Context) error          { return l.lock.Unlock() }
func (l listing) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }
