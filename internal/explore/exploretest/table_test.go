package exploretest

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

const root, page = "../../..", "../../../docs/explorer.md"

var (
	update = flag.Bool("explore.update", false, "write the table of docs/explorer.md again")
	pairs  = flag.String("explore.pairs", "", "play the pairs of faults that this expression matches, each for at most -explore.for; "+
		"with -explore.update, write them into the page")
)

// A row is a row of a table of the page: a world, and how it is searched. The figures of a timed lock vary: some of its
// schedules do not repeat, and are played again. So only the result of its row is compared.
type row struct {
	columns string // the cells before the figures
	player.World
	explore.Search
	play  bool // it is searched now; otherwise the row stays as it is on the page
	exact bool // the figures, too, must be those of the page, and not only the result
}

// holdTable searches the worlds of the rows, and compares the table between two lines of the page, or writes it.
func holdTable(t *testing.T, begin, end, head string, rows []row) {
	t.Helper()
	text := testenv.Must(os.ReadFile(page))(t)
	before, rest, begins := strings.Cut(string(text), begin)
	table, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "the page has no table between %s and %s", begin, end)
	lines := strings.Split(strings.TrimPrefix(strings.TrimSpace(table), head), "\n")
	var found []string
	for i, r := range rows {
		writesRow := r.play && *update
		require.True(t, i < len(lines) || writesRow, "a row is missing: %s", r.columns)
		if !r.play {
			require.Contains(t, lines[i], "| "+r.columns+" |", "the page has another row")
			found = append(found, lines[i])
			continue
		}

		searched := explore.Explore(t, r.World, r.Search)
		line := fmt.Sprintf("| %s | %d | %d | %s |", r.columns, searched.Schedules, searched.States, resultText(searched))
		t.Log(line)
		found = append(found, line)
		if !*update {
			want := lines[i]
			if !r.exact {
				line, want = lastColumn(line), lastColumn(want)
			}
			require.Equal(t, want, line, "the page says otherwise; -explore.update writes the table")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+head+strings.Join(found, "\n")+"\n"+end+after), 0o644))
		return
	}
	require.Len(t, lines, len(found), "the table has other rows")
}

func lastColumn(line string) string { return line[strings.LastIndex(line[:len(line)-1], "|"):] }

// resultText says what a search has found, for the last column.
func resultText(r *explore.Report) string {
	switch {
	case r.Found != nil:
		return "**" + string(r.Found.Violation.Kind) + "**"
	case r.Left > 0: // schedules that ran in another way each time that they were played
		return fmt.Sprintf("not complete: %d schedules do not repeat", r.Left)
	case !r.Complete:
		return "not complete"
	case len(r.Known) > 0:
		var names []string
		for name, tr := range r.Known {
			choices := "choices"
			if len(tr.Choices) == 1 {
				choices = "choice"
			}
			names = append(names, fmt.Sprintf("%s (%d %s)", name, len(tr.Choices), choices))
		}
		slices.Sort(names)
		return strings.Join(names, "; ")
	}
	return "right"
}

// TestTableOfThePage plays every schedule of two and of three contenders without a fault, and of two contenders with
// each fault: with ZKLOCK_TESTS=long all, with ZKLOCK_TESTS=landing those that end soon, and otherwise those of step 3.
func TestTableOfThePage(t *testing.T) {
	var rows []row
	for _, s := range []player.Subject{
		steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant(), steps.Timeout(), steps.Zklock(),
	} {
		const quick, slow = false, true
		add := func(w player.World, isSlow bool, choices string, fault player.Fault) {
			w.Lock = s
			columns := fmt.Sprintf("%s | %d | %s | %s", s.Name, w.Number(), choices, fault)
			isDue := !isSlow && (s.Name == "predecessor" || testenv.AtLanding())
			r := row{columns: columns, World: w, Search: explore.Search{Count: true}, exact: !s.Timed}
			r.play = *update || isDue || testenv.AtLength()
			rows = append(rows, r)
		}
		add(player.World{}, quick, "requests", "none")
		add(player.World{Packets: true}, quick, "packets", "none")
		add(player.World{Contenders: 3}, slow, "requests", "none")
		for _, f := range kindsOf(s) {
			if f == player.Stall && s.Requeues {
				continue // zklock tries again after the end of its session: a Stall does what Expire does
			}
			isSlow := s.Timed || f == player.Stall || f == player.Stop
			add(player.World{Kinds: []player.Fault{f}, Faults: 1, Ensemble: f == player.Stall}, isSlow, "requests", f)
		}
	}
	holdTable(t, "<!-- the table: go test ./internal/explore/exploretest -run Table -explore.update -->\n",
		"<!-- end of the table -->\n",
		"| lock | contenders | choices | fault | schedules | states | result |\n|---|---|---|---|---|---|---|\n", rows)
}

// TestPairsOfThePage plays two faults in one schedule, in either order: those whose searches are the shortest, or those
// that a flag asks for. The schedules without a fault, and with one, are among those that a row counts.
func TestPairsOfThePage(t *testing.T) {
	due := "^end ctx, end ctx$"
	if testenv.AtLength() {
		due = "^(cut|expire|end ctx), end ctx$"
	}
	pattern := testenv.Must(regexp.Compile(cmp.Or(*pairs, due)))(t)
	s := steps.Zklock()
	all := slices.DeleteFunc(kindsOf(s), func(f player.Fault) bool { return f == player.Stall })
	search := explore.Search{Count: true, Merge: true, For: *duration}
	var rows []row
	for i, f := range all {
		for _, g := range all[i:] {
			w := player.World{Lock: s, Kinds: []player.Fault{f, g}, Faults: 2, Each: 1}
			if f == g { // twice the same
				w.Kinds, w.Each = []player.Fault{f}, 2
			}
			name := fmt.Sprintf("%s, %s", f, g)
			rows = append(rows, row{columns: name, World: w, Search: search, play: pattern.MatchString(name)})
		}
	}
	holdTable(t,
		"<!-- the pairs: go test ./internal/explore/exploretest -run Pairs -timeout 3h -explore.update -explore.pairs . -->\n",
		"<!-- end of the pairs -->\n", "| two faults | schedules | states | result |\n|---|---|---|---|\n", rows)
}
