package exploretest

import (
	"testing"

	"example.com/zklock/internal/explore"
)

func inProcesses(*testing.T) bool { return false }

// Explore is explore.Explore; a page has one process.
func Explore(t *testing.T, w explore.World, s explore.Search, _ int) *explore.Report {
	t.Helper()
	return explore.Explore(t, w, s)
}

func progress() func(schedules int) { return nil }
