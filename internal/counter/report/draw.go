package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed chart.svg
var chartSource string

var chartTemplate = template.Must(template.New("chart").Parse(chartSource))

// The sizes of a chart, in points. It is as wide as a phone, so that labels are legible there.
const (
	chartWidth  = 400
	plotHeight  = 250
	leftOfPlot  = 64
	belowPlot   = 40
	legendLine  = 17
	legendTop   = 8
	legendWidth = chartWidth / 2
	sampleWidth = 34 // of the line in the legend
	margin      = 8  // above the plot, and at the edges of the picture
	halfLetter  = 4  // from the middle of a text down to its base line
)

// An axis maps values to a stretch of the picture.
type axis struct {
	label string
	log   bool // otherwise the values are shares, from 0 to 1
	text  func(float64) string
	// labelRatio is the ratio of max to min up to which 2, 5, 20, 50 … have labels, too, besides 1, 10 …
	labelRatio float64
	only       []float64 // the values that have ticks; nil: round ones
	min, max   float64
	from, to   float64 // where min and max are in the picture
}

// at returns where a value is in the picture.
func (a axis) at(v float64) float64 {
	low, high := a.min, a.max
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return math.Round(10*(a.from+(v-low)/(high-low)*(a.to-a.from))) / 10
}

// fit chooses the ends, with room around a single point and around what touches the edge.
func (a *axis) fit(values []float64) {
	if !a.log {
		a.min, a.max = 0, 1
		return
	}
	a.min, a.max = math.Inf(1), 0
	for _, v := range values {
		a.min, a.max = min(a.min, v/1.3), max(a.max, v*1.3)
	}
}

// ticks returns the values that have a line of the grid, and their labels, of which some are empty.
func (a axis) ticks() (values []float64, labels []string) {
	add := func(v float64, label string) {
		if v >= a.min && v <= a.max {
			values, labels = append(values, v), append(labels, label)
		}
	}
	switch {
	case a.only != nil:
		for _, v := range a.only {
			add(v, a.text(v))
		}
	case !a.log:
		for i := range 6 {
			add(float64(i)/5, a.text(float64(i)/5))
		}
	default:
		for decade := math.Pow(10, math.Floor(math.Log10(a.min))); decade <= a.max; decade *= 10 {
			for _, s := range []float64{1, 2, 5} {
				label := ""
				if s == 1 || a.max/a.min <= a.labelRatio {
					label = a.text(decade * s)
				}
				add(decade*s, label)
			}
		}
	}
	return values, labels
}

func plainText(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// timeText is a number of milliseconds with a unit.
func timeText(ms float64) string {
	switch {
	case ms >= 1000:
		return plainText(ms/1000) + " s"
	case ms >= 1:
		return plainText(ms) + " ms"
	}
	return plainText(ms*1000) + " µs"
}

// A stroke is a path of the picture.
type stroke struct {
	Path, Colour, Dashes, Fill string
	Width, Opacity             float64
}

const (
	none   = "none" // the fill of a stroke
	opaque = 1.0    // the opacity of most strokes
	thin   = 1.0    // their width
)

// stroke returns a stroke with this look. fill is a colour, or none.
func (l look) stroke(path, fill string, width, opacity float64) stroke {
	return stroke{Path: path, Colour: l.colour, Dashes: l.dashes, Fill: fill, Width: width, Opacity: opacity}
}

// A word is a text of the picture.
type word struct {
	X, Y   float64
	Text   string
	Anchor string // "start", "middle" or "end"
	Turned bool   // it runs upwards
}

// A Place says where a chart is: it is a part of a page, with the page's colours, or a file, with those of paper.
type Place string

const OnPage, AsFile Place = "on a page", "as a file"

func (c Chart) SVG(place Place) string {
	inLegend := slices.DeleteFunc(slices.Clone(c.lines), func(l chartLine) bool { return l.faint })
	rows := (len(inLegend) + 1) / 2 // of the legend, which has two columns
	top := float64(legendTop + rows*legendLine)
	c.x.from, c.x.to, c.y.from, c.y.to = leftOfPlot, chartWidth-margin, top+plotHeight, top+margin
	c.fitAxes()

	var picture struct {
		Width, Height int
		Alone         bool
		Strokes       []stroke
		Words         []word
	}
	picture.Width, picture.Height, picture.Alone = chartWidth, int(top)+plotHeight+belowPlot, place == AsFile
	picture.Strokes, picture.Words = c.grid()
	for _, l := range c.lines {
		picture.Strokes = append(picture.Strokes, c.strokes(l)...)
	}

	for i, l := range inLegend {
		x, y := float64(margin+i/rows*legendWidth), float64(legendTop+i%rows*legendLine+halfLetter)
		sample := fmt.Sprintf("M%g %gh%d", x, y, sampleWidth)
		picture.Strokes = append(picture.Strokes, l.stroke(sample, none, l.width, opaque), l.mark(x+sampleWidth/2, y))
		picture.Words = append(picture.Words, word{X: x + sampleWidth + 6, Y: y + halfLetter, Text: l.name, Anchor: "start"})
	}
	var b bytes.Buffer
	if err := chartTemplate.Execute(&b, picture); err != nil {
		panic(err) // the template is ours
	}
	return b.String()
}

// fitAxes chooses the ends of both axes: all points are between them, and all bars.
func (c *Chart) fitAxes() {
	var xs, ys []float64
	for _, l := range c.lines {
		for _, p := range l.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
			if p.low > 0 {
				ys = append(ys, p.low, p.high)
			}
		}
	}
	c.x.fit(xs)
	c.y.fit(ys)
}

