package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// steps are the locks of the tables, with what the tables say of them.
var steps = map[string]About{
	"naive":       {Article: ArticleNaive, Formula: "N + 2"},
	"herd":        {Formula: "(N + 5) / 2"},
	"predecessor": {Article: map[int]time.Duration{100: 636 * time.Millisecond, 1000: 5398 * time.Millisecond}, Formula: "5 - 2/N"},
	"reentrant":   {Formula: "5 - 2/N"},
	"timeout":     {Formula: "6 - 2/N"},
	"zklock":      {},
}

func TestMedianOfRounds(t *testing.T) {
	var out bytes.Buffer
	var results []Run
	for i, ms := range []time.Duration{30, 10, 20, 40} { // the median is 25
		naive := Run{Lock: "naive", Goroutines: 100, Round: i + 1, Count: 100, About: steps["naive"]}
		naive.Elapsed, naive.Requests = ms*time.Millisecond, int64(ms)*100
		faster := Run{Lock: "predecessor", Goroutines: 100, Round: i + 1, Count: 100, About: steps["predecessor"]}
		faster.Elapsed, faster.Requests = naive.Elapsed/10, 500
		results = append(results, naive, faster)
	}
	PrintTable(&out, results, 0, i18n.English)
	// lock, N, count, elapsed, vs naive, requests and events per acquisition, article A's time, and its ratio to naive
	require.Regexp(t, `naive +100 +100 +25\.0 ms +1\.0x +25\.0 +0\.0 +1625 ms +1\.0x\n`, out.String())
	require.Regexp(t, `predecessor +100 +100 +2\.5 ms +10\.0x +5\.0 +0\.0 +636 ms +2\.6x\n`, out.String())
}

func TestASinglePointIsAChartAsWell(t *testing.T) {
	charts := Charts([]Run{{
		Lock: "mine & yours", Goroutines: 1, Count: 1, Elapsed: time.Millisecond, Requests: 1,
		Waits: []time.Duration{0}, Status: StatusOK,
	}}, i18n.Chinese)
	require.Len(t, charts, 3)
	for _, c := range charts {
		svg := c.SVG(AsFile)
		require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})), svg)
		require.NotRegexp(t, "NaN|Inf", svg)
		require.Contains(t, svg, "mine &amp; yours")
	}
}

// A point is drawn where its value is: a decade of a logarithmic axis is as long as any other.
func TestPointsAreDrawnWhereTheyBelong(t *testing.T) {
	run := func(n int, elapsed time.Duration) Run {
		return Run{Lock: "herd", Goroutines: n, Count: n, Elapsed: elapsed, Requests: int64(n), Waits: []time.Duration{elapsed}, Status: StatusOK}
	}
	runs := []Run{run(10, time.Millisecond), run(100, 10*time.Millisecond), run(1000, 100*time.Millisecond)}
	path := regexp.MustCompile(`<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"`)
	numbers := path.FindStringSubmatch(Charts(runs, i18n.English)[0].SVG(OnPage))
	require.NotNil(t, numbers)
	var x, y [3]float64 // of the points
	for i := range x {
		x[i] = testenv.Must(strconv.ParseFloat(numbers[1+2*i], 64))(t)
		y[i] = testenv.Must(strconv.ParseFloat(numbers[2+2*i], 64))(t)
	}
	require.InDelta(t, x[1]-x[0], x[2]-x[1], 0.2)
	require.InDelta(t, y[1]-y[0], y[2]-y[1], 0.2)
	require.Greater(t, x[1], x[0])
	require.Less(t, y[1], y[0], "upwards")
}

func TestALongCellTakesTheRoomOfTheMissingCells(t *testing.T) {
	made := table{Header: []string{"lock", "N", "count", "elapsed", "ratio"}}
	made.add(plain, "naive", "5", "5", "10 ms", "1.0x")
	made.add(yellow, "herd", "1000", "stopped", "9.0x")
	made.add(plain)
	made.add(yellow, "curator", "5", "cannot run: it is a long story", "-")
	var out bytes.Buffer
	made.print(&out, 0)
	require.Equal(t, ""+
		"lock        N  count  elapsed  ratio\n"+
		"naive       5      5    10 ms   1.0x\n"+
		"herd     1000  stopped          9.0x\n"+
		"\n"+
		"curator     5  cannot run: it is a long story\n", out.String(), "and no colours where there is no terminal")
}

func TestLabelsBelowTheAxisDoNotRunIntoEachOther(t *testing.T) {
	const widest = 44.0                        // points, of a label and the gap after it
	const least = 0.7                          // any value that is not a label's
	for span := 2.0; span < 1e7; span *= 1.7 { // the ratio of the greatest value to the least
		x := axis{log: true, text: timeText, labelRatio: 1e2, from: leftOfPlot, to: chartWidth - margin} // as waitsChart's
		x.fit([]float64{least, least * span})
		values, labels := x.ticks()
		var at []float64
		for i, label := range labels {
			if label != "" {
				at = append(at, x.at(values[i]))
			}
		}
		require.NotEmpty(t, at, "%g", span)
		for i := range len(at) - 1 {
			require.Greater(t, at[i+1]-at[i], widest, "to %g", least*span)
		}
	}
}

