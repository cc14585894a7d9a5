package counterexample

import (
	"slices"
	"strings"
	"testing"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// A Case asks for one thing of the answer to one task: that it reaches the goal, or that it does so with few choices.
type Case struct {
	Name   i18n.Text
	Number int  // of the task
	Basic  bool // it counts for the basic points
	Most   int  // choices; 0: any number
}

// ourChoices is how many choices our answers have, by number.
var ourChoices = []int{1: 2, 2: 6, 3: 9, 4: 7, 5: 8, 6: 10}

// basicTasks is how many of the tasks are basic: the first ones.
const basicTasks = 3

var harms = map[player.Kind]i18n.Text{
	player.Hang:          "a contender waits forever",
	player.WatchLeft:     "a watch is left behind",
	player.NodeLeft:      "a node is left behind",
	player.TwoHolders:    "two hold the lock at once",
	player.ForeignDelete: "one client deletes another's node",
	player.Overtaken:     "a contender gets in before one that is before it in the queue",
}

// Cases are all cases, in the order in which they are judged.
func Cases() (list []Case) {
	for _, task := range locks.Tasks {
		name := i18n.Textf("listing %d: %s", task.Number, harms[task.Harm])
		list = append(list, Case{Name: name, Number: task.Number, Basic: task.Number <= basicTasks})
	}
	for _, task := range locks.Tasks {
		most := ourChoices[task.Number]
		name := i18n.Textf("listing %d takes at most %d choices", task.Number, most)
		list = append(list, Case{Name: name, Number: task.Number, Most: most})
	}
	return list
}

// A Result is the outcome of an answer that was played.
type Result struct {
	Choices int       // in the schedule
	Words   i18n.Text // why the schedule does not reach the goal; empty if it does
}

// Words says why a case fails; it is empty if the case passes.
func (c Case) Words(r Result) i18n.Text {
	switch {
	case c.Most == 0:
		return r.Words
	case r.Words.String() != "":
		return i18n.Textf("answer %d does not reach the goal yet", c.Number)
	case r.Choices > c.Most:
		return i18n.Textf("answer %d reaches the goal with %d choices, and ours with %d: which of yours does the harm "+
			"not need?", c.Number, r.Choices, c.Most)
	}
	return ""
}

// Play plays the answer to a task as the lab does.
func Play(t *testing.T, number int, link string) Result {
	task := locks.Tasks[number-1]
	a, err := parse(task, link)
	if err != nil {
		return Result{Words: i18n.TextOf(err)}
	}
	shown, ok := playTwice(t, a)
	r := Result{Choices: len(a.Choices)}
	switch {
	case !ok:
		r.Words = "the schedule is another one each time that it is played: choose another way to the goal"
	case shown.err != nil:
		r.Words = i18n.Textf("the link cannot be played: %s: copy it again from the lab", inOneLine(i18n.TextOf(shown.err)))
	default:
		r.Words = whyNotGoal(task, shown)
	}
	return r
}

// A shownSchedule is a schedule as the lab shows it.
type shownSchedule struct {
	err      error
	hash     string // of its film
	trace    *player.Trace
	possible []string // choices after the last one
}

func (s shownSchedule) equal(o shownSchedule) bool {
	if s.err != nil || o.err != nil {
		return s.err != nil && o.err != nil && s.err.Error() == o.err.Error()
	}
	return s.hash == o.hash && slices.Equal(s.possible, o.possible)
}

// playTwice plays a schedule until it has been the same twice. It returns false if that never comes.
func playTwice(t *testing.T, a locks.Address) (shownSchedule, bool) {
	var before []shownSchedule
	for range 20 { // tries: a listing that draws lots may play a schedule in a few ways
		f, tr, possible, err := film.Play(t, a.World(), a.Choices)
		shown := shownSchedule{err: err, trace: tr}
		if f != nil {
			shown.hash = f.Hash
		}
		for _, action := range possible {
			shown.possible = append(shown.possible, action.Choice)
		}
		if slices.ContainsFunc(before, shown.equal) {
			return shown, true
		}
		before = append(before, shown)
	}
	return shownSchedule{}, false
}

// whyNotGoal says why a schedule is not the answer; it is empty if it is.
func whyNotGoal(task locks.Task, s shownSchedule) i18n.Text {
	goal := i18n.Textf("the goal is: %s", harms[task.Harm])
	switch v := s.trace.Violation; {
	case v != nil && v.Kind == task.Harm:
		return ""
	case v != nil:
		return i18n.Textf("the schedule ends with another harm, %s; %s. A schedule ends with the first harm, so go back "+
			"to before it came and go round it", inOneLine(v.Text()), goal)
	case len(s.possible) == 0:
		return i18n.Textf("the schedule is over and harmless (%s); %s. Take back some choices in the lab and try another "+
			"order", inOneLine(i18n.Join(s.trace.Results, "; ")), goal)
	}
	next := strings.Join(s.possible[:min(4, len(s.possible))], ", ")
	if len(s.possible) > 4 {
		next += ", …"
	}
	if waits := waiting(s.trace.Results); task.Harm == player.Hang && waits.String() != "" {
		return i18n.Textf(`after the last choice %s, which is not a hang: something can still happen (%s). `+
			`Go on until the lab says "Goal reached", and copy the link then`, waits, next)
	}
	return i18n.Textf(`after the last choice nothing is broken, and the schedule can go on (%s); %s. `+
		`Go on until the lab says "Goal reached", and copy the link then`, next, goal)
}

// waiting names the contenders that wait: "A and B wait".
func waiting(results []i18n.Text) i18n.Text {
	var names []string
	for _, r := range results {
		if name, what, _ := strings.Cut(r.String(), ": "); strings.HasSuffix(what, "waiting") {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return i18n.Textf("%s waits", names[0])
	}
	return i18n.Textf("%s wait", player.And(names))
}

// inOneLine cuts a text to one line that is not too long. A text that quotes a student may be of any kind.
func inOneLine(t i18n.Text) i18n.Text {
	return i18n.Both(oneLine(t.String()), oneLine(t.In(i18n.Chinese)))
}

func oneLine(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > 400 { // bytes
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return text
}
