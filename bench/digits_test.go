package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// Each digit of README.md and docs/benchmark.md is held: it is in a passage that figures_test.go
// writes, in one of claims, or in one of labels.

// claims are texts of the two pages, made of the program's constants or of what tests measure.
func claims(t *testing.T) (readme, benchmark []string) {
	readme = []string{"Go " + found(t, "../go.mod", `\ngo (\d+\.\d+)`)[0] + " installed"}
	alone, many := counter.Everyday[0], counter.Everyday[1]
	const rtt, times = 20, 20 // the values in the pages' examples
	benchmark = []string{
		fmt.Sprintf("has %d acquisitions in each row: one goroutine alone that locks %d times, and %d\ngoroutines with a session each",
			alone.Count(), alone.Times, many.Sessions),
		fmt.Sprintf("no contender gets the free lock for %.0f s", counter.Patience.Seconds()),
		fmt.Sprintf("exit status %d", exitFailure),
		"warm-up (round 0)", // of warmJVM
		fmt.Sprintf("`-rtt %dms`** delays each message by %d ms", rtt, rtt/2),
		fmt.Sprintf("`-rtt %dms` | makes each round trip to the server %d ms longer", rtt, rtt),
		fmt.Sprintf("`-closed %d` | each goroutine locks %d times; the count is then %d N", times, times, times),
		"about N/2 on average with\nthe naive lock and the herd, 1 with the predecessor", // peers_test.go
		// fairness_test.go
		"is 0 in a queue, (N-1)/4\non average in a lottery, and (N-1)/2 in a stack. A queue may show a little more than 0,",
	}
	// The table of TestTheTimesHaveTheRatiosOfTheMeasuredServer.
	table := fileText(t, "../internal/explore/film/film_test.go")
	rows := regexp.MustCompile(`\{(\d+), ([\d.]+), ([\d.]+)\}`).FindAllStringSubmatch(table, 4)
	require.Len(t, rows, 4)
	column := func(of int) string {
		return fmt.Sprintf("%s, %s, %s and %s", rows[0][of], rows[1][of], rows[2][of], rows[3][of])
	}
	packet, server := film.Measured(0).Latency, film.Measured(0).Server
	micros := time.Duration.Microseconds
	return readme, append(benchmark,
		fmt.Sprintf("`film.Measured`: %d µs for a request,\n%d µs more if it writes, %d µs for an event, ",
			micros(server.Request), micros(server.Write), micros(server.Event)),
		fmt.Sprintf("%d ns for a byte, and %d µs from a client", server.Byte.Nanoseconds(), micros(packet)),
		fmt.Sprintf("There the herd took %s times as long as step 3 with %s contenders", column(2), column(1)),
		"In the lab it is\nwithin 10 %",
		fmt.Sprintf("The naive lock took %s times as long", column(3)),
		"in the lab it is within 30 %, and too\nfast with 20 contenders",
	)
}

// labels are texts of the pages whose digits measure nothing: they name a step, an address or
// the value of a flag.
var labels = map[string][]string{
	"../README.md": {
		"step 1\nbegins with a single node", "Step 4 is a layer over step 3", "go test ./01-naive-ephemeral\n",
		// Measured on a machine with two cores, with empty caches and with full ones.
		"| `go run ./bench -n 1000` | 2 min | 1 min | 3 MB |", "| `go test ./01-naive-ephemeral` | 1 min | 10 s | 3 MB |",
		"| `go test ./...` | 5 min | 3 min | 3 MB |",
		"[1 naive](01-naive-ephemeral/)", "[2 herd](02-herd-effect/)", "[3 predecessor](03-sequential-predecessor/)",
		"[4 reentrant](04-reentrant/)", "[5 timeout](05-timeout/)",
		"before its own | 1 | A", "may lock again | 1 | A", "late writes | 1 | A", // peers_test.go
		"微盟40w总包面试问题", "史上最全) (7)",
	},
	"../docs/benchmark.md": {
		"step 3 sends exactly as many", "**wait p50, p99, wait max**", "(step 5 and zklock:",
		"go run ./bench -zk 127.0.0.1:2181 -locks all -rounds 3 -explain", "ZooKeeper 3.8.0 on loopback, on two cores",
		"*herd, 1000 goroutines: about 30\ns*",              // an example
		"takes 60 from one address", "(0: as many as come)", // ZooKeeper's own default
		"`go run ./cmd/zklock serve 127.0.0.1:2181`", "`go run ./bench -zk 127.0.0.1:2181`",
		"go run ./bench -zk 127.0.0.1:2181 -locks naive,herd,predecessor -n 50 -sessions 50 -rounds 15",
		"With `-rtt 20ms` it takes", "longer than step 3 on", "-n 100,200,500,1000,2000,5000 -limit 60s",
	},
}

