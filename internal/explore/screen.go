package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A Possible is an action from which a person can choose.
type Possible struct {
	Choice string `json:"choice"` // as in Trace.Choices
	Who    string `json:"who"`
	What   string `json:"what"`
	Fault  bool   `json:"fault"`
	Of     string `json:"of,omitempty"` // the contender that is kept in a gap
}

// PlayFilm plays the schedule that the choices say, as Play does, and returns
// it as a film, too. Virtual time stands still in such a schedule, so in the
// film each action lasts equally long; a packet that has not been delivered is
// pending. Over: nothing is left to choose.
func PlayFilm(t *testing.T, w World, choices []string) (f *Film, tr *Trace, possible []Possible, err error) {
	t.Helper()
	n := 0
	f, tr = screen(t, w, func(p *Point) int {
		if len(p.Enabled) == 1 {
			return 0
		}
		if n == len(choices) {
			for i, name := range p.Enabled {
				who, what, _ := strings.Cut(name, ": ")
				possible = append(possible, Possible{name, who, what, p.faults[i] != "", p.kept(who)})
			}
			return -1
		}
		i := slices.Index(p.Enabled, choices[n])
		if i < 0 {
			err = fmt.Errorf("choice %d is %q, but these are possible: %q", n+1, choices[n], p.Enabled)
		}
		n++
		return i
	})
	if err == nil && n < len(choices) {
		err = fmt.Errorf("the schedule ends after %d of %d choices", n, len(choices))
	}
	if err == nil && f == nil {
		err = fmt.Errorf("the schedule does not end: %v", tr.Violation)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return f, tr, possible, nil
}

// screen plays a schedule and films it.
func screen(t *testing.T, config World, choose func(p *Point) int) (f *Film, tr *Trace) {
	defer oneCore()()
	n, points := 0, []int{} // of the points so far, those with a choice
	r := inBubble(t, config, func(w *world) {
		w.mu.Lock()
		w.film = newRecorder(w)
		w.film.slots = true
		w.film.begin()
		for _, k := range w.players {
			w.film.state(k, "")
		}
		w.mu.Unlock()
		w.play(func(p *Point) int {
			i := choose(p)
			if i >= 0 && i < len(p.Enabled) {
				if len(p.Enabled) > 1 {
					w.film.film.Choices = append(w.film.film.Choices, FilmChoice{At: w.film.now(), Choice: p.Enabled[i]})
					points = append(points, n)
				}
				n++
			}
			return i
		}, nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		f = w.film.finish(w.film.now() + slot)
		w.film = nil
	})
	for i := range f.choices() {
		c := &f.Choices[i]
		who, what, _ := strings.Cut(c.Choice, ": ")
		for _, e := range r.Log {
			if e.Point == points[i]+1 && e.Kind == "carried out" && e.Who == who && what == "request" {
				c.Op, c.Path = e.Op, e.Path
				break
			}
		}
	}
	return f, traceOf(config, r)
}

// FilmOf replays a trace and returns its film. It fails where Replay does, or
// if the log is not that of the trace.
func FilmOf(t *testing.T, tr *Trace) (f *Film, err error) {
	t.Helper()
	for range tries {
		n := 0
		var again *Trace
		err = nil
		f, again = screen(t, tr.World, tr.chooser(&n, &err))
		switch {
		case err != nil:
		case n < len(tr.Choices):
			err = fmt.Errorf("the schedule ends after %d of %d choices", n, len(tr.Choices))
		case f == nil:
			err = fmt.Errorf("the schedule does not end: %v", again.Violation)
		case len(tr.Log) > 0 && !reflect.DeepEqual(again.Log, tr.Log):
			err = fmt.Errorf("the trace does not repeat: %s", differs(tr.Log, again.Log))
		default:
			return f, nil
		}
	}
	return nil, err
}

// differs says where two logs do.
func differs(was, is []Entry) string {
	for i := range was {
		if i >= len(is) {
			return fmt.Sprintf("line %d was %q, and now there is none", i+1, was[i])
		}
		if !reflect.DeepEqual(was[i], is[i]) {
			return fmt.Sprintf("line %d was %q and is %q", i+1, was[i], is[i])
		}
	}
	return fmt.Sprintf("there are %d lines, and were %d", len(is), len(was))
}
