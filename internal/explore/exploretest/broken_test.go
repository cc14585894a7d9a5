package exploretest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/when"
)

// bugs breaks one line each of a queue lock that is otherwise right, and has
// the kinds of violation that the explorer must report.
var bugs = map[string][]explore.Kind{
	"everybody is first":                  {explore.TwoHolders, explore.Overtaken},
	"the last comes first":                {explore.TwoHolders, explore.Overtaken},
	"no second look":                      {explore.TwoHolders, explore.Overtaken},
	"gone before it is watched":           {explore.TwoHolders, explore.Overtaken},
	"exists, not get":                     {explore.Hang},
	"the first is watched":                {explore.TwoHolders, explore.Overtaken, explore.Hang, explore.WatchLeft},
	"every child is a contender":          {explore.Hang},
	"TryLock ignores an error":            {explore.TwoHolders, explore.Overtaken},
	"TryLock leaves its node":             {explore.NodeLeft, explore.Hang},
	"no clean-up after an error":          {explore.NodeLeft, explore.Hang},
	"clean-up is tried once":              {explore.NodeLeft, explore.Hang},
	"the session's nodes stay":            {explore.NodeMissing},
	"Unlock is deaf":                      {explore.HidesLoss},
	"Unlock deletes the first":            {explore.ForeignDelete},
	"Unlock does not forget":              {explore.Failure},
	"parents made by others are an error": {explore.Failure},
	"the end of the session is ignored":   {explore.Hang, explore.Endless},
	"works once":                          {explore.Failure},
	"panics when it is overtaken":         {explore.Crash},
	"a watch too many":                    {explore.WatchLeft},
	"a goroutine too many":                {explore.GoroutineLeft},
}

var errNotLocked = errors.New("broken: not locked")

type broken struct {
	bug  string
	conn *zk.Conn
	path string
	node string
	used bool
}

func (l *broken) enqueue() (string, error) {
	if l.used && l.bug == "works once" {
		return "", errors.New("used up")
	}
	l.used = true
	flags := int32(zk.FlagEphemeralSequential)
	if l.bug == "the session's nodes stay" {
		flags = zk.FlagSequence
	}
	for {
		node, err := l.conn.Create(l.path+"/lock-", nil, flags, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return node, err
		}
		for _, p := range []string{path.Dir(l.path), l.path} {
			_, err := l.conn.Create(p, nil, 0, zk.WorldACL(zk.PermAll))
			if err != nil && (!errors.Is(err, zk.ErrNodeExists) || l.bug == "parents made by others are an error" && p == l.path) {
				return "", err
			}
		}
	}
}

// ahead is the node to watch: the one before ours, "" if ours is the first.
func (l *broken) ahead(node string) (before string, err error) {
	names, _, err := l.conn.Children(l.path)
	if err != nil {
		return "", err
	}
	own := path.Base(node)
	if !slices.Contains(names, own) {
		if l.bug == "panics when it is overtaken" {
			panic("not in the list")
		}
		return "", zk.ErrNoNode
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return !strings.HasPrefix(n, "lock-") && l.bug != "every child is a contender"
	})
	slices.Sort(names)
	i := slices.Index(names, own)
	switch {
	case l.bug == "everybody is first":
		return "", nil
	case l.bug == "the last comes first" && i < len(names)-1:
		return names[i+1], nil
	case l.bug == "the last comes first" || i == 0:
		return "", nil
	case l.bug == "the first is watched":
		return names[0], nil
	}
	return names[i-1], nil
}

