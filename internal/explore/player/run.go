package player

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/zklock/internal/i18n"
)

// A Point is a moment of a schedule at which one action was chosen.
type Point struct {
	Enabled   []string      // the actions that were possible
	Chosen    int           // the index in Enabled of the action that was taken
	Faults    []Fault       // the kind of each of Enabled; "" if it is not a fault
	State     uint64        // if states are counted: a hash
	Log       []Entry       // up to here
	Situation func() uint64 // a hash: schedules that come to the same situation go on alike

	gaps map[string]string // by the name of a gap, the contender that is kept there
}

// A Chooser returns the index in p.Enabled of the action to take, or -1 to abort the run.
type Chooser = func(p *Point) int

// Kept returns the contender that is kept in a gap, a place in a lock (Subject.Begin). It returns "" if no goroutine is
// kept there, or one that no contender plays its script in: the lock has started it.
func (p *Point) Kept(name string) string { return p.gaps[strings.TrimPrefix(name, "gap ")] }

// Plain is how many of the actions are not faults; those come first.
func (p *Point) Plain() int {
	if i := slices.IndexFunc(p.Faults, func(f Fault) bool { return f != "" }); i >= 0 {
		return i
	}
	return len(p.Enabled)
}

func (p *Point) choice() string { return p.Enabled[p.Chosen] }

// A Run is one schedule that was played.
type Run struct {
	Points    []*Point
	Log       []Entry
	Violation *Violation
	Known     []i18n.Text // the names of the faults in Subject.Known that were seen
	Facts     Facts
	Requests  int         // that the contenders have sent
	Events    int         // watch events that have arrived
	Results   []i18n.Text // of each contender
	Aborted   bool        // by the Chooser
	Unordered bool        // the action under way causes events in no particular order
	Final     uint64      // the hash of the state at the end, as in Point.State

	over    bool // it has ended with a violation that is known
	hashing bool // states are counted
}

// Choices are the actions taken where more than one was possible.
func (r *Run) Choices() (names []string) {
	for _, p := range r.Points {
		if len(p.Enabled) > 1 {
			names = append(names, p.choice())
		}
	}
	return names
}

// Follow calls play, which plays one run, with a Chooser that makes the choices, and after the last of them asks
// afterwards. widths, if any, are how many actions must be possible. The error says which choice cannot be made.
func Follow(choices []string, widths []int, afterwards Chooser, play func(choose Chooser)) (err error) {
	made := 0 // how many of the choices
	play(func(p *Point) int {
		switch {
		case len(p.Enabled) == 1:
			return 0 // nothing is to be chosen
		case made >= len(choices):
			return afterwards(p)
		}

		name := choices[made]
		i := slices.Index(p.Enabled, name)
		switch {
		case i < 0:
			err = i18n.Errorf("choice %d is %q, but these are possible: %q", made+1, name, p.Enabled)
		case made < len(widths) && widths[made] != len(p.Enabled):
			err = i18n.Errorf("choice %d had %d possibilities, and now %q", made+1, widths[made], p.Enabled)
			i = -1 // the run is aborted
		}
		made++
		return i
	})
	if err == nil && made < len(choices) {
		err = i18n.Errorf("the schedule ends after %d of %d choices", made, len(choices))
	}
	return err
}

// Follow plays the schedule of the trace.
func (tr *Trace) Follow(play func(choose Chooser)) error {
	return Follow(tr.Choices, tr.Widths, func(*Point) int { return 0 }, play)
}

// Play plays one schedule. If it does not end, the process ends with its choices.
func Play(t *testing.T, w World, choose Chooser) *Run {
	t.Helper()
	return PlayWatched(t, w, choose, false, nil)
}

// PlayWatched is Play for a search. With hashing each Point has a State. acted, if not nil, is called after an action.
func PlayWatched(t *testing.T, w World, choose Chooser, hashing bool, acted func(n int, f Footprint)) *Run {
	t.Helper()
	defer Alone()()                     // waits for its turn now, and ends it on return
	var chosen atomic.Pointer[[]string] // the choices so far; doing reads them in another goroutine
	chosen.Store(new([]string))
	doing := func() string { return fmt.Sprintf("explore: %s plays the schedule %q", w.Lock.Name, *chosen.Load()) }
	return InBubble(t, w, doing, func(playing *Player) {
		playing.Run.hashing = hashing
		playing.Play(func(p *Point) int {
			i := choose(p)
			if i >= 0 && len(p.Enabled) > 1 {
				soFar := append(*chosen.Load(), p.Enabled[i])
				chosen.Store(&soFar)
			}
			return i
		}, acted)
	})
}

// OneCore makes this process use one core, until the function that it returns is called. When the client library loses
// its connection it fails its requests one after the other, and the goroutines that wait for them send the next ones at
// once; on two cores some of these are failed, too, or not. On one core they begin when the library has done its step.
func OneCore() (again func()) {
	n := runtime.GOMAXPROCS(0)
	if n == 1 {
		return func() {}
	}
	runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(n) }
}

// Alone is [OneCore] for one play. Another play waits until the function that it returns is called: the number of
// cores, the random bytes and the listings' idea of the play that runs belong to the process.
func Alone() (next func()) {
	alone.Lock()
	again := OneCore()
	return func() {
		again()
		alone.Unlock()
	}
}

var alone sync.Mutex

// Tries is how often a schedule is played until it repeats. On one core it repeats at once, unless the operating system
// takes the core away in the middle of a step, for long enough that Go's scheduler lets another goroutine go on.
const Tries = 20
