// Package lab answers the requests of the page to its worker. All of it runs in the
// page, compiled to WebAssembly; go test runs the same.
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

// A request of the page. Its other fields depend on Do.
type request struct {
	Do      string         `json:"do"`
	Scene   locks.Scene    `json:"scene"`
	World   player.World   `json:"world"`
	Choices []string       `json:"choices"`
	Kinds   []player.Fault `json:"kinds"`
	Faults  int            `json:"faults"`
	ForS    float64        `json:"for_s"`
	Goal    player.Kind    `json:"goal"` // the only violation that a search looks for; "": any
	Want    string         `json:"want"` // the same of a schedule, as an address names it
	Trace   *player.Trace  `json:"trace"`
	Parts   bool           `json:"parts"` // of a film that takes long: progress is its Parts
}

// Answer answers one request, which is JSON. Progress is called meanwhile
// where it takes long.
func Answer(t *testing.T, message []byte, progress func(any)) (any, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return nil, i18n.Errorf("this is not a request: %w", "引擎读不懂这个请求：%v", err)
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
			return nil, i18n.Errorf("there is no trace", "没有给出 trace")
		}
		return Replay(t, r.Trace)
	}
	return nil, i18n.Errorf("the engine has no request %q", "引擎不认识 %q", r.Do)
}

// Run plays a scene and returns its film.
func Run(t *testing.T, s locks.Scene) (*film.Film, error) {
	w, p, err := s.World()
	if err != nil {
		return nil, err
	}
	return film.Paced(t, w, p)
}

// Films are those that an address shows: of a schedule, or a run of each of its locks.
func Films(t *testing.T, a locks.Address) (films []*film.Film, err error) {
	if a.Mode == "schedule" {
		p, err := Play(t, a.World(), a.Choices)
		if err != nil {
			return nil, err
		}
		return []*film.Film{p.Film}, nil
	}
	for _, a.Scene.Lock = range a.Locks {
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

// runParts plays a scene and gives its film in parts. The last one is
// returned.
func runParts(t *testing.T, s locks.Scene, progress func(any)) (*Part, error) {
	w, p, err := s.World()
	if err != nil {
		return nil, err
	}
	var packets, marks int
	next := func(f *film.Film) *Part {
		more := *f
		more.Packets, more.Marks = f.Packets[packets:], f.Marks[marks:]
		packets, marks = len(f.Packets), len(f.Marks)
		return &Part{&more}
	}
	p.Part = func(f *film.Film) { progress(next(f)) }
	f, err := film.Paced(t, w, p)
	if err != nil {
		return nil, err
	}
	return next(f), nil
}

// completeWorld finds the lock that a world names, and bounds the world.
func completeWorld(w *player.World) error {
	l, err := locks.Find(w.Name)
	if err != nil {
		return err
	}
	ignored := w.Lock.Ignore // by the caller, for a goal
	*w = l.In(*w)
	w.Lock.Ignore = append(slices.Clone(w.Lock.Ignore), ignored...)
	if w.Contenders < 0 || w.Contenders > 6 {
		return i18n.Errorf("%d contenders are not possible here: from 1 to 6", "这里不能有 %d 个竞争者：应为 1 到 6", w.Contenders)
	}
	return nil
}

// A PlayedSchedule is a schedule as far as a person has chosen.
type PlayedSchedule struct {
	Film      *film.Film        `json:"film"`
	Enabled   []film.Possible   `json:"enabled"` // the actions to choose from
	Violation *player.Violation `json:"violation"`
	Known     []i18n.Text       `json:"known,omitempty"`
	Reached   bool              `json:"reached"` // the lock's goal
	Over      bool              `json:"over"`
	Trace     *player.Trace     `json:"trace"`
}

// Play plays what somebody has chosen so far.
func Play(t *testing.T, w player.World, choices []string) (*PlayedSchedule, error) {
	if err := completeWorld(&w); err != nil {
		return nil, err
	}
	f, tr, possible, err := film.Play(t, w, choices)
	if err != nil {
		return nil, err
	}
	if possible == nil {
		possible = []film.Possible{}
	}
	l, err := locks.Find(w.Name)
	return &PlayedSchedule{f, possible, tr.Violation, tr.Known, err == nil && l.Goal != nil && l.Goal.Reached(tr), len(possible) == 0, tr}, nil
}

// Fates says, for each beginning of a schedule, how many percent of random continuations
// end in a kind of violation: if it is that of the lock's goal, how many reach the goal.
// Progress is the list so far.
func Fates(t *testing.T, w player.World, choices []string, goal player.Kind, progress func(any)) ([]int, error) {
	if err := completeWorld(&w); err != nil {
		return nil, err
	}
	if goal == "" {
		return nil, i18n.Errorf("no kind of violation is named", "没有指明哪一种违规")
	}
	const tries = 12
	var list []int
	ends := explore.EndsIn(goal)
	if l, err := locks.Find(w.Name); err == nil && l.Goal != nil && l.Goal.Kind == goal {
		ends = l.Goal.Reached
	}
	explore.Fates(t, w, choices, tries, ends, func(_, n int) {
		list = append(list, n*100/tries)
		progress(list)
	})
	return list, nil
}

// A Progress is the state of a search.
type Progress struct {
	Schedules int     `json:"schedules"`
	PerSecond float64 `json:"per_second"`
}

// A SearchResult is the result of a search.
type SearchResult struct {
	Schedules int  `json:"schedules"`
	Complete  bool `json:"complete"` // all schedules within the bounds were played
	// Trace is the violation's, shrunk; null: none was found.
	Trace *player.Trace `json:"trace"`
	// Known are traces of what the lock is known to do wrong, by the English name of that.
	Known map[string]*player.Trace `json:"known,omitempty"`
}

// Find searches a world until the limit: first without faults, then with one, and
// so on, so that what it finds is short. If time is left where the schedules
// are too many, it goes on at random.
func Find(t *testing.T, w player.World, limit time.Duration, progress func(any)) (*SearchResult, error) {
	hasGoal := len(w.Lock.Ignore) > 0 // Answer has it ignore all other violations
	if err := completeWorld(&w); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	began, reported := time.Now(), time.Now()
	found := &SearchResult{Complete: true, Known: make(map[string]*player.Trace)}
	most := w.Faults
	search := func(s explore.Search) *explore.Report {
		s.Progress = func(r *explore.Report) {
			if now := time.Now(); now.Sub(reported) > 200*time.Millisecond {
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
	if hasGoal && most > 0 {
		// Schedules that are drawn come to a goal with a fault sooner than those
		// that are gone through in order.
		if r := search(explore.Search{For: limit / 3, Seed: 1}); r.Found != nil {
			found.Complete = false
			return found, nil
		}
	}
	for w.Faults = 0; w.Faults <= most; w.Faults++ {
		// Half of what is left, so that each number of faults gets its turn.
		left := limit - time.Since(began)
		r := search(explore.Search{For: max(left/2, time.Millisecond)})
		if r.Found != nil {
			found.Complete = false
			return found, nil
		}
		found.Complete = r.Complete && found.Complete
	}
	w.Faults = most
	if left := limit - time.Since(began); !found.Complete && left > 0 {
		search(explore.Search{For: left, Seed: 1})
	}
	return found, nil
}

// Replay plays a trace again and returns its film.
func Replay(t *testing.T, tr *player.Trace) (*film.Film, error) {
	if err := completeWorld(&tr.World); err != nil {
		return nil, err
	}
	return film.Of(t, tr)
}