func (l *broken) Lock(context.Context) error {
	node, err := l.enqueue()
	if err != nil {
		return err
	}
	if l.bug == "a goroutine too many" {
		go func() { <-make(chan int) }()
	}
	for {
		before, err := l.ahead(node)
		if err != nil {
			return l.giveUp(node, err)
		}
		if before == "" {
			if l.bug == "a watch too many" {
				l.conn.ExistsW(l.path)
			}
			l.node = node
			return nil
		}
		var gone <-chan zk.Event
		if l.bug == "exists, not get" {
			_, _, gone, err = l.conn.ExistsW(l.path + "/" + before)
		} else {
			_, _, gone, err = l.conn.GetW(l.path + "/" + before)
		}
		if errors.Is(err, zk.ErrNoNode) {
			if l.bug == "gone before it is watched" {
				l.node = node
				return nil
			}
			continue
		}
		if err != nil {
			return l.giveUp(node, err)
		}
		ev := <-gone
		if ev.Err != nil {
			if l.bug == "the end of the session is ignored" && !errors.Is(ev.Err, zk.ErrClosing) {
				<-gone
				select {}
			}
			return l.giveUp(node, ev.Err)
		}
		if l.bug == "no second look" {
			l.node = node
			return nil
		}
		if l.bug == "the first is watched" {
			l.node = node
			return nil
		}
	}
}

func (l *broken) giveUp(node string, cause error) error {
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) || l.bug == "no clean-up after an error" {
		return cause
	}
	for range 3 {
		err := l.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) || l.bug == "clean-up is tried once" {
			break
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	return cause
}

var errHeld = errors.New("broken: held")

func (l *broken) TryLock(context.Context) (bool, error) {
	node, err := l.enqueue()
	if err != nil {
		return false, err
	}
	before, err := l.ahead(node)
	if (err == nil || l.bug == "TryLock ignores an error") && before == "" {
		l.node = node
		return true, nil
	}
	if err != nil {
		return false, l.giveUp(node, err)
	}
	if l.bug == "TryLock leaves its node" {
		return false, nil
	}
	if err := l.giveUp(node, errHeld); !errors.Is(err, errHeld) {
		return false, err
	}
	return false, nil
}

func (l *broken) Unlock(context.Context) error {
	if l.node == "" {
		return errNotLocked
	}
	node := l.node
	if l.bug == "Unlock deletes the first" {
		if names, _, _ := l.conn.Children(l.path); len(names) > 0 {
			node = l.path + "/" + slices.Min(slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "lock-") }))
		}
	}
	err := l.conn.Delete(node, -1)
	if errors.Is(err, zk.ErrNoNode) && l.bug != "Unlock is deaf" {
		l.node = ""
		return errNotLocked
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if l.bug != "Unlock does not forget" {
		l.node = ""
	}
	return nil
}

func subject(bug string) explore.Subject {
	return explore.Subject{
		Name: bug,
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return &broken{bug: bug, conn: conn, path: path} }
		},
		NotLocked: func(err error) bool { return errors.Is(err, errNotLocked) },
		Queue:     true,
		Known: []explore.Known{{Name: language.Same("the reply to create is lost"), Match: func(v explore.Violation, f explore.Facts) bool {
			return f.OrphanCreate && (v.Kind == explore.Hang || v.Kind == explore.NodeLeft)
		}}},
	}
}

// find puts a lock through the worlds of go test ./... until one shows
// something.
func find(t *testing.T, bug string) finding {
	f, ok := findings[bug]
	if ok {
		return f
	}
	for _, p := range exploretest.Plans(subject(bug)) {
		r := explore.Explore(t, p.World, p.Search)
		f.schedules += r.Schedules
		if f.trace = r.Found; f.trace != nil {
			break
		}
	}
	findings[bug] = f
	return f
}

// A finding is the trace of a broken lock, nil if there is none, and how many schedules
// were played up to it.
type finding struct {
	trace     *explore.Trace
	schedules int
}

var findings = make(map[string]finding)

