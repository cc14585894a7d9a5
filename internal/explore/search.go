package explore

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/explore/player"
)

// A Search has the options of a search. The zero Search goes through all schedules, depth first, with the reduction: of
// two actions that touch nothing in common, one order is enough. It is a partial-order reduction by sleep sets.
type Search struct {
	Whole bool          // turns the reduction off: each order of two actions is played
	Limit int           // ends the search after this number of schedules; 0: no limit
	For   time.Duration // limits the search in real time; 0: no limit
	Seed  uint64        // if it is not 0, the search is random: Limit schedules, or as many as fit into For
	Depth int           // of a random schedule: how often a priority drops, see pct in draw.go; 0: each action is drawn
	Count bool          // counts the different states, too; it takes memory for each of them

	Actions int // ends the search after this number of actions in all schedules, for locks that poll; 0: no limit
	// Merge goes on from a situation once, however it came about: it is all that the rest of a schedule depends on. The
	// search plays fewer schedules, and keeps a hash of each situation. It is left out where clients share memory: with
	// Subject.Begin and World.Shared.
	Merge    bool
	All      bool            // goes on after a violation
	Progress func(r *Report) `json:"-"` // if it is not nil, is called after each schedule
}

// A Report is what a search has found.
type Report struct {
	World     player.World
	Schedules int // that were played to the end
	Cut       int // schedules that were not played to the end, because they would repeat another one
	States    int // different ones, if they were counted
	Depth     int // actions of the longest schedule
	Actions   int // of all schedules
	Left      int // schedules that did not repeat in any try, of a lock with timers; those that begin alike are left out
	Complete  bool
	Took      time.Duration

	Found *player.Trace            // the first violation's trace, shrunk
	Kinds map[player.Kind]int      // with Search.All: the number of schedules by the kind of violation
	Known map[string]*player.Trace // the shortest traces of the violations known of the lock, by their English names

	MostRequests, MostEvents int                 // the highest numbers in a schedule
	states, finals           map[uint64]struct{} // with Search.Count: the hashes of all states, and of those at an end
	seen                     map[uint64][]string // with Search.Merge: by a situation's hash, the actions that slept there
}

func (r *Report) String() string {
	end := "complete"
	if !r.Complete {
		end = "not complete"
	}
	w := r.World
	s := fmt.Sprintf("%s, %d contenders, %d faults: %d schedules", w.Name, w.Number(), w.Faults, r.Schedules)
	if r.Cut > 0 {
		s += fmt.Sprintf(" and %d that repeat one", r.Cut)
	}
	if r.Left > 0 {
		s += fmt.Sprintf(" (%d that never repeated left out)", r.Left)
	}
	return fmt.Sprintf("%s, at most %d actions, %v, %s", s, r.Depth, r.Took.Round(time.Millisecond), end)
}

// SameStates reports whether another search has come to the same states, and to the same ends.
func (r *Report) SameStates(other *Report) bool {
	return maps.Equal(r.states, other.states) && maps.Equal(r.finals, other.finals)
}

// A searcher goes through the schedules of a world.
type searcher struct {
	t      *testing.T
	world  player.World
	search Search
	report *Report
	began  time.Time
	stack  []*branch // the points of the schedule that is played next, as far as they are known
}

// A branch is a point of a schedule, at which the search takes one action after the other.
type branch struct {
	enabled []string
	chosen  int                         // the action that is taken now, as an index of enabled
	log     []player.Entry              // up to here
	tried   map[string]player.Footprint // the actions that were taken here, and what they have touched
	sleep   map[string]player.Footprint // the sleep set: actions that need not be taken here, see inheritSleep
	only    []string                    // if it is not nil, no other action is taken here, see leaveOutRepeats
}

// noChoice is what a player.Chooser returns to end a schedule.
const noChoice = -1

// Explore plays the schedules of a world until it has found a violation, or has played all.
func Explore(t *testing.T, w player.World, s Search) *Report {
	t.Helper()
	usualGC := debug.SetGCPercent(400) // a schedule leaves nothing but garbage: it is collected less often
	defer debug.SetGCPercent(usualGC)
	defer player.OneCore()() // from here to the return
	r := &Report{
		World: w, Known: make(map[string]*player.Trace), Kinds: make(map[player.Kind]int),
		states: make(map[uint64]struct{}), finals: make(map[uint64]struct{}),
	}
	r.World.Name = w.Lock.Name

	if w.Lock.Bypass > 0 {
		s.Whole, s.Merge = true, false // overtakings count from the call of Lock, which no footprint has
	}
	if s.Merge && w.Lock.Begin == nil && !w.Shared {
		r.seen = make(map[uint64][]string)
	}

	x := &searcher{t: t, world: w, search: s, report: r, began: time.Now()}
	if s.Seed != 0 {
		x.drawAll()
	} else {
		x.playAll()
	}
	r.Took = time.Since(x.began)
	return r
}

