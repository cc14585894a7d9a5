package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/testenv"
)

func TestWithoutATerminalEachRunIsALine(t *testing.T) {
	set(t, &tries, true)
	status, _, stderr := bench(t, "-n", "3,5", "-rounds", "2", "-locks", "predecessor,floor", "-warmup", "0s")
	require.Zero(t, status, stderr)
	require.NotContains(t, stderr, "\x1b")
	require.NotContains(t, stderr, "\r")
	require.Equal(t, "trying predecessor …\n"+
		"1/8 predecessor, 3 goroutines, round 1 of 2 …\n"+
		"2/8 floor, 3 goroutines, round 1 of 2 …\n"+
		"3/8 floor, 3 goroutines, round 2 of 2 …\n"+
		"4/8 predecessor, 3 goroutines, round 2 of 2 …\n"+
		"5/8 predecessor, 5 goroutines, round 1 of 2 …\n"+
		"6/8 floor, 5 goroutines, round 1 of 2 …\n"+
		"7/8 floor, 5 goroutines, round 2 of 2 …\n"+
		"8/8 predecessor, 5 goroutines, round 2 of 2 …\n", stderr)
}

// TestAReaderOfChineseReadsNoEnglish: the tables, the progress, the page and its charts.
func TestAReaderOfChineseReadsNoEnglish(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-lang", "zh", "-n", "3,5", "-rounds", "2", "-locks", "naive,predecessor,least,curator", "-explain", "-report", page)
	require.Zero(t, status, stderr)
	html := regexp.MustCompile(`(?s)<style.*?</style>|<code>.*?</code>|<[^>]*>`).ReplaceAllString(text(t, page), "\n")
	require.Empty(t, chinesetest.English(stdout+stderr+html))
	header := regexp.MustCompile(`(?m)^锁 +N .*`).FindAllString(stdout, -1)
	require.Len(t, header, 4)
	for _, words := range []string{"elapsed", "count", "events", "rounds", "predicted", "other", "contenders"} {
		require.NotContains(t, strings.Join(header, "")+html, words)
	}
}

func TestABarFitsInALine(t *testing.T) {
	p := newProgress(new(bytes.Buffer), config{}) // as wide as 80
	for text, want := range map[string]string{
		"1/8 naive, 5 goroutines":                         "1/8 naive, 5 goroutines",
		"1/8 predecessor, 10000 goroutines, round 1 of 9": "1/8 predecessor, 10000 gorout…",
	} {
		require.Equal(t, want, p.fitting(text, besideTheText))
	}
}

func TestTheBarShowsHowFarARunIs(t *testing.T) {
	var screen bytes.Buffer
	p := newProgress(&screen, config{})
	p.terminal, p.jobs = true, make([]counter.Job, 1)
	p.Begin(counter.Job{Player: (&measurement{}).server.Play(counter.Lock{Name: "naive"}, zookeeper.Kind{}), Load: counter.Load{N: 10, Times: 1}})
	for range 6 {
		p.drawn.Store(0) // long ago
		p.Step()
	}
	p.finish()
	require.Contains(t, screen.String(), eraseLine+"1/1 naive, 10 goroutines [          ] 0/10 0s")
	require.Contains(t, screen.String(), eraseLine+"1/1 naive, 10 goroutines [██████    ] 6/10 0s"+eraseLine)
}

// TestTheDocsNameOnlyFlagsThatExist keeps docs/benchmark.md from drifting away.
func TestTheDocsNameOnlyFlagsThatExist(t *testing.T) {
	page := text(t, "../docs/benchmark.md") + text(t, "../docs/figures.md")
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
