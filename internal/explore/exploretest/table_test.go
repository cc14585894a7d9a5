package exploretest_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestMain leaves the tests out where ZK names a server: the explorer brings
// its own, and has been tested without.
func TestMain(m *testing.M) {
	if zk := os.Getenv("ZK"); zk != "" && zk != "embedded" {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var update = flag.Bool("explore.update", false, "write the table of docs/explorer.md anew")

const (
	page  = "../../../docs/explorer.md"
	begin = "<!-- the table: go test ./internal/explore/exploretest -run Table -explore.update -->\n"
	end   = "<!-- end of the table -->\n"
	head  = "| lock | contenders | choices | fault | schedules | states | result |\n|---|---|---|---|---|---|---|\n"
)

// TestTableOfThePage plays what the table in docs/explorer.md says. Without
// -explore.large it takes the rows that end soon, and looks for the
// others only whether they are there.
func TestTableOfThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the page has no table")
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the table has no end")
	lines := strings.Split(strings.TrimPrefix(strings.TrimSpace(table), head), "\n")
	var all []string
	for _, s := range []explore.Subject{steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant(), steps.Timeout()} {
		for _, row := range exploretest.Rows(s) {
			n := len(all)
			if *update || *large || !row.Slow {
				all = append(all, row.Line(t))
			} else {
				require.Less(t, n, len(lines), "a row is missing")
				all = append(all, lines[n])
			}
			if !*update {
				require.Less(t, n, len(lines), "a row is missing")
				got, want := all[n], lines[n]
				if s.Timed { // which of two timers ends first is open, and so is the number of schedules
					got, want = got[strings.LastIndex(got[:len(got)-1], "|"):], want[strings.LastIndex(want[:len(want)-1], "|"):]
				}
				require.Equal(t, want, got, "the page says otherwise; -explore.update writes the table")
			}
		}
	}
	if *update {
		table := head + strings.Join(all, "\n") + "\n"
		require.NoError(t, os.WriteFile(page, []byte(before+begin+table+end+after), 0o644))
		return
	}
	require.Len(t, lines, len(all), "the table has other rows")
}
