package locktest

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/jute"
)

// A Suite is what one of the functions that begin with Run runs: a Subject, for
// example.
type Suite interface{ Plan() Plan }

// A TestCase is one case of a suite, which runs in a W: a World and what the suite
// adds to it.
type TestCase[W any] struct {
	Name  string
	Group Group
	Run   func(w W)
	Basic bool // of the level Basic
	Exact bool // needs the embedded server's control
	Calm  bool // needs sessions of twenty minutes, which send so little that a day costs next to nothing
	Bare  bool // the parents of the lock's node are not there yet
	Queue bool // needs a queue with a node for each contender
	// Single needs one node for all contenders.
	Single bool
}

// A Plan is a suite that can run: its cases, in the order in which they run.
type Plan struct {
	// Missing says which function the subject lacks. A suite that lacks one has its
	// names, and does not run.
	Missing string

	names  []string
	groups map[string]Group
	run    func(t *testing.T, name string)
}

// NewPlan makes a Plan of the cases that keep is true of. Each runs in a World
// whose contenders are the subject's, with what enter adds to it.
func NewPlan[W any](cases []TestCase[W], keep func(TestCase[W]) bool, contender Subject, enter func(w *World) W) Plan {
	return newPlan(cases, keep, contender, enter, false)
}

// newPlan makes a Plan. A strict one fails a case that leaves a goroutine.
func newPlan[W any](cases []TestCase[W], keep func(TestCase[W]) bool, contender Subject, enter func(w *World) W, strict bool) Plan {
	p := Plan{groups: make(map[string]Group)}
	byName := make(map[string]TestCase[W])
	for _, c := range cases {
		byName[c.Name] = c
		if keep(c) {
			p.names = append(p.names, c.Name)
			p.groups[c.Name] = c.Group
		}
	}
	p.run = func(t *testing.T, name string) {
		c := byName[name]
		inWorld(t, contender, worldOptions{c.Exact, c.Calm, strict}, func(w *World) {
			if !c.Bare {
				w.Parents(w.Session().Conn, zk.WorldACL(zk.PermAll))
				w.parent()
			}
			c.Run(enter(w))
		})
	}
	return p
}

// Of keeps the cases of a level.
func Of[W any](level Level) func(TestCase[W]) bool {
	return func(c TestCase[W]) bool { return level == Full || c.Basic }
}

// WithoutParents returns the cases as ones that find no parents of the lock's node.
func WithoutParents[W any](cases []TestCase[W]) []TestCase[W] {
	cases = slices.Clone(cases)
	for i := range cases {
		cases[i].Bare = true
	}
	return cases
}

// RunSuite runs the cases of a suite as subtests, in a process of their own; see
// Run.
func RunSuite(t *testing.T, s Suite) {
	t.Helper()
	g, names := graderOf(t, s)
	g.doAll(names)
}

// graderOf returns a grader, nil in the process that has run the cases, and the
// names of the cases that are to be run.
func graderOf(t *testing.T, s Suite) (*grader, []string) {
	t.Helper()
	p := s.Plan()
	if p.Missing != "" {
		t.Fatal("locktest: " + p.Missing)
	}
	return grade(t, func(t *testing.T, r request) []jute.Op {
		p.run(t, r.Case)
		return nil
	}), p.names
}

// Names lists the cases of a suite, in the order in which they run. The
// suite's functions are not called and may be nil.
func Names(s Suite) []string { return s.Plan().names }