// The table leaves out the article's columns where the terminal is too narrow for them, and says so.
func TestTheTableFitsTheTerminal(t *testing.T) {
	var runs []Run
	for name, about := range steps {
		for _, n := range []int{100, 1000} {
			runs = append(runs, Run{Lock: name, Goroutines: n, Count: n, Elapsed: 14 * time.Second, Requests: int64(n * n),
				Status: StatusOK, About: about})
		}
	}
	// A reader's own lock did not run: its row is short.
	runs = append(runs, Run{Lock: "mine", Goroutines: 1000, Status: StatusNotRun, Error: "not run: predecessor with 100 failed"})
	var full bytes.Buffer
	all := mainTable(runs, firstTable, i18n.English)
	all.print(&full, 0)
	needed := strings.IndexByte(full.String(), '\n')
	require.Greater(t, needed, 80)
	for width, article := range map[int]bool{0: true, 200: true, needed: true, needed - 1: false, 80: false} {
		var out bytes.Buffer
		PrintTable(&out, runs, width, i18n.English)
		require.Equal(t, article, strings.Contains(out.String(), "A vs naive"), "%d columns", width)
		require.Contains(t, out.String(), "article A")
		require.Contains(t, out.String(), "events/acq")
		if !article {
			require.Contains(t, out.String(), "article A's times need more than")
			for line := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), width, "%q", line)
			}
		}
		require.Regexp(t, `(?m)^mine +1000 +not run: predecessor with 100 failed`, out.String())
	}

	// The tables of -explain leave out no column. They fit because the gaps between their columns shrink.
	var out bytes.Buffer
	PrintTimes(&out, runs, 80, i18n.English)
	PrintWire(&out, runs, 80, i18n.English)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, "%q", line)
	}
}

func TestNoTwoColumnsHaveOneName(t *testing.T) {
	en, zh := i18n.English, i18n.Chinese
	several := []Run{{Processes: 2}}
	for _, made := range []table{
		mainTable(nil, firstTable, en), mainTable(nil, secondTable, zh), mainTable(several, firstTable, zh),
		timesTable(nil, zh), wireTable(nil, zh),
	} {
		names := slices.Sorted(slices.Values(made.Header))
		require.Len(t, slices.Compact(names), len(made.Header), "%q", made.Header)
	}
}

// On the page, each cell has the name of its column, for a narrow screen, where rows are cards.
func TestEachCellOfThePageHasALabel(t *testing.T) {
	var page bytes.Buffer
	ok := Run{Lock: "naive", Goroutines: 100, Count: 100, Elapsed: time.Second, Status: StatusOK, About: steps["naive"]}
	stopped := Run{Lock: "herd", Goroutines: 100, Status: StatusStopped, Error: "stopped after 2m", About: steps["herd"]}
	require.NoError(t, WriteReport(&page, Settings{}, []Run{ok, stopped}, i18n.English))
	for _, name := range mainTable(nil, firstTable, i18n.English).Header {
		require.Contains(t, page.String(), `<td data-label="`+name+`">`)
	}
	// In the short row one cell takes the place of count, elapsed, vs naive, requests/acq and events/acq.
	require.Contains(t, page.String(), `<td colspan="5" class="long">stopped after 2m</td><td data-label="article A">-</td><td data-label="A vs naive">-</td>`)
	// Charts take the colours of the page, which has two sets.
	require.Contains(t, page.String(), "prefers-color-scheme: dark")
	require.Contains(t, page.String(), `stroke="currentColor"`)
	require.NotContains(t, page.String(), "background:#fff", "which is for a chart that is a file")
	page.Reset()
	require.NoError(t, WriteReport(&page, Settings{}, []Run{stopped}, i18n.English))
	require.Contains(t, page.String(), "No run went well enough to be drawn.")
}

// Each of our locks has one of Okabe's and Ito's eight colours for itself, and each line has dashes of its own.
func TestEachLineHasALookOfItsOwn(t *testing.T) {
	eight := strings.Fields("currentColor #e69f00 #56b4e9 #009e73 #f0e442 #0072b2 #d55e00 #cc79a7")
	colours, dashes := make(map[string]string), make(map[string]string)
	inBlack := []string{"curator cold", "floor", "least"} // beside curator, whose colour is black, too
	names := slices.Collect(maps.Keys(looks))
	for i := range 15 {
		names = append(names, fmt.Sprintf("mine%d", i))
	}
	for _, name := range names {
		l := lookOf(name, names)
		require.Empty(t, dashes[l.dashes], name)
		dashes[l.dashes] = name
		if _, ours := looks[name]; !ours || slices.Contains(inBlack, name) {
			continue
		}
		require.Contains(t, eight, l.colour, name)
		require.Empty(t, colours[l.colour], name)
		colours[l.colour] = name
	}
}
