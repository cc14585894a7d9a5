package player

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// A Trace is a schedule as data: what a search has found, or what to play.
type Trace struct {
	World World `json:"world"`
	// Choices are the actions chosen where more than one was possible. After the last of them the explorer takes the
	// first action that is not a fault, in the order of the clients' names, the client that acted last before all others.
	Choices []string `json:"choices"`
	// Widths are how many actions were possible at each of the choices. Another number in a replay is an error.
	Widths    []int       `json:"widths"`
	Violation *Violation  `json:"violation,omitempty"`
	Known     []i18n.Text `json:"known,omitempty"` // names
	Results   []i18n.Text `json:"results"`
	Log       []Entry     `json:"log"`

	whole    []string // all choices
	needed   int      // how many of them a replay needs; after them the explorer would choose the same by itself
	actions  []string // all actions of the run, with those that had no alternative; none if the trace was read from a file
	isChoice []bool   // which of the actions had one
}

// TraceOf makes a trace of a run, with all its choices.
func TraceOf(w World, r *Run) *Trace {
	w.Name = w.Lock.Name
	tr := &Trace{World: w, Choices: []string{}, Widths: []int{}, Violation: r.Violation, Known: r.Known, Results: r.Results, Log: r.Log}
	for _, p := range r.Points {
		isChoice := len(p.Enabled) > 1
		tr.actions, tr.isChoice = append(tr.actions, p.choice()), append(tr.isChoice, isChoice)
		if !isChoice {
			continue
		}
		tr.Choices, tr.whole = append(tr.Choices, p.choice()), append(tr.whole, p.choice())
		tr.Widths = append(tr.Widths, len(p.Enabled))
		if p.Chosen != 0 {
			tr.needed = len(tr.Choices)
		}
	}
	return tr
}

// Cut leaves out the choices at the end that the explorer would make by itself.
func (tr *Trace) Cut() { tr.Choices, tr.Widths = tr.Choices[:tr.needed], tr.Widths[:tr.needed] }

// Whole are all choices of the schedule, also those that Cut has left out.
func (tr *Trace) Whole() (choices []string) { return tr.whole }

// String returns a trace as text for people.
func (tr *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d contenders", tr.World.Name, tr.World.Number())
	if tr.Violation != nil {
		fmt.Fprintf(&b, ": %s", tr.Violation)
	}
	fmt.Fprintf(&b, "\nchoices (%d):\n%slog:\n", len(tr.Choices), tr.Steps().String())
	for _, e := range tr.Log {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	fmt.Fprintf(&b, "at the end:\n")
	for _, r := range tr.Results {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}

// Steps are the actions of the schedule with their effects, a line each. Those that were chosen have a number.
func (tr *Trace) Steps() i18n.Text {
	return i18n.Both(tr.steps(i18n.English, "; "), tr.steps(i18n.Chinese, "；"))
}

// steps is Steps in one language, with the text between two effects.
func (tr *Trace) steps(l i18n.Language, between string) string {
	var b strings.Builder
	if wasRead := len(tr.actions) == 0; wasRead {
		for i, c := range tr.Choices {
			fmt.Fprintf(&b, "  %2d. %s\n", i+1, c)
		}
		return b.String()
	}

	const indent, width = 22, 110 // the columns before the effects of an action, and of a line
	choices := 0                  // so far
	for i, action := range tr.actions {
		number := "   "
		if tr.isChoice[i] && choices < len(tr.Choices) {
			choices++
			number = fmt.Sprintf("%2d.", choices)
		}
		line := fmt.Sprintf("  %s %-15s ", number, action)
		who, _, _ := strings.Cut(action, ": ")
		for j, text := range tr.effects(i+1, who) {
			what := text.In(l)
			if j > 0 && i18n.Wide(line)+i18n.Wide(what) > width {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", indent)
			} else if j > 0 {
				line += between
			}
			line += what
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// effects returns what an action has caused: requests that were carried out, with their answers, events, and notes.
func (tr *Trace) effects(point int, who string) (list []i18n.Text) {
	for i, e := range tr.Log {
		if e.Point != point {
			continue
		}
		name := briefName(e.Path)
		switch e.Kind {
		case "carried out":
			what := e.requestText(tr.Log[i:])
			if by := cmp.Or(e.For, e.Who); by != who {
				what = i18n.Textf("%s %s", by, what)
			}
			list = append(list, what)
		case "event":
			list = append(list, i18n.Textf("%s gets the event %s of %s", e.Who, e.Op, name))
		case "lost":
			list = append(list, i18n.Textf("%s %s: %s", e.Op, name, e.Text))
		case "note":
			isAction := e.Text.String() == string(Day)
			isViolation := tr.Violation != nil && e.Text.String() == tr.Violation.String()
			switch {
			case isAction || isViolation: // it is shown elsewhere
			case e.Who == "":
				list = append(list, e.Text)
			default:
				list = append(list, i18n.Textf("%s %s", e.Who, e.Text))
			}
		}
	}
	return list
}

// requestText says what a request asks for, and what its reply in the log has.
func (e Entry) requestText(log []Entry) i18n.Text {
	text := i18n.Same(e.Op + " " + briefName(e.Path))
	if e.Watch {
		text = i18n.Textf("%s and watch", text)
	}
	answered := slices.IndexFunc(log, func(r Entry) bool {
		return r.Point == e.Point && r.Kind == "reply" && r.Who == e.Who && r.Op == e.Op && r.Path == e.Path
	})
	if answered < 0 {
		return text
	}
	switch r := log[answered]; {
	case r.Err != "":
		text = i18n.Textf("%s: %s", text, i18n.Both(r.Err, cmp.Or(errorsZh[r.Err], r.Err)))
	case r.Made != "":
		text = i18n.Same(e.Op + ": " + briefName(r.Made))
	case len(r.Names) > 0:
		var children []string
		for _, child := range r.Names {
			children = append(children, briefName(child))
		}
		text = i18n.Textf("%s: %s", text, strings.Join(children, " "))
	}
	return text
}

var errorsZh = map[string]string{Code(jute.ErrNoNode): "节点不存在", Code(jute.ErrNodeExists): "节点已存在"}

// briefName is the last part of a path, without the middle of a random name.
func briefName(p string) string {
	name := path.Base(p)
	const plain, prefix, digits = 26, 8, 10 // the longest name without a random part; what is shown of one with it
	if n := len(name); n > plain {
		name = name[:prefix] + "…" + name[n-digits:]
	}
	return name
}

// Knows reports whether a violation that the lock is known for is of a kind.
func (tr *Trace) Knows(kind Kind) bool { return slices.Contains(tr.Known, kind.Text()) }

// WriteFile writes a trace as JSON.
func (tr *Trace) WriteFile(name string) error {
	b, err := json.MarshalIndent(tr, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// ReadTrace reads the file of WriteFile. The caller must set the lock of its world.
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

// check returns an error if no search can have written the trace.
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
		if !slices.Contains(KnownFaults, f) {
			return fmt.Errorf("it has a fault of an unknown kind, %q", f)
		}
	}
	for _, op := range slices.Concat(w.Scripts...) {
		if op != LockOp && op != TryLockOp && op != UnlockOp && op != RelockOp {
			return fmt.Errorf("it has an unknown call in a script, %q", op)
		}
	}
	return nil
}
