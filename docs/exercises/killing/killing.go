// Package killing has the locks on which exercise 11 plays a student's schedules:
// right ones, and ten that are wrong in one place. A good schedule passes on each
// right lock. It kills a mutant if it fails on it.
//
// All but one of the locks are of one type, and each is played on in a process of
// its own, so that a schedule can distinguish them only by what they do.
package killing

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/locktest/judge"
	"example.com/zklock/internal/museum"
)

// A rightLock is a lock without a mistake.
type rightLock struct {
	name string // of the case
	help string // the difference from step 3
	broken.Manner
}

var rights = []rightLock{
	{name: "no false alarm: step 3's lock"}, // step 3 itself
	{
		"no false alarm: a right lock with other names, which sends more requests",
		"its nodes are named otherwise and have data, its errors read otherwise, and it sends requests that it does not need",
		broken.Manner{Names: "contender-", Says: "queue", Data: "x", More: true},
	},
	{
		"no false alarm: a right lock that watches with exists",
		"it watches with exists, and lists the queue again if there was no node",
		broken.Manner{Exist: true},
	},
	{
		"no false alarm: a right lock that lists the queue less often",
		"if the node that has gone was the only one before its own, it looks at its own node only",
		broken.Manner{Less: true},
	},
}

// A mutant is step 3 with one place changed.
type mutant struct {
	harm string // what it does wrong, in the words of the case
	file string // of the folder mutants: its bug in package broken, and the change of step 3's lock.go
}

var tenMutants = []mutant{
	{"a holder that dies keeps the lock", "not-ephemeral"},
	{"a waiter that is woken takes the lock", "no-look-after-waking"},
	{"a release is missed between looking and watching", "look-first-watch-later"},
	{"a child that is not a contender is waited for", "every-child-is-a-contender"},
	{"a release wakes more than one waiter", "everybody-is-watched"},
	{"a waiter without a node gets in", "own-node-is-not-looked-for"},
	{"two hold the lock after a waiter has left in the wrong instant", "gone-before-it-is-watched"},
	{"an Unlock that fails cannot be repeated", "unlock-forgets-too-early"},
	{"a contender waits for itself", "a-lost-create-is-sent-again"},
	{"a Lock that has failed blocks the queue", "a-broken-connection-is-taken-for-an-expired-session"},
}

const (
	// Count is how many mutants there are.
	Count = 10
	// Shown is how many of them a student sees.
	Shown = 4
	// MaxSchedules is how many schedules one attempt may have.
	MaxSchedules = 30

	play   = "a schedule" // the name of each test in which one is played
	listed = "names"      // what is asked for before
)

func dies(i int) string { return fmt.Sprintf("mutant %d dies: %s", i+1, tenMutants[i].harm) }

// Cases are the names of all cases and of the basic ones, in the order in which
// Judge has them.
func Cases() (all, basic []string) {
	for _, r := range rights {
		all = append(all, r.name)
	}
	for i := range tenMutants {
		all = append(all, dies(i))
	}
	return all, all[:len(rights)+Shown]
}

// An Outcome is what became of a case.
type Outcome struct {
	Case    string
	Words   string // why it has not passed; "" if it has
	Printed string
	Killed  string // how a mutant has died, in a line
}

// Judge plays the schedules of a test of Run. Wanted are the cases that are to be
// judged, and each is called with what became of a case; if it returns false, the rest is
// left out. A schedule that fails on a right lock that is wanted kills no mutant.
func Judge(r *judge.Judge, wanted []string, each func(Outcome) bool) {
	v := r.AskAbout(play, listed)
	r.Close()
	names := strings.Split(v.Says, "\n")
	why := ""
	switch {
	case v.Words != "":
		why = ofSchedule(v.Words)
	case v.Says == "":
		why = "there is no schedule: add one to Schedules"
	case len(names) > MaxSchedules:
		why = fmt.Sprintf("there are %d schedules, and %d are enough", len(names), MaxSchedules)
	}
	liars := make(map[int]bool) // that fail on a right lock
	one := func(i, lock int) judge.Verdict {
		v := r.AskAbout(play, fmt.Sprint(lock, " ", i))
		if v.Words = said(v.Words); v.Died {
			v.Words = ofSchedule(v.Words)
		}
		return v
	}
	all, _ := Cases()
	for n, name := range all {
		if !slices.Contains(wanted, name) {
			continue
		}
		o := Outcome{Case: name, Words: why, Printed: v.Printed}
		if why == "" {
			play := func(i int) judge.Verdict { return one(i, n) }
			if n < len(rights) {
				o = falseAlarms(name, rights[n].help, names, play, liars)
			} else {
				o = killed(name, n-len(rights), names, play, liars)
			}
			r.Close() // the next lock has another process
		}
		if !each(o) {
			return
		}
	}
}

// places are those at which an assertion has failed, of which a student needs the
// one in the schedule.
var places = regexp.MustCompile(` \((\w+\.go:\d+( < )?)+\)`)

var ofStage = regexp.MustCompile(`^(stage|killing|museum)\.go:`)

// said is the message of a schedule that fails.
func said(words string) string {
	words, _, _ = strings.Cut(words, "\n    Diff:")
	return strings.TrimSpace(places.ReplaceAllStringFunc(words, func(at string) string {
		for _, place := range strings.Split(strings.Trim(at, " ()"), " < ") {
			if !ofStage.MatchString(place) {
				return ", at " + place
			}
		}
		return ""
	}))
}

// ofSchedule says of a schedule what package locktest says of a lock.
func ofSchedule(words string) string { return strings.Replace(words, "the lock", "the schedule", 1) }

