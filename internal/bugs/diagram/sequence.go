// Package diagram draws what passes between clients and their server as a sequence: that of a trace of the
// explorer, of a run with another server, or of a page's text. A page has a sequence in mermaid's notation, and
// the book draws it as SVG, with the instants of a film.
package diagram

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

// A Sequence is a sequence diagram: a lane for each client and the server, and the steps from top to bottom.
type Sequence struct {
	Lanes []string    // as the steps name them
	Heads []i18n.Text // the names that are drawn above the lanes
	Steps []Step
}

// A Step is an arrow, a note over some lanes, or a part of a frame around other steps.
type Step struct {
	Kind     string // "->>", "-->>", "-)" or "--x" for an arrow, "note", or "loop", "alt", "else" and "end" for a frame
	From, To string // lanes, of a note the first and the last; the server's is S
	Text     i18n.Text
	Packet   Packet        // of an arrow, if the sequence is that of a trace
	At       time.Duration // if Timed: the instant in the film that plays below the diagram
	Timed    bool
}

// A Packet names the N-th packet, from 1, of its Kind, "request", "reply" or "event", that arrived on a client's line.
type Packet struct {
	Client, Kind string
	N            int
}

// Request is the step of a request with its answer.
func Request(client string, text i18n.Text) Step {
	return Step{Kind: "->>", From: client, To: "S", Text: text}
}

// Note is the step of a note over some lanes.
func Note(text i18n.Text, over ...string) Step {
	return Step{Kind: "note", From: over[0], To: over[len(over)-1], Text: text}
}

// like reports whether two steps look the same. They may be about different packets.
func (s Step) like(other Step) bool {
	return s.Kind == other.Kind && s.From == other.From && s.To == other.To && s.Text == other.Text
}

func (s *Sequence) addLane(name string, head i18n.Text) {
	if !slices.Contains(s.Lanes, name) {
		s.Lanes, s.Heads = append(s.Lanes, name), append(s.Heads, head)
	}
}

// ends returns the numbers of a step's outer lanes; both are -1 for a part of a frame.
func (s *Sequence) ends(step Step) (left, right int) {
	from, to := slices.Index(s.Lanes, step.From), slices.Index(s.Lanes, step.To)
	return min(from, to), max(from, to)
}

// New makes a sequence, with lanes for the server and the clients in its steps. "client" is one that goroutines share.
func New(clients []string, server i18n.Text, steps []Step) *Sequence {
	s := &Sequence{Steps: steps}
	for i, name := range clients {
		head := i18n.Textf("client %s", name)
		switch {
		case name == "client":
			head = "their client"
		case slices.Contains(clients, "client"):
			head = i18n.Same("goroutine " + name)
		}
		if slices.ContainsFunc(steps, func(s Step) bool { return s.From == name || s.To == name }) {
			s.addLane(name, head)
		}
		if i == 0 {
			s.addLane("S", server)
		}
	}
	return s
}

// Mermaid returns a sequence without frames in mermaid's notation. Its error names the line that mermaid would misread.
func (s *Sequence) Mermaid(lang i18n.Language) (string, error) {
	lines := []string{"sequenceDiagram"}
	for i, name := range s.Lanes {
		lines = append(lines, "participant "+name+" as "+s.Heads[i].In(lang))
	}
	for _, step := range s.Steps {
		place := step.From + step.Kind + step.To
		if step.Kind == "note" {
			place = "Note over " + strings.Join(slices.Compact([]string{step.From, step.To}), ",")
		}
		line := place + ": " + step.Text.In(lang)
		if noMermaid.MatchString(line) {
			return "", fmt.Errorf("mermaid cannot take the line %q", line)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n    ") + "\n", nil
}

// noMermaid matches what mermaid misreads: a semicolon is a new line, # begins an entity, the word end closes a block.
var noMermaid = regexp.MustCompile(`[;#{}<]|\bend\b|%%`)

// Arrow reports whether a step is an arrow, and not a note or a frame.
func (s Step) Arrow() bool { return strings.HasPrefix(s.Kind, "-") }

var (
	participant = regexp.MustCompile(`^participant (\S+)(?: as (.+))?$`)
	arrow       = regexp.MustCompile(`^(\w+?)(-->>|->>|--x|-\))(\w+): (.*)$`)
	noteOver    = regexp.MustCompile(`^Note over (\w+)(?:,(\w+))?: (.*)$`)
	frame       = regexp.MustCompile(`^(loop|alt|else|end)\b\s*(.*)$`)
)

// Parse reads a sequence diagram in mermaid's notation, as far as the pages use it.
func Parse(mermaid string) (*Sequence, error) {
	s := new(Sequence)
	addStep := func(kind, from, to, text string) {
		for _, name := range []string{from, to} {
			if name != "" {
				s.addLane(name, i18n.Same(name))
			}
		}
		s.Steps = append(s.Steps, Step{Kind: kind, From: from, To: to, Text: i18n.Same(text)})
	}
	for line := range strings.Lines(mermaid) {
		line = strings.TrimSpace(line)
		if m := participant.FindStringSubmatch(line); m != nil {
			s.addLane(m[1], i18n.Same(cmp.Or(m[2], m[1])))
		} else if m := arrow.FindStringSubmatch(line); m != nil && m[1] != m[3] {
			addStep(m[2], m[1], m[3], m[4])
		} else if m := noteOver.FindStringSubmatch(line); m != nil {
			addStep("note", m[1], cmp.Or(m[2], m[1]), m[3])
		} else if m := frame.FindStringSubmatch(line); m != nil {
			addStep(m[1], "", "", m[2])
		} else if line != "" && line != "sequenceDiagram" {
			return nil, fmt.Errorf("no sequence diagram has the line %q", line)
		}
	}
	if len(s.Lanes) == 0 {
		return nil, fmt.Errorf("a sequence diagram without lanes")
	}
	return s, nil
}
