package breaking

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
)

// A Case is the task of one answer.
type Case struct {
	Name   string
	Number int  // of the task
	Basic  bool // for the basic points
	Most   int  // choices; 0: as many as it takes
}

// ours is how many choices our answers have, by number.
var ours = []int{1: 2, 2: 6, 3: 9, 4: 7, 5: 8, 6: 10}

// easy is how many of the tasks are basic.
const easy = 3

var harms = map[explore.Kind]string{
	explore.Hang:          "a contender waits forever",
	explore.WatchLeft:     "a watch is left behind",
	explore.NodeLeft:      "a node is left behind",
	explore.TwoHolders:    "two hold the lock at once",
	explore.ForeignDelete: "one client deletes another's node",
	explore.Overtaken:     "a contender gets in before one that is before it in the queue",
}

// Cases are all cases, in the order in which they are judged.
func Cases() (list []Case) {
	for _, t := range locks.Tasks {
		list = append(list, Case{Name: fmt.Sprintf("listing %d: %s", t.Number, harms[t.Harm]), Number: t.Number, Basic: t.Number <= easy})
	}
	for _, t := range locks.Tasks {
		list = append(list, Case{Name: fmt.Sprintf("listing %d takes at most %d choices", t.Number, ours[t.Number]), Number: t.Number, Most: ours[t.Number]})
	}
	return list
}

// A Result is the outcome of an answer.
type Result struct {
	Choices int    // in the schedule
	Words   string // why the listing does not come to the harm; "" if it does
}

// Words says why a case fails, "" if it passes.
func (c Case) Words(p Result) string {
	switch {
	case c.Most == 0:
		return p.Words
	case p.Words != "":
		return fmt.Sprintf("answer %d does not reach the goal yet", c.Number)
	case p.Choices > c.Most:
		return fmt.Sprintf("answer %d reaches the goal with %d choices, and ours with %d: which of yours does the harm not need?", c.Number, p.Choices, c.Most)
	}
	return ""
}

// Play plays the answer to a task as the lab does.
func Play(t *testing.T, number int, link string) Result {
	task := locks.Tasks[number-1]
	a, err := parse(task, link)
	if err != nil {
		return Result{Words: err.Error()}
	}
	s, ok := repeated(t, a)
	p := Result{Choices: len(a.Choices)}
	if !ok {
		p.Words = "the schedule is another one each time that it is played: choose another way to the goal"
	} else if s.err != nil {
		p.Words = fmt.Sprintf("the link cannot be played: %s: copy it again from the lab", firstBytes(s.err.Error()))
	} else {
		p.Words = says(task, s)
	}
	return p
}

// A shownSchedule is a schedule as the lab shows it.
type shownSchedule struct {
	err      error
	hash     string // of its film
	trace    *explore.Trace
	possible []string
}

func (s shownSchedule) equal(o shownSchedule) bool {
	if s.err != nil || o.err != nil {
		return s.err != nil && o.err != nil && s.err.Error() == o.err.Error()
	}
	return s.hash == o.hash && slices.Equal(s.possible, o.possible)
}

// repeated plays a schedule until it has been the same twice.
func repeated(t *testing.T, a locks.Address) (shownSchedule, bool) {
	var before []shownSchedule
	for range 20 {
		f, tr, possible, err := explore.PlayFilm(t, a.World(), a.Choices)
		s := shownSchedule{err: err, trace: tr}
		if f != nil {
			s.hash = f.Hash
		}
		for _, p := range possible {
			s.possible = append(s.possible, p.Choice)
		}
		if slices.ContainsFunc(before, s.equal) {
			return s, true
		}
		before = append(before, s)
	}
	return shownSchedule{}, false
}

// says says why a schedule is not the answer, "" if it is.
func says(task locks.Task, s shownSchedule) string {
	goal := fmt.Sprintf("the goal is: %s", harms[task.Harm])
	switch v := s.trace.Violation; {
	case v != nil && v.Kind == task.Harm:
		return ""
	case v != nil:
		return fmt.Sprintf("the schedule ends with another harm, %s; %s. A schedule ends with the first harm, so go back to before it came and go round it", firstBytes(v.String()), goal)
	case len(s.possible) == 0:
		return fmt.Sprintf("the schedule is over and harmless (%s); %s. Take back some choices in the lab and try another order", firstBytes(strings.Join(s.trace.Results, "; ")), goal)
	}
	next := strings.Join(s.possible[:min(4, len(s.possible))], ", ")
	if len(s.possible) > 4 {
		next += ", …"
	}
	if waits := waiting(s.trace.Results); task.Harm == explore.Hang && waits != "" {
		return fmt.Sprintf("after the last choice %s, which is not a hang: something can still happen (%s). Go on until the lab says \"Goal reached\", and copy the link then", waits, next)
	}
	return fmt.Sprintf("after the last choice nothing is broken, and the schedule can go on (%s); %s. Go on until the lab says \"Goal reached\", and copy the link then", next, goal)
}

// waiting names the contenders that wait: "A and B wait".
func waiting(results []string) string {
	var names []string
	for _, r := range results {
		if name, what, _ := strings.Cut(r, ": "); strings.HasSuffix(what, "waiting") {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " waits"
	}
	return strings.Join(names, " and ") + " wait"
}

// firstBytes is a text of the engine in one line that is not too long; it may
// quote what a student has written.
func firstBytes(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return text
}