func falseAlarms(name, help string, names []string, play func(i int) judge.Verdict, liars map[int]bool) Outcome {
	o := Outcome{Case: name}
	var all []string
	for i, schedule := range names {
		v := play(i)
		if v.Words == "" {
			continue
		}
		liars[i] = true
		if o.Printed == "" {
			o.Printed = v.Printed
		}
		why := fmt.Sprintf("schedule %q fails on a lock that is right: %s", schedule, v.Words)
		if help != "" {
			why += "\n    This lock differs from step 3 in this: " + help + ". Assert what a lock promises, not how it does it."
		}
		all = append(all, why)
	}
	o.Words = strings.Join(all, "\n")
	return o
}

func killed(name string, i int, names []string, play func(i int) judge.Verdict, liars map[int]bool) Outcome {
	o := Outcome{Case: name}
	passed := 0
	var not []string
	for j, schedule := range names {
		if liars[j] {
			not = append(not, fmt.Sprintf("schedule %q does not count, for it fails on a right lock", schedule))
			continue
		}
		v := play(j)
		switch {
		case v.Words == "":
			passed++
		case v.Died:
			not = append(not, fmt.Sprintf("schedule %q does not come to its end: %s. That kills no mutant; say with an assertion what is wrong", schedule, v.Words))
			o.Printed = v.Printed
		default:
			o.Killed = fmt.Sprintf("schedule %q: %s", schedule, strings.Join(strings.Fields(v.Words), " "))
			o.Printed = ""
			return o
		}
	}
	o.Words = fmt.Sprintf("mutant %d lives: %d of %d schedules pass on it", i+1, passed, len(names))
	if len(not) > 0 {
		o.Words += "\n    " + strings.Join(not, "\n    ")
	}
	if i < Shown {
		o.Words += "\n" + Diff(i)
	} else {
		o.Words += "\n    Its harm: " + tenMutants[i].harm + ". Which line of step 3 prevents that? Write the order of events in which the line is needed."
	}
	return o
}

// Diff shows the i-th mutant, from 0, as a change of step 3's lock.go.
func Diff(i int) string {
	c := change(i)
	old, changed := strings.Split(c.old, "\n"), strings.Split(c.new, "\n")
	same := 0
	for same < len(old) && same < len(changed) && old[same] == changed[same] {
		same++
	}
	var lines []string
	line := func(mark, text string) { lines = append(lines, "    "+mark+" "+strings.TrimSpace(text)) }
	for n := range same {
		line(" ", old[n])
	}
	for _, text := range old[same:] {
		line("-", text)
	}
	for _, text := range changed[same:] {
		line("+", text)
	}
	return strings.Join(lines, "\n")
}

// List lists the mutants for a page.
func List() string {
	var b strings.Builder
	for i, m := range tenMutants {
		fmt.Fprintf(&b, "%d. %s%s\n", i+1, strings.ToUpper(m.harm[:1]), m.harm[1:])
		if i < Shown {
			fmt.Fprintf(&b, "\n   ```diff\n%s\n   ```\n\n", strings.ReplaceAll("\n"+Diff(i), "\n    ", "\n   ")[1:])
		}
	}
	return b.String()
}

// Patched is step 3's lock.go with the change of a mutant, by its place among
// them, from 0.
func Patched(i int, step3 string) (string, error) { return change(i).Of(step3) }

// Mutant makes contenders of a mutant, by its place among them, from 0.
func Mutant(i int) museum.NewLock { return makes(len(rights) + i) }

// makes returns a function that makes contenders of a lock, by its place among the
// cases. A schedule cannot find out from a type, name or address which lock it has.
func makes(n int) museum.NewLock {
	return func(conn *zk.Conn, path string) museum.Lock {
		var l museum.Lock
		switch {
		case n == 0:
			l = predecessor.New(conn, path)
		case n < len(rights):
			l = broken.With(rights[n].Manner, "none", conn, path)
		default:
			l = broken.New(change(n-len(rights)).Head, conn, path)
		}
		return museum.Calls{CallLock: func() error { return l.Lock() }, CallUnlock: func() error { return l.Unlock() }}
	}
}

// Run judges schedules in a test: one case each as a subtest. The plays run in
// processes of the same binary, so that one that loops or ends its process costs
// its case and no more.
func Run(t *testing.T, schedules []museum.Schedule) {
	t.Helper()
	museum.NeedsEmbedded(t)
	r := judge.New(t, func(c *judge.Case) { serve(c, schedules) })
	if r == nil {
		return
	}
	all, _ := Cases()
	killed := 0
	Judge(r, all, func(o Outcome) bool {
		t.Run(o.Case, func(t *testing.T) {
			if o.Printed != "" {
				t.Logf("the schedule has printed:\n%s", o.Printed)
			}
			if o.Words != "" {
				t.Error(o.Words)
			}
			if o.Killed != "" {
				killed++
				t.Log(o.Killed)
			}
		})
		return true
	})
	t.Logf("%d of %d mutants are dead", killed, Count)
}

// serve runs in the process that plays.
func serve(c *judge.Case, schedules []museum.Schedule) {
	if c.About == listed {
		var names []string
		for i, s := range schedules {
			names = append(names, strings.Join(strings.Fields(fmt.Sprintf("%d %s", i+1, s.Name)), " "))
		}
		c.Says(strings.Join(names, "\n"))
		return
	}
	a, b, _ := strings.Cut(c.About, " ")
	lock, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil || n >= len(schedules) || lock >= len(rights)+Count {
		c.Fatalf("there is no play %q", c.About)
	}
	museum.PlayFor(c.T, makes(lock), c.Note, func(s *museum.Stage) {
		c := c.In(s.T) // of the bubble
		defer c.Left()
		c.Observe(s.Server)
		defer c.Bound()()
		c.Call(schedules[n].Name, func() { schedules[n].Play(s) })
	})
}
