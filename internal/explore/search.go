package explore

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"example.com/zklock/internal/explore/player"
)

// A Search has the options of a search through the schedules of a World. The zero
// Search is complete: depth first, with the reduction.
type Search struct {
	// Whole turns the reduction off: each order of two actions is played,
	// even where it cannot matter.
	Whole bool
	// Limit ends the search after so many schedules; 0: none.
	Limit int
	// Actions ends the search after so many actions in all schedules; 0: never. A lock that
	// polls has schedules that are twenty times as long as others.
	Actions int
	// For ends the search after this time, in real time; 0: never.
	For time.Duration
	// Seed, if it is not 0, makes the search random: Limit schedules, or as
	// many as fit into For.
	Seed uint64
	// Depth is the number of changes of priority of a random schedule, as in
	// PCT; 0: each action is drawn.
	Depth int
	// Count counts the states, too. It takes memory for each of them.
	Count bool
	// Merge goes through a situation once, however it came about. The search
	// plays fewer schedules, and keeps a number for each situation. It presumes
	// that clients share no memory, so it is left out where they do: with
	// Subject.Begin and World.Shared.
	Merge bool
	// All goes on after a violation.
	All bool
	// Progress, if it is not nil, is called after each schedule.
	Progress func(r *Report) `json:"-"`
}

// A Report is what a search has found.
type Report struct {
	World     player.World
	Schedules int // that were played to the end
	Cut       int // that the reduction ended: they repeat another one
	States    int // different ones, if they were counted
	Depth     int // actions of the longest schedule
	Actions   int // of all schedules
	Diverged  int // schedules that had to be played again, because they did not repeat
	Left      int // schedules of a lock with timers that never repeated, and were left out with those that begin like them
	Complete  bool
	Took      time.Duration
	// Found is the first violation's trace, shrunk.
	Found *player.Trace
	// Kinds counts the schedules by the kind of violation, if All is set.
	Kinds map[player.Kind]int
	// Known are the shortest traces of the violations that are known of the lock, by their English names.
	Known map[string]*player.Trace
	// MostRequests and MostEvents are the highest numbers in a schedule.
	MostRequests, MostEvents int
	states, finals           map[uint64]struct{}
	seen                     map[uint64][]string // with Search.Merge: situations, and the actions that were asleep in each
}

