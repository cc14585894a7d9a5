package exploretest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/zklock/internal/explore"
)

// A Row of the table in docs/explorer.md.
type Row struct {
	explore.World
	Slow bool // played with -explore.large only
}

// Rows are what the table shows of a lock: every schedule of two and of three
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
	result := "right"
	switch {
	case report.Found != nil:
		result = "**" + string(report.Found.Violation.Kind) + "**"
	case !report.Complete:
		result = "not complete"
	case len(report.Known) > 0:
		var names []string
		for name, tr := range report.Known {
			names = append(names, fmt.Sprintf("%s (%d choices)", name, len(tr.Choices)))
		}
		slices.Sort(names)
		result = strings.Join(names, "; ")
	}
	n := r.Contenders
	if n == 0 {
		n = 2
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %d | %d | %s |", r.Lock.Name, n, choices, fault, report.Schedules, report.States, result)
}
