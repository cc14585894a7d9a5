// Package exploretest is the explorer as a test: which worlds a lock is put
// through in go test ./..., and the flags that ask for more.
package exploretest

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/testenv"
)

const own = "explore a world of its own " // the beginning of the usage of flags that replace the Plans

var (
	contenders = flag.Int("explore.contenders", 0, own+"with this number of contenders")
	faults     = flag.Int("explore.faults", 0, own+"in which up to this number of faults happen, of all kinds")
	duration   = flag.Duration("explore.for", 0, "end its exploration after this time; a random one begins again and again")
	seed       = flag.Uint64("explore.seed", 0, own+"with random schedules that follow from this number; 0: depth first")
	packets    = flag.Bool("explore.packets", false, own+"in which replies and events are choices, too")
	trace      = flag.String("explore.trace", "", "replay the trace in this file")
)

// A Plan is one world and how it is searched.
type Plan struct {
	What string
	player.World
	explore.Search
}

// kindsOf are the kinds of fault with which each lock is explored.
func kindsOf(s player.Subject) []player.Fault {
	impossible := func(f player.Fault) bool { return f == player.EndContext && !s.Contexts }
	return slices.DeleteFunc(slices.Clone(player.AllFaults), impossible)
}

// Plans are the default worlds of a lock. A plain go test draws some schedules of most: enough to find broken locks.
func Plans(s player.Subject) []Plan {
	plans := fullPlans(s)
	if !testenv.AtLanding() {
		for i, p := range plans {
			if p.Faults < 2 || s.Timed { // those with two faults are random searches already
				plans[i].Search = explore.Search{Seed: 1, Limit: 60, Depth: p.Depth}
			}
		}
	}
	return plans
}

