// Tests of the explorer on locks that have one bug each. It must find each bug with a short trace that repeats. Of two
// actions that touch nothing in common, its reduction plays one order only: it must lose no state and no violation.
package exploretest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
)

//go:embed testdata/bugs.json
var bugsJSON []byte

// bugs are those that the explorer must find, by their names, each with the kinds of violation that may show it. A name
// that is not a constant below is that of a bug of package broken, which breaks one line of step 3's lock.
var bugs = func() (all map[string][]player.Kind) {
	if err := json.Unmarshal(bugsJSON, &all); err != nil {
		panic("bugs.json: " + err.Error())
	}
	return all
}()

// The bugs of reentrantBug.
const (
	firstUnlock = "the first Unlock of two releases the lock"
	neverAgain  = "an owner that has lost the lock cannot lock again"
)

// The bugs of oddLock.
const (
	ignoresSessionEnd = "the end of the session is ignored"
	panicsIfOvertaken = "panics when it is overtaken"
	watchTooMany      = "a watch too many"
	goroutineTooMany  = "a goroutine too many"
)

// oddLock is a lock of package broken. If bug is one of the constants above, it has that bug as well.
type oddLock struct {
	steps.Plain
	bug  string
	conn *zk.Conn
	path string
}

func (l oddLock) Lock() error {
	if l.bug == goroutineTooMany {
		go func() { <-make(chan int) }()
	}
	err := l.Plain.Lock()
	switch {
	case l.bug == watchTooMany && err == nil:
		l.conn.ExistsW(l.path)
	case l.bug == panicsIfOvertaken && errors.Is(err, zk.ErrNoNode):
		panic("not in the list")
	case l.bug == ignoresSessionEnd && errors.Is(err, zk.ErrSessionExpired):
		select {}
	}
	return err
}

// brokenSubject is a lock with one of the bugs, as the explorer takes it; with "none" it is right.
func brokenSubject(bug string) player.Subject {
	if bug == firstUnlock || bug == neverAgain {
		s := steps.Reentrant()
		s.Name = bug
		return s.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock { return &reentrantBug{lock: l, bug: bug} })
	}
	s := steps.OfPlain(bug, func(conn *zk.Conn, path string) oddLock {
		return oddLock{Plain: broken.New(bug, conn, path), bug: bug, conn: conn, path: path}
	}, broken.ErrNotLocked)
	s.Queue, s.Known = true, []player.Known{steps.LostReply} // step 3 has this fault, too, and its page describes it
	return s
}

// findBug explores the Plans of a lock, worlds with a search for each, until one shows a violation. It returns the
// violation's trace; nil if no plan shows one.
func findBug(t *testing.T, bug string) (tr *player.Trace, schedules int) {
	for _, p := range Plans(brokenSubject(bug)) {
		r := explore.Explore(t, p.World, p.Search)
		schedules += r.Schedules
		if r.Found != nil {
			return r.Found, schedules
		}
	}
	return nil, schedules
}

func TestBrokenLocksAreFoundWithShortTraces(t *testing.T) {
	testenv.NotRaced(t, "its schedules are ten times as slow")
	t.Run("none", func(t *testing.T) {
		tr, schedules := findBug(t, "none")
		require.Nil(t, tr, "after %d schedules the explorer finds something in a lock that is right:\n%v", schedules, tr)
	})
	for _, bug := range slices.Sorted(maps.Keys(bugs)) {
		t.Run(bug, func(t *testing.T) {
			tr, schedules := findBug(t, bug)
			require.NotNil(t, tr, "%d schedules show nothing", schedules)
			t.Logf("%d schedules, %d choices %q: %v", schedules, len(tr.Choices), tr.Choices, tr.Violation)
			require.Contains(t, bugs[bug], tr.Violation.Kind, "%v", tr)
			require.LessOrEqual(t, len(tr.Choices), 12, "a trace that a person can follow: %v", tr)
			for range 3 { // the trace repeats, each time
				again := testenv.Must(explore.Replay(t, tr))(t)
				require.Equal(t, tr.Log, again.Log)
			}
		})
	}
}

func TestRandomSearchesRepeatAndFind(t *testing.T) {
	for _, depth := range []int{0, 3} { // 0: each choice is drawn; otherwise the depth of pct
		search := explore.Search{Seed: 7, Limit: 500, Depth: depth}
		w := player.World{Lock: brokenSubject("everybody is first"), Contenders: 4}
		a, b := explore.Explore(t, w, search), explore.Explore(t, w, search)
		require.NotNil(t, a.Found)
		require.Equal(t, a.Schedules, b.Schedules)
		require.Equal(t, a.Found.Log, b.Found.Log)
	}
}

// The page docs/explorer.md shows what the explorer prints, and names its faults and strangers.
func TestTheTraceOfThePage(t *testing.T) {
	scripts := [][]player.Op{nil, {player.TryLockOp, player.UnlockOp}}
	w := player.World{Lock: brokenSubject("no look after waking"), Contenders: 3, Scripts: scripts}
	tr := explore.Explore(t, w, explore.Search{}).Found
	require.NotNil(t, tr)

	text := string(testenv.Must(os.ReadFile(page))(t))
	shows := func(what string) {
		require.True(t, strings.Contains(text, what), "docs/explorer.md is to show:%s", what)
	}
	output := fmt.Sprintf("\nchoices (%d):\n%s", len(tr.Choices), tr.Steps())
	shows("\n" + strings.ReplaceAll(strings.TrimSuffix(output, "\n"), "\n", "\n    ") + "\n\n")
	for _, fault := range player.KnownFaults {
		shows("\n| " + strings.TrimSuffix(string(fault), " but one") + " | ")
	}
	shows("`" + strings.Join(player.Strangers, "`, `") + "`")
}

