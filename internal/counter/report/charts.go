package report

import (
	"bytes"
	"image/color"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/zklock/internal/language"
)

// A Chart is one picture of a benchmark.
type Chart struct {
	Name    string // of its file
	Caption string
	svg     []byte
}

const (
	chartWidth    = 400 // points: as wide as a phone, so that labels are legible there
	chartHeight   = 290 // without the legend
	legendColumns = 2
	legendLine    = 17
)

// Charts draws all charts for which there are results.
func Charts(results []Run, l language.Language) ([]Chart, error) {
	first, _ := apart(results)
	groups := slices.DeleteFunc(group(first), func(g Group) bool { return !g.ok() })
	if len(groups) == 0 {
		return nil, nil
	}
	var charts []Chart
	add := func(name string, caption language.Text, p *picture, err error) error {
		if err == nil {
			var svg []byte
			svg, err = p.svg()
			charts = append(charts, Chart{name, caption.In(l), svg})
		}
		return err
	}
	p, err := elapsedChart(groups, l)
	if err := add("elapsed", language.Say("How long N contenders take if each locks once. Both axes are logarithmic: a straight line "+
		"is a power of N. Bars reach from the fastest round to the slowest. Thin lines with squares are the times "+
		"in article A, the blog post whose benchmark this is, on its author's machine.",
		"N 个竞争者各加锁一次，一共用多久。两个坐标轴都是对数的：直线表示 N 的幂。竖线从最快的一轮画到最慢的一轮。带方块的细线是文章 A 的时间：本基准测试出自这篇博文，时间是在作者的机器上测得的。"), p, err); err != nil {
		return nil, err
	}
	p, err = requestsChart(groups, l)
	if err := add("requests", language.Say("Requests per acquisition, counted on the wire. Broad pale lines are what the steps predict. "+
		"Rings inside each other are locks that send the same number.",
		"每次加锁的请求数，在连接上数出。浅色的粗线是各步的预测。套在一起的圆圈，表示几个锁的请求数相同。"), p, err); err != nil {
		return nil, err
	}
	for _, n := range sizes(groups) {
		p, err = waitsChart(groups, n, l)
		caption := language.Say("How long the %d contenders waited for the lock: the share that had it after a time. "+
			"All come at once, so even the best line rises slowly; the farther to the left, the better.",
			"%d 个竞争者等锁等了多久：经过这么长时间之后，已有多大比例的竞争者拿到过锁。所有竞争者同时到来，所以最好的线也是慢慢上升的；线越靠左越好。", n)
		if err := add("waits-"+strconv.Itoa(n), caption, p, err); err != nil {
			return nil, err
		}
	}
	return charts, nil
}