// fullPlans are the plans at a landing. The fields of their worlds are explained at [player.World].
func fullPlans(s player.Subject) (plans []Plan) {
	kinds := kindsOf(s)
	only := func(f player.Fault) []player.Fault { return []player.Fault{f} }
	add := func(what string, w player.World, search explore.Search) {
		w.Lock = s
		if w.Faults > 0 && w.Kinds == nil {
			w.Kinds = kinds
		}
		plans = append(plans, Plan{What: what, World: w, Search: search})
	}
	complete := explore.Search{}
	random := func(schedules int) explore.Search { return explore.Search{Seed: 1, Limit: schedules} }
	byPriority := random(300)
	byPriority.Depth = 3 // instead of each action, the priorities of the actors are drawn
	// A lock that looks at the clock has many more schedules. If sessions end, or three contend, they are drawn.
	completeUnlessTimed := complete
	if s.Timed {
		completeUnlessTimed = random(300)
	}

	lock, unlock, try := player.LockOp, player.UnlockOp, player.TryLockOp
	again := [][]player.Op{{lock, unlock, lock, unlock}, {try, unlock, lock, unlock}}
	oneTries := [][]player.Op{nil, {try, unlock}}

	add("two contenders, every packet", player.World{Packets: true, Stranger: true}, complete)
	add("two contenders that make the parents, random", player.World{Missing: true}, random(200))
	add("two contenders, a stall, random", player.World{Kinds: only(player.Stall), Faults: 1, Ensemble: true}, random(300))
	add("two contenders that try, and lock again", player.World{Scripts: again, Stranger: true}, complete)
	if s.Reentrant {
		twice := [][]player.Op{{lock, lock, unlock, unlock}, {try, lock, unlock, unlock}}
		add("two contenders that lock twice", player.World{Scripts: twice, Stranger: true}, complete)
		add("two contenders that lock twice, one fault, random", player.World{Scripts: twice, Faults: 1}, random(200))
		shared := player.World{Contenders: 3, Shared: true, OneOwner: true, Scripts: [][]player.Op{again[0], again[0]}}
		add("two goroutines of one owner, and another owner, random", shared, random(300))
		shared.Scripts, shared.Faults = twice, 1
		add("two goroutines of one owner that lock twice, and another owner, one fault, random", shared, random(300))
	}

	for _, f := range kinds {
		search := complete
		if f == player.Expire || f == player.Stop {
			search = completeUnlessTimed
		}
		likeStop := f == player.Expire && !s.Timed // it is a Stop after which the client runs on at once
		if f == player.Stall || likeStop {
			continue
		}
		add("two contenders, one fault: "+string(f), player.World{Kinds: only(f), Faults: 1, Stranger: true}, search)
	}
	add("one contender that tries, one fault", player.World{Contenders: 1, Scripts: again[1:], Faults: 1}, complete)
	add("two contenders, one tries, one fault", player.World{Scripts: oneTries, Kinds: only(player.LoseReply), Faults: 1},
		completeUnlessTimed)
	add("three contenders, one tries", player.World{Contenders: 3, Scripts: oneTries}, completeUnlessTimed)
	add("three contenders", player.World{Contenders: 3}, completeUnlessTimed)
	add("three contenders, two faults, random", player.World{Contenders: 3, Faults: 2}, random(300))
	add("three contenders that try, two faults, random", player.World{Contenders: 3, Scripts: again, Faults: 2}, byPriority)

	// With goroutines of one client a schedule may not repeat: these are drawn.
	const ofOne = "three goroutines of one client"
	add(ofOne+", random", player.World{Contenders: 3, Shared: true, Stranger: true}, random(100))
	add(ofOne+", one fault, random", player.World{Contenders: 3, Shared: true, Faults: 1}, random(200))
	add(ofOne+" that try, two faults, random", player.World{Contenders: 3, Shared: true, Scripts: again, Faults: 2}, byPriority)

	if s.Queue { // does it compare numbers, or their texts, in which 10 comes before 9?
		add("two contenders, the numbers pass 9", player.World{Sequence: 9}, complete)
	}
	if s.Timed { // it reads the numbers: a first node that is not 0 says that others were there
		add("two contenders on a used path", player.World{Sequence: 7}, complete)
		add("two contenders on a used path, one fault, random", player.World{Sequence: 7, Faults: 1}, random(300))
	}
	wraps, failure := player.World{Sequence: math.MaxInt32}, player.Violation{Kind: player.Failure}
	failsThen := func(k player.Known) bool { return k.Match(failure, player.Facts{World: wraps}) }
	if slices.ContainsFunc(s.Known, failsThen) { // the lock is known for it
		add("two contenders, the numbers wrap", wraps, complete)
	}
	return plans
}

// Test explores a lock. It fails with the shortest trace that the search has found, and writes it to a file that
// -explore.trace replays. What the lock is known to do wrong must be found: each Known of the Subject.
func Test(t *testing.T, s player.Subject) {
	t.Helper()
	testenv.Embedded(t, "the explorer brings its own server")
	switch {
	case *contenders < 0 || *contenders > player.MaxContenders:
		t.Fatalf("-explore.contenders=%d: there may be 1 to %d", *contenders, player.MaxContenders)
	case *faults < 0:
		t.Fatalf("-explore.faults=%d: it is negative", *faults)
	case *duration < 0:
		t.Fatalf("-explore.for=%v: it is negative", *duration)
	case *trace != "":
		Replay(t, s, *trace)
		return
	case *contenders > 0 || *faults > 0 || *duration > 0 || *seed > 0 || *packets:
		exploreOwn(t, s)
		return
	}

	testenv.NotRaced(t, "its schedules are ten times as slow, and the suites run the same lines")
	known := map[string]bool{}
	for _, p := range Plans(s) {
		t.Run(p.What, func(t *testing.T) {
			r := explore.Explore(t, p.World, p.Search)
			reportFound(t, r)
			for name := range r.Known {
				known[name] = true
			}
		})
		if t.Failed() {
			return // one trace is enough to begin with
		}
	}
	for _, k := range s.Known {
		require.True(t, known[k.Name.String()] || !testenv.AtLanding(), "no schedule shows what the page says is wrong: %s", k.Name)
	}
}

