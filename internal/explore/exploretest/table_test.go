package exploretest_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/when"
)

// TestMain leaves the tests out where ZK names a server: the explorer brings
// its own, and has been tested without.
func TestMain(m *testing.M) {
	if when.Elsewhere() {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var update = flag.Bool("explore.update", false, "write the table of docs/explorer.md again")

const (
	page  = "../../../docs/explorer.md"
	begin = "<!-- the table: go test ./internal/explore/exploretest -run Table -explore.update -->\n"
	end   = "<!-- end of the table -->\n"
	head  = "| lock | contenders | choices | fault | schedules | states | result |\n|---|---|---|---|---|---|---|\n"
)

// TestTableOfThePage plays the rows of the table in docs/explorer.md. Without
// ZKLOCK_TESTS=long it takes the rows that end soon, and looks for the others only
// whether they are there.
func TestTableOfThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the page has no table")
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the table has no end")
	lines := strings.Split(strings.TrimPrefix(strings.TrimSpace(table), head), "\n")
	var found []string
	for _, s := range []explore.Subject{steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant(), steps.Timeout(), steps.Zklock()} {
		for _, row := range exploretest.Rows(s) {
			n := len(found)
			if *update || !row.Slow || when.AtLength() {
				found = append(found, row.Line(t))
			} else {
				require.Less(t, n, len(lines), "a row is missing")
				found = append(found, lines[n])
			}
			if !*update {
				require.Less(t, n, len(lines), "a row is missing")
				got, want := found[n], lines[n]
				if s.Timed {
					got, want = lastColumn(got), lastColumn(want)
				}
				require.Equal(t, want, got, "the page says otherwise; -explore.update writes the table")
			}
		}
	}
	if *update {
		table := head + strings.Join(found, "\n") + "\n"
		require.NoError(t, os.WriteFile(page, []byte(before+begin+table+end+after), 0o644))
		return
	}
	require.Len(t, lines, len(found), "the table has other rows")
}

// lastColumn is the result. A schedule of a timed lock that did not come out alike
// twice is gone through again, so there may be more schedules on a busy machine.
func lastColumn(line string) string { return line[strings.LastIndex(line[:len(line)-1], "|"):] }

var pairs = flag.String("explore.pairs", "", "play the pairs of faults that this expression matches, each for at most -explore.for; with "+
	"-explore.update, write them into the page")

const (
	pairsBegin = "<!-- the pairs: go test ./internal/explore/exploretest -run Pairs -timeout 3h -explore.update -explore.pairs . -->\n"
	pairsEnd   = "<!-- end of the pairs -->\n"
	pairsHead  = "| two faults | schedules | states | result |\n|---|---|---|---|\n"
)

// TestPairsOfThePage plays the shortest searches of the second table, or those
// that a flag asks for. The others stay as they are in the page.
func TestPairsOfThePage(t *testing.T) {
	chosen := *pairs
	switch {
	case chosen == "" && when.AtLength():
		chosen = "^(cut|expire|end ctx), end ctx$"
	case chosen == "":
		chosen = "^end ctx, end ctx$"
	}
	pattern, err := regexp.Compile(chosen)
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), pairsBegin)
	require.True(t, ok, "the page has no table of pairs")
	table, after, ok := strings.Cut(rest, pairsEnd)
	require.True(t, ok, "the table of pairs has no end")
	lines := strings.Split(strings.TrimPrefix(strings.TrimSpace(table), pairsHead), "\n")
	complete := steps.Zklock()
	for i, p := range exploretest.Pairs(complete) {
		require.Less(t, i, len(lines), "a pair is missing: %s", p)
		if !pattern.MatchString(p.String()) {
			require.True(t, strings.HasPrefix(lines[i], "| "+p.String()+" |"), "the page has another pair than %s: %s", p, lines[i])
			continue
		}
		line := p.Line(t, complete, exploretest.For())
		t.Log(line)
		if !*update {
			require.Equal(t, lastColumn(lines[i]), lastColumn(line), "the page says otherwise; -explore.update -explore.pairs writes the line")
		}
		lines[i] = line
	}
	if *update {
		table := pairsHead + strings.Join(lines, "\n") + "\n"
		require.NoError(t, os.WriteFile(page, []byte(before+pairsBegin+table+pairsEnd+after), 0o644))
	}
}
