package diagram

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
)

// textWidth estimates the width of a text in pixels, in the font of cmd/book/page/book.css.
func textWidth(s string) (w float64) {
	for _, r := range s {
		if r >= 0x2e80 { // a Chinese character
			w += 13
		} else {
			w += 6.9
		}
	}
	return w
}

// unbreakable matches the parts of a text between which a line may end: a Chinese character, a word, or blanks.
var unbreakable = regexp.MustCompile(`[\x{2e80}-\x{ffff}]|[^\s\x{2e80}-\x{ffff}]+|\s+`)

// wrapText breaks a text into lines that are about as wide as the limit at most.
func wrapText(s string, limit float64) (lines []string) {
	line := ""
	for _, part := range unbreakable.FindAllString(s, -1) {
		if line != "" && textWidth(line+part) > limit && !strings.ContainsAny(part, "，。：；、） ") {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += part
	}
	return append(lines, strings.TrimSpace(line))
}

const textLine = 16 // pixels from a line of a text to the next

// A drawing is a sequence on its way to SVG. All lengths are in pixels.
type drawing struct {
	*Sequence
	lang      i18n.Language
	out       strings.Builder
	lines     [][]string // of the text of each step
	x         []float64  // of each lane, its middle
	width     float64    // of the whole
	y         float64    // where the next step begins
	frameTops []float64  // of the frames that are open
}

// widest is the width of the longest line of a step's text.
func (d *drawing) widest(step int) (w float64) {
	for _, l := range d.lines[step] {
		w = max(w, textWidth(l))
	}
	return w
}

// drawText draws lines below each other; y is that of the first one.
func (d *drawing) drawText(class string, x, y float64, lines []string) {
	for i, l := range lines {
		fmt.Fprintf(&d.out, `<text class="%s" x="%.0f" y="%.0f">%s</text>`, class, x, y+float64(i)*textLine, html.EscapeString(l))
	}
}

// placeLanes puts the lanes as far apart as their heads and the texts between them need.
func (d *drawing) placeLanes() {
	n := len(d.Heads)
	d.x = make([]float64, n)
	d.x[0] = textWidth(d.head(0))/2 + 16 // the head's box is 11 wider on each side, and 5 from the edge
	for i, s := range d.Steps {
		if _, right := d.ends(s); s.Kind == "note" && right == 0 {
			d.x[0] = max(d.x[0], d.widest(i)/2+14) // a note's box is 9 wider on each side
		}
	}
	for lane := 1; lane < n; lane++ {
		heads := (textWidth(d.head(lane-1)) + textWidth(d.head(lane))) / 2
		before := d.x[lane-1]
		x := before + max(90, heads+36) // 14 are between two boxes
		for i, s := range d.Steps {
			left, right := d.ends(s)
			text := d.widest(i)
			switch {
			case s.Arrow() && right == lane && left < right: // with 17 on each side of the text, for the arrow's point
				x = max(x, d.x[left]+text+34)
			case s.Kind == "note" && left == right && right == lane: // 15 are between its box and the lane before
				x = max(x, before+text/2+24)
			case s.Kind == "note" && left == right && right == lane-1: // 17 are between its box and this lane
				x = max(x, before+text/2+26)
			}
		}
		d.x[lane] = x
	}
}

// setWidth makes the drawing as wide as its last head and its texts need.
func (d *drawing) setWidth() {
	n := len(d.x)
	d.width = d.x[n-1] + max(textWidth(d.head(n-1))/2+16, 20)
	for i, s := range d.Steps {
		left, right := d.ends(s)
		switch {
		case s.Kind == "note" && left == n-1:
			d.width = max(d.width, d.x[n-1]+d.widest(i)/2+14)
		case s.Kind == "note":
			d.width = max(d.width, d.widest(i)+22)
		case s.Arrow():
			d.width = max(d.width, (d.x[left]+d.x[right])/2+d.widest(i)/2+8)
		default:
			d.width = max(d.width, textWidth(s.Kind+s.Text.In(d.lang))+60)
		}
	}
}

func (d *drawing) drawArrow(s Step, lines []string) {
	d.y += float64(len(lines))*textLine + 4
	from, to := d.x[slices.Index(d.Lanes, s.From)], d.x[slices.Index(d.Lanes, s.To)]
	class, along := "ask", 7.0 // along points as the arrow does, to the right or to the left
	switch {
	case s.Kind == "-)":
		class = "event"
	case strings.HasPrefix(s.Kind, "--"):
		class = "reply"
	}
	if to < from {
		along = -7
	}
	fmt.Fprintf(&d.out, `<path class="l %s" d="M%.0f %.0fH%.0f"/>`, class, from, d.y, to-along/2)
	d.drawText("m", (from+to)/2, d.y-float64(len(lines))*textLine+7, lines)
	if strings.HasSuffix(s.Kind, "x") {
		fmt.Fprintf(&d.out, `<path class="l lost" d="M%.0f %.0fl8 8m0-8l-8 8"/>`, to-along-4, d.y-4)
	} else {
		fmt.Fprintf(&d.out, `<path class="a %s" d="M%.0f %.0fl%.0f-4v8z"/>`, class, to, d.y, -along*1.2)
	}
	d.y += 10
}

func (d *drawing) drawNote(s Step, i int) {
	h := float64(len(d.lines[i])) * textLine
	first, last := d.ends(s)
	from, to := d.x[first], d.x[last]
	w := max(to-from+40, d.widest(i)+18)
	left := max(2, min((from+to-w)/2, d.width-w-2))
	d.y += 4
	fmt.Fprintf(&d.out, `<rect class="n" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, left, d.y, w, h+9)
	d.drawText("m", left+w/2, d.y+textLine, d.lines[i])
	d.y += h + 15
}

// drawFrame draws the line of a part of a frame, and at its end the box around all its parts.
func (d *drawing) drawFrame(s Step) {
	switch s.Kind {
	case "loop", "alt":
		d.frameTops = append(d.frameTops, d.y+4)
		d.drawText("w", 14, d.y+21, []string{s.Kind + " [" + s.Text.In(d.lang) + "]"})
		d.y += 28
	case "else":
		fmt.Fprintf(&d.out, `<path class="l reply" d="M4 %.0fH%.0f"/>`, d.y+4, d.width-4)
		d.drawText("w", 14, d.y+20, []string{"[" + s.Text.In(d.lang) + "]"})
		d.y += 28
	case "end":
		top := 44.0
		if n := len(d.frameTops); n > 0 {
			top, d.frameTops = d.frameTops[n-1], d.frameTops[:n-1]
		}
		fmt.Fprintf(&d.out, `<rect class="g" x="4" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, top, d.width-8, d.y+6-top)
		d.y += 14
	}
}