// Faults plays explore.Series: at each request of an acquisition and its release the request or its reply is lost, the
// connection breaks, the session ends or the client stops; and each of these again with a ctx that ends.
func Faults(t *testing.T, s player.Subject) {
	t.Helper()
	testenv.Embedded(t, "the explorer brings its own server")
	try := [][]player.Op{{player.TryLockOp, player.UnlockOp}}
	for what, w := range map[string]player.World{
		"the lock is free":                              {Contenders: 1},
		"the lock is free, TryLock":                     {Contenders: 1, Scripts: try},
		"another session holds the lock":                {},
		"another session holds the lock, TryLock":       {Scripts: [][]player.Op{nil, try[0]}},
		"another session holds the lock and one waits":  {Contenders: 3},
		"the same client holds the lock":                {Shared: true},
		"the same client holds the lock, and one waits": {Contenders: 3, Shared: true},
		"the same client holds the lock twice, TryLock": {Shared: true, OneOwner: true, Contenders: 3,
			Scripts: [][]player.Op{nil, nil, try[0]}},
	} {
		t.Run(what, func(t *testing.T) {
			w.Lock, w.Kinds = s, kindsOf(s)
			played := explore.Series(t, w, func(tr *player.Trace) { t.Errorf("%v", tr) })
			t.Logf("%d schedules", played)
		})
	}
}

// reportFound fails with what the search has found, and the command that plays it again.
func reportFound(t *testing.T, r *explore.Report) {
	t.Helper()
	if r.Found == nil {
		t.Log(r)
		for name, tr := range r.Known {
			t.Logf("known: %s: %q", name, tr.Choices)
		}
		return
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("explore-%s-%d.json", r.World.Name, os.Getpid()))
	hint := ""
	if err := r.Found.WriteFile(file); err == nil {
		test, _, _ := strings.Cut(t.Name(), "/")
		hint = fmt.Sprintf("\nPlay it again, until it passes: go test %s -run '^%s$' -explore.trace=%s", testedPackage(), test, file)
	}
	t.Errorf("%v\n%v%s", r, r.Found, hint)
}

// exploreOwn explores one world that the flags describe, with no fault, one fault, and so on.
func exploreOwn(t *testing.T, s player.Subject) {
	w := player.World{Lock: s, Contenders: max(*contenders, 2), Packets: *packets, Kinds: kindsOf(s)}
	random := *seed > 0
	search := explore.Search{Seed: *seed, For: *duration, Merge: !random}
	if random {
		w.Faults = *faults
		if *duration == 0 {
			search.Limit = 10000
		}
		reportFound(t, explore.Explore(t, w, search))
		return
	}
	began := time.Now()
	for n := 0; n <= *faults && !t.Failed(); n++ {
		w.Faults = n
		if *duration > 0 {
			search.For = *duration - time.Since(began)
			if search.For <= 0 {
				t.Logf("the time is over before the search with %d faults", n)
				return
			}
		}
		reportFound(t, explore.Explore(t, w, search))
	}
}

// Replay plays the trace in a file. It fails while the lock does what the trace shows, with the schedule in words.
func Replay(t *testing.T, s player.Subject, file string) {
	t.Helper()
	tr := testenv.Must(player.ReadTrace(file))(t)
	require.Equal(t, s.Name, tr.World.Name, "the trace is of another lock")
	tr.World.Lock = s
	happens, words := playAgain(t, tr)
	if happens {
		t.Error(words)
	} else {
		t.Log(words)
	}
}

// playAgain plays a trace. It reports whether there is a violation, and says in words what happened.
func playAgain(t *testing.T, tr *player.Trace) (happens bool, words string) {
	t.Helper()
	played, err := explore.Replay(t, tr)
	switch {
	case played.Violation != nil:
		return true, fmt.Sprintf("it happens again: %v\n%s", played.Violation, played.Steps())
	case err != nil:
		return false, fmt.Sprintf("the lock takes another way now (%v), and nothing is wrong on it:\n%s", err, played.Steps())
	}
	return false, "the schedule repeats, and nothing is wrong any more:\n" + played.Steps().String()
}

// testedPackage is the import path of the package whose test this is.
func testedPackage() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return strings.TrimSuffix(info.Path, ".test")
	}
	return "."
}