// playAll is the complete search, depth first.
func (x *searcher) playAll() {
	for {
		if run := x.playUntilItRepeats(); run != nil {
			x.count(run)
		}
		switch {
		case x.report.Found != nil && !x.search.All:
			return
		case !x.nextSchedule():
			x.report.Complete = true
			return
		case x.over():
			return
		}
	}
}

// nextSchedule goes back to the last branch at which an action is left, and chooses that; false: there is none.
func (x *searcher) nextSchedule() bool {
	for len(x.stack) > 0 {
		last := x.stack[len(x.stack)-1]
		if last.chosen = last.next(); last.chosen != noChoice {
			return true
		}
		x.stack = x.stack[:len(x.stack)-1]
	}
	return false
}

// playUntilItRepeats plays the schedule of the stack, again if it does not repeat; nil: it never does, and is left out.
func (x *searcher) playUntilItRepeats() *player.Run {
	const triesOfAStack = 5 // then the stack may be wrong itself: perhaps the run that filled it was the odd one
	repeated := 0           // the most choices that have repeated in one of the tries
	for try := 1; try <= player.Tries; try++ {
		before := len(x.stack)
		run, depth := x.play()
		if run != nil {
			return run
		}
		x.stack = x.stack[:before] // without the branches that this try has added
		repeated = max(repeated, depth)
		if try%triesOfAStack == 0 && repeated > 0 {
			x.stack = x.stack[:repeated] // from there the next try plays on as if for the first time
		}
	}

	if lock := x.world.Lock; !lock.Lenient && (!lock.Timed || repeated == 0) {
		var choices []string
		for _, b := range x.stack {
			choices = append(choices, b.enabled[b.chosen])
		}
		panic(fmt.Sprintf("explore: %s: a schedule does not repeat, tried %d times: %q", lock.Name, player.Tries, choices))
	}
	x.report.Left++
	x.stack = x.stack[:min(repeated, len(x.stack))]
	return nil
}

// play plays the schedule of the stack, and adds a branch for each further point. depth is the number of choices that
// it has made. run is nil if the schedule does not repeat: a point of the stack is not what it was.
func (x *searcher) play() (run *player.Run, depth int) {
	repeats := true
	choose := func(p *player.Point) (chosen int) {
		switch {
		case depth == len(x.stack):
			chosen = x.chooseFirst(p)
		case x.isAsBefore(depth, p):
			chosen = x.stack[depth].chosen
		default:
			chosen, repeats = noChoice, false
		}
		if chosen != noChoice {
			depth++
		}
		return chosen
	}
	keepFootprint := func(n int, touched player.Footprint) {
		b := x.stack[n]
		b.tried[b.enabled[b.chosen]] = touched
	}
	run = player.PlayWatched(x.t, x.world, choose, x.search.Count, keepFootprint)
	if !repeats || depth < len(x.stack) {
		return nil, depth
	}
	return run, depth
}

// isAsBefore reports whether a point is what it was when the branch of the stack at this depth was added.
func (x *searcher) isAsBefore(depth int, p *player.Point) bool {
	b := x.stack[depth]
	from := 0 // up to here, the log was compared at the branch before
	if depth > 0 {
		from = len(x.stack[depth-1].log)
	}
	sameLog := b.log == nil || x.world.Lock.Lenient ||
		len(p.Log) >= from && slices.EqualFunc(b.log[from:], p.Log[from:], player.Entry.Equal)
	return sameLog && slices.Equal(b.enabled, p.Enabled)
}

// chooseFirst adds a branch to the stack, and returns its first choice. If no action need be taken at the point, it
// adds none, and returns noChoice.
func (x *searcher) chooseFirst(p *player.Point) int {
	b := &branch{enabled: p.Enabled, log: p.Log, chosen: noChoice,
		sleep: map[string]player.Footprint{}, tried: map[string]player.Footprint{}}
	if len(x.stack) > 0 && !x.search.Whole {
		b.inheritSleep(x.stack[len(x.stack)-1])
	}
	if x.report.seen != nil {
		b.leaveOutRepeats(x.report.seen, p.Situation())
	}
	if b.chosen = b.next(); b.chosen != noChoice {
		x.stack = append(x.stack, b)
	}
	return b.chosen
}

// over reports whether the search has reached one of its limits.
func (x *searcher) over() bool {
	s, r := x.search, x.report
	enoughPlayed := s.Limit > 0 && r.Schedules+r.Cut+r.Left >= s.Limit || s.Actions > 0 && r.Actions >= s.Actions
	return enoughPlayed || s.For > 0 && time.Since(x.began) > s.For
}

// next is the next action to take here; noChoice: none is left.
func (b *branch) next() int {
	for i := b.chosen + 1; i < len(b.enabled); i++ {
		_, asleep := b.sleep[b.enabled[i]]
		leftOut := b.only != nil && !slices.Contains(b.only, b.enabled[i])
		if !asleep && !leftOut {
			return i
		}
	}
	return noChoice
}

