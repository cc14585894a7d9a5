package film

import (
	"slices"
	"strings"
	"testing"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// A Possible is an action from which a person can choose.
type Possible struct {
	Choice string `json:"choice"` // as in Trace.Choices
	Who    string `json:"who"`
	What   string `json:"what"`
	Fault  bool   `json:"fault"`
	Of     string `json:"of,omitempty"` // the contender that is kept in a gap
}

// Play plays the schedule of the choices, as explore.Play does, and returns its film, too. Virtual time stops in such a
// schedule, so in the film each action lasts equally long. possible is what can be chosen next; empty: it is over.
func Play(t *testing.T, w player.World, choices []string) (f *Film, tr *player.Trace, possible []Possible, err error) {
	t.Helper()
	atEnd := func(p *player.Point) int {
		for i, choice := range p.Enabled {
			who, what, _ := strings.Cut(choice, ": ")
			possible = append(possible, Possible{Choice: choice, Who: who, What: what, Fault: p.Faults[i] != "", Of: p.Kept(who)})
		}
		return -1 // nothing is chosen: the schedule ends here
	}
	err = player.Follow(choices, nil, atEnd, func(choose player.Chooser) { f, tr = playFilmed(t, w, choose) })
	if err == nil && f == nil {
		err = doesNotEnd(tr)
	}
	return f, tr, possible, err
}

// playFilmed plays a schedule and films it. The film is nil if the schedule does not end.
func playFilmed(t *testing.T, config player.World, choose player.Chooser) (f *Film, tr *player.Trace) {
	defer player.Alone()() // plays share the number of cores: another one waits until this one has returned
	actions := 0           // all so far, also those that were the only possible one: Entry.Point counts them
	var actionOf []int     // by the index of a choice in the film, the number of its action
	run := player.InBubble(t, config, nil, func(w *player.Player) {
		r := newRecorder(w)
		r.slot = slot // virtual time stops: each action lasts as long
		w.Do(r.begin)
		w.Play(func(p *player.Point) int {
			i := choose(p)
			if i < 0 || i >= len(p.Enabled) {
				return i // the schedule ends here
			}
			actions++
			if len(p.Enabled) > 1 { // the film has no choice where only one action is possible
				r.film.Choices = append(r.film.Choices, Choice{At: r.now(), Choice: p.Enabled[i]})
				actionOf = append(actionOf, actions)
			}
			return i
		}, nil)
		w.Do(func() { f = r.finish(r.now() + slot) })
	})

	if f == nil {
		return nil, player.TraceOf(config, run)
	}
	// The choice of a request names only the client. The log has the operation and the path of that request.
	for i := range f.Choices {
		c := &f.Choices[i]
		client, isRequest := strings.CutSuffix(c.Choice, ": request")
		carriedOut := slices.IndexFunc(run.Log, func(e player.Entry) bool {
			return e.Point == actionOf[i] && e.Kind == "carried out" && e.Who == client
		})
		if isRequest && carriedOut >= 0 {
			c.Op, c.Path = run.Log[carriedOut].Op, run.Log[carriedOut].Path
		}
	}
	return f, player.TraceOf(config, run)
}

// Of replays a trace and returns its film. It fails if the trace cannot be followed, or if its log is another one.
func Of(t *testing.T, tr *player.Trace) (f *Film, err error) {
	t.Helper()
	for range player.Tries {
		var again *player.Trace
		err = tr.Follow(func(choose player.Chooser) { f, again = playFilmed(t, tr.World, choose) })
		switch {
		case err != nil:
		case f == nil:
			err = doesNotEnd(again)
		case len(tr.Log) > 0 && !slices.EqualFunc(again.Log, tr.Log, player.Entry.Equal):
			err = i18n.Errorf("the trace does not repeat: %s", firstDifference(tr.Log, again.Log))
		default:
			return f, nil
		}
	}
	return nil, err
}

func doesNotEnd(tr *player.Trace) error {
	return i18n.Errorf("the schedule does not end: %v", tr.Violation.Text())
}

// firstDifference says in which line two logs differ first.
func firstDifference(was, is []player.Entry) i18n.Text {
	for i := range was {
		if i >= len(is) {
			return i18n.Textf("line %d was %q, and now there is none", i+1, was[i])
		}
		if !was[i].Equal(is[i]) {
			return i18n.Textf("line %d was %q and is %q", i+1, was[i], is[i])
		}
	}
	return i18n.Textf("there are %d lines, and were %d", len(is), len(was))
}
