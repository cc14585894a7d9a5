package stage

import (
	"slices"
	"testing"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/runner"
)

// A Group is the subject of a case. The exercises give points by group.
type Group string

const (
	// Safety: two are never inside at once, and nobody deletes another's node.
	Safety Group = "safety"
	// Liveness: the lock makes progress. A waiter gets in, TryLock and Unlock do what they say, and no node is left.
	Liveness Group = "liveness"
	// Faults: requests that are lost, sessions that end, errors.
	Faults Group = "faults"
	// Cost: numbers of requests, of events and of watches that are left.
	Cost Group = "cost"
)

// A Level says how much is asked of a lock.
type Level int

const (
	// Full asks for everything, such as errors that name the lock, exact counts, and what to do when a connection breaks.
	Full Level = iota
	// Basic asks for what a first attempt must do: one holder at a time, a node that goes with its
	// session, waiters that sleep on a watch and are woken, TryLock and Unlock that do what they say.
	Basic
)

// A Suite is a list of cases for a kind of lock.
type Suite interface{ Plan() Plan }

// A TestCase is one case of a suite, which runs in a W: a Stage and what the suite adds to it.
type TestCase[W any] struct {
	Name   i18n.Text // stays English; its Chinese is a gloss
	Group  Group
	Run    func(w W)
	Traits []Trait
}

// A Trait says for which locks a case is, and where it is played.
type Trait string

const (
	OfBasic Trait = "is one of the level Basic"
	Exact   Trait = "needs the embedded server's control"
	Calm    Trait = "needs sessions of twenty minutes, which send so little that a day costs next to nothing"
	Bare    Trait = "the parents of the lock's node are not there yet"
	Queued  Trait = "needs a queue with a node for each contender"
	Single  Trait = "needs one node for all contenders"
)

func (c TestCase[W]) Is(t Trait) bool { return slices.Contains(c.Traits, t) }

// A Plan is a suite that can run.
type Plan struct {
	// Missing says which function the subject lacks. A plan that lacks one still has its names, but Judge fails.
	Missing string
	Names   []string
	Groups  map[string]Group
	Glosses map[string]string // the names in Chinese
	run     map[string]func(c *runner.Case)
}

// Needs returns the plan of a subject that needs a function. there reports whether the subject has it.
func (p Plan) Needs(there bool, missing string) Plan {
	if !there {
		p.Missing = missing
	}
	return p
}

// Add adds a case that makes its world itself.
func (p *Plan) Add(name i18n.Text, group Group, run func(c *runner.Case)) {
	if p.run == nil {
		p.Groups = make(map[string]Group)
		p.Glosses = make(map[string]string)
		p.run = make(map[string]func(c *runner.Case))
	}
	key := name.String()
	p.Names = append(p.Names, key)
	p.Groups[key], p.Glosses[key], p.run[key] = group, name.In(i18n.Chinese), run
}

// NewPlan makes a Plan of the cases for which keep returns true. enter converts a Stage into the parameter of a case.
// If queue is set, the lock's path is the parent of its nodes. A strict plan fails a case that leaves a goroutine.
func NewPlan[W any](cases []TestCase[W], keep func(TestCase[W]) bool, queue, strict bool, enter func(w *Stage) W) (p Plan) {
	for _, t := range cases {
		if !keep(t) {
			continue
		}
		p.Add(t.Name, t.Group, func(c *runner.Case) {
			Play(c, queue, Needs{Exact: t.Is(Exact), Calm: t.Is(Calm), Strict: strict}, func(w *Stage) {
				if !t.Is(Bare) {
					w.MakeParent()
				}
				t.Run(enter(w))
			})
		})
	}
	return p
}

// Of keeps the cases of a level.
func Of[W any](level Level) func(TestCase[W]) bool {
	return func(c TestCase[W]) bool { return level == Full || c.Is(OfBasic) }
}

// WithoutParents returns the cases as Bare ones: no parents of the lock's node are made for them.
func WithoutParents[W any](cases []TestCase[W]) []TestCase[W] {
	cases = slices.Clone(cases)
	for i := range cases {
		cases[i].Traits = append([]Trait{Bare}, cases[i].Traits...)
	}
	return cases
}

// Judge returns a judge, which has another process run the cases; in that process it runs them, and returns nil.
func (p Plan) Judge(t *testing.T) *runner.Judge {
	t.Helper()
	if p.Missing != "" {
		t.Fatal("locktest: " + p.Missing)
	}
	return runner.New(t, func(c *runner.Case) { p.run[c.Asked](c) })
}
