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
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

var update = flag.Bool("explore.update", false, "write the table of docs/explorer.md again")

const (
	page  = "../../../docs/explorer.md"
	begin = "<!-- the table: go test ./internal/explore/exploretest -run Table -explore.update -->\n"
	end   = "<!-- end of the table -->\n"
	head  = "| lock | contenders | choices | fault | schedules | states | result |\n|---|---|---|---|---|---|---|\n"
)

// TestTableOfThePage plays the rows of the table in docs/explorer.md: with ZKLOCK_TESTS=long all, with
// ZKLOCK_TESTS=landing those that end soon, and otherwise those of step 3. It looks for the others only
// whether they are there.
func TestTableOfThePage(t *testing.T) {
	lines, write := tableOf(t, begin, end, head)
	var found []string
	for _, s := range []explore.Subject{steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant(), steps.Timeout(), steps.Zklock()} {
		for _, row := range exploretest.Rows(s) {
			n := len(found)
			require.True(t, *update || n < len(lines), "a row is missing")
			soon := !row.Slow && (s.Name == "predecessor" || testenv.AtLanding())
			if *update || soon || testenv.AtLength() {
				found = append(found, row.Line(t))
			} else {
				found = append(found, lines[n])
			}
			if !*update {
				got, want := found[n], lines[n]
				if s.Timed {
					got, want = lastColumn(got), lastColumn(want)
				}
				require.Equal(t, want, got, "the page says otherwise; -explore.update writes the table")
			}
		}
	}
	if *update {
		write(found)
		return
	}
	require.Len(t, lines, len(found), "the table has other rows")
}

// tableOf has the lines of a table of the page. Write puts others in their place.
func tableOf(t *testing.T, begin, end, head string) (lines []string, write func(lines []string)) {
	t.Helper()
	text := testenv.Must(os.ReadFile(page))(t)
	before, rest, begins := strings.Cut(string(text), begin)
	table, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "the page has no table between %s and %s", begin, end)
	return strings.Split(strings.TrimPrefix(strings.TrimSpace(table), head), "\n"), func(lines []string) {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+head+strings.Join(lines, "\n")+"\n"+end+after), 0o644))
	}
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
	case chosen == "" && testenv.AtLength():
		chosen = "^(cut|expire|end ctx), end ctx$"
	case chosen == "":
		chosen = "^end ctx, end ctx$"
	}
	pattern := testenv.Must(regexp.Compile(chosen))(t)
	lines, write := tableOf(t, pairsBegin, pairsEnd, pairsHead)
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
		write(lines)
	}
}
