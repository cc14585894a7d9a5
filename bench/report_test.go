package main

import (
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
		"-json", file("r.json"), "-report", file("r.html"))
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

	rows := written[[]map[string]any](t, file("r.json"))
	require.Len(t, rows, (len(onZooKeeper())-1)*4+2, "one row of Curator's for each number of threads")
	for _, row := range rows {
		require.Subset(t, slices.Collect(maps.Keys(row)), keys)
		if row["lock"] == "curator" {
			require.Equal(t, "cannot run", row["status"])
			continue
		}
		require.Equal(t, row["goroutines"], row["count"])
		require.NotZero(t, row["elapsed_ns"])
	}
}
