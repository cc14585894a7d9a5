package report

import (
	"cmp"
	"slices"
	"time"
)

// A Group is all rounds of one lock with one number of goroutines. Curator's cold round is a group of its own.
type Group struct {
	lock string
	n    int  // goroutines
	cold bool // Curator's first round, before its JVM is warm
	runs []Run
}

// group puts results that belong together into groups, those with the fewest goroutines first.
func group(results []Run) (groups []Group) {
	for _, r := range results {
		cold := r.Status == StatusWarmUp
		i := slices.IndexFunc(groups, func(g Group) bool {
			return g.lock == r.Lock && g.n == r.Goroutines && g.cold == cold
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{lock: r.Lock, n: r.Goroutines, cold: cold})
		}
		groups[i].runs = append(groups[i].runs, r)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.n, b.n) })
	return groups
}

func (g Group) about() About { return g.runs[0].About }

func (g Group) name() string {
	if g.cold {
		return g.lock + " cold"
	}
	return g.lock
}

// ok reports whether all rounds went well: otherwise the figures mean nothing.
func (g Group) ok() bool { return g.problem().Error == "" }

// problem returns the first run that did not go well.
func (g Group) problem() Run {
	for _, r := range g.runs {
		if r.Error != "" {
			return r
		}
	}
	return Run{}
}

// article is the time that article A gives for this lock and number of threads; 0 if there is none.
func (g Group) article() time.Duration {
	if g.cold {
		return 0
	}
	return g.about().Article[g.n]
}

func (g Group) median(f func(Run) float64) float64 {
	values := make([]float64, len(g.runs))
	for i, r := range g.runs {
		values[i] = f(r)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2 // of an odd number of values, twice the one in the middle
}

// Median is that of a figure of the rounds of a lock; 0 if the lock did not run well.
func Median(results []Run, lock string, f func(Run) float64) float64 {
	for _, g := range group(results) {
		if g.lock == lock && !g.cold && g.ok() {
			return g.median(f)
		}
	}
	return 0
}

func (g Group) elapsed() time.Duration {
	return g.medianTime(func(r Run) time.Duration { return r.Elapsed })
}

func (g Group) medianTime(f func(Run) time.Duration) time.Duration {
	return time.Duration(g.median(func(r Run) float64 { return float64(f(r)) }))
}

func (g Group) fastest() time.Duration { return slices.MinFunc(g.runs, byElapsed).Elapsed }
func (g Group) slowest() time.Duration { return slices.MaxFunc(g.runs, byElapsed).Elapsed }

func byElapsed(a, b Run) int { return cmp.Compare(a.Elapsed, b.Elapsed) }

// perHold is the median of a figure, divided by the count.
func (g Group) perHold(f func(Run) int64) float64 {
	return g.median(func(r Run) float64 { return float64(f(r)) / float64(max(r.Count, 1)) })
}

// perAcquisition prints perHold; a dash where nothing was counted.
func (g Group) perAcquisition(f func(Run) int64) string {
	if g.cold {
		return "-"
	}
	return oneDecimal(g.perHold(f))
}
