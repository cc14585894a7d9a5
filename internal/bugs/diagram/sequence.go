// Package diagram draws what passes between clients and their server as a sequence: that of a trace of the
// explorer, of a play with another server, or of a page's text. A page has a sequence in mermaid's notation, and
// the book draws it as SVG, with the instants of a film.
package diagram

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"example.com/zklock/internal/i18n"
)

// A Sequence is a sequence diagram: lanes, and below them what passes between them. A
// page that has the classes of cmd/book/page/book.css draws it.
type Sequence struct {
	Lanes []string    // as the diagram names them in its lines
	Heads []i18n.Text // the names that are drawn above them
	Steps []Step
}

// A Step is a line of a diagram.
type Step struct {
	Kind     string // "->>", "-->>", "-)" or "--x" for an arrow, "note", or "loop", "alt", "else" and "end" for a frame
	From, To string // lanes, of a note the first and the last; that of the server is S
	Text     i18n.Text
	Packet   Packet        // of an arrow that a trace has
	At       time.Duration // the instant in the film that plays below the diagram
	Timed    bool          // it has one
}

// A Packet is a packet that has arrived in a run: the N-th of its Kind, "request", "reply" or "event", from 1, on
// the line of a client. So a diagram and a film of the same run name the same packet.
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

// like reports whether two steps say the same, of whichever packets.
func (s Step) like(other Step) bool {
	return s.Kind == other.Kind && s.From == other.From && s.To == other.To && s.Text == other.Text
}

// lane adds a lane, unless it is there.
func (s *Sequence) lane(name string, head i18n.Text) {
	if !slices.Contains(s.Lanes, name) {
		s.Lanes, s.Heads = append(s.Lanes, name), append(s.Heads, head)
	}
}

// ends returns the numbers of a step's lanes, from left to right; a frame has none.
func (s *Sequence) ends(step Step) (left, right int) {
	from, to := slices.Index(s.Lanes, step.From), slices.Index(s.Lanes, step.To)
	return min(from, to), max(from, to)
}

// New makes a sequence of steps, with the lanes of the clients that take part in it. One
// of the name "client" is that of all contenders, and these are goroutines.
func New(clients []string, server i18n.Text, steps []Step) *Sequence {
	s := &Sequence{Steps: steps}
	for i, name := range clients {
		head := clientText(name)
		switch {
		case name == "client":
			head = i18n.Textf("their client", "共用的客户端")
		case slices.Contains(clients, "client"):
			head = i18n.Same("goroutine " + name)
		}
		if slices.ContainsFunc(steps, func(s Step) bool { return s.From == name || s.To == name }) {
			s.lane(name, head)
		}
		if i == 0 {
			s.lane("S", server)
		}
	}
	return s
}

// Mermaid returns a sequence without frames in mermaid's notation. The error says which line mermaid cannot take.
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

// noMermaid matches what mermaid takes for its own: a semicolon is a new line, # begins an entity, and the word
// end closes a block.
var noMermaid = regexp.MustCompile(`[;#{}<]|\bend\b|%%`)

// Arrow reports whether a step is an arrow, and not a note or a frame.
func (s Step) Arrow() bool { return strings.HasPrefix(s.Kind, "-") }

var (
	participant = regexp.MustCompile(`^participant (\S+)(?: as (.+))?$`)
	arrow       = regexp.MustCompile(`^(\w+?)(-->>|->>|--x|-\))(\w+): (.*)$`)
	noteOver    = regexp.MustCompile(`^Note over (\w+)(?:,(\w+))?: (.*)$`)
	frame       = regexp.MustCompile(`^(loop|alt|else|end)\b\s*(.*)$`)
	breakable   = regexp.MustCompile(`[\x{2e80}-\x{ffff}]|[^\s\x{2e80}-\x{ffff}]+|\s+`)
)

