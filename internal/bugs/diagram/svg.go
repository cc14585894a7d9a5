package diagram

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
)

// This file draws a sequence as SVG. All lengths are in pixels.
const (
	textLine  = 16  // from a line of a text to the next
	arrowText = 250 // the widest line of an arrow's text: about 36 letters
	noteText  = 190 // the same of a note

	edge      = 5  // from a box to the edge of the drawing
	headPad   = 11 // from the text of a head to its box
	notePad   = 9  // from the text of a note to its box
	headGap   = 14 // the least between the boxes of two heads
	laneGap   = 90 // the least between two lanes
	textGap   = 17 // from a text to the lane beside it, for the arrow's point
	noteGap   = 15 // from the box of a note to the lane before it
	headTop   = 8  // of the boxes of the heads
	headSize  = 28 // the height of such a box
	belowHead = 52 // where the steps begin
)

// A drawing is a sequence on its way to SVG.
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

// SVG draws the sequence, with the classes of cmd/book/page/book.css. data-t is the instant of a step in nanoseconds.
func (s *Sequence) SVG(alt string, lang i18n.Language) string {
	d := &drawing{Sequence: s, lang: lang, y: belowHead}
	for _, step := range s.Steps {
		widest := float64(arrowText)
		if step.Kind == "note" {
			widest = noteText
		}
		d.lines = append(d.lines, wrapText(step.Text.In(lang), widest))
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
	steps := d.out.String()
	d.out.Reset()
	height := d.y + 12 // with a margin below
	fmt.Fprintf(&d.out, `<svg viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`,
		d.width, height, d.width, height, html.EscapeString(alt))
	for lane, x := range d.x {
		w := d.headWidth(lane) + 2*headPad
		fmt.Fprintf(&d.out, `<path class="lane" d="M%.0f %dV%.0f"/>`, x, headTop+headSize, d.y+8)
		fmt.Fprintf(&d.out, `<rect class="h" x="%.0f" y="%d" width="%.0f" height="%d" rx="5"/>`, x-w/2, headTop, w, headSize)
		d.drawText("m b", x, 27, []string{d.head(lane)})
	}
	return d.out.String() + steps + "</svg>"
}

// placeLanes puts the lanes as far apart as their heads and the texts between them need.
func (d *drawing) placeLanes() {
	d.x = make([]float64, len(d.Heads))
	d.x[0] = d.headWidth(0)/2 + (headPad + edge)
	for i, s := range d.Steps {
		if _, last := d.ends(s); s.Kind == "note" && last == 0 { // a note over the first lane alone
			d.x[0] = max(d.x[0], d.stepWidth(i)/2+(notePad+edge))
		}
	}

	for lane := 1; lane < len(d.x); lane++ {
		before := d.x[lane-1] // of the lane to the left
		heads := (d.headWidth(lane-1) + d.headWidth(lane)) / 2
		x := before + max(laneGap, heads+(2*headPad+headGap))
		for i, s := range d.Steps {
			first, last := d.ends(s)
			text := d.stepWidth(i)
			overOne := s.Kind == "note" && first == last
			switch {
			case s.Arrow() && last == lane && first < last:
				x = max(x, d.x[first]+text+2*textGap)
			case overOne && last == lane:
				x = max(x, before+text/2+(notePad+noteGap))
			case overOne && last == lane-1:
				x = max(x, before+text/2+(notePad+textGap))
			}
		}
		d.x[lane] = x
	}
}

// setWidth makes the drawing as wide as its last head and its texts need.
func (d *drawing) setWidth() {
	last := len(d.x) - 1
	d.width = d.x[last] + max(d.headWidth(last)/2+(headPad+edge), 20)
	for i, s := range d.Steps {
		first, end := d.ends(s)
		text := d.stepWidth(i)
		switch {
		case s.Kind == "note" && first == last: // over the last lane alone
			d.width = max(d.width, d.x[last]+text/2+(notePad+edge))
		case s.Kind == "note":
			d.width = max(d.width, text+(2*notePad+4))
		case s.Arrow():
			d.width = max(d.width, (d.x[first]+d.x[end])/2+text/2+8)
		default:
			d.width = max(d.width, textWidth(s.Kind+s.Text.In(d.lang))+60)
		}
	}
}

// drawArrow draws an arrow below its text. Its point is a triangle, or a cross if the packet is lost.
func (d *drawing) drawArrow(s Step, lines []string) {
	height := float64(len(lines)) * textLine
	d.y += height + 4
	from, to := d.x[slices.Index(d.Lanes, s.From)], d.x[slices.Index(d.Lanes, s.To)]
	class, isLost := "ask", strings.HasSuffix(s.Kind, "x")
	switch {
	case s.Kind == "-)":
		class = "event"
	case strings.HasPrefix(s.Kind, "--"): // dashed, in mermaid's notation
		class = "reply"
	}
	point := 7.0 // how far the triangle reaches back along the arrow, which leads to the right
	if to < from {
		point = -7
	}

	fmt.Fprintf(&d.out, `<path class="l %s" d="M%.0f %.0fH%.0f"/>`, class, from, d.y, to-point/2)
	d.drawText("m", (from+to)/2, d.y-height+7, lines)
	if isLost {
		fmt.Fprintf(&d.out, `<path class="l lost" d="M%.0f %.0fl8 8m0-8l-8 8"/>`, to-point-4, d.y-4)
	} else {
		fmt.Fprintf(&d.out, `<path class="a %s" d="M%.0f %.0fl%.0f-4v8z"/>`, class, to, d.y, -point*1.2)
	}
	d.y += 10
}

// drawNote draws a box over the lanes of a note and 20 pixels beyond, or wider if its text needs that.
func (d *drawing) drawNote(s Step, i int) {
	first, last := d.ends(s)
	from, to := d.x[first], d.x[last]
	w, h := max(to-from+40, d.stepWidth(i)+2*notePad), float64(len(d.lines[i]))*textLine
	left := max(2, min((from+to-w)/2, d.width-w-2))
	d.y += 4
	fmt.Fprintf(&d.out, `<rect class="n" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, left, d.y, w, h+9)
	d.drawText("m", left+w/2, d.y+textLine, d.lines[i])
	d.y += h + 15
}

// drawFrame draws the line of a part of a frame, and at its end the box around all its parts.
func (d *drawing) drawFrame(s Step) {
	const left, height = 4, 28 // of the frame, and of the line of a part
	label := "[" + s.Text.In(d.lang) + "]"
	switch s.Kind {
	case "loop", "alt":
		d.frameTops = append(d.frameTops, d.y+4)
		d.drawText("w", 14, d.y+21, []string{s.Kind + " " + label})
		d.y += height
	case "else":
		fmt.Fprintf(&d.out, `<path class="l reply" d="M%d %.0fH%.0f"/>`, left, d.y+4, d.width-left)
		d.drawText("w", 14, d.y+20, []string{label})
		d.y += height
	case "end":
		top := 44.0 // of a frame that was not begun
		if n := len(d.frameTops); n > 0 {
			top, d.frameTops = d.frameTops[n-1], d.frameTops[:n-1]
		}
		fmt.Fprintf(&d.out, `<rect class="g" x="%d" y="%.0f" width="%.0f" height="%.0f" rx="4"/>`, left, top, d.width-2*left, d.y+6-top)
		d.y += 14
	}
}

// drawText draws lines below each other; y is that of the first one.
func (d *drawing) drawText(class string, x, y float64, lines []string) {
	for i, line := range lines {
		fmt.Fprintf(&d.out, `<text class="%s" x="%.0f" y="%.0f">%s</text>`, class, x, y+float64(i)*textLine, html.EscapeString(line))
	}
}

func (d *drawing) head(lane int) string       { return d.Heads[lane].In(d.lang) }
func (d *drawing) headWidth(lane int) float64 { return textWidth(d.head(lane)) }

// stepWidth is the width of the longest line of a step's text.
func (d *drawing) stepWidth(step int) (w float64) {
	for _, line := range d.lines[step] {
		w = max(w, textWidth(line))
	}
	return w
}

// textWidth estimates the width of a text in pixels, in the font of cmd/book/page/book.css.
func textWidth(s string) (w float64) {
	const letter, chinese, firstChinese = 6.9, 13, 0x2e80
	for _, r := range s {
		if r >= firstChinese {
			w += chinese
		} else {
			w += letter
		}
	}
	return w
}

// unbreakable matches the parts of a text between which a line may end: a Chinese character, a word, or blanks.
var unbreakable = regexp.MustCompile(`[\x{2e80}-\x{ffff}]|[^\s\x{2e80}-\x{ffff}]+|\s+`)

// wrapText breaks a text into lines that are about as wide as the limit at most.
func wrapText(s string, limit float64) (lines []string) {
	const beginNoLine = "，。：；、） " // a line may be too wide by one of these
	line := ""
	for _, part := range unbreakable.FindAllString(s, -1) {
		if line != "" && textWidth(line+part) > limit && !strings.ContainsAny(part, beginNoLine) {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += part
	}
	return append(lines, strings.TrimSpace(line))
}
