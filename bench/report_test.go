package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wellFormed asserts that an SVG is what an XML parser takes.
func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

func TestOneRunWritesEverything(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string {
		b, err := os.ReadFile(file(name))
		require.NoError(t, err)
		return string(b)
	}
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-n", "5,10", "-rounds", "2", "-locks", "all", "-explain",
		"-json", file("r.json"), "-csv", file("r.csv"), "-report", file("r.html"), "-svg", file("c-"))
	require.Zero(t, status, stderr)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len(line), 101, "too wide: %q", line)
	}
	require.Contains(t, stdout, "On the wire, per acquisition:")
	require.Contains(t, stdout, "overtaken")
	require.Contains(t, stdout, "  5 - 2/N: predecessor, reentrant, zk.Lock, curator\n")

	page := read("r.html")
	for _, want := range []string{
		"ZooKeeper</dt>", "go-zookeeper", "cannot run: java is not on PATH", "no lock",
		"-n 5,10 -rounds 2 -locks all", "predecessor, article A", `id="elapsed"`, `id="requests"`, `id="waits-5"`, `id="waits-10"`,
		"wait p50", "overtaken", "predicted", "wake-ups",
	} {
		require.Contains(t, page, want)
	}
	require.Contains(t, page, "<dd>"+strings.TrimPrefix(strings.SplitN(stdout, "\n", 2)[0], "ZooKeeper: ")+"</dd>")
	require.Equal(t, 4, strings.Count(page, "<svg"))
	// It is complete in itself: nothing is loaded. Namespaces are but names.
	require.NotRegexp(t, `(?i)<script|<link|<img|src=|@import|url\(`, page)
	require.Empty(t, regexp.MustCompile(`https?://[^"\s]*`).FindAllString(
		regexp.MustCompile(`xmlns(:\w+)?="[^"]*"`).ReplaceAllString(page, ""), -1))

	for _, name := range []string{"elapsed", "requests", "waits-5", "waits-10"} {
		svg := read("c-" + name + ".svg")
		wellFormed(t, []byte(svg))
		require.Contains(t, svg, "predecessor")
		require.NotContains(t, svg, "NaN")
		require.NotContains(t, svg, "Inf")
	}

	records, err := csv.NewReader(strings.NewReader(read("r.csv"))).ReadAll()
	require.NoError(t, err)
	column := make(map[string]int)
	for i, name := range records[0] {
		column[name] = i
	}
	for _, name := range []string{"lock", "server", "goroutines", "sessions", "round", "count", "elapsed_ns", "requests", "watch_events", "bytes", "error"} {
		require.Contains(t, column, name)
	}
	require.Equal(t, len(records)-1, strings.Count(read("r.json"), `"lock":`), "the same rows as in JSON")
	for _, r := range records[1:] {
		if r[column["lock"]] == "curator" {
			require.Equal(t, "cannot run", r[column["status"]])
			continue
		}
		require.Equal(t, r[column["goroutines"]], r[column["count"]])
		if r[column["lock"]] != "zklock" { // whose goroutines share a node
			require.Equal(t, r[column["goroutines"]], r[column["requests_delete"]])
		}
		require.NotEqual(t, "0", r[column["elapsed_ns"]])
	}
}

func TestAReportOfNothingSaysSo(t *testing.T) {
	compete(t, asking)
	untried(t)
	limitAfter(t, &asked, many)
	page := filepath.Join(t.TempDir(), "r.html")
	status, _, stderr := bench(t, "-n", "5,6", "-limit", limit.String(), "-warmup", "0s", "-report", page)
	require.Zero(t, status, stderr)
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(b), "stopped after 3s, at 0 of 5")
	require.Contains(t, string(b), `colspan="5"`)
	require.Contains(t, string(b), "No run went well enough")
}

func TestAFileThatCannotBeWrittenIsReportedFirst(t *testing.T) {
	nowhere := t.TempDir() + "/no/such/"
	for _, flag := range []string{"-json", "-csv", "-report", "-svg"} {
		status, stdout, stderr := bench(t, "-n", "5", flag, nowhere+"file")
		require.Equal(t, exitFailure, status)
		oneLine(t, stderr, flag+": ")
		require.Empty(t, stdout, "it is said before anything runs")
	}
}

// The page shows the command line as text.
func TestNoMarkupComesFromTheCommandLine(t *testing.T) {
	var page bytes.Buffer
	r := result{Lock: "naive", Server: "<b>server", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: statusOK, contestant: contestants[0]}
	require.NoError(t, writeReport(&page, config{args: []string{"-zk", "<script>"}, loads: everyday}, []result{r}, nil))
	require.NotContains(t, page.String(), "<script>")
	require.NotContains(t, page.String(), "<b>")
}