// Parse reads a sequence diagram in mermaid's notation, as far as the pages use it.
func Parse(mermaid string) (*Sequence, error) {
	s := new(Sequence)
	step := func(kind, from, to, text string) {
		for _, name := range []string{from, to} {
			if name != "" {
				s.lane(name, i18n.Same(name))
			}
		}
		s.Steps = append(s.Steps, Step{Kind: kind, From: from, To: to, Text: i18n.Same(text)})
	}
	for line := range strings.Lines(mermaid) {
		line = strings.TrimSpace(line)
		if m := participant.FindStringSubmatch(line); m != nil {
			s.lane(m[1], i18n.Same(cmp.Or(m[2], m[1])))
		} else if m := arrow.FindStringSubmatch(line); m != nil && m[1] != m[3] {
			step(m[2], m[1], m[3], m[4])
		} else if m := noteOver.FindStringSubmatch(line); m != nil {
			step("note", m[1], cmp.Or(m[2], m[1]), m[3])
		} else if m := frame.FindStringSubmatch(line); m != nil {
			step(m[1], "", "", m[2])
		} else if line != "" && line != "sequenceDiagram" {
			return nil, fmt.Errorf("no sequence diagram has the line %q", line)
		}
	}
	if len(s.Lanes) == 0 {
		return nil, fmt.Errorf("a sequence diagram without lanes")
	}
	return s, nil
}

// textWidth is the width of a text in pixels, about.
func textWidth(s string) (w float64) {
	for _, r := range s {
		if unicode.Is(unicode.Han, r) || r >= 0x2e80 {
			w += 13
		} else {
			w += 6.9
		}
	}
	return w
}

// wrapText breaks a text into lines that are about as wide as w at most.
func wrapText(s string, w float64) (all []string) {
	line := ""
	for _, word := range breakable.FindAllString(s, -1) {
		if line != "" && textWidth(line+word) > w && !strings.ContainsAny(word, "，。：；、） ") {
			all, line = append(all, strings.TrimSpace(line)), ""
		}
		line += word
	}
	return append(all, strings.TrimSpace(line))
}

const textLine = 16 // pixels from a line of a text to the next

type drawing struct {
	*Sequence
	lang  i18n.Language
	b     strings.Builder
	lines [][]string // of each step
	x     []float64  // of each lane, its middle
	width float64    // of the whole
	y     float64    // where the next step begins
	open  []float64  // the tops of the frames that are open
}

func (d *drawing) widest(step int) (w float64) { // of the lines of a step's text
	for _, l := range d.lines[step] {
		w = max(w, textWidth(l))
	}
	return w
}

func (d *drawing) texts(class string, x, y float64, lines []string) { // y is that of the first line
	for i, l := range lines {
		fmt.Fprintf(&d.b, `<text class="%s" x="%.0f" y="%.0f">%s</text>`, class, x, y+float64(i)*textLine, html.EscapeString(l))
	}
}

// place puts the lanes as far apart as their names and texts need.
func (d *drawing) place() {
	n := len(d.Heads)
	d.x = make([]float64, n)
	d.x[0] = textWidth(d.head(0))/2 + 16 // the head's box is 11 wider on each side, and 5 from the edge
	for i, s := range d.Steps {
		if _, right := d.ends(s); s.Kind == "note" && right == 0 {
			d.x[0] = max(d.x[0], d.widest(i)/2+14) // a note's box is 9 wider on each side
		}
	}
	for j := 1; j < n; j++ {
		heads := (textWidth(d.head(j-1)) + textWidth(d.head(j))) / 2
		need := d.x[j-1] + max(90, heads+36) // 14 are between two boxes
		for i, s := range d.Steps {
			from, to := d.ends(s)
			w := d.widest(i)
			switch {
			case s.Arrow() && to == j && from < to:
				need = max(need, d.x[from]+w+34)
			case s.Kind == "note" && from == to && to == j:
				need = max(need, d.x[j-1]+w/2+24)
			case s.Kind == "note" && from == to && to == j-1:
				need = max(need, d.x[j-1]+w/2+26)
			}
		}
		d.x[j] = need
	}
	d.width = d.x[n-1] + max(textWidth(d.head(n-1))/2+16, 20)
	for i, s := range d.Steps {
		from, to := d.ends(s)
		switch {
		case s.Kind == "note" && from == n-1:
			d.width = max(d.width, d.x[n-1]+d.widest(i)/2+14)
		case s.Kind == "note":
			d.width = max(d.width, d.widest(i)+22)
		case s.Arrow():
			d.width = max(d.width, (d.x[from]+d.x[to])/2+d.widest(i)/2+8)
		default:
			d.width = max(d.width, textWidth(s.Kind+s.Text.In(d.lang))+60)
		}
	}
}