// The command that the explorer prints fails for the broken lock, with the schedule in words. It passes for a right one.
func TestAReplayFailsWhileTheBugHappens(t *testing.T) {
	for _, bug := range []string{"everybody is first", "look first, watch later", "clean-up is tried once"} {
		tr, _ := findBug(t, bug)
		require.NotNil(t, tr)
		file := filepath.Join(t.TempDir(), "trace.json")
		require.NoError(t, tr.WriteFile(file))
		read := testenv.Must(player.ReadTrace(file))(t)
		read.World.Lock = brokenSubject(bug)
		happens, words := playAgain(t, read)
		require.True(t, happens, "%s: %s", bug, words)
		require.Contains(t, words, tr.Violation.What.String())
		require.Contains(t, words, tr.Steps().String())
		read.World.Lock = brokenSubject("none")
		happens, words = playAgain(t, read)
		require.False(t, happens, "%s, mended: %s", bug, words)
	}
}

// TestTheReductionLosesNothing compares the reduced searches with the one that plays every order: all must come to the
// same states and find the same. A plain go test compares them for each broken lock, step 3 and zklock;
// ZKLOCK_TESTS=landing and long add worlds that take longer.
func TestTheReductionLosesNothing(t *testing.T) {
	testenv.NotRaced(t, "its schedules are ten times as slow")
	for _, bug := range slices.Sorted(maps.Keys(bugs)) {
		compareReductions(t, player.World{Lock: brokenSubject(bug), Stranger: true})
		if testenv.AtLength() {
			w := player.World{Lock: brokenSubject(bug), Stranger: true, Kinds: []player.Fault{player.LoseReply}, Faults: 1}
			compareReductions(t, w)
		}
	}
	subjects := []player.Subject{steps.Predecessor()}
	if testenv.AtLanding() {
		subjects = append(subjects, steps.Naive(), steps.Herd())
	}
	for _, s := range subjects {
		faultKinds := []player.Fault{player.LoseRequest, player.LoseReply, player.Cut}
		if testenv.AtLength() {
			compareReductions(t, player.World{Lock: s, Packets: true})
			faultKinds = append(faultKinds, player.Expire, player.Stop, player.Stall)
		}
		for _, f := range faultKinds {
			compareReductions(t, player.World{Lock: s, Kinds: []player.Fault{f}, Faults: 1})
		}
	}

	lock, unlock := player.LockOp, player.UnlockOp
	again := [][]player.Op{{lock, unlock, lock, unlock}, {lock, unlock}} // the second create counts the children
	compareReductions(t, player.World{Lock: steps.Zklock(), Scripts: again})
	if testenv.AtLength() {
		for _, f := range []player.Fault{player.Cut, player.LoseRequest, player.EndContext, player.Stop} {
			compareReductions(t, player.World{Lock: steps.Zklock(), Kinds: []player.Fault{f}, Faults: 1})
		}
	}
}

// compareReductions compares three searches through a world: Whole plays each order of the actions; the reduced search
// leaves orders out; and with Merge it also goes on only once from the same situation. All three count the states
// (Count), and go on with the next schedule after a violation (All).
func compareReductions(t *testing.T, w player.World) {
	t.Run(fmt.Sprint(w.Lock.Name, w.Packets, w.Kinds), func(t *testing.T) {
		whole := explore.Explore(t, w, explore.Search{Whole: true, Count: true, All: true})
		require.True(t, whole.Complete)
		for _, merge := range []bool{false, true} {
			reduced := explore.Explore(t, w, explore.Search{Count: true, All: true, Merge: merge})
			require.True(t, reduced.Complete)
			require.Equal(t, slices.Sorted(maps.Keys(whole.Kinds)), slices.Sorted(maps.Keys(reduced.Kinds)),
				"violations\n%v\n%v", whole, reduced)
			// A violation ends its schedule. In another order of the actions, other states come before the same violation.
			_, isBroken := bugs[w.Lock.Name]
			if isBroken && len(whole.Kinds)+len(whole.Known) > 0 {
				continue
			}
			// After a Stop, a timed lock has several channels that are ready. Go takes one at random: the states differ, too.
			if w.Lock.Timed && slices.Contains(w.Kinds, player.Stop) {
				continue
			}
			require.Equal(t, slices.Sorted(maps.Keys(whole.Known)), slices.Sorted(maps.Keys(reduced.Known)), "what is known")
			require.True(t, whole.SameStates(reduced), "states\n%v\n%v", whole, reduced)
			require.Equal(t, whole.MostRequests, reduced.MostRequests, "requests")
			require.Equal(t, whole.MostEvents, reduced.MostEvents, "watch events")
		}
	})
}

// A reentrantBug is a contender of step 4 with a bug when it locks again.
type reentrantBug struct {
	lock  player.Lock
	bug   string
	times int   // that it has locked and not unlocked
	lost  error // the errors of its Unlocks so far

	released bool // firstUnlock has released the lock too early
}

func (l *reentrantBug) Lock(ctx context.Context) error {
	if l.bug == neverAgain && l.lost != nil { // the right lock can lock again
		return l.lost
	}
	err := l.lock.Lock(ctx)
	if err == nil {
		l.times++
	}
	return err
}

func (l *reentrantBug) Unlock(ctx context.Context) error {
	l.times--
	if l.released {
		l.released = false
		return nil
	}
	err := l.lock.Unlock(ctx)
	if l.bug == firstUnlock && err == nil && l.times == 1 {
		l.released = l.lock.Unlock(ctx) == nil // so that the contender's last Unlock gets no error
	}
	l.lost = errors.Join(l.lost, err)
	return err
}

func (l *reentrantBug) TryLock(ctx context.Context) (bool, error) { return l.lock.TryLock(ctx) }
