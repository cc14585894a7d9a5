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

// What can be wrong with a server is tested in internal/ensemble.
func TestAnErrorIsOneLine(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-nonsense"}, exitUsage, "-nonsense"},
		{[]string{"rubbish"}, exitUsage, `unexpected argument "rubbish"`},
		{[]string{"-locks", "naive,nave"}, exitUsage, `no lock is called "nave"; there are naive, herd, predecessor`},
		{[]string{"-locks", ""}, exitUsage, `no lock is called ""`},
		{[]string{"-locks", "naive,naive"}, exitUsage, "twice"},
		{[]string{"-n", "0"}, exitUsage, `"0" is not a number of goroutines`},
		{[]string{"-n", "100001"}, exitUsage, "not a number of goroutines between 1 and 100000"},
		{[]string{"-n", "ten"}, exitUsage, "goroutines"},
		{[]string{"-n", "5,5"}, exitUsage, "twice"},
		{[]string{"-sessions", "0"}, exitUsage, "-sessions"},
		{[]string{"-n", "5,10", "-sessions", "6"}, exitUsage, "-sessions"},
		{[]string{"-rounds", "0"}, exitUsage, "-rounds"},
		{[]string{"-rounds", "x"}, exitUsage, "-rounds"},
		{[]string{"-closed", "0"}, exitUsage, "-closed: 0 is not between 1 and 10000, the most for 100 goroutines"},
		{[]string{"-n", "1000", "-closed", "1001"}, exitUsage, "-closed: 1001 is not between 1 and 1000"},
		{[]string{"-rtt", "-1ms"}, exitUsage, "-rtt: -1ms is negative"},
		{[]string{"-limit", "5"}, exitUsage, `invalid value "5" for flag -limit: it has no unit: write 5s`},
		{[]string{"-warmup", "1.5"}, exitUsage, "write 1.5s"},
		{[]string{"-rtt", "20"}, exitUsage, "write 20ms"},
		{[]string{"-limit", "five"}, exitUsage, "it is not a time such as 5s"},
		{[]string{"-warmup", "-1s"}, exitUsage, "-warmup"},
		{[]string{"-json", "out", "-report", "./out"}, exitUsage, "-report: ./out is the file of -json, too: give each its own"},
		{[]string{"-json", "-rtt"}, exitUsage, `-json: "-rtt" begins with a dash: it looks like a flag; a file of that name is ./-rtt`},
		{[]string{"-json", "-"}, exitUsage, `-json: "-" begins with a dash`},
		{[]string{"-report", "--zk", "-n", "5"}, exitUsage, `-report: "--zk" begins with a dash`},
		{[]string{"-zk", "embedded", "-join"}, exitUsage, "-join: other processes cannot reach a server of this process"},
		{[]string{"-procs", "3"}, exitUsage, "-procs: is for processes that take part with -join"},
		{[]string{"-zk", "127.0.0.1:1", "-join", "-procs", "0"}, exitUsage, "-procs: 0 is not between 1 and 100"},
		{[]string{"-path", "lock"}, exitUsage, "-path"},
		{[]string{"-path", "/"}, exitUsage, "-path"},
		{[]string{"-path", "/a//b"}, exitUsage, "-path"},
		{[]string{"-path", "/a/../b"}, exitUsage, "-path"},
		{[]string{"-path", "/a/"}, exitUsage, "-path"},
		{[]string{"-path", "/zookeeper"}, exitUsage, "-path: /zookeeper is ZooKeeper's own"},
		{[]string{"-path", "/zookeeper/config/x"}, exitUsage, "-path: /zookeeper/config/x is ZooKeeper's own"},
		{[]string{"-zk", ""}, exitUsage, "-zk: its value is empty"},
		{[]string{"-json", ""}, exitUsage, "-json: its value is empty"},
		{[]string{"-zk", "127.0.0.1"}, exitUsage, `bench: -zk: "127.0.0.1" is neither embedded`},
		{[]string{"-zk", "127.0.0.1:1"}, exitFailure, "connection refused"},
		{[]string{"-json", t.TempDir() + "/no/such/file"}, exitFailure, "/no/such/file: no such file or directory"},
		{[]string{"-report", t.TempDir() + "/no/such/file"}, exitFailure, "-report: open "},
	} {
		status, stdout, stderr := bench(t, tc.args...)
		require.Equal(t, tc.status, status, "%q: %s", tc.args, stderr)
		require.Empty(t, stdout, "%q: it is said before anything runs", tc.args)
		requireOneLine(t, stderr, tc.want)
	}
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
	require.Equal(t, map[row]int{{2, 1, 1, 2}: 2, {3, 1, 1, 3}: 2, {1, 1, 50, 50}: 2, {50, 50, 1, 50}: 2}, seen, "JSON has the rows of both")
	for _, r := range rs {
		if r.Lock == "herd" && r.Goroutines == 50 {
			require.Greater(t, r.WatchEvents, int64(2*50), "with a session each the herd is seen in the events")
		}
	}
}

func TestTheSecondTableIsOnlyInTheDefaultRun(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		loads int // those of -n, and the two of the second table
	}{
		{nil, 4},
		{[]string{"-rounds", "3", "-locks", "all"}, 4},
		{[]string{"-rtt", "20ms"}, 4},
		{[]string{"-n", "100,1000"}, 2},
		{[]string{"-n", "50"}, 1},
		{[]string{"-sessions", "1"}, 2},
		{[]string{"-closed", "1"}, 2},
		{[]string{"-join", "-zk", "127.0.0.1:2181"}, 2},
	} {
		cfg := testenv.Must(parseFlags(tc.args, nil))(t)
		require.Len(t, cfg.loads, tc.loads, tc.args)
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