func (d *drawing) arrow(s Step, lines []string) {
	d.y += float64(len(lines))*textLine + 4
	from, to := d.x[slices.Index(d.Lanes, s.From)], d.x[slices.Index(d.Lanes, s.To)]
	class, along := "ask", 7.0 // the head of the arrow lies along the line, to the right or the left
	switch {
	case s.Kind == "-)":
		class = "event"
	case strings.HasPrefix(s.Kind, "--"):
		class = "reply"
	}
	if to < from {
		along = -7
	}
	fmt.Fprintf(&d.b, `<path class="l %s" d="M%.0f %.0fH%.0f"/>`, class, from, d.y, to-along/2)
	d.texts("m", (from+to)/2, d.y-float64(len(lines))*textLine+7, lines)
	if strings.HasSuffix(s.Kind, "x") {
		fmt.Fprintf(&d.b, `<path class="l lost" d="M%.0f %.0fl8 8m0-8l-8 8"/>`, to-along-4, d.y-4)
	} else {
		fmt.Fprintf(&d.b, `<path class="a %s" d="M%.0f %.0fl%.0f-4v8z"/>`, class, to, d.y, -along*1.2)
	}
	d.y += 10
}

func (d *drawing) note(s Step, i int) {
	h := float64(len(d.lines[i])) * textLine
	first, last := d.ends(s)
	from, to := d.x[first], d.x[last]
	w := max(to-from+40, d.widest(i)+18)
	left := max(2, min((from+to-w)/2, d.width-w-2))
	d.y += 4
	fmt.Fprintf(&d.b, `<rect class="n" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, left, d.y, w, h+9)
	d.texts("m", left+w/2, d.y+textLine, d.lines[i])
	d.y += h + 15
}

func (d *drawing) frame(s Step) {
	switch s.Kind {
	case "loop", "alt":
		d.open = append(d.open, d.y+4)
		d.texts("w", 14, d.y+21, []string{s.Kind + " [" + s.Text.In(d.lang) + "]"})
		d.y += 28
	case "else":
		fmt.Fprintf(&d.b, `<path class="l reply" d="M4 %.0fH%.0f"/>`, d.y+4, d.width-4)
		d.texts("w", 14, d.y+20, []string{"[" + s.Text.In(d.lang) + "]"})
		d.y += 28
	case "end":
		top := 44.0
		if n := len(d.open); n > 0 {
			top, d.open = d.open[n-1], d.open[:n-1]
		}
		fmt.Fprintf(&d.b, `<rect class="g" x="4" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, top, d.width-8, d.y+6-top)
		d.y += 14
	}
}

func (d *drawing) head(lane int) string { return d.Heads[lane].In(d.lang) }

// SVG draws the diagram in a language. A step with an instant is a group whose data-t is the instant
// in nanoseconds.
func (s *Sequence) SVG(alt string, lang i18n.Language) string {
	d := &drawing{Sequence: s, lang: lang, y: 52} // the heads are above that
	for _, step := range s.Steps {
		most := 250.0 // pixels of a line of text
		if step.Kind == "note" {
			most = 190
		}
		d.lines = append(d.lines, wrapText(step.Text.In(lang), most))
	}
	d.place()
	for i, step := range s.Steps {
		start, from := d.b.Len(), d.y
		switch {
		case step.Arrow():
			d.arrow(step, d.lines[i])
		case step.Kind == "note":
			d.note(step, i)
		default:
			d.frame(step)
		}
		if step.Timed {
			all := d.b.String()
			d.b.Reset()
			fmt.Fprintf(&d.b, `%s<g data-t="%d"><rect class="row" y="%.0f" width="%.0f" height="%.0f"/>%s</g>`,
				all[:start], step.At.Nanoseconds(), from+1, d.width, d.y-from, all[start:])
		}
	}
	body := d.b.String()
	d.b.Reset()
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`,
		d.width, d.y+12, d.width, d.y+12, html.EscapeString(alt))
	for i := range s.Heads {
		head := d.head(i)
		w := textWidth(head) + 22
		fmt.Fprintf(&d.b, `<path class="lane" d="M%.0f 36V%.0f"/><rect class="h" x="%.0f" y="8" width="%.0f" height="28" rx="5"/>`, d.x[i], d.y+8, d.x[i]-w/2, w)
		d.texts("m b", d.x[i], 27, []string{head})
	}
	return d.b.String() + body + "</svg>"
}