func (r *Report) String() string {
	end := "complete"
	if !r.Complete {
		end = "not complete"
	}
	s := fmt.Sprintf("%s, %d contenders, %d faults: %d schedules", r.World.Name, r.World.Number(), r.World.Faults, r.Schedules)
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

// A branch is a point of the schedule that the search is at.
type branch struct {
	enabled []string
	log     []player.Entry              // up to here
	sleep   map[string]player.Footprint // the sleep set: actions that need not be taken here, see inherit
	tried   map[string]player.Footprint // actions that were taken here, and what they have touched
	only    []string                    // if it is not nil: all other actions were taken in the same situation
	chosen  int
}

// Explore plays the schedules of a world until it has found a violation, or
// has played all.
func Explore(t *testing.T, w player.World, s Search) *Report {
	t.Helper()
	began := time.Now()
	named := w
	named.Name = w.Lock.Name
	r := &Report{
		World: named, Known: make(map[string]*player.Trace), Kinds: make(map[player.Kind]int),
		states: make(map[uint64]struct{}), finals: make(map[uint64]struct{}),
	}
	r.explore(t, w, s, began)
	r.Took = time.Since(began)
	return r
}

func (r *Report) explore(t *testing.T, w player.World, s Search, began time.Time) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a schedule leaves nothing but garbage
	defer player.OneCore()()
	if w.Lock.Bypass > 0 {
		s.Whole, s.Merge = true, false // the time of the call of Lock counts, and no footprint has it
	}
	if s.Merge && w.Lock.Begin == nil && !w.Shared {
		r.seen = make(map[uint64][]string)
	}
	if s.Seed != 0 {
		randomSearch(t, w, s, r, began)
		return
	}
	var stack []*branch
	for {
		var run *player.Run
		common := 0 // how many choices have repeated in one of the tries, at most
		for try := 1; run == nil; try++ {
			before, depth := len(stack), 0
			if run, depth = playStack(t, w, s, r.seen, &stack); run != nil {
				break
			}
			r.Diverged++
			stack = stack[:before] // without the branches that this try has added
			common = max(common, depth)
			if try%5 == 0 && common > 0 {
				// It was odd when it was first played. The schedules after the choices
				// that have repeated are played again.
				stack = stack[:common]
			}
			if try < player.Tries {
				continue
			}
			if !w.Lock.Lenient && (!w.Lock.Timed || common == 0) {
				panic(fmt.Sprintf("explore: %s: a schedule does not repeat, tried %d times: %q", w.Name, try, choicesOf(stack)))
			}
			r.Left++
			stack = stack[:min(common, len(stack))]
			break
		}
		if run != nil {
			r.count(t, w, s, run)
		}
		if r.Found != nil && !s.All {
			return
		}
		for len(stack) > 0 { // back to the last branch at which an action is left
			b := stack[len(stack)-1]
			if b.chosen = b.next(); b.chosen >= 0 {
				break
			}
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 {
			r.Complete = true
			return
		}
		if s.over(r, began) {
			return
		}
	}
}

func choicesOf(stack []*branch) (list []string) {
	for _, b := range stack {
		list = append(list, b.enabled[b.chosen])
	}
	return list
}

// playStack plays the schedule of the branches, and adds a branch for each further point. It returns how many choices
// it made, and nil for the run if the schedule did not repeat.
func playStack(t *testing.T, w player.World, s Search, seen map[uint64][]string, stack *[]*branch) (*player.Run, int) {
	depth, repeats := 0, true
	run := player.Play(t, w, s.Count, func(p *player.Point) int {
		b := &branch{}
		if depth < len(*stack) {
			b = (*stack)[depth]
			from := 0
			if depth > 0 {
				from = len((*stack)[depth-1].log)
			}
			if !slices.Equal(b.enabled, p.Enabled) || b.log != nil && !w.Lock.Lenient &&
				(len(p.Log) < from || !slices.EqualFunc(b.log[from:], p.Log[from:], player.Entry.Equal)) {
				repeats = false
				return -1
			}
		} else {
			*b = branch{enabled: p.Enabled, log: p.Log, sleep: map[string]player.Footprint{}, tried: map[string]player.Footprint{}, chosen: -1}
			if depth > 0 && !s.Whole {
				b.inherit((*stack)[depth-1])
			}
			if seen != nil {
				b.meet(seen, p.Situation())
			}
			if b.chosen = b.next(); b.chosen < 0 {
				return -1 // all are asleep: what follows repeats another schedule
			}
			*stack = append(*stack, b)
		}
		depth++
		return b.chosen
	}, func(n int, foot player.Footprint) {
		b := (*stack)[n]
		b.tried[b.enabled[b.chosen]] = foot
	})
	if depth < len(*stack) {
		repeats = false
	}
	if !repeats {
		return nil, depth
	}
	return run, depth
}

func (s Search) over(r *Report, began time.Time) bool {
	return s.Limit > 0 && r.Schedules+r.Cut+r.Left >= s.Limit || s.Actions > 0 && r.Actions >= s.Actions || s.For > 0 && time.Since(began) > s.For
}

// next is the next action to take here; -1: none is left.
func (b *branch) next() int {
	for i := b.chosen + 1; i < len(b.enabled); i++ {
		if _, asleep := b.sleep[b.enabled[i]]; !asleep && (b.only == nil || slices.Contains(b.only, b.enabled[i])) {
			return i
		}
	}
	return -1
}

// meet leaves out the actions that were taken in the same situation before: all that
// were not asleep then.
func (b *branch) meet(seen map[uint64][]string, situation uint64) {
	asleep, again := seen[situation]
	if again {
		b.only = []string{}
		for _, name := range asleep {
			if _, still := b.sleep[name]; !still {
				b.only = append(b.only, name)
			}
		}
		maps.DeleteFunc(b.sleep, func(name string, _ player.Footprint) bool { return !slices.Contains(asleep, name) })
	}
	seen[situation] = slices.Collect(maps.Keys(b.sleep))
}

// inherit puts to sleep an action that need not be taken here: it was taken at the
// branch above, before the action that leads here, and the two can be swapped.
func (b *branch) inherit(above *branch) {
	name := above.enabled[above.chosen]
	foot := above.tried[name]
	for _, set := range []map[string]player.Footprint{above.sleep, above.tried} {
		for other, f := range set {
			if other != name && !f.Dependent(&foot) {
				b.sleep[other] = f
			}
		}
	}
}

// count adds the result of a schedule to the report.
func (r *Report) count(t *testing.T, w player.World, s Search, run *player.Run) {
	if run.Aborted {
		r.Cut++
	} else {
		r.Schedules++
	}
	r.Depth = max(r.Depth, len(run.Points))
	r.Actions += len(run.Points)
	if s.Count {
		for _, p := range run.Points {
			r.states[p.State] = struct{}{}
		}
		r.states[run.Final] = struct{}{}
		if !run.Aborted {
			r.finals[run.Final] = struct{}{}
		}
		r.States = len(r.states)
	}
	r.MostRequests, r.MostEvents = max(r.MostRequests, run.Requests), max(r.MostEvents, run.Events)
	for _, known := range run.Known {
		if r.Known[known.En] == nil {
			r.Known[known.En] = Shrink(t, w, run.Choices(), func(r *player.Run) bool { return slices.Contains(r.Known, known) })
		}
	}
	if v := run.Violation; v != nil {
		r.Kinds[v.Kind]++
		if r.Found == nil {
			sameKind := func(r *player.Run) bool { return r.Violation != nil && r.Violation.Kind == v.Kind }
			r.Found = Shrink(t, w, run.Choices(), sameKind)
		}
		if r.Found == nil { // a lock whose schedules need not repeat
			r.Found = player.TraceOf(w, run)
		}
	}
	if s.Progress != nil {
		s.Progress(r)
	}
}
