// Tests of what is shown while the benchmark runs, and of its Chinese.
package main

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
)

func TestWithoutATerminalEachRunIsALine(t *testing.T) {
	setDuring(t, &withTrials, true)
	status, _, stderr := bench(t, "-n", "3,5", "-rounds", "2", "-locks", "predecessor,floor", "-warmup", "0s")
	require.Zero(t, status, stderr)
	require.Equal(t, "trying predecessor …\n"+
		"1/8 predecessor, 3 goroutines, round 1 of 2 … T\n"+
		"2/8 floor, 3 goroutines, round 1 of 2 … T\n"+
		"3/8 floor, 3 goroutines, round 2 of 2 … T\n"+ // a round begins with the next lock
		"4/8 predecessor, 3 goroutines, round 2 of 2 … T\n"+
		"5/8 predecessor, 5 goroutines, round 1 of 2 … T\n"+
		"6/8 floor, 5 goroutines, round 1 of 2 … T\n"+
		"7/8 floor, 5 goroutines, round 2 of 2 … T\n"+
		"8/8 predecessor, 5 goroutines, round 2 of 2 … T\n", regexp.MustCompile(`[\d.]+ ms`).ReplaceAllString(stderr, "T"))
}

// The tables, the progress, and the page with its charts have no English word.
func TestAReaderOfChineseReadsNoEnglish(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	t.Setenv("PATH", "") // no Curator: a row says so
	status, stdout, stderr := bench(t, "-lang", "zh", "-n", "3,5", "-rounds", "2",
		"-locks", "naive,predecessor,least,curator", "-explain", "-report", page)
	require.Zero(t, status, stderr)
	html := regexp.MustCompile(`(?s)<style.*?</style>|<code>.*?</code>|<[^>]*>`).ReplaceAllString(fileText(t, page), "\n")
	require.Empty(t, chinesetest.English(stdout+stderr+html))
	header := regexp.MustCompile(`(?m)^锁 +N .*`).FindAllString(stdout, -1)
	require.Len(t, header, 3)
	for _, words := range []string{"elapsed", "count", "events", "rounds", "predicted", "other", "contenders"} {
		require.NotContains(t, strings.Join(header, "")+html, words)
	}
}

func TestOnATerminalTheLinesOfRunsStay(t *testing.T) {
	var screen bytes.Buffer
	setDuring(t, &isTerminal, func(io.Writer) bool { return true })
	p := &progress{w: &screen, rounds: 1, total: 2}
	p.Say(i18n.Same("trying"))
	p.End(report.Run{Status: report.StatusNotRun})
	job := counter.Job{Player: &curatorPlayer{}, Load: counter.Load{N: 2, Sessions: 1, Times: 1}}
	p.Begin(job)
	p.Say(i18n.Same("warming")) // while the first run is under way; nothing is said during the second one
	p.End(report.Run{Status: report.StatusWarmUp})
	p.End(report.Run{Elapsed: time.Millisecond})
	p.Begin(job)
	p.End(report.Run{Status: report.StatusFailed})
	p.finish()
	const one, two = "1/2 , 2 goroutines …", "2/2 , 2 goroutines …" // a player without a name
	require.Equal(t, "trying …"+eraseLine+one+eraseLine+"warming …"+eraseLine+one+" 1.0 ms\n"+two+" FAILED\n", screen.String())
}