func TestASinglePointIsAChartAsWell(t *testing.T) {
	charts, err := drawCharts([]result{{
		Lock: "unheard of", Goroutines: 1, Count: 1, Elapsed: time.Millisecond, Requests: 1,
		waits: []time.Duration{0}, Status: statusOK,
	}})
	require.NoError(t, err)
	require.Len(t, charts, 3)
	for _, c := range charts {
		wellFormed(t, c.svg)
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
	var rs []result
	for _, c := range contestants {
		for _, n := range []int{100, 1000} {
			rs = append(rs, result{Lock: c.name, Goroutines: n, Count: n, Elapsed: 14 * time.Second, Requests: int64(n * n),
				Status: statusOK, contestant: c})
		}
	}
	rs = append(rs, result{Lock: "mine", Goroutines: 1000, Status: statusNotRun, Error: "not run: predecessor with 100 failed"})
	var full bytes.Buffer
	all := firstTable(rs)
	all.print(&full, 0)
	needed := strings.IndexByte(full.String(), '\n')
	require.Greater(t, needed, 80)
	for _, tc := range []struct {
		width   int
		article bool
	}{{0, true}, {200, true}, {needed, true}, {needed - 1, false}, {80, false}} {
		var out bytes.Buffer
		printTable(&out, rs, tc.width)
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
	printTimes(&out, rs, 80)
	printWire(&out, rs, 80)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, "%q", line)
	}
}

func TestNoTwoColumnsHaveOneName(t *testing.T) {
	for _, tbl := range []table{firstTable(nil), secondTable(nil), firstTable([]result{{Processes: 2}}), timesTable(nil), wireTable(nil)} {
		names := slices.Clone(tbl.header)
		slices.Sort(names)
		require.Len(t, slices.Compact(names), len(tbl.header), "%q", tbl.header)
	}
}

// Where rows are cards, each cell carries the name of its column.
func TestEachCellOfThePageHasALabel(t *testing.T) {
	var page bytes.Buffer
	ok := result{Lock: "naive", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: statusOK, contestant: contestants[0]}
	stopped := result{Lock: "herd", Goroutines: 5, Status: statusStopped, Error: "stopped after 2m", contestant: contestants[1]}
	charts, err := drawCharts([]result{ok})
	require.NoError(t, err)
	require.NoError(t, writeReport(&page, config{loads: everyday}, []result{ok, stopped}, charts))
	for _, name := range firstTable(nil).header {
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
		key := fmt.Sprint(style.Color, style.Dashes)
		require.False(t, seen[key], name)
		seen[key] = true
	}
}

// No lock ran on ZooKeeper: the page names the servers that locks ran on. The
// command that made it has no password.
func TestTheReportNamesEachServerAndNoPassword(t *testing.T) {
	cfg, err := parseFlags(strings.Fields("-locks sqlrow,redis -sql pg=postgres://u:se:c@ret@h:1/d,my=mysql://u:secret@h:2/d,o=postgres://h/d?password=secret -redis=redis://:secret@h:3"), io.Discard)
	require.NoError(t, err)
	row := func(lock, server string) result {
		c := contestant{name: lock, other: &other{flag: map[bool]string{true: "redis", false: "sql"}[lock == "redis"]}}
		r := result{Lock: lock, Server: server, Goroutines: 5, Count: 5, Elapsed: time.Second, Status: statusOK, contestant: c}
		r.Members = []string{"the embedded ZooKeeper"}
		return r
	}
	results := []result{row("sqlrow", "PostgreSQL 15.1 at h:1"), row("sqlversion", "PostgreSQL 15.1 at h:1"), row("redis", "Redis 7.0.15 at h:3")}
	var page bytes.Buffer
	require.NoError(t, writeReport(&page, cfg, results, nil))
	require.NotContains(t, page.String(), "secret")
	require.NotContains(t, page.String(), "se:c@ret")
	require.Contains(t, page.String(), "my=mysql://u:xxxxx@h:2/d")
	require.NotContains(t, page.String(), "<dt>ZooKeeper</dt>")
	require.NotContains(t, page.String(), "the embedded ZooKeeper")
	require.Equal(t, 1, strings.Count(page.String(), "<dt>SQL</dt><dd>PostgreSQL 15.1 at h:1</dd>"))
	require.Contains(t, page.String(), "<dt>Redis</dt><dd>Redis 7.0.15 at h:3</dd>")

	naive := result{Lock: "naive", Server: "ZooKeeper 3.8", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: statusOK, contestant: contestants[0]}
	page.Reset()
	require.NoError(t, writeReport(&page, cfg, append(results, naive), nil))
	require.Contains(t, page.String(), "<dt>ZooKeeper</dt><dd>ZooKeeper 3.8</dd>")
}
