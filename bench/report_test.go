package main

import (
	"encoding/csv"
	"encoding/xml"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneRunWritesEverything(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string { return text(t, file(name)) }
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-n", "5,10", "-rounds", "2", "-locks", "all", "-explain",
		"-json", file("r.json"), "-csv", file("r.csv"), "-report", file("r.html"), "-svg", file("c-"))
	require.Zero(t, status, stderr)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len(line), 101, "too wide: %q", line)
	}
	require.Contains(t, stdout, "On the wire, per acquisition:")
	require.Contains(t, stdout, "overtaken")
	require.Contains(t, stdout, "  5 - 2/N: predecessor, reentrant, zk.Lock, curator")

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
		require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
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
	for _, name := range keys {
		require.Contains(t, column, name)
	}
	rows := written[[]map[string]any](t, file("r.json"))
	require.Len(t, rows, len(records)-1, "the same rows as in JSON")
	for _, row := range rows {
		require.Subset(t, slices.Collect(maps.Keys(row)), keys)
	}
	for _, r := range records[1:] {
		if r[column["lock"]] == "curator" {
			require.Equal(t, "cannot run", r[column["status"]])
			continue
		}
		require.Equal(t, r[column["goroutines"]], r[column["count"]])
		if !strings.HasPrefix(r[column["lock"]], "zklock") { // whose goroutines share a node
			require.Equal(t, r[column["goroutines"]], r[column["requests_delete"]])
		}
		require.NotEqual(t, "0", r[column["elapsed_ns"]])
	}
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