// leaveOutRepeats leaves out the actions that the search has taken in the same situation before: those that did not
// sleep then. What slept then, and does not sleep here, is still to be taken. What sleeps both times has never been
// taken in this situation, and is kept for the next time. These are Godefroid's sleep sets with state matching.
func (b *branch) leaveOutRepeats(seen map[uint64][]string, situation uint64) {
	sleptBefore, again := seen[situation]
	if again {
		b.only = []string{} // not nil: perhaps nothing is left to take
		for _, name := range sleptBefore {
			if _, sleeps := b.sleep[name]; !sleeps {
				b.only = append(b.only, name)
			}
		}
		maps.DeleteFunc(b.sleep, func(name string, _ player.Footprint) bool { return !slices.Contains(sleptBefore, name) })
	}
	seen[situation] = slices.Collect(maps.Keys(b.sleep))
}

// inheritSleep puts to sleep what was taken or slept at the branch above and does not depend on the action chosen
// there: to take it here would repeat a schedule that has the two in the other order.
func (b *branch) inheritSleep(above *branch) {
	name := above.enabled[above.chosen]
	touched := above.tried[name]
	for _, set := range []map[string]player.Footprint{above.sleep, above.tried} {
		for other, f := range set {
			if other != name && !f.Dependent(&touched) {
				b.sleep[other] = f
			}
		}
	}
}

func (x *searcher) count(run *player.Run) {
	r := x.report
	if run.Aborted {
		r.Cut++
	} else {
		r.Schedules++
	}
	r.Depth = max(r.Depth, len(run.Points))
	r.Actions += len(run.Points)
	r.MostRequests, r.MostEvents = max(r.MostRequests, run.Requests), max(r.MostEvents, run.Events)

	if x.search.Count {
		for _, p := range run.Points {
			r.states[p.State] = struct{}{}
		}
		r.states[run.Final] = struct{}{}
		if !run.Aborted {
			r.finals[run.Final] = struct{}{}
		}
		r.States = len(r.states)
	}
	for _, known := range run.Known {
		if name := known.String(); r.Known[name] == nil {
			isKnown := func(shorter *player.Run) bool { return slices.Contains(shorter.Known, known) }
			r.Known[name] = Shrink(x.t, x.world, run.Choices(), isKnown)
		}
	}
	if v := run.Violation; v != nil {
		r.Kinds[v.Kind]++
		if r.Found == nil {
			sameKind := func(shorter *player.Run) bool { return shorter.Violation != nil && shorter.Violation.Kind == v.Kind }
			shortest := Shrink(x.t, x.world, run.Choices(), sameKind) // nil if a Lenient lock did not repeat the schedule
			r.Found = cmp.Or(shortest, player.TraceOf(x.world, run))
		}
	}
	if x.search.Progress != nil {
		x.search.Progress(r)
	}
}

// Series plays the schedule in which a holder unlocks only when nothing else is possible, once for each moment at which
// a fault of one of the world's kinds is possible, with that fault. If the lock takes a ctx, it plays each again with a
// ctx that ends soon after the fault. It returns how many were played, and calls failed for each with a violation.
func Series(t *testing.T, w player.World, failed func(*player.Trace)) (played int) {
	t.Helper()
	defer player.OneCore()()
	for _, kind := range w.Kinds {
		for _, ctxEnds := range []bool{false, true} {
			if ctxEnds && (!w.Lock.Contexts || kind == player.EndContext) {
				continue
			}
			oneFault := w
			oneFault.Kinds, oneFault.Faults, oneFault.Each = []player.Fault{kind}, 1, 1
			if ctxEnds {
				oneFault.Kinds, oneFault.Faults = append(oneFault.Kinds, player.EndContext), 2
			}
			for n := 0; ; n++ { // until the schedule has no n-th moment
				choose, happened := chooseNth(kind, n)
				tr := player.TraceOf(oneFault, player.Play(t, oneFault, choose))
				if !*happened {
					break
				}
				played++
				if tr.Violation != nil {
					failed(tr)
				}
			}
		}
	}
	return played
}

// chooseNth returns a Chooser that takes a fault at the n-th point, from 0, at which it is possible, then the first end
// of a ctx, and else an action that is not an unlock, if any. *happened reports in the end whether the fault was taken.
func chooseNth(kind player.Fault, n int) (choose player.Chooser, happened *bool) {
	happened = new(bool)
	return func(p *player.Point) int {
		for i, f := range p.Faults {
			switch {
			case *happened && f == player.EndContext:
				return i
			case !*happened && f == kind && n > 0:
				n-- // one of the points before the n-th
			case !*happened && f == kind:
				*happened = true
				return i
			}
		}
		for i := range p.Plain() {
			if !strings.HasSuffix(p.Enabled[i], ": unlock") {
				return i
			}
		}
		return 0
	}, happened
}
