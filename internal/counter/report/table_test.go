package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
)

// steps are the locks of the tables.
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
	for i, ms := range []time.Duration{30, 10, 20, 40} {
		results = append(results, Run{Lock: "naive", Goroutines: 100, Round: i + 1, Count: 100, Elapsed: ms * time.Millisecond, Requests: int64(ms) * 100,
			About: steps["naive"]})
		results = append(results, Run{Lock: "predecessor", Goroutines: 100, Round: i + 1, Count: 100, Elapsed: ms * time.Millisecond / 10, Requests: 500,
			About: steps["predecessor"]})
	}
	PrintTable(&out, results, 0, language.English)
	require.Regexp(t, `naive +100 +100 +25\.0 ms +1\.0x +25\.0 +0\.0 +1625 ms +1\.0x\n`, out.String())
	require.Regexp(t, `predecessor +100 +100 +2\.5 ms +10\.0x +5\.0 +0\.0 +636 ms +2\.6x\n`, out.String())
}

// The page shows the command line as text.
func TestNoMarkupComesFromTheCommandLine(t *testing.T) {
	var page bytes.Buffer
	r := Run{Lock: "naive", Server: "<b>server", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: StatusOK, About: steps["naive"]}
	require.NoError(t, WriteReport(&page, Settings{Args: []string{"-zk", "<script>"}}, []Run{r}, nil, language.English))
	require.NotContains(t, page.String(), "<script>")
	require.NotContains(t, page.String(), "<b>")
}

func TestASinglePointIsAChartAsWell(t *testing.T) {
	charts, err := Charts([]Run{{
		Lock: "unheard of", Goroutines: 1, Count: 1, Elapsed: time.Millisecond, Requests: 1,
		Waits: []time.Duration{0}, Status: StatusOK,
	}}, language.Chinese)
	require.NoError(t, err)
	require.Len(t, charts, 3)
	for _, c := range charts {
		require.NoError(t, xml.Unmarshal(c.svg, new(struct{})))
		require.NotContains(t, string(c.svg), "NaN")
		require.Contains(t, string(c.svg), "unheard of")
	}
}

func TestALongCellTakesTheRoomOfTheMissingCells(t *testing.T) {
	tbl := table{header: []string{"lock", "N", "count", "elapsed", "ratio"}}
	tbl.add(plain, "naive", "5", "5", "10 ms", "1.0x")
	tbl.add(yellow, "herd", "1000", "stopped", "9.0x")
	tbl.add(plain)
	tbl.add(yellow, "curator", "5", "cannot run: it is a long story", "-")
	var out bytes.Buffer
	tbl.print(&out, 0)
	require.Equal(t, ""+
		"lock        N  count  elapsed  ratio\n"+
		"naive       5      5    10 ms   1.0x\n"+
		"herd     1000  stopped          9.0x\n"+
		"\n"+
		"curator     5  cannot run: it is a long story\n", out.String(), "and no colours where there is no terminal")
}

func TestLabelsBelowTheAxisDoNotRunIntoEachOther(t *testing.T) {
	const widest = 44.0 // points, of a label and the gap after it
	for span := 2.0; span < 1e7; span *= 1.7 {
		p := newPicture("", "", nil)
		p.logTime(&p.X)
		var labels []float64
		for _, tick := range p.X.Tick.Marker.Ticks(0.7, 0.7*span) {
			if tick.Label != "" {
				labels = append(labels, math.Log(tick.Value))
			}
		}
		require.NotEmpty(t, labels, "%g", span)
		for i := range len(labels) - 1 {
			gap := (labels[i+1] - labels[i]) / math.Log(span) * (chartWidth - 70) // the other axis has the rest
			require.Greater(t, gap, widest, "from 0.7 to %g", 0.7*span)
		}
	}
}

func TestTheTableFitsTheTerminal(t *testing.T) {
	var rs []Run
	for name, about := range steps {
		for _, n := range []int{100, 1000} {
			rs = append(rs, Run{Lock: name, Goroutines: n, Count: n, Elapsed: 14 * time.Second, Requests: int64(n * n),
				Status: StatusOK, About: about})
		}
	}
	rs = append(rs, Run{Lock: "mine", Goroutines: 1000, Status: StatusNotRun, Error: "not run: predecessor with 100 failed"})
	var full bytes.Buffer
	all := firstTable(rs, language.English)
	all.print(&full, 0)
	needed := strings.IndexByte(full.String(), '\n')
	require.Greater(t, needed, 80)
	for _, tc := range []struct {
		width   int
		article bool
	}{{0, true}, {200, true}, {needed, true}, {needed - 1, false}, {80, false}} {
		var out bytes.Buffer
		PrintTable(&out, rs, tc.width, language.English)
		require.Equal(t, tc.article, strings.Contains(out.String(), "A vs naive"), "%d columns", tc.width)
		require.Contains(t, out.String(), "article A")
		require.Contains(t, out.String(), "events/acq")
		if !tc.article {
			require.Contains(t, out.String(), "article A's times need more than")
			for line := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), tc.width, "%q", line)
			}
		}
		require.Regexp(t, `(?m)^mine +1000 +not run: predecessor with 100 failed`, out.String())
	}
	// The tables of -explain have no columns to spare, but gaps.
	var out bytes.Buffer
	PrintTimes(&out, rs, 80, language.English)
	PrintWire(&out, rs, 80, language.English)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, "%q", line)
	}
}

