package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// An Entry is one line of a schedule's log.
type Entry struct {
	// Point is the number of the action that caused it, from 1; 0 is the start.
	Point int `json:"point"`
	// At is virtual time since the start. Time passes only while the lock, the
	// client library or a session timeout waits for it.
	At time.Duration `json:"at_ns"`
	// The name of the client or the contender.
	Who string `json:"who"`
	// Kind is "sends", "carried out", "reply", "event", "lost" or "note".
	// A reply and an event arrive at the client.
	Kind  string   `json:"kind"`
	Op    string   `json:"op,omitempty"`
	Path  string   `json:"path,omitempty"`
	Watch bool     `json:"watch,omitempty"`
	Made  string   `json:"made,omitempty"`  // by a create: the node
	Names []string `json:"names,omitempty"` // children, sorted
	Err   string   `json:"error,omitempty"`
	Text  string   `json:"text,omitempty"` // of a note
}

func (e Entry) hash() uint64 {
	return mix(fmt.Sprint(e.Kind, e.Op, e.Path, e.Made, e.Names, e.Err))
}

func (e Entry) equal(f Entry) bool {
	return e.Point == f.Point && e.At == f.At && e.Who == f.Who && e.Kind == f.Kind && e.Op == f.Op && e.Path == f.Path &&
		e.Watch == f.Watch && e.Made == f.Made && e.Err == f.Err && e.Text == f.Text && slices.Equal(e.Names, f.Names)
}

// String is one line for people to read.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8.3fs %s ", e.At.Seconds(), e.Who)
	switch e.Kind {
	case "note":
		b.WriteString(e.Text)
		return b.String()
	case "reply":
		b.WriteString("<- ")
	case "event":
		b.WriteString("<- event ")
	case "sends":
		b.WriteString("-> ")
	case "carried out":
		b.WriteString("   at the server: ")
	case "lost":
		fmt.Fprintf(&b, "-- %s: ", e.Text)
	}
	b.WriteString(e.Op + " " + e.Path)
	if e.Watch {
		b.WriteString(" (watch)")
	}
	switch {
	case e.Err != "":
		b.WriteString(": " + e.Err)
	case e.Made != "":
		b.WriteString(": " + e.Made)
	case len(e.Names) > 0:
		fmt.Fprintf(&b, ": %v", e.Names)
	}
	return b.String()
}

// A Point is a moment of a schedule at which one action was chosen.
type Point struct {
	Enabled []string // the actions that were possible
	Chosen  int

	faults []Fault
	foot   footprint
	state  uint64
	log    []Entry           // up to here
	gaps   map[string]string // by the name of a gap, the contender that is kept there
	// Two schedules that come to one situation go on alike.
	situation func() uint64
}

// kept returns the contender that is kept in a gap; "" if nobody is, or if it is
// a goroutine that no contender waits for.
func (p *Point) kept(gap string) string { return p.gaps[strings.TrimPrefix(gap, "gap ")] }

func (p *Point) choice() string { return p.Enabled[p.Chosen] }

// A Run is one schedule that was played.
type Run struct {
	Points    []*Point
	Log       []Entry
	Violation *Violation
	Known     []string // names of the Known that came up
	Facts     Facts
	Requests  int      // that the contenders have sent
	Events    int      // watch events that have arrived
	Results   []string // what became of each contender
	Aborted   bool     // by the search

	over      bool // by something known
	left      bool // to a part
	unordered bool // the action causes events in no particular order
	hashing   bool
	final     uint64
}

// A Trace is a schedule as data: what a search has found, or what to play.
type Trace struct {
	World World `json:"world"`
	// Choices are the actions chosen where more than one was possible, from
	// the first on. After the last of them the explorer goes on by itself: it
	// takes the first action that is not a fault, in the order of the clients'
	// names, the client that acted last before all others.
	Choices []string `json:"choices"`
	// Widths are how many actions were possible at each of the choices. A
	// replay at which there are more or fewer is an error.
	Widths    []int      `json:"widths"`
	Violation *Violation `json:"violation,omitempty"`
	Known     []string   `json:"known,omitempty"`
	Results   []string   `json:"results"`
	Log       []Entry    `json:"log"`

	needed int      // choices after which the explorer would have gone on as it did
	acts   []string // all actions, of which the choices are those that had an alternative
	chosen []bool   // which of them had one
}

