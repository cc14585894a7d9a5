// Package lab answers the requests of the page to its worker. It runs in the page, as WebAssembly, and in go test.
package lab

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// A request of the page. Do says what is asked, and which other fields there are.
type request struct {
	Do      string         `json:"do"`
	Scene   locks.Scene    `json:"scene"`
	World   player.World   `json:"world"`
	Choices []string       `json:"choices"`
	Kinds   []player.Fault `json:"kinds"`
	Faults  int            `json:"faults"`
	ForS    float64        `json:"for_s"`
	Goal    player.Kind    `json:"goal"` // of find and fates: the only violation that is looked for; "": any
	Want    string         `json:"want"` // of play: the only violation that ends the schedule, as an address names it
	Trace   *player.Trace  `json:"trace"`
	Parts   bool           `json:"parts"` // of run: progress is called with the Parts of the film
}

// Answer answers a request, which is JSON. While a long one is being answered, progress gets what there is so far.
func Answer(t *testing.T, message []byte, progress func(any)) (any, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return nil, i18n.Errorf("this is not a request: %w", err)
	}
	switch r.Do {
	case "locks":
		return locks.All(), nil
	case "run":
		if r.Parts {
			return runParts(t, r.Scene, progress)
		}
		return Run(t, r.Scene)
	case "cost":
		return CostOf(t, r.Scene)
	case "curves":
		return Curves(), nil
	case "play":
		want, err := locks.Wanted(r.Want)
		if err != nil {
			return nil, err
		}
		r.World.Lock.Ignore = locks.AllBut(want)
		return Play(t, r.World, r.Choices)
	case "find":
		if len(r.Kinds) > 0 {
			r.World.Kinds = r.Kinds
		}
		r.World.Faults = max(r.World.Faults, r.Faults)
		r.World.Lock.Ignore = locks.AllBut(r.Goal)
		return Find(t, r.World, time.Duration(r.ForS*float64(time.Second)), progress)
	case "fates":
		return Fates(t, r.World, r.Choices, r.Goal, progress)
	case "replay":
		if r.Trace == nil {
			return nil, i18n.Errorf("there is no trace")
		}
		return Replay(t, r.Trace)
	}
	return nil, i18n.Errorf("the engine has no request %q", r.Do)
}

// Run plays a scene and returns its film.
func Run(t *testing.T, s locks.Scene) (*film.Film, error) {
	w, p, err := s.World()
	if err != nil {
		return nil, err
	}
	return film.Paced(t, w, p)
}

// Films returns what an address shows: the film of its schedule, or one of a run of each of its locks.
func Films(t *testing.T, a locks.Address) (films []*film.Film, err error) {
	if a.Mode == "schedule" {
		played, err := Play(t, a.World(), a.Choices)
		if err != nil {
			return nil, err
		}
		return []*film.Film{played.Film}, nil
	}
	for _, lock := range a.Locks {
		a.Scene.Lock = lock
		f, err := Run(t, a.Scene)
		if err != nil {
			return nil, err
		}
		films = append(films, f)
	}
	return films, nil
}

// A Part has the additions of a film to the Part before it. Film describes
// it as a whole, up to its End, but has only the new packets and marks.
type Part struct {
	Film *film.Film `json:"film"`
}

// runParts plays a scene and calls progress with the parts of its film. The last part is the result.
func runParts(t *testing.T, s locks.Scene, progress func(any)) (*Part, error) {
	w, pace, err := s.World()
	if err != nil {
		return nil, err
	}
	var packets, marks int // that the parts so far have
	nextPart := func(soFar *film.Film) *Part {
		more := *soFar
		more.Packets, more.Marks = soFar.Packets[packets:], soFar.Marks[marks:]
		packets, marks = len(soFar.Packets), len(soFar.Marks)
		return &Part{&more}
	}
	pace.Part = func(soFar *film.Film) { progress(nextPart(soFar)) }
	whole, err := film.Paced(t, w, pace)
	if err != nil {
		return nil, err
	}
	return nextPart(whole), nil
}

// completeWorld sets the lock that a world names, and returns its entry. Too many contenders for the page are an error.
func completeWorld(w *player.World) (locks.Lock, error) {
	l, err := locks.Find(w.Name)
	if err != nil {
		return l, err
	}
	ignored := w.Lock.Ignore // which Answer has set, if only one kind is wanted
	*w = l.In(*w)
	w.Lock.Ignore = append(slices.Clone(w.Lock.Ignore), ignored...)
	if w.Contenders < 0 || w.Contenders > 6 { // choices.js offers no more
		return l, i18n.Errorf("%d contenders are not possible here: from 1 to 6", w.Contenders)
	}
	return l, nil
}

// A PlayedSchedule is a schedule as far as a person has chosen.
type PlayedSchedule struct {
	Film      *film.Film        `json:"film"`
	Enabled   []film.Possible   `json:"enabled"` // the actions to choose from
	Violation *player.Violation `json:"violation"`
	Known     []i18n.Text       `json:"known,omitempty"`
	Reached   bool              `json:"reached"` // the lock's goal is reached
	Over      bool              `json:"over"`    // nothing is left to choose
	Trace     *player.Trace     `json:"trace"`
}

// Play plays what somebody has chosen so far.
func Play(t *testing.T, w player.World, choices []string) (*PlayedSchedule, error) {
	l, err := completeWorld(&w)
	if err != nil {
		return nil, err
	}
	f, tr, possible, err := film.Play(t, w, choices)
	if err != nil {
		return nil, err
	}
	if possible == nil {
		possible = []film.Possible{} // the page cannot go through null
	}
	return &PlayedSchedule{
		Film: f, Enabled: possible, Violation: tr.Violation, Known: tr.Known, Trace: tr,
		Reached: l.Goal != nil && l.Goal.Reached(tr), Over: len(possible) == 0,
	}, nil
}