func TestNoTwoColumnsHaveOneName(t *testing.T) {
	en, l := language.English, language.Chinese
	for _, tbl := range []table{firstTable(nil, en), secondTable(nil, l), firstTable([]Run{{Processes: 2}}, l), timesTable(nil, l), wireTable(nil, l)} {
		names := slices.Clone(tbl.header)
		slices.Sort(names)
		require.Len(t, slices.Compact(names), len(tbl.header), "%q", tbl.header)
	}
}

// Where rows are cards, each cell carries the name of its column.
func TestEachCellOfThePageHasALabel(t *testing.T) {
	var page bytes.Buffer
	ok := Run{Lock: "naive", Goroutines: 100, Count: 100, Elapsed: time.Second, Status: StatusOK, About: steps["naive"]}
	stopped := Run{Lock: "herd", Goroutines: 100, Status: StatusStopped, Error: "stopped after 2m", About: steps["herd"]}
	charts, err := Charts([]Run{ok}, language.English)
	require.NoError(t, err)
	require.NoError(t, WriteReport(&page, Settings{}, []Run{ok, stopped}, charts, language.English))
	for _, name := range firstTable(nil, language.English).header {
		require.Contains(t, page.String(), `<td data-label="`+name+`">`)
	}
	require.Contains(t, page.String(), `<td colspan="5" class="long">stopped after 2m</td><td data-label="article A">-</td><td data-label="A vs naive">-</td>`)
	// Charts take the colours of the page, which has two sets.
	require.Contains(t, page.String(), "prefers-color-scheme: dark")
	require.Contains(t, page.String(), "stroke:var(--ink)")
	require.NotContains(t, page.String(), "#000000")
	require.NotContains(t, page.String(), "#FFFFFF")
}

func TestLocksOfReadersHaveColoursOfTheirOwn(t *testing.T) {
	names := []string{"naive", "curator cold", "floor"}
	for i := range 15 {
		names = append(names, fmt.Sprintf("mine%d", i))
	}
	seen := make(map[string]bool)
	for _, name := range names {
		style := lineStyle(name, names)
		key := fmt.Sprint(style.Dashes)
		require.False(t, seen[key], "%s: in black and white it looks like another one", name)
		seen[key] = true
	}
}

// Okabe and Ito have eight colours, one for each lock.
func TestEachLockHasAColourAndADashOfItsOwn(t *testing.T) {
	colours, dashes := make(map[color.Color]string), make(map[string]string)
	eight := []uint32{0x000000, 0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0x0072b2, 0xd55e00, 0xcc79a7}
	for name, l := range looks {
		require.Contains(t, eight, uint32(l.colour.(color.RGBA).R)<<16|uint32(l.colour.(color.RGBA).G)<<8|uint32(l.colour.(color.RGBA).B), name)
		require.Empty(t, dashes[fmt.Sprint(l.dashes)], name)
		dashes[fmt.Sprint(l.dashes)] = name
		if name == "curator cold" || name == "floor" || name == "least" {
			continue // no locks of their own
		}
		require.Empty(t, colours[l.colour], name)
		colours[l.colour] = name
	}
}

// No lock ran on ZooKeeper: the page names the servers that locks ran on. The
// command that made it has no password.
func TestTheReportNamesEachServerAndNoPassword(t *testing.T) {
	set := Settings{Args: strings.Fields("-locks sqlrow,redis -sql " +
		"pg=postgres://u:se:c@ret@h:1/d,my=mysql://u:secret@h:2/d,o=postgres://h/d?password=secret -redis=redis://:secret@h:3")}
	row := func(lock, server, system string) Run {
		r := Run{Lock: lock, Server: server, Goroutines: 5, Count: 5, Elapsed: time.Second, Status: StatusOK, About: About{System: system}}
		r.Members = []string{"the embedded ZooKeeper"}
		return r
	}
	results := []Run{row("sqlrow", "PostgreSQL 15.1 at h:1", "SQL"), row("sqlversion", "PostgreSQL 15.1 at h:1", "SQL"),
		row("redis", "Redis 7.0.15 at h:3", "Redis")}
	var page bytes.Buffer
	require.NoError(t, WriteReport(&page, set, results, nil, language.English))
	require.NotContains(t, page.String(), "secret")
	require.NotContains(t, page.String(), "se:c@ret")
	require.Contains(t, page.String(), "my=mysql://u:xxxxx@h:2/d")
	require.NotContains(t, page.String(), "<dt>ZooKeeper</dt>")
	require.NotContains(t, page.String(), "the embedded ZooKeeper")
	require.Equal(t, 1, strings.Count(page.String(), "<dt>SQL</dt><dd>PostgreSQL 15.1 at h:1</dd>"))
	require.Contains(t, page.String(), "<dt>Redis</dt><dd>Redis 7.0.15 at h:3</dd>")

	naive := Run{Lock: "naive", Server: "ZooKeeper 3.8", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: StatusOK, About: steps["naive"]}
	page.Reset()
	require.NoError(t, WriteReport(&page, set, append(results, naive), nil, language.English))
	require.Contains(t, page.String(), "<dt>ZooKeeper</dt><dd>ZooKeeper 3.8</dd>")
}