// WriteCharts writes each chart to a file whose name begins with prefix.
func WriteCharts(prefix string, charts []Chart) error {
	for _, c := range charts {
		err := WriteFile(prefix+c.Name+".svg", func(w io.Writer) error { _, err := w.Write(c.svg); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// sizes are the numbers of goroutines, ascending.
func sizes(groups []Group) []int {
	var ns []int
	for _, g := range groups {
		ns = append(ns, g.n)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// series are the names of the lines, in the order in which they ran.
func series(groups []Group) []string {
	var names []string
	for _, g := range groups {
		if !slices.Contains(names, g.name()) {
			names = append(names, g.name())
		}
	}
	return names
}

var contenders = language.Say("N contenders", "N 个竞争者")

func elapsedChart(groups []Group, l language.Language) (*picture, error) {
	ns := sizes(groups)
	for _, g := range groups {
		ns = slices.AppendSeq(ns, maps.Keys(g.about().Article))
	}
	slices.Sort(ns)
	p := newPicture(language.Say("elapsed", "耗时").In(l), contenders.In(l), slices.Compact(ns))
	p.logTime(&p.Y)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	names := series(groups)
	for _, name := range names {
		var points plotter.XYs
		var spread plotter.YErrors
		article := make(map[int]time.Duration)
		for _, g := range groups {
			if g.name() != name {
				continue
			}
			median := ms(g.elapsed())
			points = append(points, plotter.XY{X: float64(g.n), Y: median})
			spread = append(spread, struct{ Low, High float64 }{
				median - ms(g.fastest()),
				ms(g.slowest()) - median,
			})
			if !g.cold {
				article = g.about().Article
			}
		}
		style := lineStyle(name, names)
		if err := p.line(name, points, style, draw.CircleGlyph{}); err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{points, spread})
		if err != nil {
			return nil, err
		}
		bars.LineStyle.Color = style.Color
		p.Add(bars)

		var articleTimes plotter.XYs
		for _, n := range slices.Sorted(maps.Keys(article)) {
			articleTimes = append(articleTimes, plotter.XY{X: float64(n), Y: ms(article[n])})
		}
		if len(articleTimes) > 0 {
			style.Width = 0.6
			if err := p.line(name+language.Say(", article A", "，文章 A").In(l), articleTimes, style, draw.SquareGlyph{}); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func requestsChart(groups []Group, l language.Language) (*picture, error) {
	p := newPicture(language.Say("requests per acquisition", "每次加锁的请求数").In(l), contenders.In(l), sizes(groups))
	p.logPlain(&p.Y)
	names := series(groups)
	radius := vg.Length(min(2+len(names), 7))
	for _, name := range names {
		var measured, predicted plotter.XYs
		for _, g := range groups {
			if g.name() != name || g.cold {
				continue
			}
			n := float64(g.n)
			measured = append(measured, plotter.XY{X: n, Y: max(g.each(func(r Run) int64 { return r.Requests }), 0.1)}) // the axis has no 0
			if r := g.runs[0]; r.Predicted > 0 {
				predicted = append(predicted, plotter.XY{X: n, Y: r.Predicted / n})
			}
		}
		style := lineStyle(name, names)
		if len(predicted) > 1 {
			line, err := plotter.NewLine(predicted)
			if err != nil {
				return nil, err
			}
			line.LineStyle = draw.LineStyle{Color: faded(style.Color), Width: 7}
			p.Add(line)
		}
		if len(measured) > 0 {
			p.radius, radius = radius, max(radius-1.5, 2)
			if err := p.line(name, measured, style, draw.RingGlyph{}); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func waitsChart(groups []Group, n int, l language.Language) (*picture, error) {
	p := newPicture(language.Say("share of contenders", "拿到过锁的比例").In(l), language.Say("wait, N = %d", "等待时间，N = %d", n).In(l), nil)
	p.logTime(&p.X)
	p.Y.Min, p.Y.Max = 0, 1
	for _, g := range groups {
		if g.n != n {
			continue
		}
		var waits []time.Duration
		for _, r := range g.runs {
			waits = append(waits, r.Waits...)
		}
		slices.Sort(waits)
		var points plotter.XYs
		for i := range waitSteps + 1 {
			q := float64(i) / waitSteps
			points = append(points, plotter.XY{X: max(float64(quantile(waits, q))/1e6, 0.01), Y: q})
		}
		if err := p.line(g.name(), points, lineStyle(g.name(), series(groups)), nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// A picture is a plot with its legend above it.
type picture struct {
	*plot.Plot
	radius  vg.Length // of glyphs
	entries []entry
}

// An entry is a line of the legend.
type entry struct {
	name  string
	shown []plot.Thumbnailer
}

func newPicture(y, x string, ns []int) *picture {
	p := &picture{Plot: plot.New(), radius: 3}
	for _, f := range []*font.Font{
		&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
	} {
		*f = sans
	}
	p.Y.Label.Text, p.X.Label.Text = y, x
	p.X.Label.Padding, p.Y.Label.Padding = 5, 5
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	if ns != nil {
		p.X.Scale = plot.LogScale{}
		var ticks plot.ConstantTicks
		for _, n := range ns {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
		}
		p.X.Tick.Marker = ticks
	}
	return p
}

var sans = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12}

var pale = color.Gray{225}

// line draws a line, or a single point.
func (p *picture) line(name string, points plotter.XYs, style draw.LineStyle, glyph draw.GlyphDrawer) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	l.LineStyle = style
	p.Add(l)
	shown := []plot.Thumbnailer{l}
	if glyph != nil {
		s, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		s.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: p.radius, Shape: glyph}
		p.Add(s)
		shown = append(shown, s)
	}
	p.entries = append(p.entries, entry{name, shown})
	return nil
}

// logTime makes an axis of milliseconds logarithmic, with units in its labels.
func (p *picture) logTime(a *plot.Axis) {
	p.log(a, func(ms float64) string {
		switch {
		case ms >= 1000:
			return strconv.FormatFloat(ms/1000, 'g', -1, 64) + " s"
		case ms >= 1:
			return strconv.FormatFloat(ms, 'g', -1, 64) + " ms"
		}
		return strconv.FormatFloat(ms*1000, 'g', 6, 64) + " µs"
	})
}

func (p *picture) logPlain(a *plot.Axis) {
	p.log(a, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
}

func (p *picture) log(a *plot.Axis, label func(float64) string) {
	a.Scale = plot.LogScale{}
	a.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		room := 1e4 // beside the axis there is more than below it
		if a == &p.X {
			room = 1e2
		}
		var ticks []plot.Tick
		for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
			for _, s := range []float64{1, 2, 5} {
				tick := plot.Tick{Value: decade * s}
				if s == 1 || high/low <= room {
					tick.Label = label(tick.Value)
				}
				if tick.Value >= low && tick.Value <= high {
					ticks = append(ticks, tick)
				}
			}
		}
		return ticks
	})
}

// svg draws the picture.
func (p *picture) svg() ([]byte, error) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if _, ok := a.Scale.(plot.LogScale); ok { // room around a single point, and around what touches the edge
			a.Min, a.Max = a.Min/1.3, a.Max*1.3
		}
	}
	lines := (len(p.entries) + legendColumns - 1) / legendColumns
	top := vg.Length(lines*legendLine + 8)
	c := vgsvg.New(chartWidth, chartHeight+top)
	area := draw.New(c)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	p.Plot.BackgroundColor = color.White
	p.Plot.Draw(draw.Crop(area, 4, -6, 4, -top))
	for i, e := range p.entries {
		legend := plot.NewLegend() // of one line: the library has no columns
		legend.TextStyle.Font = sans
		legend.Left, legend.Top = true, true
		legend.Add(e.name, e.shown...)
		x, y := vg.Length(i/lines)*chartWidth/legendColumns, vg.Length(i%lines)*legendLine
		legend.Draw(draw.Crop(area, x+8, 0, 0, -y-4))
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// A chart that is used as an image has no page around it that sets a font.
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(b.Bytes(), []byte(family), []byte(family+",Arial,Helvetica,sans-serif")), nil
}

// A look is the colour of a lock's line, one of the eight of Okabe and Ito, which the
// colour-blind distinguish, and its dashes, by which it is known in black and white.
// Those that are not locks, and Curator's two lines, share a colour.
type look struct {
	colour color.Color
	dashes []vg.Length
}

var looks = map[string]look{
	"naive":        {rgb(0xd55e00), nil},
	"herd":         {rgb(0xe69f00), []vg.Length{9, 3}},
	"predecessor":  {rgb(0x0072b2), []vg.Length{6, 2}},
	"reentrant":    {rgb(0xf0e442), []vg.Length{3, 3}}, // it mostly lies on that of predecessor
	"timeout":      {rgb(0x56b4e9), []vg.Length{9, 2, 2, 2}},
	"zklock":       {rgb(0x009e73), []vg.Length{15, 2}},
	"zk.Lock":      {rgb(0xcc79a7), []vg.Length{5, 2, 2, 2}},
	"curator":      {rgb(0x000000), []vg.Length{9, 2, 2, 2, 2, 2}},
	"curator cold": {rgb(0x000000), []vg.Length{5, 2, 2, 2, 2, 2}},
	"floor":        {rgb(0x000000), []vg.Length{1, 2}},
	"least":        {rgb(0x000000), []vg.Length{1, 4}},
}

func rgb(c uint32) color.Color { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255} }

// faded is a colour that lets most of what is behind it through.
func faded(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 64}
}

// ownColours are for locks that readers bring, in the order in which they run.
var ownColours = []color.Color{
	rgb(0xb00020), rgb(0x6b8e00), rgb(0x8c510a), rgb(0x00868b), rgb(0xd6006e), rgb(0x3f51b5), rgb(0x222222),
}

// lineStyle distinguishes the line of a lock from all others in the series.
func lineStyle(name string, series []string) draw.LineStyle {
	l, ok := looks[name]
	if !ok {
		others := slices.DeleteFunc(slices.Clone(series), func(s string) bool { _, known := looks[s]; return known })
		i := max(slices.Index(others, name), 0)
		l = look{ownColours[i%len(ownColours)], []vg.Length{vg.Length(4 + 2*i), 1}}
	}
	return draw.LineStyle{Color: l.colour, Dashes: l.dashes, Width: 1.6}
}