// String shows a trace to people.
func (tr *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d contenders", tr.World.Name, tr.World.contenders())
	if tr.Violation != nil {
		fmt.Fprintf(&b, ": %s", tr.Violation)
	}
	fmt.Fprintf(&b, "\nchoices (%d):\n%slog:\n", len(tr.Choices), tr.Steps())
	for _, e := range tr.Log {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	fmt.Fprintf(&b, "at the end:\n")
	for _, r := range tr.Results {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}

// Steps are the actions of the schedule, a line each, with what they have caused.
// Those with a number are the choices; of the others, there was no choice, or the
// explorer has gone on by itself.
func (tr *Trace) Steps() string {
	var b strings.Builder
	if len(tr.acts) == 0 { // the trace was read, and not played
		for i, c := range tr.Choices {
			fmt.Fprintf(&b, "  %2d. %s\n", i+1, c)
		}
		return b.String()
	}
	n := 0
	for i, act := range tr.acts {
		number := "   "
		if tr.chosen[i] && n < len(tr.Choices) {
			n++
			number = fmt.Sprintf("%2d.", n)
		}
		const indent = 22
		line := fmt.Sprintf("  %s %-15s ", number, act)
		who, _, _ := strings.Cut(act, ": ")
		for j, what := range tr.caused(i+1, who) {
			if j > 0 && len(line)+len(what) > 110 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", indent)
			} else if j > 0 {
				line += "; "
			}
			line += what
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Whole are all choices of the schedule, with those that the explorer has made by
// itself at its end: for a player that stops after the last one.
func (tr *Trace) Whole() (choices []string) {
	for i, act := range tr.acts {
		if tr.chosen[i] {
			choices = append(choices, act)
		}
	}
	return choices
}

// caused says what an action has caused: what the server has carried out, with its
// answer, which events have arrived, and what has become of the contenders.
func (tr *Trace) caused(point int, who string) (list []string) {
	for i, e := range tr.Log {
		if e.Point != point {
			continue
		}
		name := brief(e.Path)
		switch e.Kind {
		case "carried out":
			what := e.Op + " " + name
			if e.Watch {
				what += " and watch"
			}
			answered := slices.IndexFunc(tr.Log[i:], func(r Entry) bool {
				return r.Point == point && r.Kind == "reply" && r.Who == e.Who && r.Op == e.Op && r.Path == e.Path
			})
			if answered >= 0 {
				switch r := tr.Log[i+answered]; {
				case r.Err != "":
					what += ": " + r.Err
				case r.Made != "":
					what = e.Op + ": " + brief(r.Made)
				case len(r.Names) > 0:
					what += ":"
					for _, child := range r.Names {
						what += " " + brief(child)
					}
				}
			}
			if e.Who != who {
				what = e.Who + " " + what
			}
			list = append(list, what)
		case "event":
			list = append(list, fmt.Sprintf("%s gets the event %s of %s", e.Who, e.Op, name))
		case "lost":
			list = append(list, fmt.Sprintf("%s %s: %s", e.Op, name, e.Text))
		case "note":
			if e.Text == string(Day) || tr.Violation != nil && e.Text == tr.Violation.String() {
				continue // it is the action, or what the schedule is about
			}
			list = append(list, strings.TrimSpace(e.Who+" "+e.Text))
		}
	}
	return list
}

// brief is the last part of a path, without the middle of a random name.
func brief(p string) string {
	name := path.Base(p)
	if n := len(name); n > 26 {
		name = name[:8] + "…" + name[n-10:]
	}
	return name
}

// WriteFile writes a trace as JSON.
func (tr *Trace) WriteFile(name string) error {
	b, err := json.MarshalIndent(tr, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// ReadTrace reads what WriteFile has written. The lock of its world is to be
// set by the caller.
func ReadTrace(name string) (*Trace, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	tr := new(Trace)
	if err := json.Unmarshal(b, tr); err != nil {
		return nil, fmt.Errorf("%s is not a trace: %w", name, err)
	}
	if err := tr.check(); err != nil {
		return nil, fmt.Errorf("%s is not a trace: %w", name, err)
	}
	return tr, nil
}

// check says what in a trace no search can have written.
func (tr *Trace) check() error {
	w := tr.World
	switch {
	case w.Name == "":
		return errors.New("it names no lock")
	case w.Contenders < 0 || w.Contenders > MaxContenders:
		return fmt.Errorf("it has %d contenders, and there are 1 to %d", w.Contenders, MaxContenders)
	case w.Faults < 0 || w.Each < 0:
		return errors.New("its number of faults is negative")
	case len(tr.Widths) != len(tr.Choices):
		return fmt.Errorf("it has %d choices, and %d widths", len(tr.Choices), len(tr.Widths))
	}
	for _, f := range w.Kinds {
		if !slices.Contains(append([]Fault{Pause, Day, Remake, Refuse}, AllFaults...), f) {
			return fmt.Errorf("it has a fault of an unknown kind, %q", f)
		}
	}
	for _, op := range slices.Concat(w.Scripts...) {
		if op != LockOp && op != TryLockOp && op != UnlockOp {
			return fmt.Errorf("it has an unknown call in a script, %q", op)
		}
	}
	return nil
}