func (d *drawing) head(lane int) string { return d.Heads[lane].In(d.lang) }

// SVG draws the sequence in a language, with the classes of cmd/book/page/book.css. A step with
// an instant is a group whose data-t is the instant in nanoseconds.
func (s *Sequence) SVG(alt string, lang i18n.Language) string {
	d := &drawing{Sequence: s, lang: lang, y: 52} // the heads are above that
	for _, step := range s.Steps {
		limit := 250.0 // about 36 letters
		if step.Kind == "note" {
			limit = 190
		}
		d.lines = append(d.lines, wrapText(step.Text.In(lang), limit))
	}

	d.placeLanes()
	d.setWidth()
	for i, step := range s.Steps {
		start, top := d.out.Len(), d.y
		switch {
		case step.Arrow():
			d.drawArrow(step, d.lines[i])
		case step.Kind == "note":
			d.drawNote(step, i)
		default:
			d.drawFrame(step)
		}
		if step.Timed {
			all := d.out.String()
			d.out.Reset()
			fmt.Fprintf(&d.out, `%s<g data-t="%d"><rect class="row" y="%.0f" width="%.0f" height="%.0f"/>%s</g>`,
				all[:start], step.At.Nanoseconds(), top+1, d.width, d.y-top, all[start:])
		}
	}

	// The height is known only now, so the lanes and their heads are put before the steps.
	body := d.out.String()
	d.out.Reset()
	fmt.Fprintf(&d.out, `<svg viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`,
		d.width, d.y+12, d.width, d.y+12, html.EscapeString(alt))
	for i := range s.Heads {
		head := d.head(i)
		w := textWidth(head) + 22
		fmt.Fprintf(&d.out, `<path class="lane" d="M%.0f 36V%.0f"/><rect class="h" x="%.0f" y="8" width="%.0f" height="28" rx="5"/>`, d.x[i], d.y+8, d.x[i]-w/2, w)
		d.drawText("m b", d.x[i], 27, []string{head})
	}
	return d.out.String() + body + "</svg>"
}