// grid draws the axes with their ticks and labels.
func (c Chart) grid() (strokes []stroke, words []word) {
	ink := look{colour: black}
	values, labels := c.x.ticks()
	for i, v := range values {
		at := c.x.at(v)
		strokes = append(strokes, ink.stroke(fmt.Sprintf("M%g %gV%g", at, c.y.from, c.y.to), none, thin, 0.15))
		words = append(words, word{X: at, Y: c.y.from + 16, Text: labels[i], Anchor: "middle"})
	}
	values, labels = c.y.ticks()
	for i, v := range values {
		at := c.y.at(v)
		strokes = append(strokes, ink.stroke(fmt.Sprintf("M%g %gH%g", c.x.from, at, c.x.to), none, thin, 0.15))
		words = append(words, word{X: c.x.from - 5, Y: at + halfLetter, Text: labels[i], Anchor: "end"})
	}
	frame := fmt.Sprintf("M%g %gV%gH%g", c.x.from, c.y.to, c.y.from, c.x.to)
	return append(strokes, ink.stroke(frame, none, thin, 0.6)), append(words,
		word{X: (c.x.from + c.x.to) / 2, Y: c.y.from + 34, Text: c.x.label, Anchor: "middle"},
		word{X: 13, Y: (c.y.from + c.y.to) / 2, Text: c.y.label, Anchor: "middle", Turned: true})
}

// strokes returns the strokes of a line, its bars and its glyphs.
func (c Chart) strokes(l chartLine) []stroke {
	var path, bars strings.Builder
	var marks []stroke
	for i, p := range l.points {
		x, y := c.x.at(p.x), c.y.at(p.y)
		command := 'L' // a line leads to the point
		if i == 0 {
			command = 'M' // the path begins at the point
		}
		fmt.Fprintf(&path, "%c%g %g", command, x, y)
		if p.low < p.high {
			fmt.Fprintf(&bars, "M%g %gV%g", x, c.y.at(p.low), c.y.at(p.high))
		}
		marks = append(marks, l.mark(x, y))
	}
	opacity := opaque
	if l.faint {
		opacity = 0.25
	}
	bar := look{colour: l.colour}.stroke(bars.String(), none, thin, opaque)
	return append([]stroke{l.stroke(path.String(), none, l.width, opacity), bar}, marks...)
}

// mark is the glyph of a line at a point.
func (l chartLine) mark(x, y float64) stroke {
	circle := func(r float64) string { // two half circles from the left end and back
		return fmt.Sprintf("M%g %ga%g %g 0 1 0 %g 0a%g %g 0 1 0 %g 0", x-r, y, r, r, 2*r, r, r, -2*r)
	}
	plain := look{colour: l.colour}
	switch l.glyph {
	case "dot":
		return plain.stroke(circle(2.5), l.colour, thin, opaque)
	case "ring":
		return plain.stroke(circle(l.radius), none, 1.6, opaque)
	case "square":
		return plain.stroke(fmt.Sprintf("M%g %gh5v5h-5z", x-2.5, y-2.5), none, thin, opaque)
	}
	return stroke{}
}
