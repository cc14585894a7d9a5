// Tests of the command line, and of what each flag changes.
package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/testenv"
)

// Each line of testdata/usage.txt has arguments that are wrong, and a part of the error.
func TestAUsageErrorIsOneLine(t *testing.T) {
	for line := range strings.Lines(fileText(t, "testdata/usage.txt")) {
		text, want, isCase := strings.Cut(strings.TrimSpace(line), " | ")
		if !isCase {
			continue // a comment
		}
		args := strings.Fields(text)
		for i, arg := range args {
			args[i] = strings.Trim(arg, "'") // an empty argument is quoted
		}
		requireFails(t, exitUsage, want, args...)
	}
}

// What can be wrong with a server is tested in internal/ensemble.
func TestAnErrorIsOneLine(t *testing.T) {
	missing := t.TempDir() + "/no/such/file"
	requireFails(t, exitFailure, "connection refused", "-zk", "127.0.0.1:1")
	requireFails(t, exitFailure, "/no/such/file: no such file or directory", "-json", missing)
	requireFails(t, exitFailure, "-report: open ", "-report", missing)
}

func requireFails(t *testing.T, want int, message string, args ...string) {
	status, stdout, stderr := bench(t, args...)
	require.Equal(t, want, status, "%q: %s", args, stderr)
	require.Empty(t, stdout, "%q: it is said before anything runs", args)
	requireOneLine(t, stderr, message)
}

func TestTheDefaultRunHasASecondTable(t *testing.T) {
	setDuring(t, &usualSizes, "2,3")
	rs, stdout := benchResults(t, "-locks", "predecessor,herd")
	first, second, ok := strings.Cut(stdout, report.EverydayText.String())
	require.True(t, ok, stdout)
	require.Regexp(t, `(?m)^predecessor +2 +2 `, first)
	require.NotRegexp(t, `(?m)^predecessor +50 `, first)
	second, _, ok = strings.Cut(second, "requests and watch events:")
	require.True(t, ok, "the columns are explained below both tables")
	require.Equal(t, 1, strings.Count(stdout, "requests and watch events:"))
	require.NotContains(t, second, "article A")
	for _, lock := range []string{"predecessor", "herd"} {
		require.Regexp(t, `(?m)^`+lock+` +1 +50 `, second)
		require.Regexp(t, `(?m)^`+lock+` +50 +50 `, second)
	}

	type row struct{ goroutines, sessions, times, count int }
	seen := make(map[row]int) // how many runs
	for _, r := range rs {
		seen[row{r.Goroutines, r.Sessions, r.Times, r.Count}]++
	}
	// Both locks have run with 2 and 3 goroutines, with one that locks 50 times, and with 50 that have a session each.
	require.Equal(t, map[row]int{{2, 1, 1, 2}: 2, {3, 1, 1, 3}: 2, {1, 1, 50, 50}: 2, {50, 50, 1, 50}: 2}, seen, "JSON has the rows of both")
	for _, r := range rs {
		if r.Lock == "herd" && r.Goroutines == 50 {
			require.Greater(t, r.WatchEvents, int64(2*50), "with a session each the herd is seen in the events")
		}
	}
}

func TestTheSecondTableIsOnlyInTheDefaultRun(t *testing.T) {
	for flags, loads := range map[string]int{ // those of -n, and the two of the second table
		"":                         4,
		"-rounds 3 -locks all":     4,
		"-rtt 20ms":                4,
		"-n 100,1000":              2,
		"-n 50":                    1,
		"-sessions 1":              2,
		"-closed 1":                2,
		"-join -zk 127.0.0.1:2181": 2,
	} {
		cfg := testenv.Must(parseFlags(strings.Fields(flags), nil))(t)
		require.Len(t, cfg.loads, loads, flags)
	}
}

func TestEachGoroutineLocksAsOftenAsClosedSays(t *testing.T) {
	runBeside(t)
	locks := slices.DeleteFunc(namesOf(onZooKeeper()), func(name string) bool { return name == "curator" })
	rs, stdout := benchResults(t, "-n", "4", "-closed", "6", "-sessions", "2", "-locks", strings.Join(locks, ","))
	require.Contains(t, stdout, "N goroutines over 2 sessions, each 6 times: lock, num++, unlock.\n")
	require.Regexp(t, `(?m)^predecessor +4 +24 `, stdout)
	require.Regexp(t, `(?m)^floor +4 +no lock `, stdout)
	require.Len(t, rs, len(locks))
	for _, r := range rs {
		require.Equal(t, 4, r.Goroutines)
		require.Equal(t, 6, r.Times)
		require.Equal(t, 24, r.Count, r.Lock)
		if r.Lock != "naive" && !strings.HasPrefix(r.Lock, "zklock") { // naive tries again; a Mutex keeps its node
			require.EqualValues(t, 24, r.Kinds["create"], r.Lock)
			require.EqualValues(t, 24, r.Kinds["delete"], r.Lock)
		}
	}
}

// The commands in the pages are possible, and the flags that they name are in the usage.
func TestTheDocsNameOnlyFlagsThatExist(t *testing.T) {
	page := fileText(t, "../docs/benchmark.md") + fileText(t, "../docs/figures.md")
	status, help, stderr := bench(t, "-help")
	require.Zero(t, status)
	require.Empty(t, stderr)
	_, chinese, _ := bench(t, "-lang", "zh", "-help")
	require.Empty(t, chinesetest.Flags(chinese))
	require.Contains(t, chinese, "\n  -warmup 时间\n")
	commands := regexp.MustCompile(`go run \./bench [^\n`+"`"+`]*`).FindAllString(page, -1)
	require.NotEmpty(t, commands)
	for _, command := range commands {
		args := strings.Fields(command)[3:]
		require.NoError(t, testenv.Err(parseFlags(args, new(bytes.Buffer))), command)
	}
	for _, flag := range regexp.MustCompile("`(-[a-z]+)[ `]").FindAllStringSubmatch(page, -1) {
		require.Contains(t, help, "  "+flag[1], "docs/benchmark.md names it")
	}
	for _, c := range contestants {
		require.Contains(t, page, c.Name)
	}
}