// unheld returns a text that is not on the page, or a line of the page with a digit that is in none
// of the texts; "" if all is held.
func unheld(page string, texts []string) string {
	page = site.Strip(page) // without the passages that figures_test.go writes
	for _, text := range texts {
		if !strings.Contains(page, text) {
			return text
		}
		page = strings.ReplaceAll(page, text, "")
	}
	return regexp.MustCompile(`.*\d.*`).FindString(page)
}

// TestEachDigitIsHeld also changes each digit of the pages, and requires that unheld notices it.
func TestEachDigitIsHeld(t *testing.T) {
	readme, benchmark := claims(t)
	for file, texts := range map[string][]string{"../README.md": readme, "../docs/benchmark.md": benchmark} {
		page := site.Strip(fileText(t, file))
		texts = append(texts, labels[file]...)
		require.Empty(t, unheld(page, texts), "%s: nothing holds a figure: its text belongs in claims or in labels", file)
		for _, at := range regexp.MustCompile(`\d`).FindAllStringIndex(page, -1) {
			changed := []byte(page)
			changed[at[0]] = '0' + (changed[at[0]]-'0'+1)%10
			require.NotEmpty(t, unheld(string(changed), texts), "%s: byte %d", file, at[0])
		}
	}
}

// The numbers of the steps' pages, and of zklock's, are those of the code and its tests.
func TestTheFormulasOfTheStepsAreThoseOfTheirTests(t *testing.T) {
	steps := testenv.Must(filepath.Glob("../0*"))(t)
	require.Len(t, steps, 5)
	asGo := strings.NewReplacer("N²", "n*n", "2N", "2*n", "5N", "5*n", "6N", "6*n", "N", "n", "−", "-")
	for _, dir := range steps {
		said := found(t, dir+"/README.md", `each lock once\s+send \*\*(.*?)\s+requests`)
		require.Equal(t, found(t, dir+"/lock_test.go", `Requests: .*{ return (.*) }`)[0], asGo.Replace(said[0]), dir)
	}
	const page = "../zklock/README.md"
	handOver := found(t, "../zklock/lock.go", `holds: (\d+), during: (\d+) \* time\.Millisecond`)
	require.Equal(t, handOver, found(t, page, `After (\d+) holds or (\d+) ms`))
	require.Equal(t, []string{handOver[1], handOver[0]}, found(t, page, `no\s+longer than (\d+) ms(?s:.*) a node for (\d+) holds`))
	require.Equal(t, found(t, "../zklock/internal/client/proof.go", `timeout \* (\d+) / (\d+)`),
		found(t, page, `: (\d+)/(\d+) of the session timeout`))
	require.Equal(t, found(t, "../zklock/lock_cost_test.go", `LessOrEqual\(t, float64\(sum\(sent\)\)/n, (.*?),`),
		found(t, page, `at most \*\*(.*?) N\*\*`))
}

// found returns the groups of the first match of a pattern in a file.
func found(t *testing.T, file, pattern string) []string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(fileText(t, file))
	require.NotNil(t, m, "%s: %s", file, pattern)
	return m[1:]
}
