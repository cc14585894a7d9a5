package suites

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/locktest"
)

// A ScheduleSubject is a lock that is put through every schedule of a few worlds.
type ScheduleSubject struct {
	// Folder of the exercise, such as 03-predecessor.
	Folder string
	// Open makes contenders; package locks makes it of an exercise's New.
	Open locks.Open
	// NotLocked is what Unlock returns if the lock is not held.
	NotLocked error
}

// A schedulePlan is one case: a world and how it is searched. A limit is a number
// of schedules, so that a grade does not depend on how fast the machine is.
type schedulePlan struct {
	name  string
	group locktest.Group
	world explore.World
	explore.Search
}

// plans are the worlds for a kind of lock: what the fixed cases do with one
// schedule each, with all schedules, and at random where they are too many.
func plans(s explore.Subject) []schedulePlan {
	two := explore.World{Contenders: 2}
	if s.Permits > 1 {
		two.Contenders = s.Permits + 1
	}
	n := map[int]string{2: "two", 3: "three"}[two.Contenders]
	all := explore.Search{Limit: 800, Merge: true}
	list := []schedulePlan{{"every schedule of " + n + " contenders", locktest.Liveness, two, all}}
	fault := func(f explore.Fault, name string) {
		w := two
		w.Kinds, w.Faults = []explore.Fault{f}, 1
		list = append(list, schedulePlan{"every schedule of " + n + " contenders, " + name, locktest.Faults, w, all})
	}
	if s.Queue {
		w := two
		w.Sequence = 9
		list = append(list, schedulePlan{"every schedule of " + n + " contenders, the second of whose numbers has one digit more", locktest.Liveness, w, all})
	}
	w := two
	w.Kinds, w.Faults = []explore.Fault{explore.Day}, 1
	list = append(list, schedulePlan{"every schedule of " + n + " contenders, at some moment nothing happens for a day", locktest.Liveness, w, all})
	fault(explore.LoseRequest, "a request is lost")
	fault(explore.LoseReply, "a reply is lost")
	fault(explore.Cut, "a connection breaks")
	fault(explore.Expire, "a session ends")
	if s.Contexts {
		fault(explore.EndContext, "a ctx ends")
	}
	some := explore.Search{Seed: 1, Limit: 200}
	three := explore.World{Contenders: two.Contenders + 1}
	list = append(list, schedulePlan{fmt.Sprint(some.Limit, " random schedules of one contender more"), locktest.Liveness, three, some})
	three.Kinds, three.Faults = []explore.Fault{explore.LoseRequest, explore.LoseReply, explore.Cut, explore.Expire}, 1
	list = append(list, schedulePlan{fmt.Sprint(some.Limit, " random schedules of one contender more, with one fault"), locktest.Faults, three, some})
	shared := explore.World{Contenders: two.Contenders, Shared: true}
	list = append(list, schedulePlan{fmt.Sprint(some.Limit, " random schedules of contenders in one session"), locktest.Liveness, shared, some})
	return list
}

// RunSchedules runs the cases of the subject as subtests, as locktest.Run does.
func RunSchedules(t *testing.T, s ScheduleSubject) {
	t.Helper()
	locktest.RunSuite(t, s)
}

// Plan is what RunSchedules runs.
func (s ScheduleSubject) Plan() locktest.Plan {
	e, err := locks.FindExercise(s.Folder)
	if err != nil {
		return locktest.Plan{Missing: err.Error()}
	}
	subject := e.Subject(s.Open, s.NotLocked, explore.SessionTimeout)
	var cases []locktest.OwnCase
	for _, p := range plans(subject) {
		cases = append(cases, locktest.OwnCase{Name: p.name, Group: p.group, Run: func(c *locktest.Case) { p.run(c, subject) }})
	}
	p := locktest.NewOwnPlan(cases)
	if s.Open == nil {
		p.Missing = "ScheduleSubject.Open is nil: it must make contenders"
	}
	return p
}

func (p schedulePlan) run(c *locktest.Case, s explore.Subject) {
	open := s.Open
	s.Open = func(conn *zk.Conn, path string) func(name string) explore.Lock {
		c.Step() // a schedule begins
		return open(conn, path)
	}
	p.world.Lock = s
	r := explore.Explore(c.T, p.world, p.Search)
	if r.Found == nil {
		return
	}
	c.Fail(words(r.Found), address(r.Found))
}

// address is where the lab plays a trace, from the # on.
func address(tr *explore.Trace) string {
	w := tr.World
	return locks.Address{Locks: []string{w.Name}, Mode: "schedule", Scene: locks.Scene{
		Lock: w.Name, Contenders: w.Contenders, Shared: w.Shared, Seed: 1, Kinds: w.Kinds, Faults: w.Faults, Choices: tr.Choices,
	}}.String()
}

// words tell a student what has happened.
func words(tr *explore.Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, in this schedule:\n", tr.Violation)
	b.WriteString(tr.Steps())
	return b.String()
}
