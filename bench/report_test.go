package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
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
		require.Equal(t, r[column["goroutines"]], r[column["requests_delete"]])
		require.NotEqual(t, "0", r[column["elapsed_ns"]])
	}
}

func TestAReportOfNothingSaysSo(t *testing.T) {
	compete(t, neverHad)
	page := filepath.Join(t.TempDir(), "r.html")
	status, _, stderr := bench(t, "-n", "5,6", "-limit", "100ms", "-warmup", "0s", "-locks", "stuck", "-report", page)
	require.Zero(t, status, stderr)
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(b), "stopped after 100ms, at 0 of 5")
	require.Contains(t, string(b), `colspan="5"`)
	require.Contains(t, string(b), "No run went well enough")
}

func TestWhereThereIsNowhereToWriteTo(t *testing.T) {
	nowhere := t.TempDir() + "/no/such/"
	for _, flag := range []string{"-json", "-csv", "-report", "-svg"} {
		status, stdout, stderr := bench(t, "-n", "5", flag, nowhere+"file")
		require.Equal(t, exitFailure, status)
		oneLine(t, stderr, flag+": ")
		require.Empty(t, stdout, "it is said before anything runs")
	}
}

// A page shows what was typed as text.
func TestNoMarkupComesFromTheCommandLine(t *testing.T) {
	var page bytes.Buffer
	r := result{Lock: "naive", Server: "<b>server", Goroutines: 5, Count: 5, Elapsed: time.Second, Status: statusOK, contestant: contestants[0]}
	require.NoError(t, writeReport(&page, config{args: []string{"-zk", "<script>"}}, []result{r}, nil))
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

func TestALongCellTakesTheRoomOfThoseThatAreMissing(t *testing.T) {
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
	const widest = 40.0 // points, of a label and the gap after it
	for span := 2.0; span < 1e9; span *= 1.7 {
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
			gap := (labels[i+1] - labels[i]) / math.Log(span) * (chartWidth - 70) // but for the other axis
			require.Greater(t, gap, widest, "from 0.7 to %g", 0.7*span)
		}
	}
}