func TestBrokenLocksAreFoundWithShortTraces(t *testing.T) {
	when.NotRaced(t, "its schedules are ten times as slow")
	t.Run("none", func(t *testing.T) {
		for _, p := range exploretest.Plans(subject("none")) {
			// Complete searches of three contenders take seconds; of a lock that
			// is right, TestExplore of step 3 plays the same ones.
			if p.Contenders == 3 && p.Seed == 0 && !when.AtLength() {
				continue
			}
			r := explore.Explore(t, p.World, p.Search)
			require.Nil(t, r.Found, "%s: the explorer finds something in a lock that is right:\n%v", p.What, r.Found)
		}
	})
	for _, bug := range slices.Sorted(maps.Keys(bugs)) {
		t.Run(bug, func(t *testing.T) {
			f := find(t, bug)
			tr := f.trace
			require.NotNil(t, tr, "%d schedules show nothing", f.schedules)
			t.Logf("%d schedules, %d choices %q: %v", f.schedules, len(tr.Choices), tr.Choices, tr.Violation)
			require.Contains(t, bugs[bug], tr.Violation.Kind, "%v", tr)
			require.LessOrEqual(t, len(tr.Choices), 12, "%v", tr)
			for range 3 {
				again, err := explore.Replay(t, tr)
				require.NoError(t, err)
				require.Equal(t, tr.Log, again.Log)
			}
		})
	}
}

// TestTheTraceOfThePage: docs/explorer.md shows the explorer's output.
func TestTheTraceOfThePage(t *testing.T) {
	tr := find(t, "no second look").trace
	require.NotNil(t, tr)
	var shown strings.Builder
	for line := range strings.Lines(fmt.Sprintf("choices (%d):\n%s", len(tr.Choices), tr.Steps())) {
		shown.WriteString("    " + line)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), "\n\n"+shown.String()+"\n"), "docs/explorer.md is to show:\n%s", shown.String())
}

// TestAReplayFailsWhileTheBugHappens: the command that the explorer prints is red
// for the lock that is broken, with the schedule in words, and green for the one
// that is mended.
func TestAReplayFailsWhileTheBugHappens(t *testing.T) {
	for _, bug := range []string{"no second look", "exists, not get", "clean-up is tried once"} {
		tr := find(t, bug).trace
		require.NotNil(t, tr)
		file := filepath.Join(t.TempDir(), "trace.json")
		require.NoError(t, tr.WriteFile(file))
		read, err := explore.ReadTrace(file)
		require.NoError(t, err)
		read.World.Lock = subject(bug)
		happens, words := exploretest.PlayAgain(t, read)
		require.True(t, happens, "%s: %s", bug, words)
		require.Contains(t, words, tr.Violation.What.En)
		require.Contains(t, words, tr.Steps().En)
		read.World.Lock = subject("none")
		happens, words = exploretest.PlayAgain(t, read)
		require.False(t, happens, "%s, mended: %s", bug, words)
	}
}

// TestTheReductionLosesNoBug compares the reduced search with the whole one on
// each broken lock, with ZKLOCK_TESTS=long under faults, too.
func TestTheReductionLosesNoBug(t *testing.T) {
	when.NotRaced(t, "its schedules are ten times as slow")
	for _, bug := range slices.Sorted(maps.Keys(bugs)) {
		t.Run(bug, func(t *testing.T) {
			faults := []explore.Fault{""}
			if when.AtLength() {
				faults = append(faults, explore.LoseReply)
			}
			for _, f := range faults {
				w := explore.World{Lock: subject(bug), Stranger: true}
				if f != "" {
					w.Kinds, w.Faults = []explore.Fault{f}, 1
				}
				whole := explore.Explore(t, w, explore.Search{Whole: true, All: true, Count: true})
				for _, merge := range []bool{false, true} {
					reduced := explore.Explore(t, w, explore.Search{All: true, Count: true, Merge: merge})
					require.True(t, whole.Complete && reduced.Complete)
					require.Equal(t, slices.Sorted(maps.Keys(whole.Kinds)), slices.Sorted(maps.Keys(reduced.Kinds)), "%v\n%v", whole, reduced)
					if len(whole.Kinds)+len(whole.Known) == 0 { // a violation ends a schedule
						require.Equal(t, whole.States, reduced.States, "%v\n%v", whole, reduced)
					}
					t.Log(fmt.Sprint(whole, whole.Kinds), "\n", fmt.Sprint(reduced, reduced.Kinds))
				}
			}
		})
	}
}
