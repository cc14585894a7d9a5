package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/zklock/internal/i18n"
)

// A Chart is one picture of a benchmark. Its caption is in report.html.
type Chart struct {
	Name  string
	Wait  int // of a chart of waits: the number of contenders
	x, y  axis
	lines []chartLine
}

// A chartLine is the line of a lock in a chart.
type chartLine struct {
	name string
	look
	width  float64
	points []point
	glyph  string  // at each point: "dot", "ring", "square" or none
	radius float64 // of a ring
	faint  bool    // of a prediction: it is behind the others, and has no name in the legend
}

// A point has the ends of its bar; there is no bar if they are the same.
type point struct{ x, y, low, high float64 }

// Charts draws all charts for which there are results.
func Charts(results []Run, l i18n.Language) (charts []Chart) {
	groups := slices.DeleteFunc(group(ofTable(results, firstTable)), func(g Group) bool { return !g.ok() })
	if len(groups) == 0 {
		return nil
	}
	charts = []Chart{elapsedChart(groups, l), requestsChart(groups, l)}
	for _, n := range Distinct(groups, func(g Group) int { return g.n }) {
		charts = append(charts, waitsChart(groups, n, l))
	}
	return charts
}

// lineNames are the names of the lines, in the order in which they ran.
func lineNames(groups []Group) []string { return Distinct(groups, Group.name) }

var contenders = i18n.Text("N contenders")

// milli is a time in ms, which an axis can show: a logarithm has no 0.
func milli(d time.Duration) float64 { return max(float64(d)/1e6, 0.01) }

// The widths of the lines of a chart: of the measured times, of article A's, and of the prediction behind the others.
const lineWidth, articleWidth, predictedWidth = 1.6, 0.6, 7

// elapsedChart has the median times of the locks, with bars from the fastest to the slowest, and article A's times.
func elapsedChart(groups []Group, l i18n.Language) Chart {
	c := Chart{
		Name: "elapsed",
		x:    axis{label: contenders.In(l), log: true, text: plainText},
		y:    axis{label: i18n.Text("elapsed").In(l), log: true, text: timeText, labelRatio: 1e4},
	}
	names := lineNames(groups)
	for _, name := range names {
		mine := chartLine{name: name, look: lookOf(name, names), width: lineWidth, glyph: "dot"}
		article := chartLine{name: name + i18n.Text(", article A").In(l), look: mine.look, width: articleWidth, glyph: "square"}
		times := make(map[int]time.Duration)
		for _, g := range groups {
			if g.name() != name {
				continue
			}
			median := point{x: float64(g.n), y: milli(g.elapsed()), low: milli(g.fastest()), high: milli(g.slowest())}
			mine.points = append(mine.points, median)
			if !g.cold { // article A's times are shown beside the runs of a warm JVM
				times = g.about().Article
			}
		}
		for _, n := range slices.Sorted(maps.Keys(times)) {
			article.points = append(article.points, point{x: float64(n), y: milli(times[n])})
		}
		c.add(mine, article)
	}
	c.x.only = numbers(c.lines)
	return c
}

// requestsChart has the requests per acquisition: the measured ones as rings, and behind them the prediction.
func requestsChart(groups []Group, l i18n.Language) Chart {
	c := Chart{
		Name: "requests",
		x:    axis{label: contenders.In(l), log: true, text: plainText},
		y:    axis{label: i18n.Text("requests per acquisition").In(l), log: true, text: plainText, labelRatio: 1e4},
	}
	names := lineNames(groups)
	for i, name := range names {
		// Rings at one point lie inside each other: the first lock's is the largest.
		const smallest, largest, step = 2, 7, 1.5
		radius := max(smallest, float64(min(2+len(names), largest))-step*float64(i))
		measured := chartLine{name: name, look: lookOf(name, names), width: lineWidth, glyph: "ring", radius: radius}
		predicted := chartLine{look: look{colour: measured.colour}, width: predictedWidth, faint: true}
		for _, g := range groups {
			if g.name() != name || g.cold {
				continue
			}
			n := float64(g.n)
			measured.points = append(measured.points,
				point{x: n, y: max(g.perHold(func(r Run) int64 { return r.Requests }), 0.1)}) // the axis has no 0
			if r := g.runs[0]; r.Predicted > 0 {
				predicted.points = append(predicted.points, point{x: n, y: r.Predicted / n})
			}
		}
		c.add(predicted, measured)
	}
	c.x.only = numbers(c.lines)
	return c
}

// waitsChart has, for n contenders, the share of them that has waited no longer than a time.
func waitsChart(groups []Group, n int, l i18n.Language) Chart {
	c := Chart{
		Name: "waits-" + strconv.Itoa(n), Wait: n,
		x: axis{label: i18n.Textf("wait, N = %d", n).In(l), log: true, text: timeText, labelRatio: 1e2},
		y: axis{label: i18n.Text("share of contenders").In(l), text: plainText},
	}
	for _, g := range groups {
		if g.n != n {
			continue
		}
		var waits []time.Duration
		for _, r := range g.runs {
			waits = append(waits, r.Waits...)
		}
		slices.Sort(waits)
		mine := chartLine{name: g.name(), look: lookOf(g.name(), lineNames(groups)), width: lineWidth}
		for i := range waitSteps + 1 { // one point for each share that Run.Waits has: 0, 1/20, and so on to 1
			q := float64(i) / waitSteps
			mine.points = append(mine.points, point{x: milli(quantile(waits, q)), y: q})
		}
		c.add(mine)
	}
	return c
}

// numbers returns the values of x of all points, sorted, each of them once.
func numbers(lines []chartLine) (xs []float64) {
	for _, l := range lines {
		for _, p := range l.points {
			xs = append(xs, p.x)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

func (c *Chart) add(lines ...chartLine) {
	for _, l := range lines {
		if len(l.points) > 0 {
			c.lines = append(c.lines, l)
		}
	}
}

// A look is the colour of a lock's line, one of Okabe's and Ito's eight, which the colour-blind distinguish, and its
// dashes, for black and white. What is not a lock, and Curator's two lines, have the page's own black.
type look struct{ colour, dashes string }

const black = "currentColor"

var looks = map[string]look{
	"naive":        {"#d55e00", ""},
	"herd":         {"#e69f00", "9 3"},
	"predecessor":  {"#0072b2", "6 2"},
	"reentrant":    {"#f0e442", "3 3"}, // it mostly lies on that of predecessor
	"timeout":      {"#56b4e9", "9 2 2 2"},
	"zklock":       {"#009e73", "15 2"},
	"zk.Lock":      {"#cc79a7", "5 2 2 2"},
	"curator":      {black, "9 2 2 2 2 2"},
	"curator cold": {black, "5 2 2 2 2 2"},
	"floor":        {black, "1 2"},
	"least":        {black, "1 4"},
}

// ownColours are for locks that readers bring, in the order in which they run.
var ownColours = []string{"#b00020", "#6b8e00", "#8c510a", "#00868b", "#d6006e", "#3f51b5"}

// lookOf returns the look of the line of a lock. No other line of the series looks the same.
func lookOf(name string, series []string) look {
	if l, ok := looks[name]; ok {
		return l
	}
	others := slices.DeleteFunc(slices.Clone(series), func(s string) bool { _, known := looks[s]; return known })
	i := max(slices.Index(others, name), 0)
	return look{ownColours[i%len(ownColours)], fmt.Sprint(4+2*i, " ", 1)} // the dashes of each are longer than those before
}
