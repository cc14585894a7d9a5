package exploretest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/explore"
)

// A Row of the table in docs/explorer.md.
type Row struct {
	explore.World
	Slow bool // played with ZKLOCK_TESTS=long only
}

// Rows are the rows of a lock in the table: every schedule of two and of three
// contenders without a fault, and of two contenders with each fault.
func Rows(s explore.Subject) []Row {
	rows := []Row{
		{explore.World{Lock: s}, false},
		{explore.World{Lock: s, Packets: true}, false},
		{explore.World{Lock: s, Contenders: 3}, true},
	}
	for _, f := range kinds(s) {
		if f == explore.Stall && s.Requeues {
			continue // for a lock that looks at the clock it is what Expire is
		}
		rows = append(rows, Row{explore.World{Lock: s, Kinds: []explore.Fault{f}, Faults: 1, Ensemble: f == explore.Stall},
			s.Timed || f == explore.Stall || f == explore.Stop})
	}
	return rows
}

// result is the last column of a row.
func result(report *explore.Report) string {
	switch {
	case report.Found != nil:
		return "**" + string(report.Found.Violation.Kind) + "**"
	case report.Left > 0:
		return fmt.Sprintf("not complete: %d schedules do not repeat", report.Left)
	case !report.Complete:
		return "not complete"
	case len(report.Known) > 0:
		var names []string
		for name, tr := range report.Known {
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

// A Pair is two faults in one schedule, in either order.
type Pair [2]explore.Fault

// Pairs are all of them, also a fault twice, that a lock can meet.
func Pairs(s explore.Subject) (list []Pair) {
	kinds := slices.DeleteFunc(kinds(s), func(f explore.Fault) bool { return f == explore.Stall })
	for i, f := range kinds {
		for _, g := range kinds[i:] {
			list = append(list, Pair{f, g})
		}
	}
	return list
}

func (p Pair) String() string { return string(p[0]) + ", " + string(p[1]) }

// Line is the pair's line in the table of pairs. The schedules without a
// fault, and with one, are among those that it counts.
func (p Pair) Line(t *testing.T, s explore.Subject, within time.Duration) string {
	w := explore.World{Lock: s, Kinds: p[:], Faults: 2, Each: 1}
	if p[0] == p[1] {
		w.Kinds, w.Each = p[:1], 2
	}
	r := explore.Explore(t, w, explore.Search{Count: true, Merge: true, For: within})
	return fmt.Sprintf("| %s | %d | %d | %s |", p, r.Schedules, r.States, result(r))
}

// Line is the row's line in the table.
func (r Row) Line(t *testing.T) string {
	report := explore.Explore(t, r.World, explore.Search{Count: true})
	fault := "none"
	if len(r.Kinds) > 0 {
		fault = string(r.Kinds[0])
	}
	choices := "requests"
	if r.Packets {
		choices = "packets"
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %d | %d | %s |", r.Lock.Name, r.Number(), choices, fault, report.Schedules, report.States, result(report))
}
