package museum

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
)

// Found gives an article's lock to the explorer, without a schedule. The world
// says how many contenders there are, what they do, and what may go wrong; of
// its Lock, Open, Begin and Ignore are set here. The explorer must find one of
// the kinds of violation, with no more choices than the catalogue's diagram
// has steps; the last part of the test's name is the bug's ID.
func Found(t *testing.T, article NewLock, world explore.World, kinds ...explore.Kind) {
	t.Helper()
	r, found := explored(t, article, world, 5000, kinds)
	require.NotNil(t, found, "%v shows nothing", r)
	id := path.Base(t.Name())
	person := steps(diagramOf(t, id))
	t.Logf("%d schedules, %d choices, the museum's schedule has %d steps: %v %v\n%q", r.Schedules, len(found.Choices), person, found.Violation, found.Known, found.Choices)
	require.LessOrEqual(t, len(found.Choices), person, "the museum's schedule of %s is shorter:\n%v", id, found)
}

// NotFound gives our lock to the explorer, in the same world: none of these
// kinds of violation may come up.
func NotFound(t *testing.T, ours NewLock, world explore.World, kinds ...explore.Kind) {
	t.Helper()
	r, found := explored(t, ours, world, some, kinds)
	require.Nil(t, found, "%v", found)
	require.True(t, r.Complete || r.Schedules+r.Cut >= some, "%v", r)
}

const some = 50 // schedules of a world that has too many to play them all

func explored(t *testing.T, lock NewLock, world explore.World, most int, kinds []explore.Kind) (*explore.Report, *explore.Trace) {
	t.Helper()
	NeedsEmbedded(t)
	world.Lock.Name = t.Name()
	world.Lock.Begin = func(gap func(string)) func() {
		s := &Stage{over: make(chan struct{}), preempt: gap}
		onAir.Store(s)
		return func() { close(s.over) }
	}
	world.Lock.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		return func(string) explore.Lock { return listing{lock: lock(conn, path)} }
	}
	if world.Lock.Path == "" {
		world.Lock.Path = "/lock" // as on the stage: some listings take the path for a name
	}
	for _, kind := range explore.Kinds {
		if !slices.Contains(kinds, kind) {
			world.Lock.Ignore = append(world.Lock.Ignore, kind)
		}
	}
	search := explore.Search{Limit: most}
	apart := slices.Contains(kinds, explore.Outlived) // it is reported apart, and does not end a search
	switch {
	case apart:
		search.Seed, search.Limit = 1, some
	case len(world.Scripts) > 0 && len(world.Scripts[0]) > 4, world.Contenders > 2 && world.Faults > 0:
		search.Seed = 1
	}
	r := explore.Explore(t, world, search)
	if apart {
		return r, r.Known[string(explore.Outlived)]
	}
	return r, r.Found
}

// diagramOf is the diagram of a bug in the catalogue.
func diagramOf(t *testing.T, id string) string {
	t.Helper()
	page, err := os.ReadFile(Page)
	require.NoError(t, err)
	_, entry, ok := strings.Cut(string(page), "<!-- "+id+" -->\n")
	require.True(t, ok, "the catalogue has no %s", id)
	_, diagram, _ := strings.Cut(entry, "```mermaid\n")
	diagram, _, ok = strings.Cut(diagram, "```")
	require.True(t, ok, "%s has no diagram", id)
	return diagram
}

// steps counts the lines of a diagram that say what happens.
func steps(diagram string) (n int) {
	for line := range strings.Lines(diagram) {
		if strings.Contains(line, ": ") {
			n++
		}
	}
	return n
}

// A listing is an article's lock as the explorer plays it.
type listing struct{ lock Lock }

func (l listing) Lock(context.Context) error   { return l.lock.Lock() }
func (l listing) Unlock(context.Context) error { return l.lock.Unlock() }

// TryLock calls Lock, for a listing whose lock call returns false where
// another client holds the lock.
func (l listing) TryLock(context.Context) (bool, error) {
	err := l.lock.Lock()
	if errors.Is(err, ErrFalse) {
		return false, nil
	}
	return err == nil, err
}