// Fates returns, for each beginning of a schedule, how many percent of its random continuations end in the violation
// that is the goal. If it is also the kind of the lock's own goal, a continuation counts if it reaches that.
// Progress is called with the list so far.
func Fates(t *testing.T, w player.World, choices []string, goal player.Kind, progress func(any)) ([]int, error) {
	l, err := completeWorld(&w)
	if err != nil {
		return nil, err
	}
	if goal == "" {
		return nil, i18n.Errorf("no kind of violation is named")
	}
	const tries = 12
	var list []int
	reached := explore.EndsIn(goal)
	if l.Goal != nil && l.Goal.Kind == goal {
		reached = l.Goal.Reached
	}
	explore.Fates(t, w, choices, tries, reached, func(_, reaching int) {
		list = append(list, reaching*100/tries)
		progress(list)
	})
	return list, nil
}

// A Progress is the state of a search.
type Progress struct {
	Schedules int     `json:"schedules"`
	PerSecond float64 `json:"per_second"`
}

// A SearchResult is what a search has found.
type SearchResult struct {
	Schedules int  `json:"schedules"`
	Complete  bool `json:"complete"` // all schedules within the bounds were played
	// Trace shows the violation that was found, in a short schedule; null: none was found.
	Trace *player.Trace `json:"trace"`
	// Known has a trace of each thing that the lock is known to do wrong, by its English name.
	Known map[string]*player.Trace `json:"known,omitempty"`
}

// Find searches a world until the limit: first without faults, then with one, and so on, so that what it finds is
// short. If the schedules are too many to play all of them, it draws some for the rest of the time.
func Find(t *testing.T, w player.World, limit time.Duration, progress func(any)) (*SearchResult, error) {
	hasGoal := len(w.Lock.Ignore) > 0 // Answer has it ignore all other violations
	if _, err := completeWorld(&w); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	began, reported := time.Now(), time.Now()
	found := &SearchResult{Known: make(map[string]*player.Trace)}
	const reportEvery = 200 * time.Millisecond
	// search adds what one search finds to found.
	search := func(s explore.Search) *explore.Report {
		s.Progress = func(r *explore.Report) {
			if now := time.Now(); now.Sub(reported) > reportEvery {
				reported = now
				n := found.Schedules + r.Schedules
				progress(Progress{n, float64(n) / now.Sub(began).Seconds()})
			}
		}
		r := explore.Explore(t, w, s)
		found.Schedules += r.Schedules
		found.Trace = r.Found
		for name, tr := range r.Known {
			if found.Known[name] == nil {
				found.Known[name] = tr
			}
		}
		return r
	}

	mostFaults, complete := w.Faults, true
	if hasGoal && mostFaults > 0 {
		// Schedules that are drawn come to a goal with a fault sooner than those that are gone through in order.
		search(explore.Search{For: limit / 3, Seed: 1})
	}
	for w.Faults = 0; found.Trace == nil && w.Faults <= mostFaults; w.Faults++ {
		// Each number of faults has half of the time that is left, so that the next one has some.
		left := limit - time.Since(began)
		complete = search(explore.Search{For: max(left/2, time.Millisecond)}).Complete && complete
	}
	w.Faults = mostFaults
	if left := limit - time.Since(began); found.Trace == nil && !complete && left > 0 {
		search(explore.Search{For: left, Seed: 1})
	}
	found.Complete = complete && found.Trace == nil
	return found, nil
}

// Replay plays a trace again and returns its film.
func Replay(t *testing.T, tr *player.Trace) (*film.Film, error) {
	if _, err := completeWorld(&tr.World); err != nil {
		return nil, err
	}
	return film.Of(t, tr)
}

// A Cost is what a run costs in which each contender locks once.
type Cost struct {
	Contenders int         `json:"contenders"`
	Requests   int         `json:"requests"`
	Events     int         `json:"events"`
	Broken     player.Kind `json:"broken,omitempty"` // the violation, if there is one: then the figures mean little
}

// CostOf plays a scene without its changes, and counts. The page compares it with a formula, which is without faults.
func CostOf(t *testing.T, s locks.Scene) (*Cost, error) {
	s.Changes = nil
	f, err := Run(t, s)
	if err != nil {
		return nil, err
	}
	c := &Cost{Contenders: s.Contenders, Requests: f.Counters.Requests, Events: f.Counters.Events}
	if f.Violation != nil {
		c.Broken = f.Violation.Kind
	}
	return c, nil
}

// A Curve has the most requests and events that a lock's formulas allow for 1 contender, for 2, and so on.
type Curve struct {
	Lock     string `json:"lock"`
	Requests []int  `json:"requests"`
	Events   []int  `json:"events"`
}

// Curves returns the curves of the locks that have formulas.
func Curves() (list []Curve) {
	for _, l := range locks.All() {
		subject := l.Subject(locks.Session)
		if l.Requests == "" || subject.Requests == nil || subject.Events == nil {
			continue
		}
		c := Curve{Lock: l.Name}
		for n := 1; n <= 100; n++ { // a film has no more contenders
			c.Requests, c.Events = append(c.Requests, subject.Requests(n)), append(c.Events, subject.Events(n))
		}
		list = append(list, c)
	}
	return list
}
