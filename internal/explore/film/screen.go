package film

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// A Possible is an action from which a person can choose.
type Possible struct {
	Choice string `json:"choice"` // as in Trace.Choices
	Who    string `json:"who"`
	What   string `json:"what"`
	Fault  bool   `json:"fault"`
	Of     string `json:"of,omitempty"` // the contender that is kept in a gap
}

// Play plays the schedule of the choices, as explore.Play does, and returns
// it as a film, too. Virtual time stops in such a schedule, so in the
// film each action lasts equally long; a packet that has not been delivered is
// pending. Over: nothing is left to choose.
func Play(t *testing.T, w player.World, choices []string) (f *Film, tr *player.Trace, possible []Possible, err error) {
	t.Helper()
	n := 0
	f, tr = screen(t, w, func(p *player.Point) int {
		if len(p.Enabled) == 1 {
			return 0
		}
		if n == len(choices) {
			for i, name := range p.Enabled {
				who, what, _ := strings.Cut(name, ": ")
				possible = append(possible, Possible{name, who, what, p.Faults[i] != "", p.Kept(who)})
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
func screen(t *testing.T, config player.World, choose func(p *player.Point) int) (f *Film, tr *player.Trace) {
	defer player.Alone()()
	n, points := 0, []int{} // of the points so far, those with a choice
	r := player.InBubble(t, config, func(w *player.Player) {
		r := newRecorder(w)
		r.slots = true
		w.Do(r.begin)
		w.Play(func(p *player.Point) int {
			i := choose(p)
			if i >= 0 && i < len(p.Enabled) {
				if len(p.Enabled) > 1 {
					r.film.Choices = append(r.film.Choices, Choice{At: r.now(), Choice: p.Enabled[i]})
					points = append(points, n)
				}
				n++
			}
			return i
		}, nil)
		w.Do(func() { f = r.finish(r.now() + slot) })
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
	return f, player.TraceOf(config, r)
}

// Of replays a trace and returns its film. It fails where Replay does, or
// if the log is not that of the trace.
func Of(t *testing.T, tr *player.Trace) (f *Film, err error) {
	t.Helper()
	for range player.Tries {
		var again *player.Trace
		err = tr.Follow(func(choose func(p *player.Point) int) { f, again = screen(t, tr.World, choose) })
		switch {
		case err != nil:
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

// differs returns the first difference of two logs.
func differs(was, is []player.Entry) string {
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
